"""What a run's events so far say, as far as a resumed run needs it: a fold of the list.

A live run adds to the same fold, so both lives agree.
"""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import orjson

from .event import (
    RENT_AHEAD_S,
    AccountOpened,
    CallAnswered,
    CallFailed,
    CallIntended,
    CallWaits,
    Decided,
    Event,
    NodeEnded,
    NodeStarted,
    Ordered,
    Rented,
    RunEnded,
    RunStarted,
    Stamped,
    is_afterword,
)
from .ledger import NOTHING, Amount, Charge
from .retry import LATER

_NO_CHARGE = Charge()


class Answer(NamedTuple):
    """request: its digest; number: of the event that has the reply."""

    request: str
    number: int


@dataclass(slots=True)
class Past:
    """What the events so far say. open: tries intended and neither answered nor failed.

    fresh: what was decided since a call failed for one of the reasons LATER, if no model answered since;
    judged: the addresses of verdicts since a model last answered. A run that failed and can be taken up
    begins there again, as the server may answer now: no paid answer depends on them. A verdict on the
    same content stays known by that.
    rent: the last of it, and when, where more is held; last: when the last event of a life was.
    """

    lives: int = 0
    accounts: dict[str, AccountOpened] = field(default_factory=dict[str, AccountOpened])
    charges: dict[str, Charge] = field(default_factory=dict[str, Charge])
    open: dict[tuple[str, int], CallIntended] = field(
        default_factory=dict[tuple[str, int], CallIntended]
    )
    tries: dict[str, int] = field(default_factory=dict[str, int])
    answers: dict[str, Answer] = field(default_factory=dict[str, Answer])
    verdicts: dict[str, int] = field(default_factory=dict[str, int])
    decisions: dict[tuple[str, str], bytes] = field(default_factory=dict[tuple[str, str], bytes])
    orders: list[Ordered] = field(default_factory=list[Ordered])
    fresh: dict[tuple[str, str], None] = field(default_factory=dict[tuple[str, str], None])
    judged: list[str] = field(default_factory=list[str])
    rent: tuple[Rented, float] | None = None
    last: float = 0.0

    def add(self, stamped: Stamped) -> None:
        match stamped.event:
            case NodeStarted() | NodeEnded() | CallWaits():  # most of them
                pass
            case CallIntended() as event:
                self.open[event.address, event.try_] = event
                self.tries[event.address] = event.try_ + 1
            case CallAnswered() as event:
                self._answered(event, stamped.number)
            case CallFailed() as event:
                self._end(event)
            case Decided() as event:
                self.decisions[event.address, event.name] = orjson.dumps(event.value)
                if self.fresh or _may_answer_later(event):
                    self.fresh[event.address, event.name] = None
            case event:
                self._add_rare(event, stamped.time)
        if not is_afterword(stamped.event):
            self.last = stamped.time

    def _answered(self, event: CallAnswered, number: int) -> None:
        intent = self._end(event)
        self.answers[event.address] = Answer(intent.request, number)
        if intent.kind == "verifier":
            self.verdicts[intent.request] = number
            self.judged.append(event.address)
        elif intent.kind == "model":
            self.fresh.clear()
            self.judged.clear()

    def _add_rare(self, event: Event, time: float) -> None:
        match event:
            case RunStarted():
                self.lives += 1
            case AccountOpened():
                self.accounts.setdefault(event.address, event)
            case RunEnded(outcome="failed", resumable=True):
                for key in self.fresh:
                    del self.decisions[key]
                for address in self.judged:
                    del self.answers[address]
                self.fresh.clear()
                self.judged.clear()
            case Ordered():
                self.orders.append(event)
            case Rented():
                self._charge(event.account, event.spent)
                self.rent = None if event.held == NOTHING else (event, time)
            case _:
                pass

    def lost_rent(self) -> Rented | None:
        """What is charged of the rent of a life that was killed: what is held ahead, or what the time since the
        last settlement cost, if that is more."""
        if self.rent is None:
            return None
        rent, time = self.rent
        parts = max(1.0, (self.last - time) / RENT_AHEAD_S)
        usd = min(rent.held.usd, math.ceil(rent.ahead * parts))
        return Rented(rent.account, Amount(usd=usd), NOTHING, rent.ahead, lost=True)

    def _end(self, event: CallAnswered | CallFailed) -> CallIntended:
        intent = self.open.pop((event.address, event.try_))
        self._charge(event.account, event.spent, event.spent.over(intent.held))
        return intent

    def _charge(self, account: str, spent: Amount, over: Amount = NOTHING) -> None:
        had, overrun = self.charges.get(account, _NO_CHARGE)
        overrun = overrun if over is NOTHING else overrun.plus(over)
        self.charges[account] = Charge(had.plus(spent), overrun)


def _may_answer_later(event: Decided) -> bool:
    return event.name == "no_answer" and event.value[0] == "failed" and event.value[1] in LATER
