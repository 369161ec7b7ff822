"""What goes wrong in the field, as data: faults by the names that a user writes, and schedules of them.

Each fault says at its head what it stands for. A fault has no time of its own: `Placed` gives it one.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from podium.dsl import tried

from .speakers import is_at

# --- faults of servers ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Outage:
    """No connection for for_s seconds; what is in the air is cut. A server that is restarted at night."""

    for_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Busy:
    """Every request is answered 429 for for_s seconds, with `Retry-After` if that is not None."""

    for_s: float = 10.0
    retry_after_s: float | None = 5.0


@dataclass(frozen=True, slots=True)
class Slow:
    """Replies to what is asked within for_s seconds begin later_s later. Healthy, and not to be sent again."""

    later_s: float = 120.0
    for_s: float = inf


@dataclass(frozen=True, slots=True)
class Broken:
    """One request is answered 500: the server failed, and may not fail again."""


@dataclass(frozen=True, slots=True)
class Cut:
    """One stream ends in the middle, without a finish reason: paid, but no answer."""


@dataclass(frozen=True, slots=True)
class Silent:
    """One stream stays open without a byte, until the idle time-out of idle_s seconds."""

    idle_s: float = 600.0


@dataclass(frozen=True, slots=True)
class Page:
    """One request is answered by a proxy's HTML page."""


@dataclass(frozen=True, slots=True)
class Refused:
    """One request is refused as it stands, with 400: sending it again would not help."""


@dataclass(frozen=True, slots=True)
class Overflow:
    """One prompt is said not to fit the model's window."""


@dataclass(frozen=True, slots=True)
class Quota:
    """The account at the vendor is empty: 429 in its status, but waiting does not help."""


@dataclass(frozen=True, slots=True)
class NoUsage:
    """One reply comes without figures of usage."""


# --- faults of replies ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Truncated:
    """One reply stops at its cap, in the middle of a word."""


@dataclass(frozen=True, slots=True)
class BadJson:
    """One reply cannot be read in the shape that was asked for."""


@dataclass(frozen=True, slots=True)
class Empty:
    """One reply has no text."""


# --- faults of this side --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class VerifierError:
    """The verifier raises where it should give a verdict. Three running pause the run."""


@dataclass(frozen=True, slots=True)
class FullDisk:
    """The store takes nothing for for_s seconds: the run pauses, and is resumed when there is room."""

    for_s: float = 120.0


@dataclass(frozen=True, slots=True)
class Crash:
    """The process is gone, as by SIGKILL, `commits` transactions after its time, or behind so many answered
    calls if `answers` is given; then the run is resumed."""

    commits: int = 0
    answers: int | None = None


@dataclass(frozen=True, slots=True)
class Cancel:
    """The task that embeds the engine is cancelled; then the run is resumed."""


ServerFault = (
    Outage
    | Busy
    | Slow
    | Broken
    | Cut
    | Silent
    | Page
    | Refused
    | Overflow
    | Quota
    | NoUsage
    | Truncated
    | BadJson
    | Empty
)
Fault = ServerFault | VerifierError | FullDisk | Crash | Cancel

# By the name that a `test` block uses.
FAULTS: Mapping[str, type[Fault]] = {
    "outage": Outage,
    "busy": Busy,
    "slow": Slow,
    "broken": Broken,
    "cut": Cut,
    "silent": Silent,
    "page": Page,
    "refused": Refused,
    "overflow": Overflow,
    "quota": Quota,
    "no_usage": NoUsage,
    "truncated": Truncated,
    "bad_json": BadJson,
    "empty": Empty,
    "verifier_error": VerifierError,
    "full_disk": FullDisk,
    "crash": Crash,
    "cancel": Cancel,
}
_NAMES = {made: name for name, made in FAULTS.items()}


def name_of(fault: Fault) -> str:
    """The fault's name in a `test` block."""
    return _NAMES[type(fault)]


# How the names of simulated replicas begin, and no address does.
REPLICA = "simulated:"

# --- schedules ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Placed:
    """fault, from at_s virtual seconds on. A fault of single requests hits the next `times` of them, or, if
    share is given, that share of all of them, by chance.

    where: part of an address (`r1.m2`, `3.squad`, `squad`), a model's name, or a replica's (`simulated:m/2`); ""
    is everywhere. An outage is of one replica or of all; a full disk, a kill and a cancellation are everywhere.
    """

    fault: Fault
    at_s: float = 0.0
    where: str = ""
    times: int = 1
    share: float | None = None

    @property
    def replica(self) -> str:
        """The replica that it is at, if it is at one."""
        return self.where if self.where.startswith(REPLICA) else ""

    def meets(self, address: str, model: str = "", replica: str = "") -> bool:
        if self.replica:
            return self.replica == replica
        return self.where in ("", model) or is_at(address, self.where)


def placed(given: tried.Fault) -> Placed:
    """A fault of a `test` block, as the simulator takes it."""
    args = given.args
    match given.name:
        case "outage":
            return Placed(Outage(args["time"]), args["after"])
        case "busy":
            return Placed(Busy(args["time"], None), args["after"])
        case "slow":
            return Placed(Slow(args["time"]), args["after"])
        case "full_disk":
            return Placed(FullDisk(args["time"]), args["after"])
        case "crash":
            return Placed(Crash(answers=int(args["after"])))
        case name:
            which, fault = args["which"], FAULTS[name]()
            # A number of calls is whole, a share is a fraction.
            return (
                Placed(fault, times=which) if isinstance(which, int) else Placed(fault, share=which)
            )


@dataclass(frozen=True, slots=True)
class Schedule:
    """What goes wrong in one simulation. seed: of everything else that is chance in it."""

    seed: int = 0
    faults: tuple[Placed, ...] = ()


_ALL: tuple[Fault, ...] = (
    *(make() for make in FAULTS.values()),
    Outage(5.0),
    Outage(4000.0),  # longer than the engine waits
    Busy(30.0, None),
)


def schedule(
    seed: int,
    *,
    faults: Sequence[Fault] = _ALL,
    most: int = 4,
    within_s: float = 120.0,
    places: Sequence[str] = (),
) -> Schedule:
    """A schedule drawn from seed: up to `most` of these faults, in the first within_s seconds.

    places: where a fault may be, besides everywhere. Early times are likelier, as runs are short.
    """
    chance = random.Random(f"schedule {seed}")
    drawn = [
        _placed(chance, chance.choice(faults), within_s, places)
        for _ in range(chance.randint(0, most))
    ]
    return Schedule(seed, tuple(sorted(drawn, key=lambda one: one.at_s)))


def _placed(chance: random.Random, fault: Fault, within_s: float, places: Sequence[str]) -> Placed:
    at_s = round(within_s * chance.random() ** 2, 3)
    where = chance.choice(places) if places and chance.random() < 0.5 else ""
    if isinstance(fault, Crash):
        fault = Crash(chance.randint(0, 12))
    return Placed(fault, at_s, where, chance.choice((1, 1, 2, 5)))


def simpler(schedule: Schedule) -> Iterator[Schedule]:
    """Schedules a little simpler than this one, the simplest first: fewer faults, rarer, later.

    To shrink a failure, take the first of these that still fails and go on from there; it ends.
    """
    faults = schedule.faults
    if len(faults) > 1:
        for half in (faults[: len(faults) // 2], faults[len(faults) // 2 :]):
            yield replace(schedule, faults=half)
    for number in range(len(faults)):
        rest = faults[:number] + faults[number + 1 :]
        yield replace(schedule, faults=rest)
    for number, one in enumerate(faults):
        for easier in _simpler(one):
            yield replace(schedule, faults=(*faults[:number], easier, *faults[number + 1 :]))


# Later than this a fault meets no run any more, and shrinking stops.
LATEST_S = 3600.0


def _simpler(one: Placed) -> Iterator[Placed]:
    if one.times > 1:
        yield replace(one, times=1)
    if one.share is not None:
        yield replace(one, share=None)
    if one.where:
        yield replace(one, where="")
    if one.at_s * 2 + 1 < LATEST_S:
        yield replace(one, at_s=float(round(one.at_s * 2 + 1)))
