"""A dict that drops the entries of a part of the tree of addresses without looking at all others."""

from bisect import bisect_left, insort
from collections.abc import Callable, Collection
from typing import Generic, TypeVar

T = TypeVar("T")

# The character behind the separator of addresses: what lies below `a` sorts from "a/" to before "a0".
_AFTER = chr(ord("/") + 1)


class ByPlace(Generic[T]):
    """Keys and values, in the order in which they came. place: the address of an entry, from key and value.

    `drop_below` costs what it drops, times a logarithm of all: a run has a budget around a hundred thousand
    attempts, and each race in it forgets its losers.
    """

    def __init__(self, place: Callable[[str, T], str]) -> None:
        self._place = place
        self._all: dict[str, T] = {}
        self._sorted: list[tuple[str, str]] = []

    def __setitem__(self, key: str, value: T) -> None:
        place = self._place(key, value)
        had = key in self._all
        if had and self._place(key, self._all[key]) != place:
            self.pop(key)
            had = False
        self._all[key] = value
        if not had:
            insort(self._sorted, (place, key))

    def __contains__(self, key: str) -> bool:
        return key in self._all

    def __len__(self) -> int:
        return len(self._all)

    def pop(self, key: str) -> None:
        """Drop the entry, if there is one."""
        if key in self._all:
            entry = (self._place(key, self._all.pop(key)), key)
            del self._sorted[bisect_left(self._sorted, entry)]

    def clear(self) -> None:
        self._all.clear()
        self._sorted.clear()

    def keys(self) -> Collection[str]:
        return self._all.keys()

    def values(self) -> Collection[T]:
        return self._all.values()

    def drop_below(self, nodes: Collection[str], but: Collection[str] = ()) -> None:
        """Drop the entries whose place is one of nodes or lies below one, except those with the keys `but`."""
        for node in nodes:
            self._drop(node, node + "\0", but)
            self._drop(node + "/", node + _AFTER, but)

    def _drop(self, first: str, end: str, but: Collection[str]) -> None:
        """Drop the entries with places from first to before end."""
        start, stop = (bisect_left(self._sorted, (at, "")) for at in (first, end))
        inside = self._sorted[start:stop]
        self._sorted[start:stop] = [entry for entry in inside if entry[1] in but]
        for _, key in inside:
            if key not in but:
                del self._all[key]
