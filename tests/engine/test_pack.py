"""Rows packed for the store: what goes in comes out, and what is said each time takes next to nothing."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.engine.call import ModelReply, Usage, digest, reply_body
from podium.engine.event import CallAnswered, CallIntended, body
from podium.engine.ledger import Amount
from podium.engine.pack import pack, unpack

PARTS = st.sampled_from(
    [b"\0", b"\1", b"{", b":", b':"', digest(1).encode(), digest(2).upper().encode()]
)


@given(st.lists(st.binary(max_size=40) | PARTS, max_size=400).map(b"".join))
def test_what_is_packed_comes_back(plain: bytes) -> None:
    packed = pack(plain)
    assert unpack(packed) == plain
    assert len(packed) <= len(plain) + 1


def test_more_digests_than_a_byte_counts_come_back() -> None:
    plain = b"\n".join(f"user:{digest(number)}".encode() for number in range(600))
    assert unpack(pack(plain)) == plain
    assert len(pack(plain)) < 0.8 * len(plain)


def test_an_event_takes_little_more_than_what_is_its_own() -> None:
    intent = CallIntended(
        "main/1.agent/c1", 0, "run-1", "model", digest(1), Amount(0, 300, 1), "m", "m@host",
        (f"user:{digest(2)}",),
    )  # fmt: skip
    usage = Usage(200, output=80)
    reply = reply_body(ModelReply("A word.", "stop", usage, "model", "m@host"))
    answer = CallAnswered("main/1.agent/c1", 0, "run-1", Amount(0, 280, 1), usage, reply, 1.5)
    assert len(pack(orjson.dumps(body(intent)))) < 2 * 32 + 60
    assert len(pack(orjson.dumps(body(answer)))) < 90


@pytest.mark.parametrize("kept", [b"", b"{}", b"\x01\x00\xff\xff", b"\x01\x05abc", b"\x07abc"])
def test_what_was_never_packed_is_refused(kept: bytes) -> None:
    with pytest.raises(ValueError, match="store"):
        unpack(kept)


def test_the_first_form_is_read_for_good() -> None:
    kept = bytes.fromhex(PACKED)
    assert orjson.loads(unpack(kept)) == {"address": "main", "kind": "agent", "label": digest(1)}


PACKED = (
    "01016b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"
    "ab564a4c49013abb186468622652b2432f8919946a01"
)
