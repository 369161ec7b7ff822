"""Fragments of tool calls, as each kind of server sends them, to one form."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.dsl.model import Endpoint
from podium.engine.call import (
    Message,
    ModelCall,
    ModelReply,
    Replica,
    ToolCall,
    Usage,
    reply_body,
    reply_of,
)
from podium.engine.clients.chat import Collector
from podium.engine.clients.dialects import PROFILES
from podium.engine.clients.sse import Decoder
from podium.engine.clients.tool_calls import Fragments, arguments

PARIS = ToolCall("a", "weather", {"city": "Paris"}, '{"city":"Paris"}')


def part(**fields: Any) -> dict[str, Any]:
    """One fragment: name and arguments go into its `function`."""
    function = {key: fields.pop(key) for key in ("name", "arguments") if key in fields}
    return {"tool_calls": [{**fields, "function": function}]}


def calls(*deltas: dict[str, Any]) -> tuple[ToolCall, ...]:
    fragments = Fragments()
    for delta in deltas:
        fragments.add(delta)
    return fragments.calls()


@pytest.mark.parametrize(
    "deltas",
    [
        # OpenAI, vLLM: id and name first, then pieces
        [
            part(index=0, id="a", type="function", name="weather", arguments=""),
            part(index=0, arguments='{"city":'),
            part(index=0, arguments='"Paris"}'),
        ],
        # SGLang: id and name are null later on
        [
            part(index=0, id="a", name="weather", arguments=""),
            part(index=0, id=None, name=None, arguments='{"city":"Paris"}'),
        ],
        # Ollama: whole, in one chunk
        [part(index=0, id="a", name="weather", arguments='{"city":"Paris"}')],
        # an object in place of its text
        [part(index=0, id="a", name="weather", arguments={"city": "Paris"})],
        # id and name repeated in each fragment
        [
            part(index=0, id="a", name="weather", arguments='{"city":'),
            part(index=0, id="a", name="weather", arguments='"Paris"}'),
        ],
        # no index
        [
            part(id="a", name="weather", arguments='{"city":'),
            part(arguments='"Paris"}'),
        ],
        # both forms, the old one beside
        [
            {
                **part(index=0, id="a", name="weather", arguments='{"city":"Paris"}'),
                "function_call": {"name": "weather", "arguments": '{"city":"Paris"}'},
            }
        ],
    ],
)
def test_all_forms_give_the_same_call(deltas: list[dict[str, Any]]) -> None:
    assert calls(*deltas) == (PARIS,)


def test_the_old_form_alone_is_a_call_with_an_id_of_ours() -> None:
    old = [
        {"function_call": {"name": "f", "arguments": "{"}},
        {"function_call": {"arguments": "}"}},
    ]
    assert calls(*old) == (ToolCall("call_0", "f", {}, "{}"),)


def test_several_calls_are_told_apart_by_index_or_by_id() -> None:
    by_index = calls(
        part(index=0, id="a", name="f"),
        part(index=1, id="b", name="g"),
        part(index=0, arguments='{"x":1}'),
        part(index=1, arguments='{"x":2}'),
    )
    same_index = calls(
        part(index=0, id="a", name="f", arguments='{"x":1}'),
        part(index=0, id="b", name="g", arguments='{"x":2}'),
    )
    no_index = calls(
        part(id="a", name="f", arguments='{"x":'),
        part(id="b", name="g", arguments='{"x":2}'),
        part(id="a", arguments="1}"),
    )
    assert by_index == same_index == no_index
    assert [(one.id, one.arguments) for one in by_index] == [("a", {"x": 1}), ("b", {"x": 2})]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", {}),
        ("  ", {}),
        ('{"a": "\\u001b[2J\\ud800"}', {"a": "[2J\ufffd"}),
        ('{"a": "x\ny"}', {"a": "x\ny"}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ('"Paris"', None),
        ('{"a": 1', None),
        ("[1]", None),
        ("null", None),
    ],
)
def test_arguments_are_an_object_or_nothing(text: str, value: Any) -> None:
    assert arguments(text) == value


@given(st.lists(st.integers(0, 40), max_size=5))
def test_arguments_are_the_same_however_they_are_cut(places: list[int]) -> None:
    text = '{"city": "Zürich 𝄞", "days": [1, 2, 3]}'
    edges = [0, *sorted(min(place, len(text)) for place in places), len(text)]
    pieces = [text[a:b] for a, b in pairwise(edges)]
    [call] = calls(part(index=0, id="a", name="f"), *(part(index=0, arguments=p) for p in pieces))
    assert call.arguments == {"city": "Zürich 𝄞", "days": [1, 2, 3]}


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["index", "id", "function"]), st.none() | st.text() | st.integers()
        ),
        max_size=4,
    )
)
def test_nonsense_is_no_crash(parts: list[Any]) -> None:
    for call in calls({"tool_calls": parts}, {"tool_calls": "x"}):
        assert call.arguments == {}


def test_a_reply_with_calls_is_the_same_after_the_journal() -> None:
    reply = ModelReply("", "tool_calls", Usage(1, output=2), tool_calls=(PARIS,))
    assert reply_of(orjson.loads(orjson.dumps(reply_body(reply)))) == reply
    assert "tool_calls" not in reply_body(ModelReply("x", "stop", Usage()))


RECORDED = {
    (one["server"], one["name"]): one["body"].encode()
    for one in orjson.loads(
        (Path(__file__).parents[2] / "fixtures" / "tool_calls.json").read_bytes()
    )["exchanges"]
}
CALL = ModelCall("a", "run", "m", (Message("user", "weather?"),), max_output=64)
REPLICA = Replica("r", "m", Endpoint("openai", ""), "", "m", 1)


def read(*chunks: bytes) -> ModelReply:
    collector, decoder = Collector(CALL, PROFILES["vllm"], "x"), Decoder()
    if chunks[0].startswith(b"{"):
        collector.whole(b"".join(chunks))
    else:
        for chunk in chunks:
            for event in decoder.feed(chunk):
                collector.add(event)
    return collector.reply(REPLICA)


@pytest.mark.parametrize(
    ("which", "finish", "name", "value"),
    [
        # A small model's arguments: a text in place of an object, or cut by the cap. No tool is called with them.
        (("vllm-0.32.0-tools", "tools required"), "tool_calls", "get_weather", None),
        (("vllm-0.32.0-tools", "tools named"), "tool_calls", "get_weather", None),
        (("vllm-0.32.0-tools", "tools required, stream"), "tool_calls", "get_weather", None),
        (("vllm-0.32.0-tools", "tools required, cut by the cap"), "length", None, None),
        (("sglang-0.5.23-tools", "tools required, stream"), "length", "get_weather", None),
        (("sglang-0.5.23-tools", "tools required, cut by the cap"), "length", None, None),
        (
            ("llama-cpp-python-0.3.36", "tools named"),
            "tool_calls",
            "get_weather",
            {"city": "Paris"},
        ),
    ],
)
def test_recorded_calls(which: tuple[str, str], finish: str, name: str | None, value: Any) -> None:
    found = read(RECORDED[which])
    assert found.finish == finish
    assert [(one.name, one.arguments) for one in found.tool_calls] == (
        [(name, value)] if name else []
    )


@given(
    st.sampled_from([which for which in RECORDED if "stream" in which[1]]),
    st.lists(st.integers(0, 9_000)),
)
def test_recorded_calls_are_the_same_however_they_are_cut(
    which: tuple[str, str], places: list[int]
) -> None:
    body = RECORDED[which]
    edges = [0, *sorted(place % len(body) for place in places), len(body)]
    assert read(*(body[a:b] for a, b in pairwise(edges))) == read(body)
