"""Taking a run up again, replaying it with other latencies, cancelling it anywhere."""

import random
from collections.abc import Callable
from dataclasses import replace

import anyio
import pytest
import trio.testing

from podium.dsl.program import (
    Branch,
    Budget,
    Ceo,
    Flag,
    Flow,
    Lift,
    Limited,
    Parallel,
    Program,
    Repeat,
    Task,
    Verifier,
)
from podium.engine.call import CallError, ModelCall
from podium.engine.event import NodeStarted
from podium.engine.interpret import run
from podium.engine.outcome import Passed
from podium.engine.testing import Fail, Memory, Say, ScriptedClient, play, scripted_world
from podium.engine.testing.handmade import (
    HERE,
    TASK,
    agent,
    exact,
    parallel,
    program,
    reduce_by,
    role,
    team,
    then,
)

REFINER = role("refiner", "Mend: ", "{attempt.answer}")
WORDS = Verifier("words", "contains", {"expected": ("a", "b", "c")})
JUDGED = Task("t", "Say a, b, c.", WORDS)


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return ("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})


pytestmark = pytest.mark.anyio


def server(seed: int, *, failing: float = 0.0) -> Callable[[ModelCall], Say | Fail]:
    """Replies that depend on the address alone, after times that depend on the seed."""

    def reply(call: ModelCall) -> Say | Fail:
        fixed = random.Random(call.address)
        chance = random.Random(f"{seed} {call.address}")
        delay = chance.uniform(0.1, 9.0)
        if fixed.random() < failing:
            return Fail(CallError("server", "down"), delay)
        return Say(" ".join(fixed.choices("abcx", k=2)), delay)

    return reply


FLOWS: dict[str, Flow] = {
    "race": parallel(3, agent(), passes=1),
    "quota": parallel(10, agent(), passes=3),
    "nested race": then(parallel(3, parallel(4, agent(), passes=1)), reduce_by("best")),
    "teams": then(parallel(3, team(3)), reduce_by("best")),
    "led team": team((1, role("s")), (2, role("c")), ceo=Ceo("adaptive", role("ceo"))),
    "evolution": Repeat(
        "repeat",
        HERE,
        3,
        then(
            Parallel("parallel", HERE, (Branch(3, agent()),)),
            reduce_by("sample", 2),
            Lift("lift", HERE, agent(REFINER)),
            reduce_by("top", 2),
        ),
        Flag("passed"),
    ),
    "cascade": then(
        parallel(2, Limited("squad", HERE, team(2), Budget(calls=4))), reduce_by("vote")
    ),
}


def whole(name: str) -> Program:
    task = replace(JUDGED, verify=Verifier("any", "contains", {"expected": ("a",)}))
    return program(FLOWS[name], task)


@pytest.mark.parametrize("name", sorted(FLOWS))
@pytest.mark.parametrize("seed", range(4))
async def test_a_replay_with_other_latencies_asks_nothing_and_ends_the_same(
    name: str, seed: int
) -> None:
    first = await play(whole(name), ScriptedClient(server(seed, failing=0.15)))
    again = ScriptedClient(server(seed + 100))
    second = await play(whole(name), again, memory=first.memory.next_life())
    assert second.calls == []
    assert second.memory.fresh == []
    assert second.result == first.result
    assert second.memory.outcomes() == first.memory.outcomes()


@pytest.mark.parametrize("name", sorted(set(FLOWS) - {"race", "quota", "nested race", "cascade"}))
async def test_latencies_change_neither_calls_nor_result(name: str) -> None:
    """Forms without a race: what is asked and answered is the same under every order of arrival."""
    plays = [await play(whole(name), ScriptedClient(server(seed))) for seed in range(4)]
    texts = [
        {
            address: reply
            for address, (_, reply) in sorted(one.memory.answers.items())
            if "/v." not in address
        }
        for one in plays
    ]
    assert all(one.result == plays[0].result for one in plays)
    assert all(text.keys() == texts[0].keys() for text in texts)


@pytest.mark.parametrize("name", sorted(FLOWS))
@pytest.mark.parametrize("seed", range(5))
async def test_a_run_cancelled_anywhere_ends_every_node_and_resumes(name: str, seed: int) -> None:
    program_ = whole(name)
    memory = Memory()
    client = ScriptedClient(server(seed, failing=0.1))
    moment = random.Random(f"{name} {seed}").uniform(0, 30)
    async with scripted_world(program_, client, memory=memory) as world:
        with anyio.move_on_after(moment):
            await run(world, program_.tasks[0])
    assert not client.flying
    started = [event.address for event in memory.events if isinstance(event, NodeStarted)]
    assert sorted(memory.outcomes()) == sorted(started)
    answered = set(memory.answers)
    later = ScriptedClient(server(seed + 50, failing=0.1))
    done = await play(program_, later, memory=memory.next_life())
    assert answered.isdisjoint(done.calls)
    assert done.result.outcome is not None


@pytest.mark.parametrize("seconds", [3.0, 7.0, 12.0, 20.0])
@pytest.mark.parametrize("name", ["teams", "evolution", "nested race", "quota"])
async def test_time_runs_out_at_the_same_place_in_a_replay(name: str, seconds: float) -> None:
    limited = replace(whole(name), budget=Budget(seconds=seconds))
    for seed in range(3):
        first = await play(limited, ScriptedClient(server(seed)))
        second = await play(
            limited, ScriptedClient(server(seed + 7)), memory=first.memory.next_life()
        )
        assert second.calls == []
        assert second.result == first.result


@pytest.mark.parametrize("policy", ["best", "vote", "shrink", "fail"])
@pytest.mark.parametrize("calls", [1, 4, 9])
async def test_money_runs_out_at_the_same_place_in_a_replay(policy: str, calls: int) -> None:
    flow = replace(parallel(4, then(team(2), agent(REFINER))), inflight=2)
    limited = replace(program(flow, JUDGED), budget=Budget(calls=calls))
    limited = replace(limited, on_exhausted=policy)  # type: ignore[arg-type]  # a policy
    first = await play(limited, ScriptedClient(server(3)))
    second = await play(
        limited, ScriptedClient(server(99)), memory=first.memory.next_life(), ledger=first.ledger
    )
    assert second.calls == []
    assert second.result.value == first.result.value
    assert second.result.outcome == first.result.outcome
    if policy != "fail":  # which nodes it cut short depends on the moment
        assert second.memory.outcomes() == first.memory.outcomes()


async def test_a_reply_that_was_decided_away_is_not_asked_for_again() -> None:
    flow = then(parallel(2, agent()), agent(role("merger", "{attempts.answer}")))
    first = await play(
        program(flow), ScriptedClient({"1.agent/c1": Fail(CallError("server", "x")), "": "4"})
    )
    second = await play(program(flow), ScriptedClient([]), memory=first.memory.next_life())
    assert second.result == first.result


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_race_works_on_asyncio_too(anyio_backend: str) -> None:
    flow = then(parallel(3, team(2), passes=1), reduce_by("best"))
    task = replace(TASK, verify=exact("4"))
    client = ScriptedClient(lambda call: Say("4" if "/2.team" in call.address else "5"))
    played = await play(program(flow, task), client)
    assert played.result.outcome == Passed()
    assert played.memory.outcomes()["main/1.parallel/2.team"] == "passed"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_cancelling_works_on_asyncio_too(anyio_backend: str) -> None:
    memory = Memory()
    client = ScriptedClient(lambda call: Say("4", 0.0 if "1.agent" in call.address else 9.0))
    flow = program(parallel(3, agent()))
    async with scripted_world(flow, client, memory=memory) as world:
        with anyio.move_on_after(0.02):
            await run(world, TASK)
    ends = memory.outcomes()
    assert ends["main/parallel/1.agent"] == "finished"
    assert ends["main/parallel/2.agent"] == ends["main/parallel"] == "cancelled"
    assert not client.flying


async def test_a_race_decided_in_one_instant_replays_the_same() -> None:
    """Many branches pass at the same moment: who was kept is what the record says, in every life."""
    task = replace(TASK, verify=exact("4"))
    flow = then(parallel(8, agent(), passes=2), agent(role("merger", "{attempts.answer}")))
    for _ in range(5):
        first = await play(program(flow, task), ScriptedClient(lambda call: Say("4", 1.0)))
        second = await play(
            program(flow, task), ScriptedClient(server(1)), memory=first.memory.next_life()
        )
        assert second.calls == []
        assert second.result == first.result


async def test_a_thousand_losers_all_end() -> None:
    task = replace(TASK, verify=exact("4"))
    flow = parallel(1000, agent(), passes=1)
    client = ScriptedClient(lambda call: Say("4" if "/999.agent" in call.address else "5", 1.0))
    played = await play(program(flow, task), client)
    assert played.result.outcome == Passed()
    assert len(played.memory.outcomes()) == 1001
