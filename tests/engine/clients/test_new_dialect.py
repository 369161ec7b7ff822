"""A kind of server that nobody has heard of: what docs/dialects.md says to write for it is enough."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from podium.dsl.compile import Choice, compile_run
from podium.dsl.library import MemoryLibrary
from podium.dsl.model import Endpoint, Model
from podium.dsl.quantity import Scalar
from podium.dsl.source import Source
from podium.engine.call import CallError, Message, ModelCall, Replica
from podium.engine.clients import http, profile
from podium.engine.clients.dialects import PROFILES, Profile
from podium.engine.clients.http import HttpClient
from podium.engine.testing.dialects import speaking
from podium.engine.testing.quirks import Dialect, Says, refusal
from podium.engine.testing.server import MODEL, FakeServer, json_answer

PAGE = (Path(__file__).parents[3] / "docs" / "dialects.md").read_text()
# It obeys one cap alone, refuses schemas, and says that it is busy in its own way.
ODD = Dialect(
    "odd",
    {"owned_by": "odd"},
    caps=("max_completion_tokens",),
    refuses=("max_tokens",),
    busy=refusal(400, "the queue is long today"),
)
CALL = ModelCall("main/agent", "run", "odd", (Message("user", "say hi"),), max_output=3)

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    async with HttpClient({}) as client:
        yield client


def odd(says: Says) -> FakeServer:
    listed = {"object": "list", "data": [{"id": MODEL, **ODD.listed, "max_model_len": 2048}]}
    return FakeServer(speaking(ODD, says), routes={"/v1/models": json_answer(listed)})


async def probed(
    client: HttpClient, fake: FakeServer, changes: dict[str, Scalar] | None = None
) -> Replica:
    model = Model("odd", (Endpoint("openai", "", fake.url),), profile=changes or {})
    return (await client.probe(model))[0]


def block() -> dict[str, Scalar]:
    """The profile of the model block on the page, as the language reads it."""
    found = re.search(r"model odd \{\n.*?\n +\}", PAGE, re.DOTALL)
    assert found is not None
    run = 'task t { statement = "Hi" }\nrun main { task = t  flow = agent  budget = [9k tokens] }'
    text = re.sub(r"^    ", "", found[0], flags=re.MULTILINE)
    program, _ = compile_run(Source("x.team", f"{text}\n{run}\n"), MemoryLibrary(), Choice())
    return dict(program.models["odd"].profile)


async def test_for_one_program_the_fields_of_its_model_block_are_enough(client: HttpClient) -> None:
    changes = block()
    async with odd(Says("one two three four five")) as server:
        replica = await probed(client, server, changes)
        reply = await client.send(CALL, replica, "1")
        assert (replica.profile, reply.text.split(), reply.finish) == (
            "compatible",
            ["one", "two", "three"],
            "length",
        )
        schema = {"type": "object", "properties": {"a": {"type": "string"}}}
        await client.send(replace(CALL, schema=schema), replica, "2")
        assert server.calls[-1].body["response_format"] == {"type": "json_object"}
        assert "schema" in str(server.calls[-1].body["messages"]).lower()
    async with odd(Says(trouble="busy")) as server:
        with pytest.raises(CallError) as caught:
            await client.send(CALL, await probed(client, server, changes), "3")
        assert caught.value.kind == "busy"


async def test_for_everybody_the_row_of_the_page_is_enough(
    client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = re.search(r'Profile\("odd".*\)', PAGE)
    assert written is not None
    row: Profile = eval(written[0], {"Profile": Profile})
    table = MappingProxyType({**PROFILES, row.name: row})
    for module in (http, profile):
        monkeypatch.setattr(module, "PROFILES", table)
    async with odd(Says("one two three four five")) as server:
        replica = await probed(client, server)
        reply = await client.send(CALL, replica, "1")
        assert (replica.profile, replica.context) == ("odd", 2048)
        assert len(reply.text.split()) == CALL.max_output
        assert client.has_gauges(replica)
