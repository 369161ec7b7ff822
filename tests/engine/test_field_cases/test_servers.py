"""Field cases of what servers and models send, of windows that are full, and of the regressions of MAS-TTS.

Case | where it is looked at
24   | `clients/test_chat.test_a_chunk_without_choices_is_harmless_anywhere`, and alone: here
25   | here, through all layers; `clients/test_chat.test_a_prompt_cut_by_the_server_is_an_overflow`
26   | `clients/test_tool_calls.test_all_forms_give_the_same_call`, and several at once
27   | here, as far as the reply; `agent/test_work.test_calls_are_run_whatever_the_finish_says`
28   | here, through all layers; `clients/test_chat`: streams cut at every byte
29   | here; `team/test_board`, `plan/test_plan`: a board stays within its window, and the plan knows
32   | `team/test_drive.test_the_ceos_stop_is_honoured`; under `compat = mas_tts` all 32 calls: `team/test_mas_tts`
33   | `team/test_ceo.test_a_cap_is_what_was_meant_or_stays`, `test_only_a_clear_stop_stops`
34   | `team/test_drive.test_a_solver_keeps_its_own_solution_and_all_reviews_in_a_small_window`
35   | `team/test_drive.test_a_critic_that_fails_or_says_no_is_no_agreement`
36   | `test_interpret.test_a_solver_that_answers_in_prose_ends_with_an_outcome`
37   | here
40   | `tasks/test_choice.test_every_letter_is_right_about_as_often_whatever_the_seed`
41   | `test_sandboxed`
"""

import random

import orjson
import pytest

from podium.dsl.problem import ProgramError
from podium.engine import Engine
from podium.engine.call import CallError, Message, ModelCall, ModelReply, Replica
from podium.engine.clients.chat import Collector
from podium.engine.clients.dialects import PROFILES
from podium.engine.event import CallFailed, NodeEnded
from podium.engine.outcome import Failed
from podium.engine.store import Store
from podium.engine.testing import Say
from podium.engine.testing.server import Answer, FakeServer, Seen, always

from .bench import ENDPOINT, REAL, Till, compiled, over, play, team_file

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


# --- case 24 ----------------------------------------------------------------------------------------

NO_CHOICE = {
    "unstreamed": Answer(body=b'{"choices":[]}', content_type="application/json"),
    "streamed": Answer(
        body=b'data: {"choices":[]}\n\ndata: [DONE]\n\n', content_type="text/event-stream"
    ),
}


@pytest.mark.parametrize("form", NO_CHOICE)
async def test_a_reply_without_a_choice_is_an_error_of_the_endpoint_and_asked_for_once_more(
    form: str,
) -> None:
    async with (
        FakeServer(always(NO_CHOICE[form])) as fake,
        Engine(Store.memory(), environ={}) as engine,
    ):
        run = await engine.start(compiled(team_file("one", endpoint=fake.url, price=REAL)))
        result = await run.result()
        assert fake.started == 2
    assert isinstance(result.outcome, Failed)
    assert (result.outcome.kind, "without a choice" in result.outcome.message) == ("empty", True)


# --- case 25 ----------------------------------------------------------------------------------------


async def test_a_prompt_that_the_server_cut_makes_no_answer_and_is_asked_once() -> None:
    usage = {"prompt_tokens": 4096, "completion_tokens": 5}
    async with (
        FakeServer(always(Answer(text="yes", usage=usage))) as fake,
        Engine(Store.memory(), environ={}) as engine,
    ):
        long = " ".join(["word"] * 9000)
        text = team_file("one", endpoint=fake.url, more="context = 32k tokens")
        run = await engine.start(compiled(text.replace("Say yes.", long)))
        result = await run.result()
        assert fake.started == 1
    assert isinstance(result.outcome, Failed)
    assert result.outcome.kind == "overflow"
    assert "cut the prompt" in result.outcome.message
    assert result.attempt is None
    assert result.folded.total.amount.tokens == 4101  # it was paid for all the same


# --- case 27 ----------------------------------------------------------------------------------------


def asks(finish: str | None, arguments: str, *, done: bool) -> ModelReply:
    """The reply to a stream with the call of a tool that ends with this word."""
    call = ModelCall("a", "run", "m", (Message("user", "x"),), 1000)
    collector = Collector(call, PROFILES["compatible"], "here")
    tool = {"index": 0, "id": "x", "function": {"name": "f", "arguments": arguments}}
    for delta, word in (({"tool_calls": [tool]}, None), ({}, finish)):
        choice = {"index": 0, "delta": delta, "finish_reason": word}
        collector.add(orjson.dumps({"choices": [choice]}).decode())
    if done:
        collector.add("[DONE]")
    return collector.reply(Replica("r", "m", ENDPOINT, "", "m", 1))


@pytest.mark.parametrize("finish", ["stop", "tool_calls", "function_call", "banana", None])
def test_a_reply_asks_for_a_tool_if_it_has_a_call_whatever_it_ends_with(finish: str | None) -> None:
    reply = asks(finish, '{"a":1}', done=True)
    assert reply.finish == "tool_calls"
    assert [call.arguments for call in reply.tool_calls] == [{"a": 1}]


@pytest.mark.parametrize(("arguments", "done"), [('{"a":', True), ('{"a":1}', False)])
def test_a_call_that_may_have_been_cut_is_none(arguments: str, done: bool) -> None:
    with pytest.raises(CallError) as caught:
        asks(None, arguments, done=done)
    assert caught.value.kind == "cut"


# --- case 28 ----------------------------------------------------------------------------------------

BROKEN = {
    "an error at the start": Answer(text="", error={"message": "boom"}),
    "an error in the middle": Answer(text="yes, but", error={"message": "boom"}),
    "an end without a finish": Answer(text="yes, but", finish=None, usage=None, done=False),
    "a terminator without a finish": Answer(text="yes, but", finish=None),
    "a frame that breaks off": Answer(
        body=b'data: {"choices":[{"index":0,"delta":{"content":"yes, but"}}]}\n\ndata: {"choi',
        content_type="text/event-stream",
    ),
    "a connection that is lost": Answer(text="yes, but", disconnect=1),
}


@pytest.mark.slow
async def test_a_stream_that_breaks_off_is_a_failed_try_and_never_a_short_answer() -> None:
    """Every kind of end at once, one for each branch; then each branch gets its answer."""
    left = list(BROKEN.values())

    def script(seen: Seen) -> Answer:
        return left.pop() if left else Answer(text="yes")

    async with FakeServer(script) as fake, Engine(Store.memory(), environ={}) as engine:
        text = team_file(f"parallel({len(BROKEN)}) of one", endpoint=fake.url, price=REAL)
        run = await engine.start(compiled(text))
        result = await run.result()
        events = [stamped.event for stamped in run.past()]
        assert fake.started == 2 * len(BROKEN)
    failed = [event for event in events if isinstance(event, CallFailed)]
    assert {event.kind for event in failed} == {"server", "cut"}
    assert len(failed) == len(BROKEN)
    assert all(event.spent.usd > 0 for event in failed)  # they may have been paid
    said = {"server": "boom", "cut": "ended|closed"}
    assert all(any(word in e.message for word in said[e.kind].split("|")) for e in failed)
    ends = [e for e in events if isinstance(e, NodeEnded) and e.address.endswith(".one")]
    assert {end.outcome for end in ends} == {"finished"}
    assert result.attempt is not None
    assert result.attempt.text == "yes"


@pytest.mark.parametrize("done", [True, False])
async def test_a_finish_reason_is_enough_with_and_without_a_terminator(done: bool) -> None:
    async with (
        FakeServer(always(Answer(text="yes", done=done))) as fake,
        Engine(Store.memory(), environ={}) as engine,
    ):
        run = await engine.start(compiled(team_file("one", endpoint=fake.url)))
        assert (await run.result()).attempt is not None
        assert fake.started == 1


# --- case 29 ----------------------------------------------------------------------------------------

WORDINGS = {
    "vllm": {
        "object": "error",
        "message": "This model's maximum context length is 8192 tokens. However, you requested 9000"
        " tokens (8900 in the messages, 100 in the completion).",
        "type": "BadRequestError",
        "code": 400,
    },
    "openai": {
        "error": {
            "message": "Your input exceeds the context window of this model.",
            "type": "invalid_request_error",
            "param": "messages",
            "code": "context_length_exceeded",
        }
    },
}


@pytest.mark.parametrize("whose", WORDINGS)
async def test_a_prompt_above_the_window_is_told_as_that_and_asked_once(whose: str) -> None:
    refusal = Answer(status=400, body=orjson.dumps(WORDINGS[whose]))
    async with FakeServer(always(refusal)) as fake, Engine(Store.memory(), environ={}) as engine:
        run = await engine.start(compiled(team_file("parallel(2) of one", endpoint=fake.url)))
        result = await run.result()
        assert fake.started == 2
    assert isinstance(result.outcome, Failed)
    assert result.outcome.kind == "overflow"


@pytest.mark.parametrize(
    "flow", ["team(members = [7 of one], rounds = 12)", "one -> repeat(40) of mend"]
)
def test_a_debate_however_long_stays_within_its_window(flow: str) -> None:
    """Replies of any length up to their cap; what does not fit any more is left out, and it is said."""

    async def case(seed: int) -> None:
        chance = random.Random(seed)

        def script(call: ModelCall, number: int) -> Say:
            return Say("no " * chance.randint(1, call.max_output), 1.0)

        till = Till(script, context=4096)
        text = team_file(flow, cap=600).replace("Say yes.", "Say yes, and why.")
        played = await play(text, till)
        assert not played.failed()
        assert set(played.ends().values()) <= {"finished"}
        for call in till.seen:
            # Three bytes a token is what a window is filled by.
            size = sum(len(message.content.encode()) for message in call.messages) / 3
            assert size + call.max_output <= 4096

    over(range(2), case)


# --- case 37 ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", ["[$1]", "[$1, 5 calls]"])
async def test_dollars_of_a_model_without_a_price_are_refused_before_anything_is_asked(
    budget: str,
) -> None:
    async with FakeServer() as fake, Engine(Store.memory(), environ={}) as engine:
        # A server elsewhere: what runs on this machine is free where nothing is said.
        text = team_file("one", budget=budget, endpoint="https://models.example.com")
        start = text.index("price")
        unpriced = text[:start] + text[text.index("}", start) + 1 :]
        with pytest.raises(ProgramError) as caught:
            await engine.start(unpriced)
        assert any("price" in str(problem) for problem in caught.value.problems)
        assert not fake.seen
        assert not engine.runs()
