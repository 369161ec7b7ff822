"""Text made harmless for a terminal."""

import json
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from podium.engine.shell.safe import safe, safe_json, safe_line

anything = st.text(alphabet=st.characters(exclude_categories=()))


def test_an_escape_sequence_is_shown_and_not_obeyed() -> None:
    assert safe("a\x1b[31mred\x07\x9b2J\r") == "a\\x1b[31mred\\x07\\x9b2J\\x0d"


def test_text_that_would_run_backwards_is_shown_in_order() -> None:
    assert safe("if \u202eresu\u2066x") == "if \\u202eresu\\u2066x"


def test_ordinary_text_is_left_alone() -> None:
    text = "naïve 数学\n\tq[bold]x[/bold] \U0001f389"
    assert safe(text) == text


@given(anything)
def test_nothing_a_terminal_obeys_is_left(text: str) -> None:
    kept = safe(text)
    assert not any(unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t" for c in kept)
    assert not any(unicodedata.bidirectional(c) in _TURNING for c in kept)
    kept.encode("utf-8")


_TURNING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@given(anything, st.integers(3, 40))
def test_a_line_is_one_line_and_no_longer_than_asked(text: str, width: int) -> None:
    line = safe_line(text, width)
    assert len(line) <= width
    assert "\n" not in line


@given(st.dictionaries(anything, anything))
def test_harmless_json_means_the_same(value: dict[str, str]) -> None:
    text = safe_json(value)
    assert json.loads(text) == json.loads(json.dumps(value))
    assert safe(text) == text
