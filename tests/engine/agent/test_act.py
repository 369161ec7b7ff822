"""One agent's calls: caps, sampling, seeds, asking again."""

from dataclasses import replace

import pytest
import trio.testing

from podium.dsl.model import Sampling
from podium.dsl.program import Budget, OutputField
from podium.engine.agent import cap_of, seed_of, window_of
from podium.engine.agent.act import merged
from podium.engine.outcome import Exhausted, Failed, Finished
from podium.engine.testing import Say, ScriptedClient, play
from podium.engine.testing.handmade import agent, program, role, template

SHAPED = replace(role("shaped"), output=(OutputField("n", "int"),))


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return ("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})


def test_a_cap_is_the_roles_else_a_quarter_of_the_window_and_only_lowered() -> None:
    free, fixed = role(), replace(role(), max_output=4000)
    assert cap_of(free, 2048) == 512
    assert cap_of(free, 128_000) == 2048
    assert cap_of(fixed, 128_000) == 4000
    assert cap_of(fixed, 2048) == 2048
    assert cap_of(fixed, 128_000, effort=100) == 100
    assert cap_of(fixed, 128_000, effort=9000) == 4000


def test_a_roles_sampling_goes_over_the_models() -> None:
    mine, models = Sampling(temperature=0.0), Sampling(temperature=0.7, top_p=0.9, stop=("x",))
    assert merged(mine, models) == Sampling(temperature=0.0, top_p=0.9, stop=("x",))


def test_a_seed_depends_on_run_and_address_alone() -> None:
    assert seed_of(1, "a") == seed_of(1, "a")
    assert len({seed_of(run, address) for run in range(9) for address in "abcdefghi"}) == 81
    assert all(0 <= seed_of(run, "a") < 2**31 for run in range(50))


def test_a_window_is_what_the_replicas_told() -> None:
    whole = program(agent())
    assert window_of(whole, {"m": 2048}, "m") == 2048
    assert window_of(whole, {}, "m") == 8192
    declared = replace(whole, models={"m": replace(whole.models["m"], context=4096)})
    assert window_of(declared, {}, "m") == 4096


@pytest.mark.anyio
async def test_a_system_message_is_always_sent() -> None:
    client = ScriptedClient(["a"])
    await play(program(agent()), client)
    assert [message.role for message in client.seen[0].messages] == ["system", "user"]
    assert client.seen[0].messages[0].content
    own = replace(role(), system=template("You are terse."))
    client = ScriptedClient(["a"])
    await play(program(agent(own)), client)
    assert client.seen[0].messages[0].content == "You are terse."


@pytest.mark.anyio
async def test_a_cap_leaves_room_for_its_prompt() -> None:
    wordy = replace(role("wordy", "x" * 3000), max_output=2048)
    client = ScriptedClient(["a"], context=2048)
    await play(program(agent(wordy)), client)
    assert 64 <= client.seen[0].max_output < 2048 - 1000


@pytest.mark.anyio
async def test_an_unreadable_reply_is_asked_for_once_more_with_the_reason() -> None:
    client = ScriptedClient(["about five", '{"n": 5}'])
    played = await play(program(agent(SHAPED)), client)
    assert played.calls == ["main/shaped/c1", "main/shaped/c2"]
    assert [message.role for message in client.seen[1].messages] == [
        "system",
        "user",
        "assistant",
        "user",
    ]
    assert "no JSON object" in client.seen[1].messages[-1].content
    assert played.result.value is not None
    assert played.result.value.answer == {"n": 5}


@pytest.mark.anyio
async def test_a_reply_that_stays_unreadable_fails_or_is_the_declared_value() -> None:
    played = await play(program(agent(SHAPED)), ScriptedClient(["five", ""]))
    assert isinstance(played.result.outcome, Failed)
    assert played.result.outcome.kind == "reply"
    lenient = replace(SHAPED, output=(OutputField("n", "int", default=0),))
    played = await play(program(agent(lenient)), ScriptedClient(["five", "six"]))
    assert played.result.outcome == Finished()
    assert played.result.value is not None
    assert played.result.value.answer == {"n": 0}


@pytest.mark.anyio
async def test_an_empty_structured_reply_is_asked_for_without_an_empty_turn() -> None:
    client = ScriptedClient(["", '{"n": 5}'])
    await play(program(agent(SHAPED)), client)
    assert [message.role for message in client.seen[1].messages] == ["system", "user"]


@pytest.mark.anyio
async def test_a_readable_reply_that_was_cut_is_marked() -> None:
    client = ScriptedClient([Say('{"n": 5} and so on', finish="length")])
    played = await play(program(agent(SHAPED)), client)
    assert played.result.value is not None
    assert played.result.value.cut
    assert isinstance(played.result.outcome, Failed)


@pytest.mark.anyio
async def test_a_reply_no_budget_has_room_to_ask_for_again_is_the_declared_value() -> None:
    lenient = replace(SHAPED, output=(OutputField("n", "int", default=0),))
    whole = replace(program(agent(lenient)), budget=Budget(calls=1))
    played = await play(whole, ScriptedClient(["five"]))
    assert played.calls == ["main/shaped/c1"]
    assert played.result.value is not None
    assert played.result.value.answer == {"n": 0}
    again = await play(whole, ScriptedClient([]), memory=played.memory)
    assert (again.calls, again.result.value) == ([], played.result.value)


@pytest.mark.anyio
async def test_without_a_declared_value_the_budget_is_what_ended_it() -> None:
    whole = replace(program(agent(SHAPED)), budget=Budget(calls=1))
    played = await play(whole, ScriptedClient(["five"]))
    assert played.calls == ["main/shaped/c1"]
    assert isinstance(played.result.outcome, Exhausted)
