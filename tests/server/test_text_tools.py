"""Tools told of in words, with the real small model behind a real server."""

import os

import pytest

from podium.dsl.model import Endpoint, Model, Price, Sampling
from podium.engine.call import Message, ModelCall, Offer, ToolCall
from podium.engine.clients.http import HttpClient

pytestmark = [pytest.mark.server, pytest.mark.anyio]
LOOK = Offer(
    "look",
    "Looks at a place and says what is there.",
    {
        "type": "object",
        "properties": {"at": {"type": "string"}},
        "required": ["at"],
        "additionalProperties": False,
    },
)
DOOR = ToolCall("c1", "look", {"at": "the door"}, '{"at":"the door"}')
HISTORY = (
    Message("system", "You use tools."),
    Message("user", "Look at the door, then at the window."),
    Message("assistant", "", (DOOR,)),
    Message("tool", "It is open.", answers="c1"),
    Message("user", "Now the window."),
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize("form", ["native", "text"])
async def test_a_history_with_calls_is_answered_in_either_form(form: str) -> None:
    model = Model("m", (Endpoint("local", ""),), Price(), profile={"tools": form})
    greedy = Sampling(temperature=0.0, top_k=1)
    call = ModelCall("a", "r", "m", HISTORY, 64, greedy, tools=(LOOK,), seed=1)
    async with HttpClient(dict(os.environ)) as client:
        (replica, *_) = await client.probe(model)
        reply = await client.send(call, replica, "one")
    assert reply.finish in ("stop", "length", "tool_calls")
    assert reply.usage.input > 0
    if form == "text":  # greedy, it says the call before again, in the form it was shown
        assert [one.name for one in reply.tool_calls] == ["look"]
        assert "```" not in reply.text
