"""Long texts kept so that one like an earlier one costs what is new in it.

A text that has grown at its end, or lost some of its beginning, is kept as what it shares with the earlier one and
what it adds. Where no earlier one is at hand, or the chain of such texts is long, it is cut into pieces, each kept
once under its own digest: after empty lines, which stand between messages on a board, and after lines that their
own words choose, so that two texts that share a part share its pieces, wherever it stands.

Rows go out; they come back in by a function that reads what is kept by its key, or by its place in a record.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from sys import maxsize
from typing import NamedTuple
from zlib import crc32

from .pack import DEFLATED, PLAIN, pack, unpack

# In characters. A cut comes after one line in EVERY: some 2,500 characters of prose. Long pieces deflate better,
# and a text is cut only where it shares too little with those remembered.
SHORT, MOST, LEAST = 1000, 4000, 512
EVERY = 32
# Keys that one row lists at most; one in GROUPS ends a group where they are more. The size of a key, which is the
# first bytes of a SHA-256.
FEW, GROUPS, KEY = 24, 8, 16
# Rows to read at most for a text that has grown: a quarter of a second. A new chain writes again what the old one
# had.
LINKS = 16_384
# Characters of earlier texts that are remembered; what is looked for in them; an addition that needs no better.
ROOM, PROBE, ENOUGH = 1_000_000, 48, 4_000
# Keys remembered at most; a row that is forgotten is written again, which changes nothing.
REMEMBERED = 50_000
# The first byte of a row that is no packed text.
_LIST, _GROWN = 2, 3


class Stem(NamedTuple):
    """What a text grew out of: the text of that key, and what of it, as `same`, `start` and `stop` of Grown."""

    key: bytes
    part: tuple[int, int, int]


class Row(NamedTuple):
    """A row to write. It is packed by whoever writes it: `packed`, or in a record. head: of one without a text."""

    key: bytes
    text: str | None
    head: bytes = b""
    stem: Stem | None = None


# Where something is kept: a key, or the id of a record and the place in it.
Ref = bytes | tuple[int, int]


class Plain(NamedTuple):
    """A text as it is."""

    text: str


class Listed(NamedTuple):
    """A text in pieces."""

    keys: tuple[bytes, ...]


class Grown(NamedTuple):
    """A text as the beginning of an earlier one up to `same`, then its part from `start` to `stop`, then `new`."""

    same: int
    start: int
    stop: int
    new: str


class Base(NamedTuple):
    """A text that grew out of the one at ref."""

    ref: Ref
    grown: Grown


Kept = Plain | Listed | Base


class _Long(NamedTuple):
    key: bytes
    text: str
    links: int


class Circular(ValueError):
    """By these rows a text grew out of itself."""


class Shelf:
    """Which rows one life of a run has written, as far as it remembers.

    The rule it keeps: a text has one set of rows, also where it is asked for again before they are on disk. A
    second set would say that it grew out of what grew out of it, and the text would be gone.
    """

    def __init__(self) -> None:
        self._keys: set[bytes] = set()
        self._asked: dict[bytes, list[Row]] = {}  # not known to be on disk
        self._long: list[_Long] = []  # the latest last

    def missing(self, texts: Iterable[tuple[str, str]]) -> list[Row]:
        """The rows of these texts, by name, that are not known to be written. They are to be written in the
        order in which they were asked for: a later one may stand on an earlier one."""
        new: dict[bytes, Row] = {}
        for name, text in texts:
            key = key_of(name)
            if key not in self._keys and key not in new:
                rows = self._asked.get(key) or self._rows(key, text)
                self._asked[key] = rows
                new.update((row.key, row) for row in rows if row.key not in self._keys)
        return list(new.values())

    def wrote(self, rows: Iterable[Row]) -> None:
        """These rows are on disk."""
        if len(self._keys) > REMEMBERED:
            self._keys.clear()
            self._long.clear()  # what is written again must not grow out of what grew out of it
        for row in rows:
            self._keys.add(row.key)
            self._asked.pop(row.key, None)

    def _rows(self, key: bytes, text: str) -> list[Row]:
        return [Row(key, text)] if len(text) <= SHORT else self._long_rows(key, text)

    def _long_rows(self, key: bytes, text: str) -> list[Row]:
        base, grown = self._nearest(text)
        if base is None or grown is None:
            self._remember(_Long(key, text, 0))
            return rows_of(key, text)
        self._long.remove(base)  # what grew out of it serves as well
        self._remember(_Long(key, text, base.links + 1))
        return [Row(key, grown.new, stem=Stem(base.key, grown[:3]))]

    def _nearest(self, text: str) -> tuple[_Long | None, Grown | None]:
        best: tuple[_Long | None, Grown | None] = None, None
        least = len(text) // 2
        for base in reversed(self._long):
            grown = growth(base.text, text)
            if len(grown.new) < least:
                best, least = (base, grown), len(grown.new)
            if least < ENOUGH:
                break
        found = best[0]
        return (None, None) if found is not None and found.links >= LINKS else best

    def _remember(self, one: _Long) -> None:
        self._long.append(one)
        while len(self._long) > 1 and sum(len(each.text) for each in self._long) > ROOM:
            del self._long[0]


def key_of(name: str) -> bytes:
    """The key of what is kept under name, `role:sha256` of its text as a rule: one text has one key."""
    digest = name.rpartition(":")[2]
    try:  # of 64 letters in stores of schemas before 5
        found = bytes.fromhex(digest) if len(digest) in (2 * KEY, 64) else b""
    except ValueError:
        found = b""
    return (found or hashlib.sha256(_bytes(name)).digest())[:KEY]


def growth(old: str, new: str) -> Grown:
    """new in terms of old. The part that is shared need not be the longest there is."""
    same = _alike(old, 0, new, 0)
    probe = new[same : same + PROBE]
    start = old.find(probe, same) if len(probe) == PROBE else -1
    if start < 0:
        return Grown(same, 0, 0, new[same:])
    more = _alike(old, start, new, same)
    return Grown(same, start, start + more, new[same + more :])


def _alike(a: str, i: int, b: str, j: int) -> int:
    """How many characters from a[i] on are those from b[j] on."""
    most = min(len(a) - i, len(b) - j)
    found, step, grows = 0, 64, True
    while step and found < most:
        size = min(step, most - found)
        if a[i + found : i + found + size] == b[j + found : j + found + size]:
            found += size
            step = step * 2 if grows else step
        else:
            grows, step = False, size // 2
    return found


def rows_of(key: bytes, text: str) -> list[Row]:
    """The rows that keep text in pieces under key."""
    pieces = [(_key(_bytes(piece)), piece) for piece in _cut(text)]
    rows = {at: Row(at, piece) for at, piece in pieces}
    keys = [at for at, _ in pieces]
    while len(keys) > FEW:
        lists = [b"".join(group) for group in _groups(keys)]
        keys = [_key(bytes((_LIST,)) + each) for each in lists]
        for at, each in zip(keys, lists, strict=True):
            rows[at] = Row(at, None, bytes((_LIST,)) + each)
    rows.setdefault(key, Row(key, None, bytes((_LIST,)) + b"".join(keys)))
    return list(rows.values())


def packed(row: Row) -> tuple[bytes, bytes]:
    """The row's key and body, as the store has them where they are in no record."""
    if row.text is None:
        return row.key, row.head
    head = b""
    if row.stem is not None:
        head = bytes((_GROWN,)) + row.stem.key + b"".join(map(number, row.stem.part))
    return row.key, head + pack(_bytes(row.text))


def kept_of(body: bytes) -> Kept:
    """What `packed` packed. Raises ValueError on a body of another kind."""
    match body[0]:
        case v if v == _LIST:
            return Listed(tuple(body[at : at + KEY] for at in range(1, len(body), KEY)))
        case v if v == _GROWN:
            at, part = 1 + KEY, list[int]()
            while len(part) < 3:
                value, at = read_number(body, at)
                part.append(value)
            same, start, stop = part
            return Base(body[1 : 1 + KEY], Grown(same, start, stop, _text(body[at:])))
        case _:
            return Plain(_text(body))


def _text(body: bytes) -> str:
    if body[0] not in (PLAIN, DEFLATED):
        raise ValueError(f"a text of the store is of an unknown kind, {body[0]}")
    return unpack(body).decode("utf-8", "surrogatepass")


def whole(ref: Ref, read: Callable[[Ref], Kept]) -> str:
    """The text that is kept there. read: what is kept at a place. Raises Circular.

    Of a text that grew in many steps no step is made whole: what is wanted of it is looked for in the one before.
    """
    kept, root = read(ref), _Parts()
    wanted = [(0, maxsize, root)]
    seen = {ref}
    while isinstance(kept, Base):
        if kept.ref in seen:
            raise Circular("a text of the store is said to have grown out of itself")
        seen.add(kept.ref)
        wanted = [one for want in wanted for one in _before(kept.grown, *want)]
        kept = read(kept.ref)
    text = kept.text if isinstance(kept, Plain) else "".join(whole(k, read) for k in kept.keys)
    for low, high, into in wanted:
        into.texts.append(text[low:high])
    return "".join(root.all())


class _Parts:
    """Texts in order; those that are still looked for have a place kept for them."""

    def __init__(self) -> None:
        self.texts: list[str | _Parts] = []

    def all(self) -> Iterator[str]:
        waiting: list[str | _Parts] = [self]
        while waiting:
            part = waiting.pop()
            if isinstance(part, str):
                yield part
            else:
                waiting += reversed(part.texts)


def _before(step: Grown, low: int, high: int, into: _Parts) -> Iterator[tuple[int, int, _Parts]]:
    """What of the text before step is in the part from low to high of the one after it; what is new goes into the
    place."""
    at = 0
    for begin, end in ((0, step.same), (step.start, step.stop)):
        first, last = max(low, at), min(high, at + end - begin)
        if first < last:
            place = _Parts()
            into.texts.append(place)
            yield begin + first - at, begin + last - at, place
        at += end - begin
    if high > at:
        into.texts.append(step.new[max(0, low - at) : high - at])


def number(value: int) -> bytes:
    """Seven bits a byte, the lowest first; the last one is below 128."""
    found = bytearray()
    while value > 127:
        found.append(128 | value & 127)
        value >>= 7
    found.append(value)
    return bytes(found)


def read_number(body: bytes, at: int) -> tuple[int, int]:
    """The number at that place, and the place behind it."""
    found, shift = 0, 0
    while True:
        found |= (body[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if body[at - 1] < 128:
            return found, at


def _key(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()[:KEY]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _groups(keys: Sequence[bytes]) -> Iterator[list[bytes]]:
    """Keys in groups whose ends the keys themselves choose: lists that share a part share its groups."""
    group: list[bytes] = []
    for key in keys:
        group.append(key)
        if len(group) == 2 * FEW or (len(group) > 1 and key[0] % GROUPS == 0):
            yield group
            group = []
    if group:
        yield group


def _cut(text: str) -> Iterator[str]:
    piece: list[str] = []
    size = 0
    for line in _lines(text):
        if size + len(line) > MOST:
            yield "".join(piece)
            piece, size = [], 0
        piece.append(line)
        size += len(line)
        if size >= LEAST and (line.isspace() or _chosen(line)):
            yield "".join(piece)
            piece, size = [], 0
    if piece:
        yield "".join(piece)


def _chosen(line: str) -> bool:
    return crc32(_bytes(line)) % EVERY == 0


def _lines(text: str) -> Iterator[str]:
    """The lines of text with their ends; one that is too long is cut at every MOST characters."""
    for line in text.splitlines(keepends=True):
        if len(line) <= MOST:
            yield line
        else:
            yield from (line[at : at + MOST] for at in range(0, len(line), MOST))
