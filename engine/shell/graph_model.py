"""A program's flow as boxes and arrows. Pure; Mermaid and SVG are two ways of writing it."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, assert_never

from podium.dsl.program import (
    Agent,
    Fallback,
    Flow,
    ForEach,
    Lift,
    Limited,
    Parallel,
    Program,
    Reduce,
    Repeat,
    Route,
    Same,
    Team,
    Then,
)

from .units import show_budget

Shape = Literal["task", "agent", "team", "control", "reduce", "answer"]


@dataclass(frozen=True, slots=True)
class Box:
    """lines: what stands in it, first line first. Texts are as the program has them, unescaped."""

    number: int
    shape: Shape
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Arrow:
    """back: it leads to an earlier box (a loop), and is left out when boxes are put in layers."""

    start: int
    end: int
    label: str = ""
    back: bool = False


@dataclass(frozen=True, slots=True)
class Port:
    """A box from which the next step's arrow starts, and what that arrow says."""

    box: int
    label: str = ""


@dataclass(slots=True)
class Drawing:
    """Boxes are numbered from 0 in the order they were drawn."""

    boxes: list[Box] = field(default_factory=list[Box])
    arrows: list[Arrow] = field(default_factory=list[Arrow])

    def box(self, shape: Shape, *lines: str) -> int:
        number = len(self.boxes)
        self.boxes.append(Box(number, shape, tuple(line for line in lines if line)))
        return number

    def join(self, ports: tuple[Port, ...], end: int) -> None:
        for port in ports:
            self.arrows.append(Arrow(port.box, end, port.label))


def drawing(program: Program) -> Drawing:
    """The run's whole flow, from its task to its answer."""
    drawn = Drawing()
    named = [task.name for task in program.tasks[:1]]
    more = f"and {len(program.tasks) - 1} more" if len(program.tasks) > 1 else ""
    start = drawn.box("task", *(named or ["task"]), more)
    ends = _draw(drawn, program.flow, (Port(start),), "")
    answer = drawn.box("answer", "answer", show_budget(program.budget))
    drawn.join(ends, answer)
    return drawn


def _draw(drawn: Drawing, flow: Flow, into: tuple[Port, ...], note: str) -> tuple[Port, ...]:
    """Draw flow behind the ports, with note in its first box; gives the ports behind it."""
    match flow:
        case Agent(role=role):
            return _one(drawn, into, "agent", role.name, role.model or "", note)
        case Team():
            return _one(drawn, into, "team", *_team_lines(flow), note)
        case Reduce(how=how, k=k, by=by):
            counted = f"{how}({k})" if how in ("top", "sample") else how
            return _one(drawn, into, "reduce", counted, f"by {by.name}" if by else "", note)
        case Same():
            return _one(drawn, into, "reduce", "same", note)
        case Then(steps=steps):
            ports = into
            for number, step in enumerate(steps):
                ports = _draw(drawn, step, ports, note if number == 0 else "")
            return ports
        case Limited(flow=inner, budget=budget):
            return _draw(drawn, inner, into, ", ".join(filter(None, (note, show_budget(budget)))))
        case Lift(flow=inner):
            (port,) = _one(drawn, into, "control", "for each attempt", note)
            return _draw(drawn, inner, (port,), "")
        case ForEach(by=by, max=most, flow=inner):
            (port,) = _one(drawn, into, "control", f"for each part, by {by.name}", note)
            return _draw(drawn, inner, (Port(port.box, f"at most {most}"),), "")
        case Parallel():
            return _parallel(drawn, flow, into, note)
        case Fallback(options=options):
            return _fallback(drawn, options, into, note)
        case Route(by=by, cases=cases):
            (port,) = _one(drawn, into, "control", f"route, by {by.name}", note)
            behind = [_draw(drawn, inner, (Port(port.box, key),), "") for key, inner in cases]
            return tuple(end for some in behind for end in some)
        case Repeat():
            return _repeat(drawn, flow, into, note)
        case _:
            assert_never(flow)


def _one(drawn: Drawing, into: tuple[Port, ...], shape: Shape, *lines: str) -> tuple[Port]:
    box = drawn.box(shape, *lines)
    drawn.join(into, box)
    return (Port(box),)


def _repeat(drawn: Drawing, flow: Repeat, into: tuple[Port, ...], note: str) -> tuple[Port, ...]:
    stop = "until a condition holds" if flow.until is not None else ""
    (port,) = _one(drawn, into, "control", f"repeat, at most {flow.max}", stop, note)
    ends = _draw(drawn, flow.flow, (port,), "")
    drawn.arrows.extend(Arrow(end.box, port.box, "again", back=True) for end in ends)
    return ends


def _parallel(
    drawn: Drawing, flow: Parallel, into: tuple[Port, ...], note: str
) -> tuple[Port, ...]:
    copies = sum(branch.count for branch in flow.branches)
    stop = f"stops once {flow.passes} passed" if flow.passes is not None else ""
    (port,) = _one(drawn, into, "control", f"parallel({copies})", stop, note)
    ends = [
        _draw(drawn, branch.flow, (Port(port.box, f"{branch.count} x"),), "")
        for branch in flow.branches
    ]
    return tuple(end for some in ends for end in some)


def _fallback(
    drawn: Drawing, options: tuple[Flow, ...], into: tuple[Port, ...], note: str
) -> tuple[Port, ...]:
    ports, ends = into, list[Port]()
    for number, option in enumerate(options):
        behind = _draw(drawn, option, ports, note if number == 0 else "")
        ends.extend(behind)
        ports = tuple(Port(port.box, "else") for port in behind)
    return tuple(ends)


def _team_lines(team: Team) -> tuple[str, ...]:
    name = f"{team.label}: " if team.label != "team" else ""
    roles = Counter[str]()
    for member in team.members:
        roles[member.role.name] += member.count
    return (
        f"{name}team of {team.size}",
        ", ".join(f"{count} {role}" for role, count in roles.items()),
        f"{team.ceo.mode} CEO" if team.ceo is not None else "",
        f"{team.cycles} cycles" if team.cycles > 1 else "",
        f"as {team.compat}" if team.compat else "",
    )
