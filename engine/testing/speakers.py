"""Which role speaks at an address, and in how large a team: read from the program. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from podium.dsl.program import (
    Agent,
    Branch,
    Fallback,
    Flow,
    ForEach,
    Lift,
    Limited,
    Parallel,
    Program,
    Repeat,
    Role,
    Route,
    Team,
    Then,
)

from ..forms import segment


@dataclass(frozen=True, slots=True)
class Speaker:
    """role: who speaks, None where the program has no such address. size: of its team, 1 outside one.

    node: the address of what it contributes to: the whole team, or the agent itself. part: ceo, recruit,
    evaluate, judge or by (who routes or divides), else empty.
    """

    role: Role | None
    node: str
    size: int = 1
    part: str = ""


def speaker_of(program: Program, address: str) -> Speaker:
    """Who makes the call at address (`main/parallel/3.squad/r1.m2/c1`)."""
    if "/v." in address:  # a judge's
        return Speaker(None, address.rpartition("/")[0], part="judge")
    run, *segments = address.split("/")
    done = [run]
    if segments and segments[0].endswith(".row"):
        done.append(segments.pop(0))
    flow = _bare(program.flow)
    if segment(flow) and segments:
        done.append(segments.pop(0))
    while (inner := _below(flow, segments[0] if segments else "")) is not None:
        flow = _bare(inner)
        done.append(segments.pop(0))
    return _speaker(flow, segments, "/".join(done), address.rpartition("/")[0])


def _bare(flow: Flow) -> Flow:
    while isinstance(flow, Limited):
        flow = flow.flow
    return flow


def _below(flow: Flow, segment: str) -> Flow | None:
    """The flow at this numbered segment of flow."""
    number = int(segment.partition(".")[0]) if re.match(r"\d+\.", segment) else 0
    if number < 1:
        return None
    match flow:
        case Parallel(branches=branches):
            return _branch(branches, number)
        case Then(steps=steps):
            each = steps
        case Fallback(options=options):
            each = options
        case Route(cases=cases):
            each = tuple(inner for _, inner in cases)
        case Lift(flow=inner) | Repeat(flow=inner) | ForEach(flow=inner):
            return inner
        case _:
            return None
    return each[number - 1] if number <= len(each) else None


def _branch(branches: Sequence[Branch], number: int) -> Flow | None:
    for branch in branches:
        if number <= branch.count:
            return branch.flow
        number -= branch.count
    return None


def is_at(address: str, where: str) -> bool:
    """Whether address lies at or below where: whole segments, or what stands behind a segment's number."""
    around = f"/{address}/"
    return f"/{where}/" in around or f".{where}/" in around


def _speaker(flow: Flow, rest: list[str], node: str, caller: str) -> Speaker:
    match flow:
        case Agent(role=role):
            return Speaker(role, caller)
        case Route(by=role) | ForEach(by=role) if rest[:1] == ["by"]:
            return Speaker(role, caller, part="by")
        case Team(size=size, ceo=ceo, recruit=recruit, evaluate=evaluate) if rest:
            if rest[0] == "recruit" or rest[0].endswith(".recruit"):
                return Speaker(recruit, node, size, "recruit")
            if rest[0].endswith(".evaluate"):
                return Speaker(evaluate, node, size, "evaluate")
            if rest[0].endswith(".ceo"):
                return Speaker(None if ceo is None else ceo.role, node, size, "ceo")
            return Speaker(_seated(flow, rest[0]), node, size)
        case _:
            return Speaker(None, caller)


def _seated(team: Team, segment: str) -> Role | None:
    """The role of `r1.m2`; of `r1.answer` the first seat's, who writes for all."""
    found = re.fullmatch(r"r\d+\.m(\d+)", segment)
    seat = int(found[1]) if found else 1
    for member in team.members:
        if 1 <= seat <= member.count:
            return member.role
        seat -= member.count
    return None
