"""An agent with tools: its loop, its turns, what it submits, and what gives way where its window is full."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import get_args

import anyio
import orjson
import pytest
import trio.testing

from podium.dsl.program import ContextPolicy, OutputField, Program, Role, Task, Tool
from podium.engine.call import CallError, Finish, ModelCall, Offer, ToolCall, ToolReply, ToolUse
from podium.engine.outcome import Failed, Finished, Passed
from podium.engine.testing import Fail, Memory, Played, Say, ScriptedClient, play
from podium.engine.testing.handmade import TASK, agent, exact, program, role, team
from podium.engine.value import Attempt, Verdict

LOOK = Tool("look", "function", {"ref": "look"})
NOTES, SUBMIT = Tool("notes", "notes"), Tool("submit", "submit", {"times": 2})


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return ("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})


@dataclass
class Looking:
    """A toolbox with one tool, `look`. used: the calls that reached it."""

    answers: Callable[[ToolUse], Awaitable[str]] | str = "seen"
    used: list[ToolUse] = field(default_factory=list[ToolUse])

    def offers(self, tool: Tool) -> tuple[Offer, ...]:
        return (Offer(tool.name, "Looks.", {"type": "object", "properties": {"at": {}}}),)

    async def use(self, call: ToolUse) -> ToolReply:
        self.used.append(call)
        if isinstance(self.answers, str):
            return ToolReply(self.answers)
        return ToolReply(await self.answers(call))


def calls(*names: str, text: str = "", finish: Finish = "tool_calls", **arguments: str) -> Say:
    """A reply that calls these tools, all with the same arguments."""
    written = orjson.dumps(arguments).decode()
    made = tuple(ToolCall(f"call_{n}", name, arguments, written) for n, name in enumerate(names))
    return Say(text, finish=finish, calls=made)


def worker(*tools: Tool, turns: int = 20, context: ContextPolicy = "keep", **more: object) -> Role:
    one = replace(role("agent"), tools=tools, turns=turns, context=context)
    return replace(one, **more)  # type: ignore[arg-type]  # a role's fields


def whole(one: Role, task: Task = TASK) -> Program:
    return program(agent(one), task)


async def played(
    one: Role, *script: Say | str | Fail, tools: Looking | None = None, **more: object
) -> tuple[Played, ScriptedClient]:
    client = ScriptedClient(list(script))
    found = await play(whole(one), client, tools=tools or Looking(), **more)  # type: ignore[arg-type]  # of play
    return found, client


def answer(found: Played) -> object:
    return None if found.result.value is None else found.result.value.answer


# --- the loop ------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_results_go_back_until_a_reply_calls_no_tool() -> None:
    tools = Looking()
    found, client = await played(worker(LOOK), calls("look", at="x"), "4", tools=tools)
    assert answer(found) == "4"
    assert found.calls == ["main/agent/t1", "main/agent/t2"]
    assert [use.address for use in tools.used] == ["main/agent/t1.1"]
    first, second = client.seen
    assert [offer.name for offer in first.tools] == ["look"]
    assert second.tools == first.tools
    asked, result = second.messages[-2:]
    assert (asked.role, asked.calls[0].name) == ("assistant", "look")
    assert (result.role, result.content, result.answers) == ("tool", "seen", asked.calls[0].id)


@pytest.mark.anyio
@pytest.mark.parametrize("finish", get_args(Finish))
async def test_calls_are_run_whatever_the_finish_says(finish: Finish) -> None:
    tools = Looking()
    found, _ = await played(worker(LOOK), calls("look", finish=finish), "4", tools=tools)
    assert len(tools.used) == 1
    assert found.result.outcome == Finished()


@pytest.mark.anyio
async def test_the_calls_of_a_reply_are_run_one_after_another_and_the_first_so_many_alone() -> None:
    tools = Looking()
    _, client = await played(worker(LOOK), calls(*["look"] * 20), "4", tools=tools)
    assert [use.address.rpartition(".")[2] for use in tools.used] == [str(n) for n in range(1, 17)]
    asked, *results = client.seen[1].messages[2:]
    assert [one.answers for one in results] == [call.id for call in asked.calls]
    assert len({one.answers for one in results}) == 20
    assert all("only the first 16" in one.content for one in results[16:])


@pytest.mark.anyio
async def test_ids_that_begin_anew_in_each_reply_are_told_apart() -> None:
    _, client = await played(worker(LOOK), calls("look"), calls("look"), "4")
    ids = [call.id for message in client.seen[2].messages for call in message.calls]
    assert len(set(ids)) == 2


@pytest.mark.anyio
async def test_at_the_last_turn_the_agent_is_told_to_answer() -> None:
    tools = Looking()
    script = [calls("look")] * 3
    found, client = await played(worker(LOOK, turns=3), *script, tools=tools)
    outcome = found.result.outcome
    assert isinstance(outcome, Failed)
    assert (outcome.kind, "no answer in 3 turns" in outcome.message) == ("turns", True)
    assert len(tools.used) == 2
    assert "your last turn" not in client.seen[1].messages[-1].content
    assert client.seen[2].messages[-1].content.endswith("call no tool.]")


@pytest.mark.anyio
async def test_what_the_last_reply_says_beside_its_calls_is_the_answer() -> None:
    found, _ = await played(worker(LOOK, turns=1), calls("look", text="perhaps 4"))
    assert answer(found) == "perhaps 4"


@pytest.mark.anyio
async def test_the_shape_of_an_answer_is_told_in_words_and_asked_for_once_more() -> None:
    shaped = worker(LOOK, output=(OutputField("n", "int"),))
    found, client = await played(shaped, calls("look"), "about four", '{"n": 4}')
    assert answer(found) == {"n": 4}
    assert found.calls[-1] == "main/agent/again"
    assert all(call.schema is None for call in client.seen)
    assert '"n"' in client.seen[0].messages[-1].content
    assert "no JSON object" in client.seen[2].messages[-1].content


@pytest.mark.anyio
async def test_tools_are_called_in_words_where_the_server_knows_none() -> None:
    tools = Looking()
    client = ScriptedClient(
        ['```tool\n{"name": "look", "arguments": {"at": "x"}}\n```', "4"], text_tools=True
    )
    found = await play(whole(worker(LOOK)), client, tools=tools)
    assert answer(found) == "4"
    assert tools.used[0].arguments == {"at": "x"}
    assert client.seen[1].messages[-1].content == "Result of look:\n```\nseen\n```"


@pytest.mark.anyio
async def test_a_tool_that_is_not_there_fails_its_agent() -> None:
    client = ScriptedClient([])
    found = await play(whole(worker(LOOK)), client)
    assert isinstance(found.result.outcome, Failed)
    assert found.result.outcome.kind == "tool"


@pytest.mark.anyio
async def test_a_later_life_calls_no_tool_that_was_answered_and_asks_the_same() -> None:
    memory, tools = Memory(), Looking()
    script = [calls("look", at="x"), calls("look", at="y"), "4"]
    first, _ = await played(worker(LOOK), *script, tools=tools, memory=memory)
    later = ScriptedClient([])
    again = await play(whole(worker(LOOK)), later, memory=memory.next_life())
    assert again.result == first.result
    assert (len(tools.used), later.seen) == (2, [])


@pytest.mark.anyio
async def test_a_member_of_a_team_uses_its_tools_within_its_turn() -> None:
    def script(call: ModelCall) -> Say | str:
        return calls("look", at="x") if call.address.endswith("r1.m1/t1") else "4"

    tools, client = Looking(), ScriptedClient(script)
    found = await play(program(team((2, worker(LOOK)), rounds=1)), client, tools=tools)
    assert answer(found) == "4"
    assert [use.address for use in tools.used] == ["main/team/r1.m1/t1.1"]
    assert [one.rpartition("team/")[2] for one in sorted(found.calls)] == [
        "r1.answer/t1",
        "r1.m1/t1",
        "r1.m1/t2",
        "r1.m2/t1",
    ]


# --- submitting ----------------------------------------------------------------------------------


async def best_of_two(attempt: Attempt, task: Task) -> Verdict:
    return Verdict(float(str(attempt.answer)), None, "as it says")


def scoring(**more: object) -> Task:
    verifier = replace(exact("4", use="always"), kind="python", args={"ref": "judge"}, **more)  # type: ignore[arg-type]  # a verifier's fields
    return replace(TASK, verify=verifier)


@pytest.mark.anyio
async def test_the_best_submission_is_the_answer_and_their_number_is_limited() -> None:
    script = [
        calls("submit", answer="3"),
        calls("submit", "submit", answer="1"),
        "I have submitted what I found.",
    ]
    client = ScriptedClient(script)
    bound = {"judge": best_of_two}
    found = await play(whole(worker(SUBMIT), scoring()), client, bindings=bound)
    assert answer(found) == "3"
    told = [one.content for one in client.seen[2].messages if one.role == "tool"]
    assert told == [
        "score 3: as it says; 1 submission left",
        "score 1: as it says; no submission is left",
        "not submitted: you have no submission left",
    ]


@pytest.mark.anyio
async def test_a_submission_that_passes_ends_the_agent() -> None:
    script = [calls("submit", "look", answer="4")]
    task = replace(TASK, verify=exact("4", use="always"))
    client = ScriptedClient(script)
    found = await play(whole(worker(SUBMIT), task), client)
    assert found.result.outcome == Passed()
    assert answer(found) == "4"


@pytest.mark.anyio
async def test_a_final_verifier_tells_an_agent_nothing() -> None:
    task = replace(TASK, verify=exact("4", use="final"))
    client = ScriptedClient([calls("submit", answer="4"), calls("submit", answer="5"), "done"])
    found = await play(whole(worker(SUBMIT), task), client)
    told = [one.content for one in client.seen[2].messages if one.role == "tool"]
    assert told == ["submitted; 1 submission left", "submitted; no submission is left"]
    assert answer(found) == "5"


@pytest.mark.anyio
async def test_a_verifier_that_fails_costs_no_submission() -> None:
    async def broken(attempt: Attempt, task: Task) -> Verdict:
        raise CallError("verifier", "no disk")

    client = ScriptedClient([calls("submit", answer="4"), "4"])
    await play(whole(worker(SUBMIT), scoring()), client, bindings={"judge": broken})
    assert client.seen[1].messages[-1].content.startswith("not scored, and not counted")


@pytest.mark.anyio
async def test_a_structured_answer_is_submitted_in_its_shape() -> None:
    shaped = worker(SUBMIT, output=(OutputField("n", "int"),))
    say = Say("", calls=(ToolCall("c", "submit", {"n": 4}, '{"n":4}'),))
    client = ScriptedClient([say, "done"])
    found = await play(whole(shaped), client)
    assert answer(found) == {"n": 4}


# --- a full window -------------------------------------------------------------------------------

LONG = "word " * 400


@pytest.mark.anyio
async def test_the_oldest_steps_go_first_and_it_is_said() -> None:
    tools = Looking(LONG)
    one = worker(LOOK, context="drop_oldest")
    client = ScriptedClient([calls("look") for _ in range(5)] + ["4"], context=2048)
    found = await play(whole(one), client, tools=tools)
    assert answer(found) == "4"
    last = client.seen[-1].messages
    assert "4 earlier steps of this conversation were left out" in last[1].content
    assert [message.role for message in last] == ["system", "user", "assistant", "tool"]
    # Until then what was said before stays as it was, so that the server's cache holds.
    first, second = client.seen[:2]
    assert second.messages[:2] == first.messages


@pytest.mark.anyio
async def test_a_summary_is_made_on_the_agents_own_budget() -> None:
    def script(call: ModelCall) -> Say | str:
        if call.address.endswith(".summary"):
            assert call.tools == ()
            return "I looked and saw words."
        done = call.address.endswith("t4")
        return "4" if done else calls("look")

    client = ScriptedClient(script, context=2048)
    one = worker(LOOK, context="summarise")
    found = await play(whole(one), client, tools=Looking(LONG))
    assert answer(found) == "4"
    summaries = [call for call in client.seen if call.address.endswith(".summary")]
    assert summaries
    assert all(call.account == client.seen[0].account for call in summaries)
    assert "In short:\nI looked and saw words." in client.seen[-1].messages[1].content


@pytest.mark.anyio
async def test_a_restart_leaves_the_agents_notes() -> None:
    script = [
        Say("", calls=(ToolCall("c", "notes", {"text": "x is empty"}, ""),)),
        *[calls("look") for _ in range(4)],
        "4",
    ]
    client = ScriptedClient(script, context=2048)
    one = worker(LOOK, NOTES, context="restart")
    await play(whole(one), client, tools=Looking(LONG))
    prompt = client.seen[-1].messages[1].content
    assert "Your notes:\n- x is empty" in prompt
    assert len(client.seen[-1].messages) == 4


@pytest.mark.anyio
@pytest.mark.parametrize("context", get_args(ContextPolicy))
async def test_a_prompt_that_the_server_finds_too_long_is_an_outcome_or_made_shorter(
    context: ContextPolicy,
) -> None:
    def script(call: ModelCall) -> Say | str | Fail:
        if call.address.endswith("t2"):
            return Fail(CallError("overflow", "the prompt is longer than 2048 tokens"))
        return calls("look") if call.address.endswith("t1") else "4"

    client = ScriptedClient(script)
    found = await play(whole(worker(LOOK, NOTES, context=context)), client, tools=Looking())
    if context == "keep":
        assert isinstance(found.result.outcome, Failed)
        assert found.result.outcome.kind == "overflow"
        assert len(client.seen) == 2
    else:
        assert answer(found) == "4"
        assert client.seen[-1].address == "main/agent/t2.shorter"


@pytest.mark.anyio
async def test_cancelling_an_agent_reaches_the_tool_it_waits_for() -> None:
    ticks: list[float] = []

    async def ticking(call: ToolUse) -> str:
        while True:
            ticks.append(anyio.current_time())
            await anyio.sleep(0.1)

    with anyio.move_on_after(1):
        await played(worker(LOOK), calls("look"), tools=Looking(ticking))
    count = len(ticks)
    assert 5 < count < 15
    await anyio.sleep(5)
    assert len(ticks) == count
