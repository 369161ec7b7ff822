"""Which of several replicas a call goes to: rendezvous hashing under bounded loads. Pure.

Each prefix has an order of the replicas of its own; it goes to the first that is not much busier than the rest.
So the calls that share one meet in the cache of as few replicas as their number needs, which replicas those are
does not depend on history, and one that goes or comes moves only the prefixes that had it first.
"""

from collections.abc import Sequence
from typing import Protocol, TypeVar
from zlib import crc32

from .call import Call, ModelCall

# A replica is left out while it has over a quarter more, and one call, than its share of what is in flight.
IMBALANCE = 1.25
# The role's prompt and the task: what attempts at one task share, and what the later turns of each begin with.
HEAD = 2


class Spot(Protocol):
    """limit: the calls it bears. mark: as of `mark`."""

    mark: int

    @property
    def inflight(self) -> int: ...

    @property
    def limit(self) -> float: ...


S = TypeVar("S", bound=Spot)


def mark(name: str) -> int:
    """A number for name, never 0 and the same in every process: a resumed run finds its caches again."""
    return crc32(name.encode()) or 1


def prefix_of(call: Call) -> int:
    """A number that calls with the same beginning of their prompts share; 0 where there is none."""
    match call:
        case ModelCall(messages=messages) if messages:
            return mark("\0".join(message.content for message in messages[:HEAD]))
        case _:
            return 0


def _mixed(number: int) -> int:
    """number's bits mixed: the last steps of SplitMix64."""
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & (1 << 64) - 1
    number = (number ^ number >> 27) * 0x94D049BB133111EB & (1 << 64) - 1
    return number ^ number >> 31


def bound(spots: Sequence[Spot]) -> float:
    """How much of its limit each may use, one call apart, so that the load stays even: with one call more
    than are in flight."""
    inflight = sum(spot.inflight for spot in spots) + 1
    return IMBALANCE * inflight / sum(spot.limit for spot in spots)


def choose(spots: Sequence[S], prefix: int, share: float) -> S:
    """One of spots, which all have room: the first in the order of prefix that keeps within share, else, and
    where there is no prefix, the least busy one."""
    even = [spot for spot in spots if spot.inflight + 1 <= share * spot.limit + 1] if prefix else []
    if even:
        return max(even, key=lambda spot: _mixed(prefix << 32 | spot.mark))
    return min(spots, key=lambda spot: spot.inflight / spot.limit)
