"""Topologies written in the language, walked to their results."""

import pytest
import trio.testing

from podium.dsl.compile import Choice, compile_run
from podium.dsl.library import MemoryLibrary
from podium.dsl.program import Program
from podium.dsl.source import Source
from podium.engine.call import ModelCall
from podium.engine.event import NodeEnded
from podium.engine.outcome import Exhausted, Finished, Passed
from podium.engine.testing import Played, Say, ScriptedClient, play

HEAD = """
model m { endpoint = openai("m", base_url = "http://127.0.0.1:1/v1") price = none }
verifier length = contains(["alpha", "beta"])
task sum { statement = "What is 2 + 2?" verify = exact("4") }
task words { statement = "Say alpha and beta." verify = length }
role mutate { prompt = \"\"\"Mend {{ attempt.answer }}\"\"\" }
role merge { prompt = \"\"\"Merge {{ attempts | bullets }}\"\"\" }
role debater { prompt = \"\"\"Yours: {{ attempt.answer }} All: {{ attempts }}\"\"\" }
role splitter { prompt = \"\"\"Split {{ task.statement }}\"\"\" output = { parts: [text] } }
role triage { prompt = \"\"\"Easy or hard? {{ task.statement }}\"\"\" output = { size: "easy" | "hard" } }
"""


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return ("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})


pytestmark = pytest.mark.anyio


def compiled(flow: str, task: str = "sum", budget: str = "") -> Program:
    fields = f"task = {task}\n flow = {flow}\n" + (f"  budget = {budget}\n" if budget else "")
    text = f"{HEAD}\nrun main {{ {fields} }}\n"
    return compile_run(Source("x.team", text), MemoryLibrary(), Choice())[0]


def segments(played: Played) -> set[str]:
    return {address.removeprefix("main/").removesuffix("/c1") for address in played.calls}


async def test_teams_in_parallel_and_the_best_of_them() -> None:
    program = compiled("parallel(3) of team(2, ceo = adaptive) -> best")
    client = ScriptedClient(lambda call: Say("4" if "/2.team" in call.address else "5", 1.0))
    played = await play(program, client)
    assert played.result.outcome == Passed()
    assert played.result.value is not None
    assert played.result.value.address.startswith("main/1.parallel/2.team/")
    per_team = ["r1.ceo", "r1.m1", "r1.m2", "r1.answer", "r2.ceo", "r2.m1", "r2.m2", "r2.answer"]
    assert segments(played) == {
        f"1.parallel/{team}.team/{call}" for team in (1, 2, 3) for call in per_team
    }


async def test_an_exact_verifier_stays_hidden_from_a_team() -> None:
    client = ScriptedClient(lambda call: Say("4"))
    await play(compiled("team(2, ceo = adaptive)"), client)
    assert not any("passed" in call.messages[-1].content for call in client.seen)


async def test_debate_of_five() -> None:
    program = compiled("parallel(5) of agent -> repeat(2) of debater -> vote")
    played = await play(program, ScriptedClient({"": "4"}))
    assert len(played.calls) == 15
    assert "2.repeat/2.debater/5" in segments(played)
    assert played.result.outcome == Passed()


async def test_evolution_keeps_parents_and_improves() -> None:
    program = compiled(
        "parallel(3) of agent -> repeat(3, until = score >= 1)"
        " of (parallel of [same, parallel(2) of (sample(1) -> mutate)] -> top(3)) -> best",
        "words",
    )

    def reply(call: ModelCall) -> Say:
        return Say("alpha" if "repeat" not in call.address else "alpha beta")

    played = await play(program, ScriptedClient(reply))
    assert played.result.outcome == Passed()
    assert len(played.calls) == 5


async def test_map_reduce_gives_each_part_a_task_of_its_own() -> None:
    program = compiled("for_each(by = splitter, max = 3) of agent -> merge")
    client = ScriptedClient(
        lambda call: Say('{"parts": ["one", "two"]}' if "/by/" in call.address else "4")
    )
    await play(program, client)
    asked = {call.messages[-1].content for call in client.seen if "/by/" not in call.address}
    assert {"one", "two"} < asked


async def test_a_cascade_takes_the_dear_one_only_when_the_cheap_one_misses() -> None:
    program = compiled("fallback(accept = score >= 1) of [agent, team(2)]", "words")
    cheap = await play(program, ScriptedClient({"": "alpha beta"}))
    assert len(cheap.calls) == 1
    dear = await play(program, ScriptedClient({"1.agent/c1": "alpha", "": "beta alpha"}))
    assert dear.result.outcome == Passed()
    assert len(dear.calls) == 7


async def test_a_route_by_a_roles_choice() -> None:
    program = compiled("route(by = triage) of { easy = agent, hard = team(1) }")
    played = await play(program, ScriptedClient({"by/c1": "Hard.", "": "4"}))
    assert segments(played) == {"route/by", "route/2.team/r1.m1", "route/2.team/r2.m1"}


async def test_a_budget_in_a_flow_ends_it_with_its_best() -> None:
    program = compiled("parallel(4) of team(2, budget = [3 calls]) -> best", budget="[100 calls]")
    played = await play(program, ScriptedClient({"": "5"}))
    assert len(played.calls) == 12
    assert played.result.outcome == Finished()
    ends = [e for e in played.memory.events if isinstance(e, NodeEnded)]
    teams = [e for e in ends if e.address.endswith(".team")]
    assert {(e.outcome, e.reason) for e in teams} == {
        ("exhausted", f"calls budget of main/1.parallel/{i}.team") for i in range(1, 5)
    }


async def test_a_run_without_enough_calls_is_exhausted_with_its_best() -> None:
    played = await play(
        compiled("parallel(9) of agent", budget="[4 calls]"), ScriptedClient({"": "5"})
    )
    assert played.result.outcome == Exhausted("run", "calls")
    assert played.result.value is not None


@pytest.mark.parametrize(
    "flow",
    [
        "parallel(3, stop = first_pass) of team(3, ceo = adaptive, until = consensus)",
        "parallel(2, split = even) of team(2) -> vote",
        "team(3, order = solver_first, until = consensus)",
        "team(3, recruit = recruiter, order = in_turn)",
        "team(4, order = solver_last, sees = own)",
        "parallel(3) of (agent -> mutate) -> top(2) -> merge",
    ],
)
async def test_nonsense_from_a_small_model_ends_every_node_once(flow: str) -> None:
    """The default model has 135M parameters: cut, empty and beside the point are its everyday."""
    texts = [
        Say("I I I I I", finish="length"),
        Say(""),
        Say('{"size": "all", "effort": null}'),
        Say("###\n```json\n{\n```"),
        Say("AGREE"),
    ]

    def reply(call: ModelCall) -> Say:
        return texts[sum(call.address.encode()) % len(texts)]

    program = compiled(flow)
    played = await play(program, ScriptedClient(reply, context=2048))
    assert played.memory.outcomes()
    assert played.result.outcome != Passed()
