"""A budget with a policy around the nodes below it: what is in the air and what there is, should it run out.

Where its time was up in an earlier life, a later one stops at the same place: once the same calls are reached and
the same attempts are there.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass, field

import anyio

from podium.dsl.program import OnExhausted

from .outcome import BUDGETS, Exhausted, Failed, Outcome, Stopped
from .places import ByPlace
from .value import Attempt


@dataclass(frozen=True, slots=True)
class TimeUp:
    """Where a deadline struck: the calls in the air, the attempts there were, what struck (`time`, `by`, or
    `usd` where that was rent), and which attempts had a verdict."""

    open: frozenset[str]
    attempts: frozenset[str]
    dimension: str = "time"
    judged: frozenset[str] = frozenset()


# How long after a deadline a life waits for the next answer of an earlier one: each is read in microseconds.
READING_S = 0.5


def _by_key(address: str, _: Attempt) -> str:
    return address


def _by_value(_: str, asker: str) -> str:
    return asker


@dataclass(slots=True, eq=False)
class Guard:
    """A budget with a policy, around the nodes below it.

    seconds: its time as declared; ends: when that is up; by: when its deadline by the clock comes; paid: until
    when the rent of its models is held, all three on the loop's clock. shown: its name as people know it.
    open: calls in the air, with the address of who asks.
    cut: where time ran out in an earlier life; it is up again once the same calls are reached and the same
    attempts are there, with the verdicts they had. fails: how it ended there, if it failed under
    `on_exhausted = fail` or the run was stopped.
    """

    account: str
    address: str
    policy: OnExhausted
    scope: anyio.CancelScope
    seconds: float | None = None
    cut: TimeUp | None = None
    ends: float = math.inf
    by: float = math.inf
    paid: float = math.inf
    shown: str = ""
    fails: Outcome | None = None
    ended: Outcome | None = None
    refused: Exhausted | None = None
    shrunk: bool = False
    attempts: ByPlace[Attempt] = field(default_factory=lambda: ByPlace[Attempt](_by_key))
    open: ByPlace[str] = field(default_factory=lambda: ByPlace[str](_by_value))
    reached: set[str] = field(default_factory=set[str])

    def why(self) -> Outcome | None:
        if self.ended is None and self.scope.cancel_called:
            return self.time_up
        return self.ended

    @property
    def time_up(self) -> Outcome:
        """How it ends where its time is up. (A deadline by the clock ends a run; it never fails one.)"""
        if self.policy == "fail" and self.dimension in ("time", "usd"):
            what = BUDGETS.get(self.dimension, self.dimension)
            return Failed("budget", f"the {what} budget of {self.shown} is up")
        return Exhausted(self.account, self.dimension)

    @property
    def due(self) -> float:
        return min(self.ends, self.by, self.paid)

    @property
    def dimension(self) -> str:
        """What is up when time is up."""
        if self.cut is not None:
            return self.cut.dimension
        if self.paid < min(self.ends, self.by):
            return "usd"
        return "by" if self.by < self.ends else "time"

    def allow(self, now: float) -> None:
        """Leave time to read what earlier lives were answered: that goes on after the deadline too."""
        self.scope.deadline = max(self.due, now + READING_S)

    def stop(self) -> None:
        """End what is inside, on the user's word; what it has given is kept."""
        self.ended = Stopped("user")
        self.scope.cancel()

    def lengthen(self, seconds: float) -> None:
        """Give a budget that has a time so much more of it."""
        if self.seconds is not None:
            self.seconds += seconds
            self.ends += seconds
            self.scope.deadline = self.due

    def check(self) -> None:
        """Time is up if a replay has come to where it was up before. Others may be there as well, of branches
        that an earlier life began and the one that was cut did not: `only` drops them."""
        if (
            self.cut is not None
            and self.reached >= self.cut.open
            and all(address in self.attempts for address in self.cut.attempts)
            and self.judged >= self.cut.judged
        ):
            self.ended = self.ended or self.fails
            self.scope.cancel()

    @property
    def judged(self) -> frozenset[str]:
        """The attempts that have a verdict."""
        return frozenset(one.address for one in self.attempts.values() if one.verdict is not None)

    def now(self) -> list[list[str]]:
        """Where it is, as a decision: `TimeUp` is read from it."""
        return [
            sorted(self.open.keys()),
            sorted(self.attempts.keys()),
            [self.dimension],
            sorted(self.judged),
        ]

    def keep(self, attempt: Attempt) -> None:
        self.attempts[attempt.address] = attempt
        self.check()

    def drop(self, address: str) -> None:
        self.attempts.pop(address)
        self.check()

    def only(self, node: str, attempts: Collection[str]) -> None:
        """Of the attempts at node and below, keep these alone."""
        self.attempts.drop_below({node}, attempts)

    def forget(self, nodes: Collection[str], *, attempts: bool = True) -> None:
        """Drop the open calls, and the attempts, of these nodes and all below them."""
        self.open.drop_below(nodes)
        if attempts:
            self.attempts.drop_below(nodes)
        self.check()

    def rented(self, paid: float, now: float) -> None:
        """Rent is held until paid. What is on its way back to where it was cut asks no model, and needs none."""
        if self.cut is None and paid != self.paid:
            self.paid = paid
            if self.due > now:
                self.scope.deadline = self.due


@dataclass(slots=True, eq=False)
class Lease:
    """Until when the rent of a run's models is held, on the loop's clock. guards: of the run's own budget."""

    paid: float = math.inf
    guards: list[Guard] = field(default_factory=list[Guard])

    def extend(self, paid: float, now: float) -> None:
        self.paid = paid
        for guard in self.guards:
            guard.rented(paid, now)
