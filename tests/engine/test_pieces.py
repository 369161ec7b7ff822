"""Texts in pieces: what goes in comes out, and what was kept before is kept once."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.engine.pieces import kept, whole

LINES = st.lists(
    st.text(max_size=60) | st.sampled_from(["a", "same", "\x1fpieces 1"]), max_size=200
)


def back(rows: dict[str, str], name: str) -> str:
    return whole(rows[name], rows.__getitem__)


@given(LINES, st.sampled_from(["\n", "", "\r\n", "\n\n", "\u2028"]))
def test_what_is_kept_is_read_back(lines: list[str], between: str) -> None:
    text = between.join(lines)
    assert back(dict(kept("user:x", text)), "user:x") == text


@pytest.mark.parametrize("line", ["a\n", "a", "\n", "word ", "é\n", "x" * 5000 + "\n"])
def test_a_text_that_repeats_itself_is_small(line: str) -> None:
    rows = dict(kept("user:x", line * 20_000))
    assert back(rows, "user:x") == line * 20_000
    assert sum(map(len, rows.values())) < 20_000 + 3 * len(line)


def test_a_text_that_begins_like_a_list_of_names_is_a_text() -> None:
    for text in ("\x1fpieces 1\nabc\n", "\x1fpieces ", "\x1fpieces x" * 500):
        assert back(dict(kept("user:x", text)), "user:x") == text


@pytest.mark.parametrize("shape", ["prose", "code", "long lines"])
def test_a_history_that_grows_and_loses_its_beginning_costs_what_is_new(shape: str) -> None:
    chance = random.Random(shape)
    width = {"prose": 70, "code": 30, "long lines": 1500}[shape]
    rows: dict[str, str] = {}
    posts: list[str] = []
    for number in range(300):
        words = " ".join(str(chance.random()) for _ in range(60))
        lines = (words[at : at + width] for at in range(0, len(words), width))
        posts.append(f"[{number}]\n" + "\n".join(lines))
        text = "\n\n".join(["The task.", *posts[-200:], f"You are #{number}."])
        rows.update(kept(f"user:{number}", text))
        assert back(rows, f"user:{number}") == text
    unique = sum(map(len, posts))
    assert sum(len(name) + len(row) for name, row in rows.items()) < 3 * unique
