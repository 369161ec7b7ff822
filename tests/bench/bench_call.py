"""What the engine adds to a call: its CPU time against that of a bare aiohttp loop on the same loopback server.

The server is a process of its own, so its work is not counted. Both clients send the same prompts, streamed, and
read every answer to its end. Prints CPU microseconds a call at 1, 100 and 2,000 calls at once, and the ratio.
Run by hand:

    python tests/bench/bench_call.py
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import anyio

from podium.dsl.source import Source
from podium.engine import Engine

# (calls at once, calls in all)
LOADS = ((1, 300), (100, 2_000), (2_000, 4_000))
PROMPT = "Say hello."


@contextmanager
def server() -> Generator[str]:
    """The URL of a scripted server that answers at once."""
    command = [sys.executable, "-m", "podium.engine.testing.server", "--slots", "4096"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()


async def bare(url: str, at_once: int, calls: int) -> None:
    """The least a client can do: post, and read the stream to its end."""
    body = {
        "model": "fake",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "user", "content": PROMPT}],
        "max_tokens": 16,
        "temperature": 0.8,
    }
    slots = anyio.Semaphore(at_once)

    async def one(session: aiohttp.ClientSession) -> None:
        async with slots, session.post(f"{url}/v1/chat/completions", json=body) as reply:
            async for line in reply.content:
                if line.startswith(b"data: {"):
                    json.loads(line[6:])

    connector = aiohttp.TCPConnector(limit=0, force_close=True)
    timeout = aiohttp.ClientTimeout(total=None)
    async with (
        aiohttp.ClientSession(connector=connector, timeout=timeout) as session,
        anyio.create_task_group() as tasks,
    ):
        for _ in range(calls):
            tasks.start_soon(one, session)


def program(url: str, at_once: int, calls: int) -> str:
    return f'''
edition 2026
model fake {{
  endpoint = openai("fake", base_url = "{url}/v1")
  price    = none
  context  = 8k tokens
  limits   = {{ inflight = {at_once} }}
}}
role speaker {{
  system     = "You speak."
  prompt     = """{{{{ task.statement }}}}"""
  max_output = 16 tokens
}}
task hello {{ statement = "{PROMPT}" }}
run main {{
  task   = hello
  flow   = parallel({calls}) of speaker -> vote
  budget = [{calls} calls]
}}
'''.lstrip()


async def engine(url: str, at_once: int, calls: int) -> None:
    """The same calls as a run: held, journalled, folded."""
    with tempfile.TemporaryDirectory() as folder:
        async with Engine(str(Path(folder) / "runs.db")) as opened:
            run = await opened.start(Source("bench.team", program(url, at_once, calls)))
            result = await run.result()
    made = result.folded.total.amount.calls
    if made != calls:
        raise SystemExit(f"{made} of {calls} calls were made: {result.outcome}")


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    print("at once  calls   bare us/call  engine us/call  ratio   bare calls/s  engine calls/s")
    with server() as url:
        anyio.run(bare, url, 10, 100)  # imports and code caches, on both sides
        anyio.run(engine, url, 10, 100)
        for at_once, calls in LOADS:
            figures: list[tuple[float, float]] = []
            for work in (bare, engine):
                cpu, clock = cpu_s(), time.perf_counter()
                anyio.run(work, url, at_once, calls)
                figures.append((cpu_s() - cpu, time.perf_counter() - clock))
            (bare_cpu, bare_clock), (our_cpu, our_clock) = figures
            print(
                f"{at_once:7} {calls:6} {bare_cpu / calls * 1e6:13.0f} {our_cpu / calls * 1e6:15.0f}"
                f" {our_cpu / bare_cpu:6.2f} {calls / bare_clock:14.0f} {calls / our_clock:15.0f}"
            )


if __name__ == "__main__":
    main()
