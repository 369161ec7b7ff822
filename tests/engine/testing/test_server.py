"""The scripted server counts and logs what happens to it, in this process and in one of its own."""

import json
import sys
from pathlib import Path

import anyio
import pytest

from podium.dsl.model import Endpoint, Model
from podium.engine.call import Message, ModelCall
from podium.engine.clients.http import HttpClient
from podium.engine.testing.server import Answer, FakeServer, Seen, always, in_turn

pytestmark = pytest.mark.anyio

CALL = ModelCall("main/agent", "run", "fast", (Message("user", "hi"),), max_output=20)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def model(url: str) -> Model:
    return Model("fast", (Endpoint("openai", "", url),))


async def test_started_and_answered_calls_are_counted_and_seen() -> None:
    async with FakeServer(in_turn(Answer("one"), Answer("two"))) as fake, HttpClient({}) as client:
        [replica] = await client.probe(model(fake.url))
        texts = [(await client.send(CALL, replica, "id")).text for _ in range(3)]
    assert texts == ["one", "two", "two"]
    assert (fake.started, fake.answered, fake.running, fake.abandoned) == (3, 3, 0, 0)
    assert [seen.path for seen in fake.seen] == ["/v1/models", *["/v1/chat/completions"] * 3]
    assert fake.calls[0].body["messages"] == [{"role": "user", "content": "hi"}]


async def test_a_script_sees_what_it_answers() -> None:
    def script(seen: Seen) -> Answer:
        return Answer(seen.body["messages"][0]["content"] + "!")

    async with FakeServer(script) as fake, HttpClient({}) as client:
        [replica] = await client.probe(model(fake.url))
        assert (await client.send(CALL, replica, "id")).text == "hi!"


@pytest.mark.parametrize("keep_working", [False, True])
async def test_a_server_may_work_on_after_its_client_has_gone(keep_working: bool) -> None:
    answer = Answer(pieces=5, pause_s=0.05, keep_working=keep_working)
    async with FakeServer(always(answer)) as fake, HttpClient({}) as client:
        [replica] = await client.probe(model(fake.url))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.send, CALL, replica, "id")
            await fake.until(lambda: fake.running == 1)
            tasks.cancel_scope.cancel()
        await fake.until(lambda: fake.abandoned == 1)
        assert fake.running == int(keep_working)
        await fake.until(lambda: fake.running == 0)
    assert fake.answered == 0


@pytest.mark.slow
async def test_as_a_process_it_answers_by_the_messages_and_logs_each_call(tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = [sys.executable, "-m", "podium.engine.testing.server", "--log", str(log)]
    async with await anyio.open_process(command, stderr=None) as process:
        assert process.stdout is not None
        ready = json.loads(await process.stdout.receive())
        async with HttpClient({}) as client:
            [replica] = await client.probe(model(ready["url"]))
            first = await client.send(CALL, replica, "id")
            assert await client.send(CALL, replica, "id") == first
        process.terminate()
        assert await process.wait() == 0
    events = [json.loads(line) for line in log.read_text().splitlines()]
    calls = [(e["event"], e["number"]) for e in events if e["path"] == "/v1/chat/completions"]
    assert calls == [("started", 1), ("answered", 1), ("started", 2), ("answered", 2)]
    assert events[1]["body"]["messages"] == [{"role": "user", "content": "hi"}]
    assert first.text.startswith("reply ")
