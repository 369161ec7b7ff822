"""Records: events of a run and the short texts that its calls send, packed together as one row of the store.

A run's last record is open: what is committed next is added to it by the same deflate stream, and its row is
written again, until it is large. So an event costs what is new in it, and a reply that the next prompt quotes is
in the stream already.

A record is a JSON list of entries without its brackets, deflated. An event is [microseconds since the one before,
the code of its kind, its fields]; a text is [text], and one that grew out of another, as of `pieces`, is
[base, same, start, stop, new], its base the place of an entry of this record or a key in hex. Digests are taken
out, their bytes kept beside the stream. All of this is the store's format.
"""

import re
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, cast

import orjson

from .ledger import NOTHING, Amount
from .pack import DICTIONARY
from .pieces import Base, Grown, Kept, Plain, Ref, Row, number, read_number

# Before compression and after: as much as a page of the file takes, which a commit writes as a whole anyway.
MOST, FULL = 32_768, 3_600
# Longer texts are rows of their own, so that what is read of an event stays small.
LONGEST = 4_000
# As of Python's zlib: small tables, which are copied at each commit, and a window of 8 kB.
_BITS, _MEMORY, LEVEL = -13, 5, 6
# 16 bytes as events have them now, 32 as those of earlier schemas.
_ONE = rb"([0-9a-f]{32}(?:[0-9a-f]{32})?)(?![0-9a-f])"
# In events after a colon alone: a pattern that begins with one letter is found three times sooner.
_OF_EVENTS, _OF_TEXTS = re.compile(rb'(:"?)' + _ONE), re.compile(rb'([:\[]"?)' + _ONE)
# Stand for a digest of 16 and of 32 bytes; JSON never has them.
_GAPS = {32: b"\0", 64: b"\1"}
_GAP = re.compile(rb"[\0\1]")
MICRO = 1_000_000
_FORM = 1


class RecordRow(NamedTuple):
    """A record as the table has it. id: as an event's, of its first one. The amounts: what was settled in it."""

    id: int
    usd: int
    tokens: int
    calls: int
    body: bytes


class Entry(NamedTuple):
    """An event to add. time: seconds since the epoch. fields: as JSON values. spent: what it settles."""

    time: float
    code: int
    fields: dict[str, Any]
    spent: Amount = NOTHING


class Record:
    """One that is added to. id: of the event that is added first. level: how well it is deflated, 0 not at all."""

    def __init__(self, id_: int, level: int = LEVEL) -> None:
        self.id = id_
        self.is_full = False
        self._small = level > 0  # then digests are worth taking out
        self._deflate = zlib.compressobj(
            level, zlib.DEFLATED, _BITS, _MEMORY, zlib.Z_DEFAULT_STRATEGY, DICTIONARY
        )
        self._new: list[bytes] = []
        self._size, self._begun = 0, False
        self._digests, self._out = bytearray(), bytearray()
        self._texts: dict[bytes, int] = {}
        self._entries = 0
        self._micro = 0
        self._spent = NOTHING

    def add(self, events: Sequence[Entry]) -> None:
        """Add events, in order. Raises TypeError on values that have no form in JSON."""
        found: list[list[Any]] = []
        before, spent = self._micro, self._spent
        for event in events:
            micro = round(event.time * MICRO)
            found.append([micro - before, event.code, event.fields])
            before = micro
            if event.spent is not NOTHING:
                spent = spent.plus(event.spent)
        self._put(found, _OF_EVENTS)
        self._micro, self._spent = before, spent

    def keep(self, row: Row) -> int | None:
        """Add a text, if it is not there yet; the place of its entry. None where it is none for a record."""
        if (place := self._texts.get(row.key)) is not None:
            return place  # calls that are sent at once each bring it
        text = row.text
        if text is None or row.head or len(text) > LONGEST or not _is_encodable(text):
            return None
        if row.stem is None:
            entry: list[Any] = [text]
        else:
            base = self._texts.get(row.stem.key, row.stem.key.hex())
            entry = [base, *row.stem.part, text]
        place = self._texts[row.key] = self._entries
        self._put([entry], _OF_TEXTS)
        return place

    def _put(self, entries: list[list[Any]], digests: re.Pattern[bytes]) -> None:
        if not entries:
            return
        text = orjson.dumps(entries)[1:-1]
        self._entries += len(entries)
        self._size += len(text)
        self._new.append(self._without(digests, text) if self._small else text)
        self.is_full = self.is_full or self._size >= MOST

    def row(self) -> RecordRow:
        """The whole of it so far, after something was added."""
        text = b",".join((b"", *self._new) if self._begun else self._new)
        self._begun = True
        self._new.clear()
        self._out += self._deflate.compress(text)
        rest = (self._deflate if self.is_full else self._deflate.copy()).flush()
        head = bytes((_FORM,)) + number(len(self._digests))
        body = b"".join((head, self._digests, self._out, rest))
        self.is_full = self.is_full or len(body) >= FULL
        return RecordRow(self.id, *self._spent, body)

    def _without(self, digests: re.Pattern[bytes], text: bytes) -> bytes:
        parts = digests.split(text)  # what is before one, its first letters, itself, and so on
        if len(parts) == 1:
            return text
        found = parts[2::3]
        self._digests += bytes.fromhex(b"".join(found).decode())
        parts[2::3] = [_GAPS[len(digest)] for digest in found]
        return b"".join(parts)


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@lru_cache(maxsize=16)  # a page is read event by event, a long text entry by entry
def entries(body: bytes) -> list[list[Any]]:
    """The entries of a record. Raises ValueError on what is none."""
    if body[:1] != bytes((_FORM,)):
        raise ValueError("a record of the store is of an unknown form")
    size, begin = read_number(body, 1)
    inflating = zlib.decompressobj(_BITS, DICTIONARY)
    try:
        text = inflating.decompress(body[begin + size :])
    except zlib.error as error:
        raise ValueError(f"a record of the store is damaged: {error}") from error
    if not inflating.eof:
        raise ValueError("a record of the store is cut off")
    at = begin

    def digest(found: re.Match[bytes]) -> bytes:
        nonlocal at
        begins, at = at, at + (16 if found[0] == _GAPS[32] else 32)
        return body[begins:at].hex().encode()

    return cast(list[list[Any]], orjson.loads(b"[" + _GAP.sub(digest, text) + b"]"))


def events(body: bytes) -> list[tuple[float, int, dict[str, Any]]]:
    """Time, code and fields of the record's events."""
    found: list[tuple[float, int, dict[str, Any]]] = []
    micro = 0
    for entry in entries(body):
        if len(entry) == 3:
            micro += entry[0]
            found.append((micro / MICRO, entry[1], entry[2]))
    return found


def text(record: int, body: bytes, place: int) -> Kept:
    """The text at a place of the record of that id."""
    match entries(body)[place]:
        case [str() as whole]:
            return Plain(whole)
        case [int() | str() as base, int() as same, int() as start, int() as stop, str() as new]:
            ref: Ref = (record, base) if isinstance(base, int) else bytes.fromhex(base)
            return Base(ref, Grown(same, start, stop, new))
        case _:
            raise ValueError("a record of the store has no text where one is said to be")
