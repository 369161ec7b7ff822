"""What the branches of a pooled budget may still have to ask before they have an answer.

The rule this file keeps: a branch begins only while the pool covers the answers of all that run and its own, each
at the worst case of its calls. So money ends with answers, and not with branches that are all half done.
"""

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass

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
class Pledge:
    """A branch that runs: what it needs, how much of that it has asked, how much of it is in the air.

    tell: called when a call has ended. It stands among what may cancel the nodes below it, and cancels none.
    """

    need: Need
    tell: Callable[[], None]
    asked: int = 0
    in_air: int = 0

    def why(self) -> Outcome | None:
        return None

    @property
    def left(self) -> Amount:
        """The rest of its answer; where that was asked and others may follow, one last reply."""
        return _times(self.need.each, max(self.need.least - self.asked, int(self.need.more)))


@contextmanager
def asking(pledges: Iterable[Pledge]) -> Generator[None, None, None]:
    """Around a call below these branches."""
    told = tuple(pledges)
    for pledge in told:
        pledge.asked += 1
        pledge.in_air += 1
    try:
        yield
    finally:
        for pledge in told:
            pledge.in_air -= 1
            pledge.tell()


def covers(ledger: Ledger, account: str, running: Iterable[Pledge], need: Need) -> bool:
    """Whether account could pay, at worst, what those that run still need, and need too.

    A call that was given to the door and holds nothing yet counts as one still to be asked.
    """
    left = ledger.left(account)
    if all(room is None for room in left):
        return True
    total, in_air, dearest = need.amount, 0, need.each
    for pledge in running:
        total = total.plus(pledge.left)
        in_air += pledge.in_air
        dearest = Amount(*map(max, dearest, pledge.need.each))
    waiting = max(0, in_air - ledger.accounts[account].held.calls)
    total = total.plus(_times(dearest, waiting))
    return all(room is None or room >= want for room, want in zip(left, total, strict=True))


def _times(amount: Amount, count: int) -> Amount:
    return Amount(*(count * one for one in amount))


# --- what an answer takes ------------------------------------------------------------------------


def least_calls(flow: Flow) -> int:
    """How many calls flow makes before it has an answer, if every reply can be used.

    Of a team that is its first round; of a repeat nothing, since it gives what it was given.
    """
    match flow:
        case Agent():
            return 1
        case Team():
            return _first_round(flow)
        case Parallel(branches=branches):
            each = sorted(
                least_calls(b.flow) for b in branches for _ in range(min(b.count, flow.need))
            )
            return sum(each[: flow.need])
        case Then(steps=steps):
            return sum(map(least_calls, steps))
        case Fallback(options=options):
            return least_calls(options[0])
        case Route(cases=cases):
            return 1 + min(least_calls(case) for _, case in cases)
        case ForEach(flow=inner):
            return 1 + least_calls(inner)
        case Lift(flow=inner) | Limited(flow=inner):
            return least_calls(inner)
        case Repeat() | Same() | Reduce():
            return 0


def _first_round(team: Team) -> int:
    """All its seats, and the answer where that is a call of its own; as `team.machine.phases` has it."""
    answer = team.size > 1 and team.order not in ("relay", "solver_last")
    return team.size + answer + (team.ceo is not None) + (team.recruit is not None)


def may_ask_more(flow: Flow) -> bool:
    """Whether flow may go on to ask once it has an answer."""
    match flow:
        case Agent():
            return False
        case Team(rounds=rounds):
            return rounds > 1
        case Then() | Limited():
            return any(map(may_ask_more, subflows(flow)))
        case Same() | Reduce():
            return False
        case _:
            return True
