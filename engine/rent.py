"""The rent of models, by the time that a run is live: held ahead on the run's account, settled as time goes by.

The rule this file keeps: no model is asked in a moment whose rent is not held, so `spent + held <= limit` holds at
every event. Where the run has a time, the rent of all that is left of it is held, if the budget has room for that;
then only the time ends the run. Otherwise a little is held ahead, again and again, and the run's time is up once
the money that calls leave has reached the rent.

Paused and dead time costs nothing, nor does what is judged after the run's time is up: no model is asked then.
"""

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import anyio

from podium.dsl.model import Model

from .event import RENT_AHEAD_S, Rented
from .guard import Lease
from .journal import Journal
from .ledger import NOTHING, Amount, Hold, Ledger
from .store import DiskError

# How often the rent is settled: half of what is held ahead, so that the next is held before this is used.
EVERY_S = RENT_AHEAD_S / 2
# How soon again at the least, where money runs out.
_SOONEST_S = 0.1


def rate(models: Mapping[str, Model]) -> float:
    """What the rent of all of models costs, in micro-dollars per second: each pays for each of its endpoints."""
    return sum(
        len(model.endpoints) * model.rent.usd / model.rent.seconds
        for model in models.values()
        if model.rent is not None
    )


@dataclass(slots=True, eq=False)
class Rental:
    """The rent of one life of a run. per_s: as `rate`. ends: when the run's time is up, on the loop's clock.

    lease: told until when the rent is held. poke: money may be there for calls that wait.
    lived: seconds paid for in this life; charged: micro-dollars for them.
    """

    journal: Journal
    ledger: Ledger
    hold: Hold
    per_s: float
    lease: Lease
    ends: float
    poke: Callable[[], None]
    since: float
    lived: float = 0.0
    charged: int = 0
    over: bool = False

    def begin(self) -> None:
        """Hold the rent before anything is sent."""
        self._extend()
        self._tell(NOTHING)

    def lengthen(self, seconds: float) -> None:
        """The run has so many more seconds, or more money."""
        self.ends += seconds
        self.settle()

    def settle(self) -> None:
        """Charge the time since the last time, and hold what comes."""
        if self.over:
            return
        before = self.hold.amount
        charge = self._charge()
        self._extend()
        if charge.usd or self.hold.amount != before:
            self._tell(charge)

    def close(self) -> None:
        """Charge the rest, and hold nothing more."""
        if self.over:
            return
        charge = self._charge()
        self.over = True
        self.ledger.release(self.hold)
        self._tell(charge)
        self.poke()

    async def pay(self, scope: anyio.CancelScope) -> None:
        """Settle again and again, until scope is cancelled or the disk takes no more."""
        with scope, suppress(DiskError):
            while not self.over:
                await anyio.sleep(self._wait())
                self.settle()
                await self.journal.written()

    def _wait(self) -> float:
        left = self.lease.paid - anyio.current_time()
        return EVERY_S if left <= 0 else max(_SOONEST_S, min(EVERY_S, left / 2))

    def _charge(self) -> Amount:
        """What the time since the last time costs, up to when the rent is held and the run's time lasts."""
        now = anyio.current_time()
        self.lived += max(0.0, min(now, self.ends, self.lease.paid) - self.since)
        self.since = now
        due = min(math.ceil(self.per_s * self.lived) - self.charged, self.hold.amount.usd)
        charge = Amount(usd=max(0, due))
        self.charged += charge.usd
        self.ledger.draw(self.hold, charge)
        return charge

    def _extend(self) -> None:
        """Hold the rent of all the time there is, else of a little of it, else what money there is."""
        now = anyio.current_time()
        left = max(0.0, self.ends - now)
        if left == 0:
            self.ledger.extend(self.hold, Amount(usd=-self.hold.amount.usd))
            self.poke()
            return
        if left < math.inf and self._holds(left):
            self.lease.extend(math.inf, now)
            return
        if not self._holds(min(left, RENT_AHEAD_S)):
            room = self.ledger.left(self.hold.account.name).usd
            self.ledger.extend(self.hold, Amount(usd=room or 0))
        self.lease.extend(self.since + self.hold.amount.usd / self.per_s, now)

    def _holds(self, seconds: float) -> bool:
        """Whether the rent of so many seconds is held now."""
        lacks = math.ceil(self.per_s * seconds) - self.hold.amount.usd
        return lacks <= 0 or self.ledger.extend(self.hold, Amount(usd=lacks))

    def _tell(self, charge: Amount) -> None:
        held = NOTHING if self.over else self.hold.amount
        ahead = math.ceil(self.per_s * RENT_AHEAD_S)
        self.journal.emit(Rented(self.hold.account.name, charge, held, ahead))
