"""What the client adds to a streamed event: its CPU time against that of a bare aiohttp reader, in one run.

The server is a process of its own, so its work is not counted, and sends one event a write with a pause
between, as a model does. Both clients read every stream to its end; the bare one takes each line's JSON
apart and joins the texts, which is the least that a client can do with a reply. Prints CPU microseconds an
event at 1, 100, 1,000 and 2,000 streams at once, and the ratio; the middle of ROUNDS rounds, taken in turn.

    python tests/bench/bench_stream.py
"""

import json
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import aiohttp
import anyio
import orjson

from podium.dsl.model import Endpoint, Model
from podium.engine.call import Message, ModelCall
from podium.engine.clients.http import HttpClient

EVENTS = 64
# (streams at once, streams in all, seconds between events: about 4,000 events a second in each load)
LOADS = ((1, 16, 0.001), (100, 200, 0.02), (1_000, 1_000, 0.2), (2_000, 2_000, 0.4))
ROUNDS = 3
Answer = dict[str, object]


@contextmanager
def server(pause_s: float) -> Generator[str]:
    """The URL of a scripted server that streams EVENTS deltas with pauses."""
    answer: Answer = {"text": "word " * EVENTS, "pieces": EVENTS, "pause_s": pause_s}
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.json"
        script.write_text(json.dumps([answer]))
        command = [sys.executable, "-m", "podium.engine.testing.server", "--script", str(script)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                yield json.loads(process.stdout.readline())["url"]
            finally:
                process.terminate()


async def bare(url: str, at_once: int, streams: int) -> None:
    body = {
        "model": "fake",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "user", "content": "hi"}],
        "max_tokens": 999,
    }

    async def one(session: aiohttp.ClientSession) -> None:
        texts: list[str] = []
        async with session.post(f"{url}/v1/chat/completions", json=body) as reply:
            async for line in reply.content:
                if line.startswith(b"data: {"):
                    choices = orjson.loads(line[6:])["choices"]
                    texts += (choice["delta"].get("content", "") for choice in choices)
        assert len("".join(texts)) == 5 * EVENTS

    timeout = aiohttp.ClientTimeout(total=None, sock_read=120)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        await _all(partial(one, session), at_once, streams)


async def ours(url: str, at_once: int, streams: int) -> None:
    call = ModelCall("main/agent", "run", "fast", (Message("user", "hi"),), max_output=999)
    async with HttpClient({}) as client:
        [replica] = await client.probe(Model("fast", (Endpoint("openai", "", url, None),)))

        async def one() -> None:
            assert len((await client.send(call, replica, "id")).text) == 5 * EVENTS

        await _all(one, at_once, streams)


async def _all(one: Callable[[], Awaitable[None]], at_once: int, streams: int) -> None:
    left = list(range(streams))

    async def many() -> None:
        while left:
            left.pop()
            await one()

    async with anyio.create_task_group() as tasks:
        for _ in range(at_once):
            tasks.start_soon(many)


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    print("streams   bare us/event   ours us/event   ratio")
    for at_once, streams, pause_s in LOADS:
        with server(pause_s) as url:
            figures: dict[str, list[float]] = {"bare": [], "ours": []}
            for _ in range(ROUNDS):
                for name, work in (("bare", bare), ("ours", ours)):
                    began = cpu_s()
                    anyio.run(work, url, at_once, streams)
                    figures[name].append((cpu_s() - began) / streams / EVENTS * 1e6)
        least, own = (statistics.median(each) for each in figures.values())
        print(f"{at_once:7} {least:15.1f} {own:15.1f} {own / least:7.2f}", flush=True)


if __name__ == "__main__":
    main()
