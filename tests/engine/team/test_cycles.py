"""Cycles: recruit, discuss, execute, evaluate; what one says lies on the board of the next."""

import re
from dataclasses import replace

import pytest
import trio.testing

from podium.dsl.bounds import bounds
from podium.dsl.program import AnyOf, Budget, Flag, Team, Tool, Verifier
from podium.engine.call import CallError, ModelCall, Offer, ToolCall, ToolReply, ToolUse
from podium.engine.event import NodeEnded
from podium.engine.outcome import Exhausted, Finished
from podium.engine.testing import Fail, Played, Say, ScriptedClient, play
from podium.engine.testing.handmade import program, role, team

SOLVER = role("solver", "Solve.")
CRITIC = role("critic", "Criticise.")
JUDGE = role("judge", "Judge.")
HAS_FOUR = Verifier("four", "contains", {"expected": ("4",)})


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return ("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})


pytestmark = pytest.mark.anyio


def cycled(cycles: int = 2, **settings: object) -> Team:
    flow = replace(team((1, SOLVER), (1, CRITIC), rounds=2), order="solver_first", cycles=cycles)
    return replace(flow, recruit=role("recruiter", "Recruit."), evaluate=JUDGE, **settings)  # type: ignore[arg-type]  # settings by name


def walked(played: Played) -> list[str]:
    return [address.split("/")[-2] for address in played.calls]


def reason(played: Played) -> str:
    ends = [e for e in played.memory.events if isinstance(e, NodeEnded)]
    return next(e.reason for e in ends if e.address == "main/team")


def prompt(client: ScriptedClient, segment: str) -> str:
    [call] = [call for call in client.seen if call.address.endswith(f"/{segment}/c1")]
    return call.messages[-1].content


def says(**by_segment: str) -> ScriptedClient:
    """What is answered by the last word of a segment: `judge`, `m2`; 4 by all others."""

    def reply(call: ModelCall) -> Say:
        segment = call.address.split("/")[-2]
        return Say(by_segment.get(segment.rpartition(".")[2], "4"))

    return ScriptedClient(reply)


async def test_each_cycle_recruits_discusses_and_evaluates_and_its_solver_drafts_anew() -> None:
    played = await play(program(cycled()), says(evaluate='{"accepted": false, "advice": "x"}'))
    assert walked(played) == [
        *("recruit", "r1.m1", "r1.m2", "r1.answer", "r2.m2", "r2.m1", "cycle1.evaluate"),
        *("cycle2.recruit", "r3.m1", "r3.m2", "r3.answer", "r4.m2", "r4.m1", "cycle2.evaluate"),
    ]
    assert played.result.outcome == Finished()


async def test_an_evaluation_lies_on_the_next_cycles_board_and_before_its_recruiter() -> None:
    client = says(evaluate='{"accepted": false, "advice": "prove the last step"}')
    await play(program(cycled()), client)
    assert "[after round 2, judge]\nThe solution is not accepted.\nprove the last step" in prompt(
        client, "r3.m1"
    )
    assert "prove the last step" in prompt(client, "cycle2.recruit")
    assert "prove" not in prompt(client, "r2.m2")


async def test_the_evaluator_sees_task_solution_and_what_its_execution_found() -> None:
    client = says(evaluate='{"accepted": false}')
    await play(program(cycled(1, execute=HAS_FOUR)), client)
    text = prompt(client, "cycle1.evaluate")
    assert "What is 2 + 2?" in text
    assert "Solution:\n4" in text
    assert "Execution of it:\nfour: passed, score 1" in text


async def test_accepted_at_a_cycles_end_ends_the_team() -> None:
    client = says(evaluate='{"accepted": true, "advice": "fine"}')
    played = await play(program(cycled(3, until=Flag("accepted"))), client)
    assert walked(played)[-1] == "cycle1.evaluate"
    assert reason(played) == "accepted"


@pytest.mark.parametrize("said", ["", "well …", '{"accepted": "yes"}', '{"advice": "good"}'])
async def test_an_evaluation_that_cannot_be_read_accepts_nothing(said: str) -> None:
    client = says(evaluate=said)
    played = await play(program(cycled(2, until=Flag("accepted"))), client)
    assert walked(played)[-1] == "cycle2.evaluate"
    assert reason(played) == ""


async def test_an_evaluator_that_fails_leaves_the_team_at_work() -> None:
    down = Fail(CallError("server", "down"))
    client = ScriptedClient(lambda call: down if "evaluate" in call.address else Say("4"))
    played = await play(program(cycled(2, until=Flag("accepted"))), client)
    assert walked(played)[-1] == "cycle2.evaluate"
    assert played.result.outcome == Finished()


FILES = Tool("write", "write")


class Folder:
    """A toolbox whose one tool says what it was given, and leaves a tree called after its address."""

    def __init__(self) -> None:
        self.given: list[tuple[str, str]] = []

    def offers(self, tool: Tool) -> tuple[Offer, ...]:
        return (Offer(tool.name, "Writes.", {"type": "object"}),)

    async def use(self, call: ToolUse) -> ToolReply:
        self.given.append((call.address.split("/")[-2], call.tree))
        return ToolReply("done", tree=f"after {call.address}")


async def test_an_evaluator_with_tools_works_on_the_files_of_the_solution_and_then_says() -> None:
    def reply(call: ModelCall) -> Say:
        if call.address.endswith("/t1"):
            return Say("", calls=(ToolCall("c", "write", {}, "{}"),))
        last = '{"accepted": true, "advice": "it runs"}' if "evaluate" in call.address else "4"
        return Say(last)

    able = replace(JUDGE, tools=(FILES,), turns=3)
    flow = replace(team((1, replace(SOLVER, tools=(FILES,), turns=3)), rounds=1), evaluate=able)
    flow = replace(flow, cycles=2, until=Flag("accepted"))
    folder = Folder()
    played = await play(program(flow), ScriptedClient(reply), tools=folder)
    assert walked(played) == ["r1.m1", "r1.m1", "cycle1.evaluate", "cycle1.evaluate"]
    assert reason(played) == "accepted"
    assert folder.given == [("r1.m1", ""), ("cycle1.evaluate", "after main/team/r1.m1/t1.1")]
    # A member of three turns, and in each cycle an evaluator of as many, asked once more for what can be read.
    assert bounds(flow).most == 2 * (3 + 3 + 1)


async def test_agreement_ends_the_discussion_and_the_evaluation_follows() -> None:
    until = AnyOf((Flag("consensus"), Flag("accepted")))
    client = says(evaluate='{"accepted": false, "advice": "no"}', m2="AGREE")
    played = await play(program(cycled(2, until=until)), client)
    assert walked(played) == [
        *("recruit", "r1.m1", "r1.m2", "cycle1.evaluate"),
        *("cycle2.recruit", "r2.m1", "r2.m2", "cycle2.evaluate"),
    ]
    assert reason(played) == "consensus"


async def test_agreement_ends_a_team_whose_cycles_have_no_end_of_their_own() -> None:
    flow = replace(cycled(3, until=Flag("consensus")), evaluate=None)
    played = await play(program(flow), says(m2="AGREE"))
    assert walked(played) == ["recruit", "r1.m1", "r1.m2"]
    assert reason(played) == "consensus"


async def test_without_an_evaluator_an_execution_that_passes_accepts() -> None:
    flow = replace(cycled(3, until=Flag("accepted"), execute=HAS_FOUR), evaluate=None)
    client = ScriptedClient(lambda call: Say("5" if re.search("r[12]\\.", call.address) else "4"))
    played = await play(program(flow), client)
    assert reason(played) == "accepted"
    assert walked(played)[-1] == "r4.m1"
    assert "four: not passed" in prompt(client, "r3.m1")


async def test_a_team_without_money_for_an_evaluation_gives_what_it_has() -> None:
    whole = replace(program(cycled(2, until=Flag("accepted"))), budget=Budget(calls=6))
    played = await play(whole, says())
    assert played.result.outcome == Exhausted("run", "calls")
    assert played.result.value is not None
