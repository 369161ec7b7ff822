"""`podium test` case by case: a test or a run of a file, the faults of its nth case, what that case breaks.

Case n of seed s is case 1 of seed s + (n - 1) * STRIDE with other faults. Case 1 of a test has its `given` as it
is written, case 1 of a run has no faults; later ones draw when a fault begins, and of a run also which.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from podium.dsl.compile import Choice, compile_run, compile_tests
from podium.dsl.faults import FAULTS
from podium.dsl.library import Library
from podium.dsl.parse import parse
from podium.dsl.problem import Problem
from podium.dsl.program import Program
from podium.dsl.source import Source
from podium.dsl.tried import Fault, TestCase
from podium.dsl.types import TIME

from ..functions import Bindings
from ..outcome import Failed, Paused
from .agents import Agents, power_law
from .expectations import broken
from .faults import Schedule, placed
from .handmade import HERE
from .invariants import Violation
from .replies import Replies
from .simulate import Simulation, simulate

# Far apart, so that the cases of seeds 0, 1, 2 … have none in common.
STRIDE = 1_000_003
_WITHIN_S = 90.0  # when a drawn fault begins, at the latest
_MOST = 4  # faults of a drawn schedule
_TIMES: Mapping[str, Sequence[float]] = {
    "outage": (5.0, 60.0, 4000.0),  # the last is longer than the engine waits
    "busy": (10.0, 30.0),
    "slow": (20.0, 120.0),
    "full_disk": (30.0, 120.0),
}
_WHICH: Sequence[int | float] = (1, 1, 2, 5, 0.1, 0.3)


@dataclass(frozen=True, slots=True)
class Subject:
    """What is tried: test None is a run of the file, for which only the engine's own promises are looked at."""

    name: str
    program: Program
    test: TestCase | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """seed: of the simulation. number: 1 is the first."""

    number: int
    seed: int
    faults: tuple[Fault, ...]


@dataclass(frozen=True, slots=True)
class Tried:
    """A case and how it went. stuck: why it says nothing, where the verifier never gave a verdict."""

    case: Case
    simulation: Simulation
    broken: tuple[Violation, ...]
    stuck: str = ""


def subjects(
    source: Source, library: Library, choice: Choice, names: Sequence[str] = ()
) -> tuple[tuple[Subject, ...], tuple[Problem, ...]]:
    """The tests and then the runs of a file, or those of these names, in their order; and warnings of runs.

    Raises ProgramError on any mistake, and KeyError with the first name that is neither.
    """
    tested = {one.test.name: one for one in compile_tests(source, library, choice)}
    runs = [name for name in _runs(source) if not names or name in names]
    found = {name: Subject(name, one.program, one.test) for name, one in tested.items()}
    warnings: list[Problem] = []
    for name in runs:
        program, told = compile_run(source, library, replace(choice, run=name))
        warnings += (problem for problem in told if problem not in warnings)
        found[name] = Subject(name, program)
    return tuple(found[name] for name in names or found), tuple(warnings)


def _runs(source: Source) -> list[str]:
    tree, _ = parse(source)
    return [one.name for one in tree.declarations if one.kind == "run"]


def case_of(subject: Subject, seed: int, number: int) -> Case:
    """The subject's nth case: the same for ever, whatever else is tried."""
    own = seed + (number - 1) * STRIDE
    chance = Random(f"case {own}")
    if subject.test is None:
        return Case(number, own, () if number == 1 else _drawn(chance))
    given = subject.test.given
    return Case(number, own, given if number == 1 else tuple(_moved(f, chance) for f in given))


def _moved(fault: Fault, chance: Random) -> Fault:
    """fault at a moment of this case, where the test names none."""
    times = [spec for spec in FAULTS[fault.name].params if spec.name == "after"]
    if not times or times[0].type != TIME or fault.args["after"]:
        return fault
    return replace(fault, args={**fault.args, "after": _moment(chance)})


def _moment(chance: Random) -> float:
    """In whole seconds. Early ones are likelier, as runs are short."""
    return float(round(_WITHIN_S * chance.random() ** 2))


def _drawn(chance: Random) -> tuple[Fault, ...]:
    names = list(FAULTS)
    return tuple(_fault(chance.choice(names), chance) for _ in range(chance.randint(1, _MOST)))


def _fault(name: str, chance: Random) -> Fault:
    args: dict[str, int | float] = {}
    for spec in FAULTS[name].params:
        if spec.name == "which":
            args["which"] = chance.choice(_WHICH)
        elif spec.name == "time":
            args["time"] = chance.choice(_TIMES[name])
        elif spec.type == TIME:
            args["after"] = _moment(chance)
        else:
            args["after"] = chance.randint(1, 12)
    return Fault(name, args, HERE)


def tried(
    subject: Subject, case: Case, bindings: Bindings | None = None, *, replay: bool = True
) -> Tried:
    """The case, simulated. bindings: verifiers of the user's own that are to run as they are. replay: whether
    a run that keeps all else is also replayed."""
    law = power_law()
    agents = Agents(subject.program, case.seed, law)
    test = subject.test
    simulation = simulate(
        subject.program,
        schedule=Schedule(case.seed, tuple(placed(fault) for fault in case.faults)),
        agents=Replies(subject.program, {} if test is None else test.replies, agents),
        law=law,
        bindings=bindings,
        replay=replay,
    )
    if why := _stuck(simulation, case, bindings):
        return Tried(case, simulation, (), why)
    own = () if test is None else broken(test, simulation.events)
    return Tried(case, simulation, (*simulation.violations, *own))


def _stuck(simulation: Simulation, case: Case, bindings: Bindings | None) -> str:
    """Why the run says nothing: its verifier gave up, and no fault made a verifier of the user's own do so."""
    result = simulation.result
    if result is None or result.folded.ended is None:
        return ""
    match result.outcome:
        case Paused(cause="verifier"):
            return result.folded.ended.reason or "the verifier never gave a verdict"
        case Failed(kind="verifier", message=message) if bindings:
            made = any(fault.name == "verifier_error" for fault in case.faults)
            return "" if made else message
        case _:
            return ""
