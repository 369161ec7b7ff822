"""The client and the command line against a real vLLM.

PODIUM_TEST_VLLM names one that runs (`http://127.0.0.1:8000`). Without it, where an executable `vllm` is
on the path, one is started on the CPU with the model folder that PODIUM_TEST_VLLM_MODEL names. The
answers are a model's own, so nothing is said of what they say; a window of 2,048 tokens or more will do.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from podium.dsl.program import Endpoint, Model, Sampling
from podium.engine.call import CallError, Message, ModelCall, Replica
from podium.engine.clients.http import HttpClient
from podium.engine.event import CallAnswered, CallIntended
from podium.engine.store import Store

pytestmark = [pytest.mark.server, pytest.mark.anyio]
READY_S = 240.0
PODIUM = (sys.executable, "-c", "from podium.engine.shell.cli import main; main()")


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def vllm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server's URL."""
    if url := os.environ.get("PODIUM_TEST_VLLM"):
        yield url.rstrip("/")
        return
    found, folder = shutil.which("vllm"), os.environ.get("PODIUM_TEST_VLLM_MODEL")
    if found is None or folder is None:
        pytest.skip(
            "no vLLM: name one that runs in PODIUM_TEST_VLLM, or install it and name a model's folder"
            " in PODIUM_TEST_VLLM_MODEL"
        )
    log = tmp_path_factory.mktemp("vllm") / "log"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    # Not the command itself: that of the distribution for CPUs does not find its own version.
    command = [str(Path(found).parent / "python"), "-m", "vllm.entrypoints.openai.api_server"]
    command += ["--model", folder, "--host", "127.0.0.1", "--port", str(port), "--dtype", "float32"]
    command += ["--max-model-len", "2048", "--max-num-seqs", "32", "--enforce-eager"]
    # On a CPU 0.32.0 dies where it reads a prompt in pieces for a request with a seed.
    command += ["--max-num-batched-tokens", "32768"]
    offline = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}
    with (
        log.open("wb") as out,
        subprocess.Popen(
            command, stdout=out, stderr=out, env={**os.environ, **offline}, start_new_session=True
        ) as process,
    ):
        try:
            yield _ready(process, f"http://127.0.0.1:{port}", log)
        finally:
            process.terminate()
            process.wait(30)


def _ready(process: "subprocess.Popen[bytes]", url: str, log: Path) -> str:
    for _ in range(int(READY_S)):
        try:
            text(f"{url}/health")
        except OSError:
            if process.poll() is not None:
                break
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(1)
        else:
            return url
    pytest.fail(f"vLLM did not start: {log.read_text(errors='replace')[-2000:]}")


def text(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return str(answer.read().decode())


def metric(url: str, name: str) -> float:
    lines = re.findall(rf"^vllm:{name}{{.*}} (\S+)$", text(f"{url}/metrics"), re.MULTILINE)
    return sum(map(float, lines))


async def until(holds: Callable[[], bool], within_s: float = 10.0) -> None:
    with anyio.fail_after(within_s):
        while not holds():  # noqa: ASYNC110  # what is asked is another process
            await anyio.sleep(0.05)


# --- the client ----------------------------------------------------------------------------------

CALL = ModelCall("main/agent", "run", "m", (Message("user", "Tell me of the sea."),), max_output=24)
LONG = replace(CALL, max_output=1500, sampling=Sampling(temperature=1.0))


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    async with HttpClient({}) as client:
        yield client


@pytest.fixture
async def replica(client: HttpClient, vllm: str) -> Replica:
    return (await client.probe(Model("m", (Endpoint("openai", "", vllm),))))[0]


async def test_it_is_recognised_and_its_window_is_known(replica: Replica) -> None:
    assert replica.profile == "vllm"
    assert (replica.context or 0) >= 2048


async def test_a_stream_keeps_to_its_cap_and_its_usage_is_exact(
    client: HttpClient, replica: Replica
) -> None:
    greedy = replace(CALL, sampling=Sampling(temperature=0.0, top_k=0, min_p=0.0), seed=1)
    reply = await client.send(greedy, replica, "id")
    assert reply.text
    assert not reply.usage.estimated
    assert reply.usage.input > 0
    assert 0 < reply.usage.output <= CALL.max_output
    assert (reply.finish == "length") == (reply.usage.output == CALL.max_output)


async def test_a_schema_is_obeyed(client: HttpClient, replica: Replica) -> None:
    schema = {
        "type": "object",
        "properties": {"kind": {"type": "string", "enum": ["fish", "bird"]}},
        "required": ["kind"],
        "additionalProperties": False,
    }
    asked = replace(CALL, schema=schema, max_output=60)
    assert json.loads((await client.send(asked, replica, "id")).text)["kind"] in ("fish", "bird")


async def test_a_prompt_above_the_window_is_told_from_other_mistakes(
    client: HttpClient, replica: Replica
) -> None:
    words = (Message("user", "sea " * (replica.context or 0)),)
    with pytest.raises(CallError) as caught:
        await client.send(replace(CALL, messages=words), replica, "id")
    assert (caught.value.kind, caught.value.maybe_paid) == ("overflow", False)
    with pytest.raises(CallError) as caught:
        await client.send(CALL, replace(replica, served="none"), "id")
    assert caught.value.kind == "model"


async def test_cancelled_calls_are_worked_on_no_longer(
    client: HttpClient, replica: Replica, vllm: str
) -> None:
    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(client.send, LONG, replica, "id")
        await until(lambda: metric(vllm, "num_requests_running") == 4)
        tasks.cancel_scope.cancel()
    await until(lambda: metric(vllm, "num_requests_running") == 0, 3.0)


async def test_accounts_do_not_share_the_prompt_cache(
    client: HttpClient, replica: Replica, vllm: str
) -> None:
    story = "Once upon a time there was a ship that no wind could move. " * 40
    asked = replace(CALL, messages=(Message("user", story),), max_output=1)

    async def hits(salt: str) -> float:
        before = metric(vllm, "prefix_cache_hits_total")
        await client.send(replace(asked, salt=salt), replica, "id")
        await anyio.sleep(0.3)  # the counters are written after the answer
        return metric(vllm, "prefix_cache_hits_total") - before

    mine, other = os.urandom(32).hex(), os.urandom(32).hex()
    assert await hits(mine) == 0
    assert await hits(mine) > 0
    assert await hits(other) == 0
    assert await hits(other) > 0


# --- the command line ----------------------------------------------------------------------------

PROGRAM = '''
edition 2026

role writer {
  prompt     = """{{ task.statement }}"""
  max_output = 80 tokens
}

task story { statement = "Tell a long story about the sea."  verify = contains(["e"]) }

run main {
  task   = story
  flow   = parallel(2) of team(2, members = [2 of writer], rounds = 2) -> best
  budget = [200k tokens, 60 calls, 10m]
}
'''


@contextmanager
def started(folder: Path, *words: str) -> Generator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [*PODIUM, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def addresses(folder: Path, kind: type[CallAnswered | CallIntended]) -> list[str]:
    path = folder / ".podium" / "runs.db"
    if not path.exists():
        return []
    with closing(Store.open(path)) as store:
        events = [s.event for run in store.runs() for s in store.events(run.id)]
    return [e.address for e in events if isinstance(e, kind) and "/v." not in e.address]


@pytest.mark.parametrize("name", ["hello", "best_of"])
async def test_an_example_runs(tmp_path: Path, vllm: str, name: str) -> None:
    example = Path(__file__).parents[2] / "examples" / f"{name}.team"
    with started(
        tmp_path, "run", str(example), "--model", vllm, "--json", "--max-tokens", "9k"
    ) as run:
        out, err = run.communicate(timeout=120)
    assert run.returncode in (0, 1, 3), err
    shown = json.loads(out)
    assert (shown["held"], shown["spent"]["usd"]) == (0, 0)
    assert shown["spent"]["calls"] > 0


async def test_a_killed_run_is_finished_and_pays_for_no_answer_twice(
    tmp_path: Path, vllm: str
) -> None:
    (tmp_path / "story.team").write_text(PROGRAM)
    with started(tmp_path, "run", "story.team", "--model", vllm, "--quiet") as run:
        await until(lambda: len(addresses(tmp_path, CallAnswered)) >= 2, 60.0)
        run.kill()
    before = addresses(tmp_path, CallAnswered)
    await until(lambda: metric(vllm, "num_requests_running") == 0)
    with started(tmp_path, "resume", "--json") as run:
        out, err = run.communicate(timeout=300)
    assert run.returncode in (0, 1), err
    assert json.loads(out)["held"] == 0
    sent = addresses(tmp_path, CallIntended)
    assert [sent.count(address) for address in before] == [1] * len(before)


async def test_two_interrupts_leave_nothing_running_at_the_server(
    tmp_path: Path, vllm: str
) -> None:
    (tmp_path / "story.team").write_text(PROGRAM)
    with started(tmp_path, "run", "story.team", "--model", vllm) as run:
        await until(lambda: metric(vllm, "num_requests_running") > 0, 60.0)
        run.send_signal(signal.SIGINT)
        await anyio.sleep(0.3)
        run.send_signal(signal.SIGINT)
        await until(lambda: metric(vllm, "num_requests_running") == 0, 5.0)
        _, err = run.communicate(timeout=30)
    assert run.returncode == 130, err
    assert "podium resume" in err or " resume " in err
