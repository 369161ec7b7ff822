"""From a call to a request, and from recorded and made-up streams to a reply."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.dsl.model import Endpoint, Sampling
from podium.engine.call import CallError, Message, ModelCall, ModelReply, Replica, Usage
from podium.engine.clients.body import droppable, request, without
from podium.engine.clients.chat import Collector
from podium.engine.clients.dialects import PROFILES, Profile
from podium.engine.clients.profile import adjusted
from podium.engine.clients.sse import Decoder
from podium.engine.tokens import bound, worst

from .recorded import SERVERS

CALL = ModelCall(
    address="main/agent",
    account="run",
    model="fast",
    messages=(Message("system", "Be brief."), Message("user", "Say hello to Bob.")),
    max_output=16,
)
REPLICA = Replica("fast@host:1", "fast", Endpoint("openai", "m"), "http://host:1/v1", "m", 1)
STREAMS = [
    (server, name)
    for server, exchanges in SERVERS.items()
    for name in ("stream with usage", "stream without usage")
    if name in exchanges
]


def collected(*chunks: bytes, profile: str = "vllm", call: ModelCall = CALL) -> ModelReply:
    decoder, collector = Decoder(), Collector(call, PROFILES[profile], REPLICA.name)
    for chunk in chunks:
        for event in decoder.feed(chunk):
            collector.add(event)
    for event in decoder.end():
        collector.add(event)
    return collector.reply(REPLICA)


def reply_or_failure(body: bytes) -> ModelReply | CallError:
    try:
        return collected(body)
    except CallError as problem:
        return problem


def stream(*events: Any) -> bytes:
    texts = [event if isinstance(event, bytes) else orjson.dumps(event) for event in events]
    return b"".join(b"data: " + text + b"\n\n" for text in texts)


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def usage(prompt: Any, completion: Any, **more: Any) -> dict[str, Any]:
    return {
        "choices": [],
        "usage": {"prompt_tokens": prompt, "completion_tokens": completion, **more},
    }


def failure(*events: Any, profile: str = "vllm") -> CallError:
    with pytest.raises(CallError) as caught:
        collected(stream(*events), profile=profile)
    return caught.value


# --- requests ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROFILES)
def test_every_sampling_parameter_a_profile_knows_is_sent(name: str) -> None:
    body = request(CALL, REPLICA, PROFILES[name])
    known = PROFILES[name].defaults
    assert known
    assert {key: body[key] for key in known} == dict(known)


@pytest.mark.parametrize(
    ("name", "cap"),
    [("openai", "max_completion_tokens"), ("ollama", "max_tokens"), ("compatible", "max_tokens")],
)
def test_the_cap_is_sent_once_under_the_name_the_server_obeys(name: str, cap: str) -> None:
    body = request(CALL, REPLICA, PROFILES[name])
    assert {key: body[key] for key in body if key.startswith("max_")} == {cap: 16}


def test_what_the_program_sets_goes_before_the_defaults() -> None:
    call = replace(CALL, sampling=Sampling(temperature=0.1, top_k=0, stop=("END",)), seed=7)
    body = request(call, REPLICA, PROFILES["sglang"])
    assert (body["temperature"], body["top_k"], body["stop"], body["seed"]) == (0.1, -1, ["END"], 7)
    assert body["min_p"] == 0.05


def test_a_parameter_the_server_does_not_know_is_refused_not_dropped() -> None:
    call = replace(CALL, sampling=Sampling(min_p=0.1))
    with pytest.raises(CallError, match="profile openai take no min_p") as caught:
        request(call, REPLICA, PROFILES["openai"])
    assert caught.value.kind == "request"


def test_usage_is_always_asked_for() -> None:
    body = request(CALL, REPLICA, PROFILES["vllm"])
    assert body["stream"] is True
    assert body["stream_options"] == {"include_usage": True}


def test_a_slot_is_pinned_only_where_servers_have_slots() -> None:
    slot = Replica("f/2", "fast", Endpoint("local", ""), "u", "m", 1, slot=2)
    assert request(CALL, slot, PROFILES["llama.cpp"])["id_slot"] == 2
    assert "id_slot" not in request(CALL, slot, PROFILES["vllm"])


@pytest.mark.parametrize(
    ("closed", "strict"), [({"additionalProperties": False}, True), ({}, False)]
)
def test_a_schema_is_strict_only_if_each_object_is_closed(
    closed: dict[str, Any], strict: bool
) -> None:
    inner = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], **closed}
    schema = {**inner, "properties": {"b": inner}, "required": ["b"], "additionalProperties": False}
    call = replace(CALL, schema=schema)
    sent: Any = request(call, REPLICA, PROFILES["openai"])["response_format"]
    assert sent["json_schema"] == {"name": "reply", "schema": schema, "strict": strict}


def test_a_refused_cap_takes_its_other_name_and_keeps_its_value() -> None:
    body = request(CALL, REPLICA, PROFILES["openai"])
    changed = without(body, "max_completion_tokens", CALL)
    assert changed is not None
    assert changed["max_tokens"] == 16
    assert "max_completion_tokens" not in changed
    assert without(body, "messages", CALL) is None


def test_only_what_the_program_did_not_ask_for_may_be_dropped() -> None:
    call = replace(CALL, sampling=Sampling(temperature=0.1), seed=7)
    names = droppable(call, request(call, REPLICA, PROFILES["vllm"]))
    assert set(names) == {"max_tokens", "stream_options", "top_k", "min_p", "top_p", "seed"}


def test_a_profile_is_adjusted_by_name_and_field() -> None:
    changed = adjusted(PROFILES["compatible"], {"name": "vllm", "idle_s": 5, "inflight": 3})
    assert (changed.name, changed.idle_s, changed.inflight) == ("vllm", 5.0, 3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"idles": 5}, "did you mean idle_s?"),
        ({"name": "vlm"}, "did you mean vllm?"),
        ({"inflight": "many"}, "must be of type int"),
        ({"cap": "max"}, "max_tokens or max_completion_tokens"),
        ({"inflight": 0}, "above zero"),
    ],
)
def test_a_wrong_adjustment_says_what_is_right(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        adjusted(PROFILES["openai"], changes)


# --- recorded streams ----------------------------------------------------------------------------


@pytest.mark.parametrize(("server", "name"), STREAMS)
def test_recorded_streams_are_complete_replies(server: str, name: str) -> None:
    reply = collected(SERVERS[server][name].body.encode())
    assert reply.text
    assert reply.finish == "length"
    assert reply.usage.estimated is (reply.usage.input == bound(CALL))


def test_recorded_usage_is_taken_as_told() -> None:
    body = SERVERS["xllamacpp-2026.10.11549"]["stream with usage"].body.encode()
    assert collected(body).usage == Usage(input=35, cached=34, output=16)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.sampled_from(STREAMS), st.lists(st.integers(min_value=0, max_value=6000), max_size=6))
def test_recorded_streams_give_the_same_reply_however_they_are_cut(
    which: tuple[str, str], places: list[int]
) -> None:
    body = SERVERS[which[0]][which[1]].body.encode()
    edges = [0, *sorted(place % len(body) for place in places), len(body)]
    chunks = [body[a:b] for a, b in pairwise(edges)]
    assert collected(*chunks) == collected(body)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.sampled_from(STREAMS), st.floats(min_value=0, max_value=1))
def test_a_stream_cut_at_any_byte_is_whole_or_a_failure(
    which: tuple[str, str], place: float
) -> None:
    body = SERVERS[which[0]][which[1]].body.encode()
    whole = collected(body)
    outcome = reply_or_failure(body[: int(place * len(body))])
    if isinstance(outcome, CallError):
        assert (outcome.kind in ("cut", "protocol"), outcome.maybe_paid) == (True, True)
    else:
        assert (outcome.text, outcome.finish) == (whole.text, whole.finish)


@pytest.mark.parametrize("server", SERVERS)
def test_an_unstreamed_answer_is_a_reply_too(server: str) -> None:
    collector = Collector(CALL, PROFILES["vllm"], "x")
    collector.whole(SERVERS[server]["chat"].body.encode())
    reply = collector.reply(REPLICA)
    assert reply.text
    assert not reply.usage.estimated


def test_an_empty_stream_is_no_answer_of_this_protocol() -> None:
    empty = SERVERS["llama-cpp-python-0.3.36"]["prompt over the context, stream"]
    assert (empty.status, empty.body) == (200, "")
    with pytest.raises(CallError) as caught:
        collected(empty.body.encode())
    assert caught.value.kind == "protocol"


# --- dialects ------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_a_chunk_without_choices_is_harmless_anywhere(place: int) -> None:
    events = [delta(content="a"), delta(content="b"), delta("stop")]
    events.insert(place, {"choices": [], "prompt_filter_results": []})
    assert collected(stream(*events)).text == "ab"


def test_chunks_without_choices_alone_are_no_reply() -> None:
    assert failure({"choices": []}, b"[DONE]").kind == "empty"
    assert failure({"choices": []}, {"choices": []}).kind == "empty"
    assert failure({"choices": []}, b'{"choi').kind == "cut"
    assert failure({"choices": []}, delta(content="x")).kind == "cut"


def test_null_content_and_both_names_of_reasoning_are_read() -> None:
    reply = collected(
        stream(
            delta(role="assistant", content=None),
            delta(reasoning_content="th", content=None),
            delta(reasoning="ink", reasoning_content=None),
            delta("stop", content="x"),
        )
    )
    assert (reply.text, reply.reasoning) == ("x", "think")


@pytest.mark.parametrize(
    ("word", "finish"),
    [
        ("eos_token", "stop"),
        ("function_call", "tool_calls"),
        ("content_filter", "content_filter"),
        ("repetition", "other"),
        ("unload", "other"),
    ],
)
def test_a_finish_reason_is_one_of_five_words(word: str, finish: str) -> None:
    assert collected(stream(delta(word, content="x"))).finish == finish


def test_a_reply_the_server_gave_up_is_a_failure() -> None:
    problem = failure(delta(content="x"), delta("abort"), usage(10, 5))
    assert (problem.kind, problem.maybe_paid, problem.usage) == (
        "server",
        True,
        Usage(10, output=5),
    )


def test_control_codes_of_the_model_are_taken_out_once() -> None:
    reply = collected(
        stream(
            delta(content="\x1b[2Ja\x07"),
            b'{"choices":[{"delta":{"content":"\\ud834"}}]}',
            b'{"choices":[{"delta":{"content":"\\udd1e\x01"},"finish_reason":"stop"}]}',
        )
    )
    assert reply.text == "[2Ja𝄞"


def test_other_choices_are_not_mixed_in() -> None:
    second = {"choices": [{"index": 1, "delta": {"content": "B"}, "finish_reason": "stop"}]}
    assert collected(stream(delta(content="a"), second, delta("stop"))).text == "a"


# --- errors inside a 200 -------------------------------------------------------------------------


@pytest.mark.parametrize("before", [[], [delta(content="so far")]])
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "boom", "type": "server_error", "code": 500}, "server"),
        ({"message": "The request queue is full.", "code": 503}, "busy"),
        ({"message": "x", "code": "rate_limit_exceeded"}, "busy"),
        ({"message": "x", "code": "503"}, "busy"),
        ({"message": "x", "http_status_code": 422}, "request"),
        ("just words", "server"),
    ],
)
def test_an_error_event_is_a_typed_failure(before: list[Any], error: Any, kind: str) -> None:
    problem = failure(*before, {"error": error}, b"[DONE]")
    assert problem.kind == kind
    assert problem.maybe_paid is (bool(before) or kind == "server")


def test_an_error_that_follows_usage_tells_what_was_used() -> None:
    last = {**delta(content="x"), "usage": {"prompt_tokens": 9, "completion_tokens": 1}}
    assert failure(last, {"error": "boom"}).usage == Usage(9, output=1)


def test_a_stream_that_just_ends_is_cut() -> None:
    problem = failure(delta(content="x"))
    assert (problem.kind, problem.maybe_paid) == ("cut", True)


def test_a_broken_last_event_is_cut() -> None:
    assert failure(delta(content="x"), b'{"choices":[{"del').kind == "cut"


def test_a_broken_event_in_the_middle_is_never_a_success() -> None:
    assert failure(delta(content="x"), b'{"choices":[{"del', delta("stop")).kind == "cut"


def test_the_terminator_may_be_missing() -> None:
    assert collected(stream(delta("stop", content="x"))).text == "x"


def test_a_server_that_ignores_the_cap_is_cut_off() -> None:
    problem = failure(*[delta(content="x" * 1000)] * 10, delta("stop"))
    assert (problem.kind, problem.maybe_paid) == ("protocol", True)
    assert "cap of 16 tokens" in problem.message


# --- usage ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "told", [[], [usage(0, 0)], [{"choices": [], "usage": None}], [usage(None, None)]]
)
def test_missing_usage_is_estimated_upwards_within_the_hold(told: list[Any]) -> None:
    reply = collected(stream(delta(content="hello"), delta("stop"), *told))
    assert reply.usage.estimated
    assert reply.usage.input == bound(CALL)
    assert 5 <= reply.usage.output <= CALL.max_output
    assert reply.usage.input + reply.usage.output <= worst(CALL, None).tokens


@pytest.mark.parametrize(("profile", "finish"), [("openai", "stop"), ("vllm", "length")])
def test_unseen_tokens_are_charged_at_the_cap(profile: str, finish: str) -> None:
    reply = collected(stream(delta(finish, content="x")), profile=profile)
    assert reply.usage.output == CALL.max_output


def test_half_of_the_usage_is_kept_and_the_rest_estimated() -> None:
    told = collected(stream(delta("stop", content="hello"), usage(12, None))).usage
    assert (told.input, told.estimated) == (12, True)
    assert told.output >= 5


def test_usage_on_the_finishing_chunk_is_taken() -> None:
    last = {**delta("stop"), "usage": {"prompt_tokens": 3, "completion_tokens": 2}}
    assert collected(stream(delta(content="x"), last)).usage == Usage(3, output=2)


INSIDE = Profile("test")
OUTSIDE = Profile("test", input_has_cached=False)


@pytest.mark.parametrize(
    ("profile", "told"),
    [
        (
            INSIDE,
            {
                "prompt_tokens": 20_000,
                "prompt_tokens_details": {"cached_tokens": 16_000, "cache_write_tokens": 300},
            },
        ),
        (
            OUTSIDE,
            {
                "prompt_tokens": 3_700,
                "cache_read_input_tokens": 16_000,
                "cache_creation_input_tokens": 300,
            },
        ),
    ],
)
def test_cached_input_is_counted_once_in_either_convention(
    profile: Profile, told: dict[str, Any]
) -> None:
    collector = Collector(CALL, profile, "x")
    collector.add(orjson.dumps(delta("stop", content="x")).decode())
    collector.add(orjson.dumps({"choices": [], "usage": {**told, "completion_tokens": 1}}).decode())
    assert collector.reply(REPLICA).usage == Usage(20_000, 16_000, 300, 1)


def test_more_cached_than_sent_is_clamped() -> None:
    told = usage(
        100,
        5,
        prompt_tokens_details={"cached_tokens": 500, "cache_write_tokens": 9},
        completion_tokens_details={"reasoning_tokens": 50},
    )
    found = collected(stream(delta("stop", content="x"), told)).usage
    assert found == Usage(100, 100, 0, 5, 5, doubtful=True)


def test_a_prompt_cut_by_the_server_is_an_overflow() -> None:
    long = replace(CALL, messages=(Message("user", "word " * 9000),))
    body = stream(delta("stop", content="x"), usage(4096, 1))
    with pytest.raises(CallError, match="cut the prompt") as caught:
        collected(body, profile="ollama", call=long)
    assert (caught.value.kind, caught.value.usage) == ("overflow", Usage(4096, output=1))
    assert collected(
        stream(delta("stop", content="x"), usage(9100, 1)), profile="ollama", call=long
    )


@pytest.mark.parametrize("name", PROFILES)
def test_a_salt_is_sent_where_the_profile_knows_it_and_can_be_switched_off(name: str) -> None:
    salted = replace(CALL, salt="s" * 64)
    body = request(salted, REPLICA, PROFILES[name])
    assert body.get("cache_salt") == ("s" * 64 if name in ("vllm", "sglang") else None)
    assert "cache_salt" not in request(CALL, REPLICA, PROFILES[name])
    assert "cache_salt" not in request(salted, REPLICA, adjusted(PROFILES[name], {"salt": False}))


def test_a_seed_can_be_switched_off() -> None:
    seeded = replace(CALL, seed=7)
    assert request(seeded, REPLICA, PROFILES["vllm"])["seed"] == 7
    assert "seed" not in request(seeded, REPLICA, adjusted(PROFILES["vllm"], {"seed": False}))


@pytest.mark.parametrize(
    ("changes", "says"), [({"first_s": 0}, "above zero"), ({"check_s": -1}, "or 0 to switch")]
)
def test_limits_on_silence_that_make_no_sense_are_refused(
    changes: dict[str, int], says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        adjusted(PROFILES["vllm"], changes)
