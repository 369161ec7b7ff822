"""What the branches of a pooled budget may still have to ask before they have an answer.

The rule this file keeps: a branch begins only while the pool covers the answers of all that run and its own, each
at the worst case of its calls; a round that an answer does not need begins only while it covers those of all that
run, and the round. So money ends with answers, and not with branches that are all half done.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Self

import anyio

from podium.dsl.program import (
    Agent,
    Fallback,
    Flow,
    ForEach,
    Lift,
    Limited,
    Parallel,
    Reduce,
    Repeat,
    Route,
    Same,
    Team,
    Then,
    subflows,
)

from .ledger import NOTHING, Amount, Ledger
from .outcome import Outcome


@dataclass(frozen=True, slots=True)
class Need:
    """each: the worst case of a call. least: how many an answer takes. more: whether others may follow them."""

    each: Amount = NOTHING
    least: int = 1
    more: bool = False

    @property
    def amount(self) -> Amount:
        return _times(self.each, self.least)


NO_NEED = Need(least=0)


@dataclass(slots=True, eq=False)
class Pool:
    """What the branches of a group share: an account, and sums over those that run.

    unmet: how many calls their answers still take, owed: at what price. last: one reply each of those that asked
    for all of their answer, where others may follow. promised: what rounds under way that no answer needs may
    still take. busy, in_air: calls in the air, with those of verifiers and without. Sums, as thousands may run.
    """

    account: str = ""
    unmet: int = 0
    owed: Amount = NOTHING
    last: Amount = NOTHING
    promised: Amount = NOTHING
    busy: int = 0
    in_air: int = 0
    dearest: Amount = NOTHING
    _quiet: anyio.Event | None = None

    def owe(self, each: Amount, calls: int) -> None:
        """So many calls more, or fewer."""
        self.unmet += calls
        self.owed = self.owed.plus(_times(each, calls))
        self.dearest = Amount(*map(max, self.dearest, each))

    def tell(self) -> None:
        if self._quiet is not None and not (self.busy and self.unmet):
            self._quiet.set()
            self._quiet = None

    async def quiet(self) -> None:
        """Wait until nothing is in the air, or no answer is owed."""
        if self._quiet is None:
            self._quiet = anyio.Event()
        await self._quiet.wait()


@dataclass(slots=True, eq=False)
class Pledge:
    """A branch that runs: what it needs, how much of that it has asked, how much of it is in the air.

    tell: called when a call has ended. rounds: those under way that its answer does not need. It stands among what
    may cancel the nodes below it, and cancels none.
    """

    need: Need
    tell: Callable[[], None]
    pool: Pool = field(default_factory=Pool)
    asked: int = 0
    in_air: int = 0

    def __post_init__(self) -> None:
        self.pool.owe(self.need.each, self.need.least)
        self._met(before=1)

    def why(self) -> Outcome | None:
        return None

    @property
    def unmet(self) -> int:
        """How many calls its answer still takes."""
        return max(0, self.need.least - self.asked)

    def ask(self, later: "Later | None", *, counts: bool) -> None:
        """A call goes out: of that later round, else one of those that the answer takes. counts: of a model."""
        pool = self.pool
        pool.busy += 1
        pool.in_air += counts
        self.in_air += counts
        if counts and later is None:
            self._asks(int(self.unmet > 0))
            pool.tell()

    def answered(self, *, counts: bool) -> None:
        pool = self.pool
        pool.busy -= 1
        pool.in_air -= counts
        self.in_air -= counts
        pool.tell()
        self.tell()

    def forgo(self, calls: int) -> None:
        """So many of the calls that the answer takes at most will not be made."""
        self._asks(min(calls, self.unmet))
        self.pool.tell()

    def end(self) -> None:
        """The branch runs no more."""
        self.forgo(self.unmet)
        if self.need.more:
            self.pool.last = self.pool.last.minus(self.need.each)

    def _asks(self, calls: int) -> None:
        """So many of the calls that the answer takes go out, or never will."""
        before = self.unmet
        self.pool.owe(self.need.each, -calls)
        self.asked += calls
        self._met(before)

    def _met(self, before: int) -> None:
        if self.need.more and before and not self.unmet:
            self.pool.last = self.pool.last.plus(self.need.each)


@dataclass(slots=True, eq=False)
class First:
    """The round of a team that gives its first answer. left: how many calls it may still make."""

    pledges: Sequence[Pledge]
    left: int

    def why(self) -> Outcome | None:
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for pledge in self.pledges:
            pledge.forgo(self.left)  # a CEO may have asked for fewer members


@dataclass(slots=True, eq=False)
class Later:
    """A round that the answers of these branches do not need. left: how many calls it may still make."""

    pledges: Sequence[Pledge]
    left: int

    def why(self) -> Outcome | None:
        return None

    def __enter__(self) -> Self:
        for pledge in self.pledges:
            pledge.pool.promised = pledge.pool.promised.plus(_times(pledge.need.each, self.left))
        return self

    def __exit__(self, *_: object) -> None:
        self.ask(self.left)
        for pledge in self.pledges:
            pledge.tell()

    def ask(self, calls: int = 1) -> None:
        """So many of its calls have been asked, or will never be."""
        calls = min(calls, self.left)
        self.left -= calls
        for pledge in self.pledges:
            pledge.pool.promised = pledge.pool.promised.minus(_times(pledge.need.each, calls))


@dataclass(slots=True, eq=False)
class Asking:
    """Around a call below these branches, in that round. counts: it is one of a model.

    No generator: of ten thousand calls in flight each has one.
    """

    pledges: tuple[Pledge, ...]
    part: Later | First | None = None
    counts: bool = True

    def __enter__(self) -> None:
        later = self.part if isinstance(self.part, Later) else None
        if self.counts and later is not None:
            later.ask()
        if self.counts and isinstance(self.part, First):
            self.part.left = max(0, self.part.left - 1)
        for pledge in self.pledges:
            pledge.ask(later, counts=self.counts)

    def __exit__(self, *_: object) -> None:
        for pledge in self.pledges:
            pledge.answered(counts=self.counts)


def short_of(ledger: Ledger, pledge: Pledge, calls: int) -> tuple[str, str] | None:
    """The account and the dimension in which a round of so many calls might take what an answer beside it, or its
    own branch's, still needs; None where it cannot, or where all answers have been asked for."""
    pool = pledge.pool
    if not pool.unmet:
        return None
    waiting = max(0, pool.in_air - ledger.accounts[pool.account].held.calls)
    total = pool.owed.plus(pool.promised).plus(_times(pool.dearest, waiting))
    total = total.plus(_times(pledge.need.each, calls))
    for i, (name, want) in enumerate(zip(Amount._fields, total, strict=True)):
        for account in ledger.accounts[pool.account].upwards():
            limit = account.limit[i]
            if limit is not None and limit - account.spent[i] - account.held[i] < want:
                return account.name, name
    return None


def covers(ledger: Ledger, pool: Pool, need: Need) -> bool:
    """Whether the pool's account could pay, at worst, what those that run still need, and need too.

    A call that was given to the door and holds nothing yet counts as one still to be asked.
    """
    if not ledger.is_bounded(pool.account):
        return True
    waiting = max(0, pool.in_air - ledger.accounts[pool.account].held.calls)
    dearest = Amount(*map(max, pool.dearest, need.each))
    total = need.amount.plus(pool.owed).plus(pool.last).plus(pool.promised)
    total = total.plus(_times(dearest, waiting))
    left = ledger.left(pool.account)
    return all(room is None or room >= want for room, want in zip(left, total, strict=True))


def _times(amount: Amount, count: int) -> Amount:
    return Amount(*(count * one for one in amount))


# --- what an answer takes ------------------------------------------------------------------------


def least_calls(flow: Flow, *, wide: bool = False) -> int:
    """How many calls flow makes before it has an answer, if every reply can be used.

    Of a team that is its first round; of a repeat nothing, since it gives what it was given. wide: of a parallel
    count all branches, which begin at once, and not only those that it must have.
    """
    match flow:
        case Agent():
            return 1
        case Team():
            return calls_of_first(flow) + (flow.recruit is not None)
        case Parallel(branches=branches):
            if wide:
                return sum(b.count * least_calls(b.flow, wide=True) for b in branches)
            each = sorted(
                least_calls(b.flow) for b in branches for _ in range(min(b.count, flow.need))
            )
            return sum(each[: flow.need])
        case Then(steps=steps):
            return sum(least_calls(step, wide=wide) for step in steps)
        case Fallback(options=options):
            return least_calls(options[0], wide=wide)
        case Route(cases=cases):
            return 1 + min(least_calls(case, wide=wide) for _, case in cases)
        case ForEach(flow=inner):
            return 1 + least_calls(inner, wide=wide)
        case Lift(flow=inner) | Limited(flow=inner):
            return least_calls(inner, wide=wide)
        case Repeat() | Same() | Reduce():
            return 0


def calls_of_first(team: Team) -> int:
    """The calls of its first round: its CEO, all its seats, and the answer where that is a call of its own; as
    `team.machine.phases` has it."""
    if team.compat:
        return 2
    answer = team.size > 1 and team.order not in ("relay", "solver_last")
    return team.size + answer + (team.ceo is not None)


def calls_of_round(team: Team) -> int:
    """How many calls a round of team after its first one makes, at most."""
    adaptive = team.ceo is not None and team.ceo.mode == "adaptive"
    return team.size + (team.size > 1) + adaptive


def may_ask_more(flow: Flow) -> bool:
    """Whether flow may go on to ask once it has an answer."""
    match flow:
        case Agent(role=role):
            return bool(role.tools) and role.turns > 1
        case Team(rounds=rounds, cycles=cycles, evaluate=evaluate):
            return rounds * cycles > 1 or evaluate is not None
        case Then() | Limited():
            return any(map(may_ask_more, subflows(flow)))
        case Same() | Reduce():
            return False
        case _:
            return True
