"""Long texts: what goes in comes out, and what was kept before is kept once."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.engine.pieces import (
    LINKS,
    Base,
    Circular,
    Grown,
    Kept,
    Ref,
    Shelf,
    growth,
    kept_of,
    key_of,
    packed,
    rows_of,
    whole,
)

LINES = st.lists(
    st.text(max_size=60) | st.sampled_from(["a", "same", "\x1fpieces 1", "\x00", "0" * 64]),
    max_size=200,
)
TEXT = st.text(st.sampled_from("ab\n\ud800é"), max_size=80)


class Rows:
    """The rows of a store, as a run writes them, and as it reads them."""

    def __init__(self) -> None:
        self.shelf = Shelf()
        self.rows: dict[bytes, bytes] = {}
        self.reads = 0

    def keep(self, name: str, text: str) -> int:
        """How many bytes were written."""
        rows = self.shelf.missing([(name, text)])
        self.shelf.wrote(rows)
        new = [(key, body) for key, body in map(packed, rows) if key not in self.rows]
        self.rows.update(new)
        return sum(len(key) + len(body) for key, body in new)

    def back(self, name: str) -> str:
        return whole(key_of(name), self.read)

    def read(self, ref: Ref) -> Kept:
        self.reads += 1
        assert isinstance(ref, bytes), "there are no records here"
        return kept_of(self.rows[ref])


@given(LINES, st.sampled_from(["\n", "", "\r\n", "\n\n", "\u2028"]))
def test_what_is_kept_is_read_back(lines: list[str], between: str) -> None:
    kept, text = Rows(), between.join(lines)
    kept.keep("user:x", text)
    assert kept.back("user:x") == text
    kept.rows = dict(map(packed, rows_of(b"in pieces", text)))
    assert whole(b"in pieces", kept.read) == text


@given(TEXT, TEXT, TEXT, TEXT, st.integers(0, 90), st.integers(1, 30))
def test_a_text_is_what_grew_out_of_another(
    head: str, tail: str, more: str, end: str, lost: int, times: int
) -> None:
    old, new = head + tail * times + end, head + (tail * times)[lost:] + more + end
    grown = growth(old, new)
    assert old[: grown.same] + old[grown.start : grown.stop] + grown.new == new


@pytest.mark.parametrize("line", ["a\n", "a", "\n", "word ", "é\n", "x" * 5000 + "\n"])
def test_a_text_that_repeats_itself_is_small(line: str) -> None:
    kept = Rows()
    assert kept.keep("user:x", line * 20_000) < 12_000
    assert kept.back("user:x") == line * 20_000


@pytest.mark.parametrize("text", ["\x1fpieces 1\nabc\n", "\x00", "\x02" * 500, "\x03" * 5000, ""])
def test_a_text_that_begins_like_a_row_is_a_text(text: str) -> None:
    kept = Rows()
    kept.keep("user:x", text)
    assert kept.back("user:x") == text


def posts_of(shape: str, count: int) -> list[str]:
    chance = random.Random(shape)
    width = {"prose": 70, "code": 30, "long lines": 1500}[shape]
    posts: list[str] = []
    for number in range(count):
        words = " ".join(str(chance.random()) for _ in range(60))
        lines = (words[at : at + width] for at in range(0, len(words), width))
        posts.append(f"[{number}]\n" + "\n".join(lines))
    return posts


@pytest.mark.parametrize("shape", ["prose", "code", "long lines"])
def test_a_history_that_grows_and_loses_its_beginning_costs_what_is_new(shape: str) -> None:
    kept, written = Rows(), 0
    posts = posts_of(shape, 300)
    for number in range(300):
        shown = posts[max(0, number - 200) : number + 1]
        text = "\n\n".join(["The task.", *shown, f"You are #{number}."])
        written += kept.keep(f"user:{number}", text)
        kept.reads = 0
        assert kept.back(f"user:{number}") == text
        assert kept.reads <= LINKS + 2 * len(text) / 128
    assert written < 1.2 * sum(map(len, posts))


def test_histories_that_take_turns_cost_what_is_new_in_each() -> None:
    kept, written = Rows(), 0
    shapes = ("prose", "code", "long lines")
    posts = {shape: posts_of(shape, 80) for shape in shapes}
    for number in range(80):
        for shape in shapes:
            text = "\n\n".join(["The task.", *posts[shape][: number + 1], "You are #1."])
            written += kept.keep(f"{shape}:{number}", text)
    assert written < 1.2 * sum(len(post) for each in posts.values() for post in each)


def test_what_was_not_written_is_written_again() -> None:
    shelf, text = Shelf(), "line\n" * 1000
    rows = shelf.missing([("user:x", text)])
    assert shelf.missing([("user:x", text)])
    shelf.wrote(rows)
    assert not shelf.missing([("user:x", text)])


@pytest.mark.parametrize("between", [[], ["grown\n"]])
def test_a_text_that_is_asked_for_twice_at_once_does_not_grow_out_of_itself(
    between: list[str],
) -> None:
    """Members of a team may be asked the same thing at the same time, before either is on disk."""
    shelf, text = Shelf(), "".join(f"line {n}\n" for n in range(400))
    first = shelf.missing([("user:x", text)])
    for more in between:
        shelf.missing([("user:y", text + more)])
    assert shelf.missing([("user:x", text)]) == first


def test_a_text_that_is_kept_as_grown_out_of_itself_is_refused_and_not_read_for_ever() -> None:
    key = key_of("user:x")
    with pytest.raises(Circular, match="grown out of itself"):
        whole(key, lambda _: Base(key, Grown(5, 0, 0, "")))


def test_a_row_of_no_known_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown kind"):
        kept_of(b"\x09x")
