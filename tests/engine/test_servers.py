"""Tools of MCP servers: real ones, as processes and over HTTP."""

import os
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from podium.dsl.program import Tool
from podium.engine.call import CallError, ToolReply, ToolUse
from podium.engine.servers import Servers, served

pytest.importorskip("mcp")
pytestmark = [pytest.mark.anyio, pytest.mark.long]
FIXTURE = Path(__file__).parents[1] / "fixtures" / "tool_server.py"
STDIO = Tool("fixture", "mcp", {"command": (sys.executable, str(FIXTURE))}, timeout_s=5.0)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def use(servers: Servers, name: str, tool: Tool = STDIO, **arguments: float) -> ToolReply:
    return await servers.use(ToolUse("a", "r", tool, name, arguments))


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def pid_of(servers: Servers) -> int:
    return int((await use(servers, "add", a=2, b=3)).text.rpartition(" ")[2])


async def test_a_server_tells_its_tools_answers_calls_and_is_gone_at_the_end() -> None:
    async with served([STDIO]) as servers:
        offers = {offer.name: offer for offer in servers.offers(STDIO)}
        assert set(offers) == {"add", "wait", "fail", "die"}
        assert offers["add"].description == "Adds two numbers."
        assert (await use(servers, "add", a=2, b=3)).text.startswith("5 by ")
        assert (await use(servers, "fail")).failed
        pid = await pid_of(servers)
        assert lives(pid)
    assert not lives(pid)


async def test_one_who_is_cancelled_leaves_the_server_to_the_others() -> None:
    """Field case 16: opened for all, used by several, one of them cancelled; no error, no process is left."""
    texts: list[str] = []

    async def one(servers: Servers, number: int) -> None:
        if number == 3:
            with anyio.move_on_after(0.2):
                await use(servers, "wait", seconds=60)
        texts.extend([(await use(servers, "add", a=number, b=1)).text for _ in range(3)])

    async with served([STDIO]) as servers:
        pid = await pid_of(servers)
        async with anyio.create_task_group() as tasks:
            for number in range(10):
                tasks.start_soon(one, servers, number)
    assert sorted({int(text.split()[0]) for text in texts}) == list(range(1, 11))
    assert len(texts) == 30
    assert not lives(pid)


async def test_a_call_that_takes_too_long_is_stopped_and_said_to_be() -> None:
    quick = Tool("fixture", "mcp", STDIO.args, timeout_s=0.3)
    async with served([quick]) as servers:
        reply = await use(servers, "wait", quick, seconds=60)
        assert reply == ToolReply("wait took longer than 0.3 s and was stopped", failed=True)
        assert not (await use(servers, "add", quick, a=1, b=1)).failed


async def test_a_server_that_dies_is_told_of_and_breaks_nothing() -> None:
    async with served([STDIO]) as servers:
        assert (await use(servers, "die")).failed
        with anyio.fail_after(10):
            assert (await use(servers, "add", a=1, b=1)).failed


async def test_a_server_that_cannot_be_had_is_told_before_anything_is_paid() -> None:
    wrong = Tool("nothing", "mcp", {"command": ("/no/such/program",)})
    with pytest.raises(CallError, match="the server nothing cannot be had"):
        async with served([wrong]):
            pytest.fail("it was had")


async def test_what_goes_wrong_beside_a_server_goes_out_as_it_is() -> None:
    pids: list[int] = []

    async def wrong() -> None:
        async with served([STDIO]) as servers:
            pids.append(await pid_of(servers))
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await wrong()
    assert not lives(pids[0])


@pytest.fixture
def address() -> Generator[str]:
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = int(free.getsockname()[1])
    command = [sys.executable, str(FIXTURE), str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as started:
        try:
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            started.terminate()


async def test_a_server_is_reached_over_http(address: str) -> None:
    tool = Tool("127.0.0.1", "mcp", {"url": address}, timeout_s=5.0)
    for attempt in range(50):
        try:
            async with served([tool]) as servers:
                assert (await use(servers, "add", tool, a=2, b=3)).text.startswith("5 by ")
            return
        except CallError:
            await anyio.sleep(0.1 + 0.01 * attempt)
    pytest.fail("the server did not begin")
