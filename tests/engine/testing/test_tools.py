"""Agents with tools under simulation: killed at every record, their tools are called as often as promised."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from podium.dsl.program import Program, Tool
from podium.engine.event import CallAnswered, CallIntended
from podium.engine.testing import Simulation, schedule, simulate
from podium.engine.testing.arm import Stroke
from podium.engine.testing.handmade import agent, parallel, program, reduce_by, role, then
from podium.engine.testing.strokes import struck


@dataclass
class Counted:
    """A tool that counts its calls."""

    calls: int = 0

    def __call__(self, at: str) -> str:
        """Looks somewhere."""
        self.calls += 1
        return f"nothing at {at}"


def working(*, once: bool) -> Program:
    look = Tool("look", "function", {"ref": "look"}, once=once)
    one = replace(role("agent"), tools=(Tool("notes", "notes"), look), turns=8)
    return program(then(parallel(2, agent(one)), reduce_by("vote")))


def used(simulation: Simulation) -> tuple[int, int]:
    """The addresses of tools that were intended, and how many of them were answered."""
    events = [stamped.event for stamped in simulation.events]
    asked = {e.address for e in events if isinstance(e, CallIntended) and e.kind == "tool"}
    answered = [e.address for e in events if isinstance(e, CallAnswered) and e.address in asked]
    assert len(set(answered)) == len(answered), "a call was answered twice"
    return len(asked), len(answered)


@pytest.mark.parametrize("once", [False, True])
@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.long)])
def test_killed_at_a_record_it_calls_what_was_answered_no_more(once: bool, every: int) -> None:
    look = Counted()

    def whole(strokes: Sequence[Stroke]) -> Simulation:
        look.calls = 0
        return simulate(working(once=once), seed=1, bindings={"look": look}, strokes=strokes)

    for one in struck(whole, "written", every=every):
        asked, answered = used(one)
        assert not one.violations, one.told()
        assert asked == answered > 3
        assert look.calls <= asked + (0 if once else 2 * (one.lives - 1))


@pytest.mark.parametrize("seed", range(4))
def test_it_keeps_its_promises_whatever_the_weather(seed: int) -> None:
    one = simulate(working(once=False), schedule=schedule(seed))
    assert not one.violations, one.told()
