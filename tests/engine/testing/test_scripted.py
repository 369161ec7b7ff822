"""The scripted client and the run in memory: the fakes that users test topologies with."""

from collections.abc import Callable

import anyio
import pytest
import trio.testing

from podium.dsl.model import Sampling
from podium.dsl.program import Task
from podium.engine.call import CallError, Message, ModelCall, Usage
from podium.engine.testing import Fail, Memory, Say, ScriptedClient, play
from podium.engine.testing.handmade import agent, parallel, program


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return ("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})


pytestmark = pytest.mark.anyio


def call(address: str) -> ModelCall:
    return ModelCall(address, "run", "m", (Message("user", "x" * 40),), 10, Sampling())


async def send(client: ScriptedClient, address: str) -> str:
    [replica] = await client.probe(program(agent()).models["m"])
    return (await client.send(call(address), replica, "id")).text


async def test_a_mapping_answers_by_the_longest_end_of_the_address() -> None:
    client = ScriptedClient({"m1/c1": "one", "r2.m1/c1": "two", "a/r2.m1/c1": "three", "": "rest"})
    assert await send(client, "main/a/r2.m1/c1") == "three"
    assert await send(client, "main/b/r2.m1/c1") == "two"
    assert await send(client, "main/m1/c1") == "one"
    assert await send(client, "main/am1/c1") == "rest"


async def test_a_script_that_is_too_short_says_who_asked() -> None:
    client = ScriptedClient(["one"])
    assert await send(client, "a/c1") == "one"
    with pytest.raises(AssertionError, match="b/c1"):
        await send(client, "b/c1")
    with pytest.raises(AssertionError, match="c/c1"):
        await send(ScriptedClient({"d/c1": "x"}), "c/c1")


async def test_time_usage_and_failures_are_as_scripted() -> None:
    error = CallError("busy", "later", usage=Usage(input=3))

    async def reply(call: ModelCall) -> Say | Fail:
        return Fail(error, 2) if call.address == "b/c1" else Say("x", 5, usage=Usage(7, output=1))

    client = ScriptedClient(reply)
    [replica] = await client.probe(program(agent()).models["m"])
    began = anyio.current_time()
    assert (await client.send(call("a/c1"), replica, "id")).usage == Usage(7, output=1)
    assert anyio.current_time() - began == 5
    with pytest.raises(CallError, match="later"):
        await client.send(call("b/c1"), replica, "id")
    assert client.ended == ["a/c1"]
    assert not client.flying


async def test_a_cancelled_call_is_not_left_in_the_air() -> None:
    client = ScriptedClient([Say("x", 60)])
    with anyio.move_on_after(1):
        await send(client, "a/c1")
    assert (client.flying, client.ended, client.most) == (set(), [], 1)


async def test_a_memory_refuses_another_question_at_the_same_address() -> None:
    first = await play(program(parallel(2, agent())), ScriptedClient({"": "4"}))
    changed = program(parallel(2, agent()), seed_task("other"))
    with pytest.raises(ExceptionGroup) as error:
        await play(changed, ScriptedClient({"": "4"}), memory=first.memory.next_life())
    assert error.group_contains(AssertionError, match="was asked something else", depth=None)


def seed_task(statement: str) -> Task:
    return Task("t", statement)


def test_a_decision_is_taken_once_and_comes_back_as_json() -> None:
    memory = Memory()
    takes: list[Callable[[], object]] = [lambda: (1, 2), lambda: [3]]
    assert [memory.decide("a", "n", take) for take in takes] == [[1, 2], [1, 2]]
    assert memory.next_life().decide("a", "n", takes[1]) == [1, 2]
