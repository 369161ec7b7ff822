"""Two changes of the same files, brought together: path by path, and line by line where both changed a text. Pure.

The rule it keeps: what only one side changed is taken, what both changed alike is taken once, and all else is a
clash, which is told and never decided. Own code, as the library for it is under a licence that ours cannot carry,
and git need not be there: lines are matched by `difflib`, and a stretch between lines that all three versions
have is merged where at most one side changed it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from .workspace import File, Tree

# What is matched line by line: so many lines at most, and pairs of equal lines. More takes seconds, and clashes.
MOST_LINES, MOST_PAIRS = 20_000, 2_000_000
MARKS = (b"<<<<<<< ", b"=======\n", b">>>>>>> ")


@dataclass(frozen=True, slots=True)
class Merged:
    """tree: ours with what theirs changed; of a clash what ours has. taken: the paths that were taken over.

    clashes: by path both texts, with marks around the lines that clash; None where there is no text of both.
    """

    tree: dict[str, File]
    taken: tuple[str, ...]
    clashes: Mapping[str, bytes | None]


def merged(base: Tree, ours: Tree, theirs: Tree, names: tuple[str, str]) -> Merged:
    """What theirs changed since base, brought into ours. names: of both sides, for marks in texts that clash."""
    tree, clashes = dict(ours), dict[str, bytes | None]()
    folders = Counter(above for path in ours for above in _above(path))
    taken: list[str] = []
    for path in _changed(base, theirs):
        mine = ours.get(path)
        found = _one(base.get(path), mine, theirs.get(path), names)
        if isinstance(found, _Clash):
            clashes[path] = found.marked
        elif found != mine:
            if _put(tree, folders, path, found):
                taken.append(path)
            else:
                clashes[path] = None
    return Merged(tree, tuple(taken), clashes)


def _changed(base: Tree, theirs: Tree) -> list[str]:
    """The paths that theirs changed, those first that it has no more: they may stand in the way of others."""
    paths = [path for path in base.keys() | theirs.keys() if base.get(path) != theirs.get(path)]
    return sorted(paths, key=lambda path: (path in theirs, path))


def _put(tree: dict[str, File], folders: Counter[str], path: str, file: File | None) -> bool:
    """Whether file is at path now, or none is: no folder stood there, and no file where its folder is to be.

    folders: how many files of tree are in each, so that a tree of thousands is not searched for each of its files.
    """
    if file is None:
        del tree[path]
        folders.subtract(_above(path))
    elif path in tree:
        tree[path] = file
    elif folders[path] or any(above in tree for above in _above(path)):
        return False
    else:
        tree[path] = file
        folders.update(_above(path))
    return True


def _above(path: str) -> list[str]:
    """The folders that path lies in."""
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


@dataclass(frozen=True, slots=True)
class _Clash:
    marked: bytes | None


def _one(
    was: File | None, mine: File | None, new: File | None, names: tuple[str, str]
) -> File | _Clash | None:
    """One path, which new changed."""
    if mine in (was, new):
        return new
    if mine is None or new is None:
        return _Clash(None)
    before, started = (b"", False) if was is None else was
    starts = mine.starts if new.starts == started else new.starts
    if mine.data == new.data or new.data == before:
        return File(mine.data, starts)
    if mine.data == before and was is not None:
        return File(new.data, starts)
    data, fits = joined(before, mine.data, new.data, names)
    return File(data, starts) if data is not None and fits else _Clash(data)


def joined(
    base: bytes, ours: bytes, theirs: bytes, names: tuple[str, str] = ("ours", "theirs")
) -> tuple[bytes | None, bool]:
    """Both changes of a text, and whether they fit; where not, with marks. None: it is no text, or too long."""
    if any(b"\0" in one for one in (base, ours, theirs)):
        return None, False
    b, o, t = (one.splitlines(keepends=True) for one in (base, ours, theirs))
    if _is_too_long(b, o) or _is_too_long(b, t):
        return None, False
    out: list[bytes] = []
    fits = True
    for old, mine, new in _stretches(b, o, t):
        if mine in (old, new):
            out += new
        elif new == old:
            out += mine
        else:
            fits = False
            out += _marked(mine, new, names)
    return b"".join(out), fits


def _is_too_long(base: Sequence[bytes], other: Sequence[bytes]) -> bool:
    if max(len(base), len(other)) > MOST_LINES:
        return True
    counts = Counter(other)
    return sum(counts[line] for line in base) > MOST_PAIRS


def _marked(mine: Sequence[bytes], new: Sequence[bytes], names: tuple[str, str]) -> Iterator[bytes]:
    yield MARKS[0] + names[0].encode() + b"\n"
    yield from _whole_lines(mine)
    yield MARKS[1]
    yield from _whole_lines(new)
    yield MARKS[2] + names[1].encode() + b"\n"


def _whole_lines(lines: Sequence[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield line if line.endswith((b"\n", b"\r")) else line + b"\n"


def _stretches(
    base: list[bytes], ours: list[bytes], theirs: list[bytes]
) -> Iterator[tuple[list[bytes], list[bytes], list[bytes]]]:
    """The three versions cut at the lines that all have, those lines too."""
    b = o = t = 0
    for at, end, mine, new in _synced(base, ours, theirs):
        yield base[b:at], ours[o:mine], theirs[t:new]
        length = end - at
        yield base[at:end], ours[mine : mine + length], theirs[new : new + length]
        b, o, t = end, mine + length, new + length
    yield base[b:], ours[o:], theirs[t:]


def _synced(
    base: list[bytes], ours: list[bytes], theirs: list[bytes]
) -> Iterator[tuple[int, int, int, int]]:
    """Where all three are the same: from, to in base, and from in both others."""
    mine, new = _blocks(base, ours), _blocks(base, theirs)
    i = j = 0
    while i < len(mine) and j < len(new):
        (a, at_a, long_a), (c, at_c, long_c) = mine[i], new[j]
        begin, end = max(a, c), min(a + long_a, c + long_c)
        if begin < end:
            yield begin, end, at_a + begin - a, at_c + begin - c
        if a + long_a < c + long_c:
            i += 1
        else:
            j += 1


def _blocks(base: list[bytes], other: list[bytes]) -> list[tuple[int, int, int]]:
    found = SequenceMatcher(None, base, other, autojunk=False).get_matching_blocks()
    return [(one.a, one.b, one.size) for one in found if one.size]


def is_marked(data: bytes) -> bool:
    """Whether marks of a clash stand in data."""
    lines = data.splitlines(keepends=True)
    return any(line.startswith(MARKS[0]) for line in lines) and any(
        line.startswith(MARKS[2]) for line in lines
    )
