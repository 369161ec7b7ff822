"""Which of several replicas a call goes to: where its prefix is warm, while the load stays even. Pure.

A call goes to the least busy of the replicas that have its prefix in their caches and are not much busier than
the rest. Where there is none, it goes by rendezvous hashing under bounded loads: each prefix has an order of the
replicas of its own, and the first of them that is not busier than the rest becomes a home of it. So the calls that
share a prefix meet in as few caches as their number needs, a run that is resumed finds its caches again, and a
replica that goes or comes moves only the prefixes that had it first.
"""

from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Protocol, TypeVar
from zlib import crc32

from .call import Call, ModelCall
from .leading import WARM_S

# For its cache's sake a replica may have a tenth more, and one call, than its share of what is in flight. In
# `tests/bench/bench_placement.py` with 16 replicas 0.27 M tokens are read again and the busiest replica does 1.06
# of the mean; at 1.0 these are 0.44 M and 1.05, at 1.25 0.19 M and 1.23.
IMBALANCE = 1.1
# Without that, it takes a prefix that is new to it only up to its share, half a call apart.
SLACK = 0.5
# The role's prompt and the task: what attempts at one task share, and what the later turns of each begin with.
HEAD = 2
# Prefixes at replicas that are remembered.
KEPT = 50_000


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


@dataclass(slots=True)
class Homes:
    """Which caches have which prefixes, as far as is known. used: when (cache, prefix) was used last, the longest
    unused first."""

    used: OrderedDict[tuple[int, int], float] = field(
        default_factory=OrderedDict[tuple[int, int], float]
    )

    def has(self, cache: int, prefix: int, now: float) -> bool:
        return self.used.get((cache, prefix), -inf) >= now - WARM_S

    def use(self, cache: int, prefix: int, now: float) -> None:
        self.used[cache, prefix] = now
        self.used.move_to_end((cache, prefix))
        if len(self.used) > KEPT:
            self.used.popitem(last=False)


def share_of(spots: Sequence[Spot]) -> float:
    """The part of its limit that each would use, were one call more in flight and the load even."""
    return (sum(spot.inflight for spot in spots) + 1) / sum(spot.limit for spot in spots)


def may_keep(spot: Spot, share: float) -> bool:
    """Whether spot may take one call more for the sake of what is in its cache."""
    return spot.inflight + 1 <= IMBALANCE * share * spot.limit + 1


def choose(spots: Sequence[S], warm: Collection[S], prefix: int, share: float) -> S:
    """One of spots, which all have room; warm: those that have prefix, which is 0 where there is none."""

    def order(spot: S) -> int:
        return _mixed(prefix << 32 | spot.mark) if prefix else 0

    def load(spot: S) -> tuple[float, int]:
        return spot.inflight / spot.limit, -order(spot)

    if kept := [spot for spot in warm if may_keep(spot, share)]:
        return min(kept, key=load)
    if prefix and (
        even := [spot for spot in spots if spot.inflight + 1 <= share * spot.limit + SLACK]
    ):
        return max(even, key=order)
    return min(spots, key=load)
