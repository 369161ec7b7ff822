"""Every path of the client against a server of every dialect, quirks included."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import fields, replace
from itertools import pairwise
from typing import Any

import anyio
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.dsl.model import Endpoint, Model
from podium.dsl.quantity import Scalar
from podium.engine.call import CallError, Message, ModelCall, ModelReply, Replica, Usage
from podium.engine.clients import body
from podium.engine.clients.chat import Collector
from podium.engine.clients.dialects import HELP, PROFILES, Profile
from podium.engine.clients.http import HttpClient
from podium.engine.clients.profile import adjusted, recognise
from podium.engine.clients.sse import Decoder
from podium.engine.testing.dialects import dialect, speaking
from podium.engine.testing.quirks import DIALECTS, Says
from podium.engine.testing.server import MODEL, Answer, FakeServer, Seen, always, writes

TEXT = "one two three four five"
CALL = ModelCall(
    "main/agent",
    "run",
    "fast",
    (Message("system", "Be brief."), Message("user", "say hi to Bob")),
    max_output=20,
    group="squad",
)
EVERY = pytest.mark.parametrize("name", DIALECTS)
# Answered at first try, and not worth sending again as it is, or after a wait.
REFUSES_LONG = [name for name in DIALECTS if DIALECTS[name].overflow is not None]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    async with HttpClient({}) as client:
        yield client


async def probed(client: HttpClient, fake: FakeServer, **profile: Scalar) -> Replica:
    model = Model("fast", (Endpoint("openai", "", fake.url, None),), profile=profile)
    return (await client.probe(model))[0]


def named(name: str) -> dict[str, Scalar]:
    """What a vendor's host says of itself by its name, which a fake on loopback cannot."""
    return {"name": name} if PROFILES[name].hosts else {}


async def sent(
    client: HttpClient, name: str, says: Says, call: ModelCall = CALL, **more: Any
) -> tuple[ModelReply | CallError, FakeServer]:
    """The reply or the failure of one try, and the server, which has stopped."""
    async with dialect(name, says, **more) as fake:
        replica = await probed(client, fake, **named(name))
        try:
            return await client.send(call, replica, "id"), fake
        except CallError as problem:
            return problem, fake


async def reply(client: HttpClient, name: str, says: Says, call: ModelCall = CALL) -> ModelReply:
    found, _ = await sent(client, name, says, call)
    assert isinstance(found, ModelReply)
    return found


async def failure(
    client: HttpClient, name: str, says: Says, call: ModelCall = CALL, **more: Any
) -> CallError:
    found, _ = await sent(client, name, says, call, **more)
    assert isinstance(found, CallError)
    return found


# --- replies -------------------------------------------------------------------------------------


@EVERY
@pytest.mark.anyio
async def test_a_server_is_known_by_what_it_says(client: HttpClient, name: str) -> None:
    async with dialect(name) as fake:
        replica = await probed(client, fake)
    assert replica.profile == ("compatible" if PROFILES[name].hosts else name)
    assert (replica.context or 2048) == 2048


@EVERY
@pytest.mark.anyio
async def test_a_reply_is_whole_and_its_tokens_are_told(client: HttpClient, name: str) -> None:
    found = await reply(client, name, Says(TEXT))
    assert (found.text, found.finish, found.served) == (TEXT, "stop", MODEL)
    assert found.usage == Usage(6 + 8, output=5)


@EVERY
@pytest.mark.anyio
async def test_the_cap_is_obeyed_and_what_it_cut_is_marked(client: HttpClient, name: str) -> None:
    found = await reply(client, name, Says(TEXT), replace(CALL, max_output=3))
    assert (found.text.split(), found.finish) == (["one", "two", "three"], "length")
    assert found.usage.output == 3


@pytest.mark.anyio
async def test_a_cap_under_another_name_is_none_at_all_at_ollama(client: HttpClient) -> None:
    async with dialect("ollama", Says("word " * 30)) as fake:
        replica = await probed(client, fake, cap="max_completion_tokens")
        found = await client.send(replace(CALL, max_output=3), replica, "id")
    assert len(found.text.split()) == 30  # so the profile must name the right one


@EVERY
@pytest.mark.anyio
async def test_reasoning_is_read_under_its_name_or_counted_unseen(
    client: HttpClient, name: str
) -> None:
    found = await reply(client, name, Says(TEXT, reasoning="let me think"))
    assert found.reasoning == ("let me think" if DIALECTS[name].reasoning else "")
    assert (found.text, found.usage.output) == (TEXT, 8)


@EVERY
@pytest.mark.anyio
async def test_tool_calls_have_one_form(client: HttpClient, name: str) -> None:
    tools = (("weather", '{"city": "Paris"}'), ("clock", ""))
    found = await reply(client, name, Says("", tools=tools))
    assert [(one.name, one.arguments) for one in found.tool_calls] == [
        ("weather", {"city": "Paris"}),
        ("clock", {}),
    ]
    assert len({one.id for one in found.tool_calls}) == 2
    assert found.finish == "tool_calls"


@EVERY
@pytest.mark.anyio
async def test_broken_arguments_are_none_and_no_failure(client: HttpClient, name: str) -> None:
    found = await reply(client, name, Says("", tools=(("weather", '{"city": "Par'),)))
    assert [one.arguments for one in found.tool_calls] == [None]


@EVERY
@pytest.mark.anyio
async def test_an_empty_reply_is_a_reply_without_text(client: HttpClient, name: str) -> None:
    assert (await reply(client, name, Says(""))).text == ""


@EVERY
@pytest.mark.anyio
async def test_without_usage_a_reply_is_charged_by_a_bound(client: HttpClient, name: str) -> None:
    found = await reply(client, name, Says(TEXT, trouble="no_usage"))
    assert found.text == TEXT
    assert found.usage.estimated
    assert found.usage.output >= 5


# --- what fails ----------------------------------------------------------------------------------


@EVERY
@pytest.mark.anyio
async def test_a_full_queue_is_busy_and_free_of_charge(client: HttpClient, name: str) -> None:
    problem = await failure(client, name, Says(trouble="busy"))
    assert (problem.kind, problem.maybe_paid) == ("busy", False)
    wait = {"openai": 1.5, "openrouter": 2.0}.get(name)
    assert problem.retry_after_s == wait


@EVERY
@pytest.mark.anyio
async def test_an_error_in_the_middle_is_no_reply_and_may_be_paid(
    client: HttpClient, name: str
) -> None:
    problem = await failure(client, name, Says(TEXT, trouble="breaks"))
    lost = DIALECTS[name].broken is None  # then all that is seen is a stream without an end
    assert (problem.kind, problem.maybe_paid) == ("cut" if lost else "server", True)


@EVERY
@pytest.mark.parametrize("trouble", ["ends", "drops"])
@pytest.mark.anyio
async def test_a_stream_without_its_end_is_cut(client: HttpClient, name: str, trouble: Any) -> None:
    problem = await failure(client, name, Says(TEXT, trouble=trouble))
    assert (problem.kind, problem.maybe_paid) == ("cut", True)


@pytest.mark.parametrize("name", REFUSES_LONG)
@pytest.mark.anyio
async def test_a_prompt_that_is_too_long_is_told_once(client: HttpClient, name: str) -> None:
    long = replace(CALL, messages=(Message("user", "word " * 90),))
    found, fake = await sent(client, name, Says(), long, context=50)
    assert isinstance(found, CallError)
    assert (found.kind, found.maybe_paid, fake.started) == ("overflow", False, 1)


@pytest.mark.parametrize("name", sorted(set(DIALECTS) - set(REFUSES_LONG)))
@pytest.mark.anyio
async def test_a_prompt_that_was_cut_in_silence_is_found_out(client: HttpClient, name: str) -> None:
    old = tuple(Message("user", "word " * 30) for _ in range(3))
    problem = await failure(client, name, Says(), replace(CALL, messages=old), context=50)
    assert (problem.kind, problem.maybe_paid) == ("overflow", True)
    assert "cut the prompt" in problem.message


@pytest.mark.parametrize("name", [name for name in DIALECTS if DIALECTS[name].unknown])
@pytest.mark.anyio
async def test_an_unknown_model_is_told_as_one(client: HttpClient, name: str) -> None:
    async with dialect(name) as fake:
        replica = replace(await probed(client, fake, **named(name)), served="gone")
        with pytest.raises(CallError) as caught:
            await client.send(CALL, replica, "id")
    assert caught.value.kind == "model"


@EVERY
@pytest.mark.anyio
async def test_a_cancelled_call_closes_its_stream(client: HttpClient, name: str) -> None:
    async with dialect(name, Says(TEXT * 9), pause_s=0.05) as fake:
        replica = await probed(client, fake, **named(name))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.send, CALL, replica, "id")
            await fake.until(lambda: fake.running == 1)
            tasks.cancel_scope.cancel()
        await fake.until(lambda: fake.abandoned == 1)
        # SGLang does not notice at once: its slot is taken while nobody waits.
        assert fake.running == (1 if DIALECTS[name].works_on else 0)


@EVERY
@pytest.mark.anyio
async def test_many_calls_one_after_another_lose_no_connection(
    client: HttpClient, name: str
) -> None:
    async with dialect(name, Says(TEXT)) as fake:
        replica = await probed(client, fake, **named(name))
        for _ in range(4):
            assert (await client.send(CALL, replica, "id")).text == TEXT
        assert fake.started == 4


@pytest.mark.anyio
async def test_comments_without_end_are_no_life(client: HttpClient) -> None:
    answer = Answer(before=(": still here\n\n",) * 400, pause_s=0.005)
    async with FakeServer(always(answer)) as fake:
        replica = await probed(client, fake, stuck_s=0.05)
        with anyio.fail_after(2), pytest.raises(CallError, match="nothing but comments") as caught:
            await client.send(CALL, replica, "id")
    assert (caught.value.kind, caught.value.maybe_paid) == ("silent", True)


# --- any cut of the bytes ------------------------------------------------------------------------


def stream(name: str, says: Says) -> bytes:
    profile = PROFILES[name]
    asked: Any = body.request(
        CALL, Replica("r", "fast", Endpoint("openai", ""), "", MODEL, 1), profile
    )
    seen = Seen(0, "POST", "/v1/chat/completions", {}, orjson.loads(orjson.dumps(asked)))
    return b"".join(writes(speaking(DIALECTS[name], says)(seen), seen, streamed=True))


def collected(name: str, chunks: list[bytes]) -> ModelReply | tuple[str, str]:
    decoder, collector = Decoder(), Collector(CALL, PROFILES[name], "x")
    replica = Replica("r", "fast", Endpoint("openai", ""), "", MODEL, 1)
    try:
        for chunk in chunks:
            for event in decoder.feed(chunk):
                collector.add(event)
        for event in decoder.end():
            collector.add(event)
        return collector.reply(replica)
    except CallError as problem:
        return problem.kind, problem.message


ALL_SAYS = (
    Says("grüße 𝄞 \x1b[2J und mehr", reasoning="hm"),
    Says("", tools=(("weather", '{"city": "Zürich"}'), ("clock", "{}"))),
    Says("so far so good", trouble="breaks"),
    Says(trouble="busy"),
)


@given(
    st.sampled_from(sorted(DIALECTS)),
    st.sampled_from(ALL_SAYS),
    st.lists(st.integers(0, 5_000), max_size=8),
)
def test_any_cut_of_a_stream_gives_the_same_reply(name: str, says: Says, places: list[int]) -> None:
    whole = stream(name, says)
    edges = [0, *sorted(place % (len(whole) + 1) for place in places), len(whole)]
    cut = [whole[a:b] for a, b in pairwise(edges)]
    assert collected(name, cut) == collected(name, [whole])


@EVERY
def test_one_byte_at_a_time_gives_the_same_reply(name: str) -> None:
    whole = stream(name, ALL_SAYS[0])
    assert collected(name, [bytes([byte]) for byte in whole]) == collected(name, [whole])


# --- what is sent --------------------------------------------------------------------------------

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
REPLICA = Replica("r", "fast", Endpoint("openai", ""), "", MODEL, 1)


@EVERY
@pytest.mark.anyio
async def test_nothing_is_sent_that_the_server_refuses(client: HttpClient, name: str) -> None:
    call = replace(CALL, schema=SCHEMA, seed=7, salt="s", urgency=1)
    found, fake = await sent(client, name, Says('{"n": 1}'), call)
    assert isinstance(found, ModelReply)
    assert fake.started == 1
    assert "x-conversation-id" not in fake.calls[0].headers  # llama.cpp would work on without us


def test_calls_that_share_a_prefix_carry_the_same_key_and_others_another() -> None:
    for name in ("vllm", "sglang"):
        header = PROFILES[name].affinity
        keys = [
            body.headers(call, PROFILES[name])[header]
            for call in (
                CALL,
                replace(CALL, seed=3, address="other"),
                replace(CALL, group="other"),
                replace(CALL, salt="account"),
            )
        ]
        assert keys[0] == keys[1]
        assert len(set(keys)) == 3
        assert body.headers(replace(CALL, group=""), PROFILES[name]) == {}
    sent_key = body.request(CALL, REPLICA, PROFILES["openai"])["prompt_cache_key"]
    assert sent_key == body.together(CALL)
    assert "squad" not in str(sent_key)


@pytest.mark.parametrize(("name", "number"), [("vllm", -2), ("sglang", 2), ("ollama", None)])
def test_priority_has_the_direction_of_the_server(name: str, number: int | None) -> None:
    assert body.request(replace(CALL, urgency=2), REPLICA, PROFILES[name]).get("priority") == number
    assert "priority" not in body.request(CALL, REPLICA, PROFILES[name])


@pytest.mark.parametrize(
    ("usage", "options"),
    [
        ("last", {"include_usage": True}),
        ("each", {"include_usage": True, "continuous_usage_stats": True}),
        ("unasked", None),
    ],
)
def test_usage_is_asked_for_as_the_profile_says(usage: str, options: Any) -> None:
    asked = body.request(CALL, REPLICA, adjusted(PROFILES["vllm"], {"usage": usage}))
    assert asked.get("stream_options") == options


@pytest.mark.parametrize("name", ["vllm", "sglang"])
@pytest.mark.anyio
async def test_a_cut_stream_that_counts_each_chunk_still_tells_its_prompt(
    client: HttpClient, name: str
) -> None:
    async with dialect(name, Says(TEXT, trouble="ends")) as fake:
        replica = await probed(client, fake, usage="each")
        with pytest.raises(CallError) as caught:
            await client.send(CALL, replica, "id")
    assert caught.value.usage == Usage(14, output=CALL.max_output, estimated=True)


# --- schemas -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "sent_form"), [("response_format", "json_schema"), ("json_object", "json_object")]
)
def test_a_schema_has_the_form_of_the_profile(form: str, sent_form: str) -> None:
    call = replace(CALL, schema=SCHEMA)
    asked: Any = body.request(call, REPLICA, adjusted(PROFILES["vllm"], {"schema": form}))
    assert asked["response_format"]["type"] == sent_form


@pytest.mark.parametrize("form", ["json_object", "none"])
def test_without_a_field_for_it_the_schema_stands_in_the_prompt(form: str) -> None:
    call = replace(CALL, schema=SCHEMA)
    asked: Any = body.request(call, REPLICA, adjusted(PROFILES["vllm"], {"schema": form}))
    assert asked["messages"][0]["content"] == "Be brief."
    assert asked["messages"][-1]["content"].endswith(orjson.dumps(SCHEMA).decode())
    assert ("response_format" in asked) is (form == "json_object")


@pytest.mark.anyio
async def test_a_server_that_knows_no_schema_is_told_it_in_the_prompt(client: HttpClient) -> None:
    said = {"error": {"message": "response_format is not supported", "param": "response_format"}}

    def script(seen: Seen) -> Answer:
        refuses = "response_format" in seen.body
        return Answer(status=400, body=orjson.dumps(said)) if refuses else Answer(text='{"n": 1}')

    call = replace(CALL, schema=SCHEMA)
    async with FakeServer(script) as fake:
        replica = await probed(client, fake)
        for _ in range(2):
            assert (await client.send(call, replica, "id")).text == '{"n": 1}'
        prompts = [seen.body["messages"][-1]["content"] for seen in fake.calls]
        await client.send(CALL, replica, "id")
        assert fake.calls[-1].body["messages"][-1]["content"] == "say hi to Bob"
    assert [prompt.count('"properties"') for prompt in prompts] == [0, 1, 1]


# --- the table -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "owner", "server", "name"),
    [
        ("api.openai.com", "", "", "openai"),
        ("openrouter.ai", "vllm", "", "openrouter"),
        ("eu.openrouter.ai", "", "", "openrouter"),
        ("notopenrouter.ai", "", "", "compatible"),
        ("10.0.0.7", "", "llama.cpp", "llama.cpp"),
        ("10.0.0.7", "llamacpp", "nginx", "llama.cpp"),
        ("10.0.0.7", "me", "uvicorn", "compatible"),
    ],
)
def test_a_dialect_is_recognised(host: str, owner: str, server: str, name: str) -> None:
    assert recognise(host, owner, server) == name


def test_every_field_of_a_profile_has_its_line_of_help_or_says_how_a_server_is_known() -> None:
    known_by = {"name", "hosts", "owners", "server", "defaults", "takes", "gauges"}
    assert set(HELP) == {part.name for part in fields(Profile)} - known_by


@pytest.mark.parametrize("name", HELP)
def test_every_field_can_be_changed_in_a_model_block(name: str) -> None:
    for profile in PROFILES.values():
        value: Scalar = getattr(profile, name)
        assert adjusted(profile, {name: value}) == profile


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"usage": "never"}, "last or each or unasked"),
        ({"priority": 3}, "none or lower or higher"),
        ({"idle_s": 10}, "must be longer"),
        ({"metrics": "metrics"}, "begins with /"),
        ({"affinity": "X Session"}, "a header's name"),
        ({"owners": "me"}, "no field of a profile named 'owners'"),
    ],
)
def test_a_change_that_makes_no_sense_is_refused(changes: Mapping[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        adjusted(PROFILES["llama.cpp"], changes)
