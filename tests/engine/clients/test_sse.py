"""Any cut of the same bytes gives the same events."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.engine.clients.sse import Decoder, TooLong
from podium.engine.plain import clean, excerpt

MIXED = (
    "\ufeff: a comment\r\nevent: named\r\ndata: one\r\ndata: 1\r\n\r\n:\ndata:two\ndata:  lines é𝄞\n\n"
    "id: 7\n\nretry: 5\rdata: three\r\rdata\n\ndata: last"
).encode()
EVENTS = ["one\n1", "two\n lines é𝄞", "three", "", "last"]


def decoded(*chunks: bytes) -> list[str]:
    decoder = Decoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return events + decoder.end()


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[a:b] for a, b in pairwise(edges)]


def test_events_are_read_whatever_ends_their_lines() -> None:
    assert decoded(MIXED) == EVENTS


def test_one_byte_at_a_time_gives_the_same_events() -> None:
    assert decoded(*(bytes([byte]) for byte in MIXED)) == EVENTS


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(st.integers(min_value=0), max_size=8))
def test_any_cut_gives_the_same_events(places: list[int]) -> None:
    assert decoded(*cut(MIXED, places)) == EVENTS


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.binary(max_size=60), st.lists(st.integers(min_value=0), max_size=5))
def test_any_cut_of_any_bytes_gives_the_same_events(data: bytes, places: list[int]) -> None:
    assert decoded(*cut(data, places)) == decoded(data)


def test_broken_utf8_becomes_replacement_characters() -> None:
    assert decoded(b"data: a\xff\xc3\n\n") == ["a\ufffd\ufffd"]


def test_an_event_without_end_is_refused() -> None:
    decoder = Decoder(max_event_bytes=100)
    decoder.feed(b"data: " + b"x" * 90)
    with pytest.raises(TooLong):
        decoder.feed(b"x" * 10)


def test_an_event_of_many_lines_is_refused_too() -> None:
    decoder = Decoder(max_event_bytes=100)
    decoder.feed(b"data: 12345678\n" * 12)
    with pytest.raises(TooLong):
        decoder.feed(b"data: 12345678\n")


def test_comments_never_add_up() -> None:
    decoder = Decoder(max_event_bytes=100)
    for _ in range(50):
        assert decoder.feed(b": keep-alive\n\n") == []


def test_what_a_terminal_would_obey_is_taken_out() -> None:
    assert clean("a\x1b[31mb\x00\x07\tc\r\nd\re\x9bf\x7f") == "a[31mb\tc\nd\nef"


def test_halves_of_a_character_are_joined_and_lone_ones_replaced() -> None:
    assert clean("x\ud834\udd1ey\ud834z") == "x𝄞y\ufffdz"


@given(st.text())
@settings(max_examples=100, deadline=None, derandomize=True)
def test_cleaning_twice_changes_nothing(text: str) -> None:
    assert clean(clean(text)) == clean(text)
    clean(text).encode()


def test_an_excerpt_is_one_short_line() -> None:
    assert excerpt("a\n  b\x1b" + "c" * 300, 10) == "a b" + "c" * 6 + "…"


@pytest.mark.parametrize(
    ("before", "events"),
    [
        (b"data: one\n", ["one\ntwo"]),
        (b"event: x", []),
        (b"data: one\r", ["one\ntwo"]),
        (b"", ["two"]),
    ],
)
def test_a_chunk_of_one_whole_event_still_belongs_to_what_came_before(
    before: bytes, events: list[str]
) -> None:
    assert decoded(before, b"data: two\n\n") == events
