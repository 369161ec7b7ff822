"""Long texts kept in pieces: a text that was kept before and has grown, or lost its beginning, costs what is new.

A text is cut after empty lines, which stand between messages on a board, so that a message is not cut anew with
the next one, and after lines that its own words choose. So two texts that share a part share its pieces, wherever
it stands. The list of the pieces' names is a text of short lines, kept in pieces in its turn, until it is short.
Rows of (name, text) go out; they come back in by a function that reads one.
"""

import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator
from zlib import crc32

# In characters. A cut comes after one line in EVERY: a growing discussion took 1.6 times its text so; with lines
# and pieces half or twice as many, 1.7 and more [measured]. Not before LEAST: names of 23 are then always fewer.
SHORT, MOST, LEAST = 1000, 900, 128
EVERY = 8
# Begins a row that lists names; no text of a message begins so without being kept in pieces itself.
_MARK = "\x1fpieces "
# Names remembered at most; a row that is forgotten is written again, which changes nothing.
REMEMBERED = 50_000


class Shelf:
    """Which rows one life of a run has written, as far as it remembers."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def missing(self, texts: Iterable[tuple[str, str]]) -> dict[str, str]:
        """The rows of these texts, by name, that are not known to be written."""
        new: dict[str, str] = {}
        for name, text in texts:
            if name not in self._names:
                new.update((key, row) for key, row in kept(name, text) if key not in self._names)
        return new

    def wrote(self, names: Iterable[str]) -> None:
        """These rows are on disk."""
        if len(self._names) > REMEMBERED:
            self._names.clear()
        self._names.update(names)


def kept(name: str, text: str) -> list[tuple[str, str]]:
    """The rows that keep text under name; those that are there already need not be written again."""
    rows: dict[str, str] = {}
    depth = 0
    while len(text) > SHORT or (depth == 0 and text.startswith(_MARK)):
        pieces = [(_named(piece), piece) for piece in _cut(text)]
        rows.update(pieces)
        text = "".join(f"{key}\n" for key, _ in pieces)
        depth += 1
    return [*rows.items(), (name, f"{_MARK}{depth}\n{text}" if depth else text)]


def whole(row: str, read: Callable[[str], str]) -> str:
    """The text that row stands for. read: of a row by its name."""
    if not row.startswith(_MARK):
        return row
    depth, _, text = row.removeprefix(_MARK).partition("\n")
    for _ in range(int(depth)):
        text = "".join(map(read, text.split("\n")[:-1]))
    return text


def _named(piece: str) -> str:
    digest = hashlib.sha256(piece.encode("utf-8", "surrogatepass")).digest()
    return urlsafe_b64encode(digest[:16]).rstrip(b"=").decode()


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
    return crc32(line.encode("utf-8", "surrogatepass")) % EVERY == 0


def _lines(text: str) -> Iterator[str]:
    """The lines of text with their ends; one that is too long is cut at every MOST characters."""
    for line in text.splitlines(keepends=True):
        if len(line) <= MOST:
            yield line
        else:
            yield from (line[at : at + MOST] for at in range(0, len(line), MOST))
