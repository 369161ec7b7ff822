"""What is tried rather than run: a `test` and an `experiment`, checked, beside the `Program` of a `run`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from .program import Budget, Condition, Flow, Task
from .quantity import Scalar
from .source import Place


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong in a test: name and numbers of `faults.FAULTS`; times in seconds, shares as fractions."""

    name: str
    args: Mapping[str, int | float]
    place: Place


Reply = str | Mapping[str, Scalar]
"""What a simulated model answers: a text, or the fields of its role's `output`."""


@dataclass(frozen=True, slots=True)
class TestCase:
    """What a flow must keep under the simulator. tasks empty: the simulator makes one.

    replies: in turn, the last again and again, by role; under the name "" for every role that has none.
    always and never hold at each moment and at none.
    """

    __test__: ClassVar[bool] = False  # pytest is not to take it for a test of its own

    name: str
    place: Place
    flow: Flow
    tasks: tuple[Task, ...] = ()
    given: tuple[Fault, ...] = ()
    replies: Mapping[str, tuple[Reply, ...]] = field(default_factory=dict[str, tuple[Reply, ...]])
    always: tuple[Condition, ...] = ()
    never: tuple[Condition, ...] = ()
    at_most: Budget = Budget()


@dataclass(frozen=True, slots=True)
class Experiment:
    """Flows compared on the same tasks at equal cost: each run of an arm has a budget, or a number of agents."""

    name: str
    place: Place
    arms: tuple[tuple[str, Flow], ...]
    tasks: tuple[Task, ...]
    budget: Budget = Budget()
    agents: int | None = None
    repeats: int = 10
