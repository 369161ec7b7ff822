"""The service of the examples, as a process of its own on loopback, before a scripted server."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import anyio.to_thread
import pytest

from podium.engine.testing.server import Answer, FakeServer, always

SERVICE = Path(__file__).parents[1] / "examples" / "service.py"
TOKEN = "let me in"
PROGRAM = """
edition 2026
model fake {
  endpoint = openai("fake", base_url = "URL/v1")
  price    = none
  limits   = { inflight = 1 }
}
role writer {
  prompt     = \"\"\"{{ task.statement }}\"\"\"
  max_output = 20 tokens
}
task hello { statement = "Say hello." }
run main {
  task   = hello
  flow   = parallel(CALLS) of writer -> vote
  budget = [20 calls]
}
"""

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@contextmanager
def process(folder: Path) -> Generator[subprocess.Popen[str]]:
    """The service. It is ended by SIGTERM, unless it ended before."""
    command = [sys.executable, str(SERVICE), "--port", "0"]
    environ = {**os.environ, "PODIUM_TOKEN": TOKEN}
    with subprocess.Popen(
        command, cwd=folder, env=environ, stdout=subprocess.PIPE, text=True
    ) as started:
        try:
            yield started
        finally:
            started.terminate()


def listens(service: subprocess.Popen[str]) -> str:
    """Where, once it does."""
    assert service.stdout is not None
    return service.stdout.readline().strip()


async def listens_soon(service: subprocess.Popen[str]) -> str:
    """The same, while the scripted server in this loop goes on."""
    return await anyio.to_thread.run_sync(listens, service)


@dataclass(slots=True)
class User:
    """Who knows the token."""

    session: aiohttp.ClientSession

    async def post(self, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
        async with self.session.post(path, json=body, headers=headers) as reply:
            return reply.status, await reply.json()

    async def get(self, path: str) -> tuple[int, Any]:
        async with self.session.get(path) as reply:
            return reply.status, await reply.json()

    async def events(self, run: str, *, after: int | None = None) -> list[Any]:
        """The events that the service streams, until it ends."""
        headers = {} if after is None else {"Last-Event-ID": str(after)}
        async with self.session.get(f"/runs/{run}/events", headers=headers) as reply:
            assert reply.content_type == "text/event-stream"
            lines = (await reply.text()).splitlines()
        return [json.loads(line[6:]) for line in lines if line.startswith("data: ")]

    async def newest(self) -> Any:
        """The outcome of the newest run; None while it lives."""
        _, found = await self.get("/runs")
        return found["runs"][0]["outcome"]

    async def status(self, run: str) -> str:
        _, found = await self.get("/runs")
        return next(one["status"] for one in found["runs"] if one["run"] == run)


@asynccontextmanager
async def user(url: str) -> AsyncGenerator[User]:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with aiohttp.ClientSession(url, headers=headers) as session:
        yield User(session)


def asked(server: FakeServer, calls: int) -> dict[str, str]:
    return {"program": PROGRAM.replace("URL", server.url).replace("CALLS", str(calls))}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    with process(tmp_path_factory.mktemp("service")) as started:
        yield listens(started)


async def test_a_run_is_started_once_and_streamed_to_its_end(service: str) -> None:
    async with FakeServer() as server, user(service) as one:
        key = {"Idempotency-Key": "order-1"}
        status, first = await one.post("/runs", asked(server, 2), **key)
        again = await one.post("/runs", asked(server, 2), **key)
        assert (status, again) == (201, (201, first))
        events = await one.events(first["run"])
        assert [event["number"] for event in events] == list(range(len(events)))
        assert events[-1]["event"] == "run_ended"
        assert await one.events(first["run"], after=3) == events[4:]
        assert await one.status(first["run"]) == "ended"
        assert server.started == 2


async def test_a_client_that_goes_away_cancels_the_run_it_had_streamed(service: str) -> None:
    """Field case 12: the connections to the model are closed within a second, and none is opened any more."""
    async with (
        FakeServer(always(Answer("yes " * 99, pieces=99, pause_s=0.1))) as server,
        user(service) as one,
    ):
        async with one.session.post("/answers", json=asked(server, 3)) as reply:
            assert await reply.content.readany()
            while server.started == 0:  # noqa: ASYNC110  # another process is waited for
                await anyio.sleep(0.01)
        with anyio.fail_after(2):
            while (outcome := await one.newest()) is None:  # noqa: ASYNC110  # likewise
                await anyio.sleep(0.01)
        assert outcome["outcome"] == "cancelled"
        assert server.started == 1


async def test_only_who_knows_the_token_is_let_in(service: str) -> None:
    async with aiohttp.ClientSession(service) as stranger:
        for headers in ({}, {"Authorization": "Bearer let me"}):
            async with stranger.get("/runs", headers=headers) as reply:
                assert reply.status == 401


async def test_mistakes_of_a_request_are_told(service: str) -> None:
    async with user(service) as one:
        assert (await one.post("/runs", ["no program"]))[0] == 400
        status, told = await one.post("/runs", {"program": "run main {"})
        assert status == 422
        assert "never closed" in told["error"]
        assert (await one.post("/runs", {"program": PROGRAM, "budget": "much"}))[0] == 422
        assert (await one.get("/runs/nobody/events"))[0] == 404
        assert (await one.post("/runs/nobody/resume"))[0] == 404


async def test_a_run_is_paused_resumed_and_stopped(service: str) -> None:
    async with FakeServer(always(Answer(delay_s=0.05))) as server, user(service) as one:
        _, started = await one.post("/runs", asked(server, 20))
        run = started["run"]
        await one.post(f"/runs/{run}/pause")
        assert (await one.events(run))[-1]["body"]["outcome"] == "paused"
        assert await one.status(run) == "paused"
        assert (await one.post(f"/runs/{run}/pause"))[0] == 409
        assert (await one.post(f"/runs/{run}/resume"))[0] == 200
        await one.post(f"/runs/{run}/stop")
        assert (await one.events(run))[-1]["body"]["outcome"] == "stopped"
        assert server.started < 20


@pytest.mark.long
async def test_a_run_goes_on_when_the_service_starts_again(tmp_path: Path) -> None:
    async with FakeServer(always(Answer(delay_s=0.05))) as server:
        with process(tmp_path) as first:
            async with user(await listens_soon(first)) as one:
                _, started = await one.post("/runs", asked(server, 12))
                await server.until(lambda: server.answered >= 2)
            first.send_signal(signal.SIGTERM)
            await anyio.to_thread.run_sync(first.wait)
            assert server.started < 12
            before = server.answered
        with process(tmp_path) as second:
            await listens_soon(second)
            await server.until(lambda: server.answered >= before + 2)
            second.send_signal(signal.SIGKILL)
            await anyio.to_thread.run_sync(second.wait)
            assert server.started < 12
        with process(tmp_path) as third:
            async with user(await listens_soon(third)) as one:
                events = await one.events(started["run"])
        assert events[-1]["body"]["outcome"] == "finished"
        # Only what was in flight at the kill is paid twice.
        assert server.started <= 12 + 1
