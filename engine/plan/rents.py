"""What the rent of a program's models may come to. Pure."""

import math
from typing import NamedTuple

from podium.dsl.program import Program

from ..rent import rate
from .amounts import Amounts, Range
from .caps import Caps


class Rents(NamedTuple):
    """per_s: micro-dollars per second, of all models. seconds: for how long at most, by the run's time and by its
    dollars; None is no bound, and then what the rent comes to is not known either. timed: by its time alone."""

    per_s: float
    seconds: float | None
    timed: float | None

    @property
    def most(self) -> int | None:
        return None if self.seconds is None else math.ceil(self.per_s * self.seconds)

    @property
    def amounts(self) -> Amounts:
        """For all the time there is: nobody knows how long the servers will take."""
        return _amounts(self.most)

    @property
    def wanted(self) -> Amounts:
        """The same, were there no limit in dollars."""
        return _amounts(None if self.timed is None else math.ceil(self.per_s * self.timed))


def _amounts(most: int | None) -> Amounts:
    return Amounts(usd=None if most is None else Range(0, most, most))


def rents_of(program: Program, caps: Caps) -> Rents | None:
    """The rent of the run under caps, its own budget's; None without one."""
    per_s = rate(program.models)
    if not per_s:
        return None
    by_money = None if caps.usd is None else caps.usd / per_s
    bounds = [bound for bound in (caps.seconds, by_money) if bound is not None]
    return Rents(per_s, min(bounds, default=None), caps.seconds)
