"""What lies where in the tree of addresses, and a dict that drops a part of it without looking at all others."""

from bisect import bisect_left, insort
from collections.abc import Callable, Collection
from typing import Generic, TypeVar

T = TypeVar("T")

# The character behind the separator of addresses: what lies below `a` sorts from "a/" to before "a0".
_AFTER = chr(ord("/") + 1)
# Entries that are gone are looked for once they are more than those that are there, and more than this.
_FEW = 64


def is_within(address: str, place: str) -> bool:
    """Whether address is place, or lies below it."""
    return address == place or address.startswith(f"{place}/")


class ByPlace(Generic[T]):
    """Keys and values, in the order in which they came. place: the address of an entry, from key and value.

    `drop_below` costs what it drops, times a logarithm of all: a run has a budget around a hundred thousand
    attempts, and each race in it forgets its losers. Until there is a race, nothing is put in order.
    """

    def __init__(self, place: Callable[[str, T], str]) -> None:
        self._place = place
        self._all: dict[str, T] = {}
        # What came since the last drop, and what is in order by place; both may have entries that are gone.
        self._late: list[tuple[str, str]] = []
        self._sorted: list[tuple[str, str]] = []

    def __setitem__(self, key: str, value: T) -> None:
        place = self._place(key, value)
        had = self._all.get(key)
        if had is not None and self._place(key, had) != place:
            del self._all[key]
            had = None
        self._all[key] = value
        if had is None:
            self._late.append((place, key))

    def __contains__(self, key: str) -> bool:
        return key in self._all

    def __len__(self) -> int:
        return len(self._all)

    def pop(self, key: str) -> None:
        """Drop the entry, if there is one."""
        self._all.pop(key, None)
        if len(self._late) > 2 * len(self._all) + _FEW:
            self._late = [*dict.fromkeys(filter(self._is_there, self._late))]

    def clear(self) -> None:
        self._all.clear()
        self._late.clear()
        self._sorted.clear()

    def keys(self) -> Collection[str]:
        return self._all.keys()

    def values(self) -> Collection[T]:
        return self._all.values()

    def drop_below(self, nodes: Collection[str], but: Collection[str] = ()) -> None:
        """Drop the entries whose place is one of nodes or lies below one, except those with the keys `but`."""
        for entry in self._late:
            insort(self._sorted, entry)
        self._late.clear()
        for node in nodes:
            self._drop(node, node + "\0", but)
            self._drop(node + "/", node + _AFTER, but)
        if len(self._sorted) > 2 * len(self._all) + _FEW:
            self._sorted = [*dict.fromkeys(filter(self._is_there, self._sorted))]

    def _is_there(self, entry: tuple[str, str]) -> bool:
        place, key = entry
        value = self._all.get(key)
        return value is not None and self._place(key, value) == place

    def _drop(self, first: str, end: str, but: Collection[str]) -> None:
        """Drop the entries with places from first to before end."""
        start, stop = (bisect_left(self._sorted, (at, "")) for at in (first, end))
        inside = [entry for entry in self._sorted[start:stop] if self._is_there(entry)]
        self._sorted[start:stop] = [entry for entry in inside if entry[1] in but]
        for _, key in inside:
            if key not in but:
                self._all.pop(key, None)
