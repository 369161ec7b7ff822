"""Which fault meets what, and when: the one place that reads a schedule while a simulation runs. No waiting."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from random import Random
from typing import TypeVar

from .faults import (
    Busy,
    Cancel,
    Crash,
    Fault,
    FullDisk,
    Outage,
    Placed,
    Schedule,
    Slow,
    VerifierError,
)

F = TypeVar("F", bound=Outage | Busy | Slow | FullDisk)


@dataclass(slots=True)
class Weather:
    """A schedule with what is left of it. Times are virtual seconds from the start of the simulation."""

    schedule: Schedule = field(default_factory=Schedule)
    _left: dict[int, int] = field(default_factory=dict[int, int])
    _tries: dict[tuple[int, str], int] = field(default_factory=dict[tuple[int, str], int])

    def __post_init__(self) -> None:
        self._left = {i: placed.times for i, placed in enumerate(self.schedule.faults)}

    def strikes(self, address: str, model: str, now: float, replica: str = "") -> Fault | None:
        """The fault of single requests that hits this try of a model call; it is then used up."""
        lasting = Outage | Busy | Slow | VerifierError | FullDisk | Crash | Cancel
        return self._take(
            lambda fault: not isinstance(fault, lasting), address, model, now, replica
        )

    def judging_fails(self, address: str, now: float) -> bool:
        """Whether the verifier errs on this try."""
        taken = self._take(lambda fault: isinstance(fault, VerifierError), address, "", now)
        return taken is not None

    def down(self, now: float, replica: str = "") -> bool:
        return self._reigning(Outage, "", "", now, replica) is not None

    def goes_down(self, start: float, end: float, replica: str = "") -> float:
        """When the next outage between start and end begins; infinite if there is none."""
        outages = [p for p in self.schedule.faults if isinstance(p.fault, Outage)]
        begins = [p.at_s for p in outages if p.replica in ("", replica)]
        return min((at for at in begins if start < at <= end), default=inf)

    @property
    def parts(self) -> bool:
        """Whether a single replica may be down while others are not."""
        return any(isinstance(p.fault, Outage) and p.replica for p in self.schedule.faults)

    def busy(self, address: str, model: str, now: float, replica: str = "") -> Busy | None:
        return self._reigning(Busy, address, model, now, replica)

    def delay(self, address: str, model: str, now: float, replica: str = "") -> float:
        """How much later the reply to a call that begins now begins."""
        slow = self._reigning(Slow, address, model, now, replica)
        return 0.0 if slow is None else slow.later_s

    def _take(
        self,
        wanted: Callable[[Fault], bool],
        address: str,
        model: str,
        now: float,
        replica: str = "",
    ) -> Fault | None:
        for i, placed in enumerate(self.schedule.faults):
            due = placed.at_s <= now and wanted(placed.fault)
            if due and placed.meets(address, model, replica) and self._hits(i, placed, address):
                return placed.fault
        return None

    def _hits(self, i: int, placed: Placed, address: str) -> bool:
        """Whether fault i hits this try, one of its own; a share is drawn anew for each."""
        if placed.share is not None:
            tries = self._tries[i, address] = self._tries.get((i, address), 0) + 1
            return Random(f"{self.schedule.seed} {i} {address} {tries}").random() < placed.share
        self._left[i] -= 1
        return self._left[i] >= 0

    def _reigning(
        self, kind: type[F], address: str, model: str, now: float, replica: str = ""
    ) -> F | None:
        for placed in self.schedule.faults:
            fault = placed.fault
            if not isinstance(fault, kind) or not placed.at_s <= now < placed.at_s + fault.for_s:
                continue
            everywhere = kind is FullDisk or (kind is Outage and not placed.replica)
            if everywhere or placed.meets(address, model, replica):
                return fault
        return None

    def disk_is_full(self, now: float) -> bool:
        return self._reigning(FullDisk, "", "", now) is not None

    def life_ends(self) -> list[Placed]:
        """Crashes and cancellations at a time, in its order."""
        own = [p for p in self.schedule.faults if isinstance(p.fault, Crash | Cancel)]
        own = [p for p in own if not (isinstance(p.fault, Crash) and p.fault.answers is not None)]
        return sorted(own, key=lambda placed: placed.at_s)

    def crashes(self) -> set[int]:
        """Behind how many answered calls the process dies."""
        faults = [p.fault for p in self.schedule.faults]
        return {f.answers for f in faults if isinstance(f, Crash) and f.answers is not None}
