"""Orders to a run from outside it: pause, stop, topup, drain. They come through the store, or from this process.

The rule this file keeps: an order has its effect and its event at once, and each is taken once, in whichever
life of the run finds it. A pause or a stop that nobody took in the life it was meant for is void.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from podium.dsl.program import Budget

from .event import Ordered
from .journal import Journal
from .ledger import Amount, Ledger
from .outcome import STOP

TOPUP = "topup"
DRAIN, UNDRAIN = "drain", "undrain"


def topup(more: Budget) -> Ordered:
    """The order that adds more to a run's budget, in the dimensions that the budget has."""
    return Ordered(
        TOPUP,
        usd=more.usd or 0,
        tokens=more.tokens or 0,
        calls=more.calls or 0,
        seconds=more.seconds or 0.0,
    )


def topped(budget: Budget, order: Ordered) -> Budget:
    """budget after order; what has no bound stays without one."""

    def plus(have: int | None, more: int) -> int | None:
        return None if have is None else have + more

    return replace(
        budget,
        usd=plus(budget.usd, order.usd),
        tokens=plus(budget.tokens, order.tokens),
        calls=plus(budget.calls, order.calls),
        seconds=None if budget.seconds is None else budget.seconds + order.seconds,
    )


def drained(orders: Iterable[Ordered]) -> list[str]:
    """The replicas that are drained after orders."""
    names: dict[str, None] = {}
    for order in orders:
        if order.verb == DRAIN:
            names[order.replica] = None
        elif order.verb == UNDRAIN:
            names.pop(order.replica, None)
    return list(names)


def unbounded(budget: Budget, more: Budget) -> tuple[str, ...]:
    """The dimensions that more adds to and budget has no bound in: there a topup changes nothing."""
    names = ("usd", "tokens", "calls", "seconds")
    return tuple(n for n in names if getattr(more, n) and getattr(budget, n) is None)


@dataclass(frozen=True, slots=True)
class Reins:
    """What orders act on in a live run. interrupt: no new call, with a cause; poke: money may be there for
    calls that wait; longer, pausing: as in World; drain: let a replica run empty, or, with False, have it back."""

    journal: Journal
    ledger: Ledger
    account: str
    interrupt: Callable[[str], None]
    poke: Callable[[], None]
    longer: list[Callable[[float], None]]
    pausing: Mapping[str, Callable[[float], None]]
    drain: Callable[[str, bool], None]

    def obey(self, order: Ordered) -> None:
        """Take order, unless this run took it before."""
        if order.number and order.number <= last_taken(self.journal):
            return
        self.journal.emit(order)
        match order.verb:
            case "pause":
                self.interrupt("user")
            case "stop":
                self.interrupt(STOP)
            case "drain" | "undrain" as verb:
                self.drain(order.replica, verb == DRAIN)
            case _:
                self._top_up(order)

    def _top_up(self, order: Ordered) -> None:
        for account in (self.account, *self.pausing):
            self.ledger.top_up(account, Amount(order.usd, order.tokens, order.calls))
        for lengthen in (*self.longer, *self.pausing.values()):
            lengthen(order.seconds)
        self.poke()


def last_taken(journal: Journal) -> int:
    """The number of the last order from the store that the run took; 0 for none."""
    return max((order.number for order in journal.orders), default=0)
