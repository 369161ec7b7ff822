"""Which fault meets what, and when: the one place that reads a schedule while a simulation runs. No waiting."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import TypeVar

from .faults import (
    Busy,
    Cancel,
    DiskFull,
    Fault,
    Kill,
    Outage,
    Placed,
    Schedule,
    Slow,
    VerifierError,
)

F = TypeVar("F", bound=Outage | Busy | Slow | DiskFull)


@dataclass(slots=True)
class Weather:
    """A schedule with what is left of it. Times are virtual seconds from the start of the simulation."""

    schedule: Schedule = field(default_factory=Schedule)
    _left: dict[int, int] = field(default_factory=dict[int, int])

    def __post_init__(self) -> None:
        self._left = {i: placed.times for i, placed in enumerate(self.schedule.faults)}

    def strikes(self, address: str, model: str, now: float) -> Fault | None:
        """The fault of single requests that hits this try of a model call; it is then used up."""
        lasting = Outage | Busy | Slow | VerifierError | DiskFull | Kill | Cancel
        return self._take(lambda fault: not isinstance(fault, lasting), address, model, now)

    def judging_fails(self, address: str, now: float) -> bool:
        """Whether the verifier errs on this try."""
        taken = self._take(lambda fault: isinstance(fault, VerifierError), address, "", now)
        return taken is not None

    def down(self, now: float) -> bool:
        return self._reigning(Outage, "", "", now) is not None

    def goes_down(self, start: float, end: float) -> float:
        """When the next outage between start and end begins; infinite if there is none."""
        begins = [p.at_s for p in self.schedule.faults if isinstance(p.fault, Outage)]
        return min((at for at in begins if start < at <= end), default=inf)

    def busy(self, address: str, model: str, now: float) -> Busy | None:
        return self._reigning(Busy, address, model, now)

    def slowness(self, address: str, model: str, now: float) -> float:
        """How many times as long a call that begins now takes."""
        slow = self._reigning(Slow, address, model, now)
        return 1.0 if slow is None else slow.factor

    def _take(
        self, wanted: Callable[[Fault], bool], address: str, model: str, now: float
    ) -> Fault | None:
        for i, placed in enumerate(self.schedule.faults):
            due = self._left[i] > 0 and placed.at_s <= now
            if due and wanted(placed.fault) and placed.meets(address, model):
                self._left[i] -= 1
                return placed.fault
        return None

    def _reigning(self, kind: type[F], address: str, model: str, now: float) -> F | None:
        for placed in self.schedule.faults:
            fault = placed.fault
            if not isinstance(fault, kind) or not placed.at_s <= now < placed.at_s + fault.for_s:
                continue
            if kind in (Outage, DiskFull) or placed.meets(address, model):
                return fault
        return None

    def disk_full(self, now: float) -> bool:
        return self._reigning(DiskFull, "", "", now) is not None

    def strokes(self) -> list[Placed]:
        """Kills and cancellations, in the order of their times."""
        own = [p for p in self.schedule.faults if isinstance(p.fault, Kill | Cancel)]
        return sorted(own, key=lambda placed: placed.at_s)
