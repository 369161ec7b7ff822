"""What goes into a flow and what comes out: `Task`, `Attempt` or `Many`.

A shape maps each kind of value a flow takes to the kind it then gives. A step that takes an Attempt lifts
over Many: once for each, results flattened. Nothing else lifts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, assert_never

from .program import (
    Agent,
    Branch,
    Fallback,
    Flow,
    ForEach,
    Lift,
    Limited,
    OutputField,
    Parallel,
    Reduce,
    Repeat,
    Role,
    Route,
    Same,
    Team,
    Template,
    Text,
    Then,
    subflows,
)
from .source import Place

Kind = Literal["task", "attempt", "many", "any"]
Shape = Mapping[Kind, Kind]

TASK_ATTEMPT_MANY: tuple[Kind, ...] = ("task", "attempt", "many")
_SAYS = {"task": "a Task", "attempt": "an Attempt", "many": "Many", "any": "anything"}
SOME_OUTPUT = (OutputField("?", "text", is_list=True),)
"""The output of a role that has one, with a mistake: whatever one may ask of it, it has."""
_UNKNOWN = Role("?", Template((Text(""),)), takes=frozenset({"?"}))


def stand_in(label: str, place: Place) -> Flow:
    """The flow of a parameter without a value: takes anything, gives anything. Never part of a Program."""
    return Agent(label, place, _UNKNOWN)


def unwrapped(place: Place) -> Flow:
    """The flow of a wrapper without what it wraps: it takes and gives anything, and so does the step behind it.

    `parallel(3) -> a -> b` may be meant as `parallel(3) of a -> b`.
    """
    return stand_in(_UNWRAPPED, place)


def is_unwrapped(flow: Flow) -> bool:
    """Whether flow is such a wrapper, or wraps one."""
    inner = subflows(flow)
    if inner:
        return len(inner) == 1 and is_unwrapped(inner[0])
    return isinstance(flow, Agent) and flow.role is _UNKNOWN and flow.label == _UNWRAPPED


_UNWRAPPED = "of"


def role_shape(role: Role) -> Shape:
    """By what the role's prompt mentions."""
    match sorted(role.takes):
        case ["?"]:
            return dict.fromkeys(TASK_ATTEMPT_MANY, "any")
        case ["attempt"]:
            return {"attempt": "attempt"}
        case ["attempts"]:
            return {"many": "attempt"}
        case ["attempt", "attempts"]:
            return {"many": "many"}
        case _:
            return {"task": "attempt"}


def after(gives: Kind, step: Shape) -> Kind | None:
    """What step gives after a value of kind gives; None where they do not meet."""
    if gives == "any":
        results = set(step.values())
        if lifts("many", step):
            results.add("many")
        return results.pop() if len(results) == 1 else "any"
    if gives in step:
        return step[gives]
    return "many" if gives == "many" and "attempt" in step else None


def lifts(gives: Kind, step: Shape) -> bool:
    return gives == "many" and "many" not in step and "attempt" in step


@dataclass(slots=True)
class Shapes:
    """Shapes of flows, each worked out once: flows share parts, so a tree may be larger than its memory."""

    _known: dict[int, tuple[Flow, Shape]] = field(default_factory=dict[int, tuple[Flow, Shape]])
    _lifted: dict[tuple[int, Kind], tuple[Flow, Flow]] = field(
        default_factory=dict[tuple[int, Kind], tuple[Flow, Flow]]
    )

    def of(self, flow: Flow) -> Shape:
        """The shape of flow; empty where its parts do not meet."""
        known = self._known.get(id(flow))
        if known is None:
            known = self._known[id(flow)] = (flow, self._of(flow))
        return known[1]

    def _of(self, flow: Flow) -> Shape:
        match flow:
            case Agent(role=role):
                return role_shape(role)
            case Team():
                return dict.fromkeys(TASK_ATTEMPT_MANY, "attempt")
            case Parallel(branches=branches):
                inputs = common(self.of(branch.flow) for branch in branches)
                return dict.fromkeys(inputs, "many")
            case Then(steps=steps):
                return self.chain(steps)
            case Lift():
                return {"many": "many"}
            case Fallback(options=options):
                return agreed([self.of(option) for option in options])
            case Repeat(flow=inner):
                shape = self.of(inner)
                return {kind: kind for kind, gives in shape.items() if gives in (kind, "any")}
            case Same():
                return _unchanged()
            case Reduce(how="score"):
                return {"attempt": "attempt", "many": "many"}
            case Reduce(how=how):
                return {"many": "attempt" if how in ("best", "vote") else "many"}
            case Route(by=by, cases=cases):
                shape = agreed([self.of(case) for _, case in cases])
                takes = role_shape(by)
                return {kind: gives for kind, gives in shape.items() if kind in takes}
            case ForEach(flow=inner):
                return {"task": "many"} if "task" in self.of(inner) else {}
            case Limited(flow=inner):
                return self.of(inner)
            case _:
                assert_never(flow)

    def chain(self, steps: Iterable[Flow]) -> Shape:
        """The shape of steps one after the other. The first one does not lift: the chain does, as a step."""
        several = list(steps)
        shape = dict(self.of(several[0])) if several else _unchanged()
        for step in several[1:]:
            here = self.of(step)
            following: dict[Kind, Kind] = {}
            for kind, given in shape.items():
                if (result := after(given, here)) is not None:
                    following[kind] = result
            shape = following
        return shape

    def lifted(self, flow: Flow, kind: Kind) -> Flow:
        """flow as it runs on a value of kind, which it takes: with a Lift wherever a step lifts."""
        key = (id(flow), kind)
        if key not in self._lifted:
            self._lifted[key] = (flow, self._lift(flow, kind))
        return self._lifted[key][1]

    def _lift(self, flow: Flow, kind: Kind) -> Flow:
        match flow:
            case Then(steps=steps):
                done: list[Flow] = []
                for step in steps:
                    done.append(self._step(step, kind))
                    kind = after(kind, self.of(step)) or "any"
                return replace(flow, steps=tuple(done))
            case Parallel(branches=branches):
                return replace(
                    flow,
                    branches=tuple(Branch(b.count, self.lifted(b.flow, kind)) for b in branches),
                )
            case Fallback(options=options):
                return replace(flow, options=tuple(self.lifted(o, kind) for o in options))
            case Route(cases=cases):
                return replace(flow, cases=tuple((k, self.lifted(c, kind)) for k, c in cases))
            case Repeat(flow=inner) | ForEach(flow=inner) | Limited(flow=inner):
                return replace(flow, flow=self.lifted(inner, kind))
            case Agent() | Team() | Lift() | Same() | Reduce():
                return flow
            case _:
                assert_never(flow)

    def _step(self, step: Flow, kind: Kind) -> Flow:
        if lifts(kind, self.of(step)):
            return Lift(step.label, step.place, self.lifted(step, "attempt"))
        return self.lifted(step, kind)


def _unchanged() -> dict[Kind, Kind]:
    return {"task": "task", "attempt": "attempt", "many": "many"}


def common(shapes: Iterable[Shape]) -> tuple[Kind, ...]:
    """The kinds that every shape takes."""
    several = list(shapes)
    return tuple(kind for kind in TASK_ATTEMPT_MANY if all(kind in shape for shape in several))


def agreed(shapes: list[Shape]) -> Shape:
    """What all shapes take and give alike."""
    result: dict[Kind, Kind] = {}
    for kind in common(shapes):
        known: list[Kind] = [shape[kind] for shape in shapes if shape[kind] != "any"]
        if len(set(known)) <= 1:
            result[kind] = known[0] if known else "any"
    return result


def says(kind: Kind) -> str:
    """kind for a sentence: `an Attempt`."""
    return _SAYS[kind]


def takes(shape: Shape) -> str:
    """What shape takes, for a sentence: `a Task or Many`."""
    return " or ".join(says(kind) for kind in shape) or "nothing"


def gives(shape: Shape) -> str:
    """What shape gives, for a sentence."""
    return " or ".join(dict.fromkeys(says(kind) for kind in shape.values())) or "nothing"
