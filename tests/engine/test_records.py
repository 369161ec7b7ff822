"""Records: what goes in comes out, and events that follow one another take what is new in them."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.engine.call import ModelReply, Usage, digest, reply_body
from podium.engine.database import CODES, entry_of
from podium.engine.event import CallAnswered, CallIntended, Stamped
from podium.engine.ledger import Amount
from podium.engine.pieces import Base, Grown, Plain, Row, Stem
from podium.engine.records import FULL, Entry, Record, entries, events, text

TEXT = st.text(max_size=40) | st.sampled_from(["\0", "\1", f'["{digest(1)}', digest(2)[:32]])
FIELDS = st.dictionaries(TEXT, TEXT | st.integers(-(2**53), 2**53) | st.none(), max_size=4)
MICRO = st.integers(0, 2_000_000_000_000_000)


@given(st.lists(st.lists(st.tuples(MICRO, st.integers(0, 20), FIELDS)), max_size=5), TEXT, TEXT)
def test_what_is_added_step_by_step_comes_back(
    steps: list[list[tuple[int, int, dict[str, str | int | None]]]], one: str, other: str
) -> None:
    record = Record(7 << 32)
    first = record.keep(Row(b"a" * 16, one))
    second = record.keep(Row(b"b" * 16, other, stem=Stem(b"a" * 16, (1, 2, 3))))
    third = record.keep(Row(b"c" * 16, other, stem=Stem(b"d" * 16, (0, 0, 0))))
    assert first is not None
    assert second is not None
    assert third is not None
    added: list[tuple[float, int, dict[str, str | int | None]]] = []
    for step in steps:
        record.add([Entry(micro / 1e6, code, fields) for micro, code, fields in step])
        added += [(micro / 1e6, code, fields) for micro, code, fields in step]
        body = record.row().body
        assert events(body) == added
        assert text(7 << 32, body, first) == Plain(one)
        assert text(7 << 32, body, second) == Base((7 << 32, first), Grown(1, 2, 3, other))
        assert text(7 << 32, body, third) == Base(b"d" * 16, Grown(0, 0, 0, other))


@pytest.mark.parametrize(
    "row", [Row(b"a", "x" * 5_000), Row(b"a", "\ud800"), Row(b"a", None, b"\2")]
)
def test_what_is_no_short_text_is_no_entry(row: Row) -> None:
    assert Record(0).keep(row) is None


def test_a_text_that_is_brought_twice_is_there_once() -> None:
    record = Record(0)
    places = [record.keep(Row(b"a" * 16, "said by all")) for _ in range(2)]
    assert places == [0, 0]
    assert entries(record.row().body) == [["said by all"]]


def test_a_call_takes_little_more_than_its_digest_and_its_reply() -> None:
    record, chance, said = Record(1 << 32), random.Random(0), 0
    for number in range(10):
        intent = CallIntended(
            f"main/{number}.agent/c1", 0, "run-1", "model", digest(number)[:32], Amount(0, 300, 1),
            "m", "m@host", (f"user:{digest(-number)[:32]}",),
        )  # fmt: skip
        usage = Usage(200 + number, output=chance.randrange(100))
        reply = " ".join(chance.choice(("one", "word", "after", "another")) for _ in range(12))
        answer = CallAnswered(
            intent.address, 0, "run-1", Amount(0, 280, 1), usage,
            reply_body(ModelReply(reply, "stop", usage, "model", "m@host")), chance.random(),
        )  # fmt: skip
        record.keep(Row(digest(-number)[:16].encode(), f"[{number}]\n{reply}"))
        record.add([entry_of(Stamped(number, 1e9 + number, event)) for event in (intent, answer)])
        said += len(reply)
    row = record.row()
    assert row.tokens == 2_800
    assert len(row.body) < 10 * (2 * 16 + 60) + said


def test_a_record_is_full_when_a_commit_would_write_more_than_a_page() -> None:
    record, chance, body = Record(0), random.Random(0), b""
    while not record.is_full:
        fields = {"address": "main", "text": chance.randbytes(50).hex()}
        record.add([Entry(1e9, CODES["said"], fields)])
        body = record.row().body
    assert FULL <= len(body) < 4_000


@pytest.mark.parametrize("kept", [b"", b"{}", b"\x01\x00\xff\xff", b"\x01\x05abc", b"\x07abc"])
def test_what_is_no_record_is_refused(kept: bytes) -> None:
    with pytest.raises(ValueError, match="store"):
        entries(kept)
