"""The client and the command line against real servers: llama.cpp's, vLLM's and SGLang's, on this machine's CPU.

Each is set up once and started here (`real/servers.py`); PODIUM_TEST_VLLM, PODIUM_TEST_SGLANG or PODIUM_TEST_LLAMA
names one that runs. One that cannot be had is skipped, and said why. The answers are a tiny model's own, so
nothing is said of what they say.
"""

import json
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from podium.dsl.model import Endpoint, EnvRef, Model, Sampling
from podium.engine import Engine
from podium.engine.admit import Admission
from podium.engine.call import CallError, Message, ModelCall, Offer, Replica
from podium.engine.clients.gauges import Load
from podium.engine.clients.http import HttpClient
from podium.engine.event import CallAnswered, CallIntended
from podium.engine.fleet import Fleet, Wish
from podium.engine.gauging import listen
from podium.engine.ledger import Ledger
from podium.engine.store import Store

from .real.servers import Served, Unavailable, named_by

pytestmark = [pytest.mark.server, pytest.mark.anyio]
PODIUM = (sys.executable, "-c", "from podium.engine.shell.cli import main; main()")
VARIABLES = {
    "llama.cpp": "PODIUM_TEST_LLAMA",
    "vllm": "PODIUM_TEST_VLLM",
    "sglang": "PODIUM_TEST_SGLANG",
}


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module", params=list(VARIABLES))
def served(request: pytest.FixtureRequest) -> Iterator[Served]:
    name: str = request.param
    with ExitStack() as stack:
        try:
            found = stack.enter_context(named_by(VARIABLES[name], name))
        except Unavailable as why:
            pytest.skip(f"no {name}: {why}")
        yield found


@pytest.fixture
async def client(served: Served) -> AsyncIterator[HttpClient]:
    async with HttpClient(served.environ) as client:
        yield client


@pytest.fixture
async def replicas(client: HttpClient, served: Served) -> tuple[Replica, ...]:
    key = EnvRef("OPENAI_API_KEY") if served.key else None
    return await client.probe(Model("m", (Endpoint("openai", "", served.url, key),)))


@pytest.fixture
def replica(replicas: tuple[Replica, ...]) -> Replica:
    return replicas[0]


async def load(client: HttpClient, replica: Replica) -> Load:
    found = await client.load(replica)
    assert found is not None
    return found


async def until(client: HttpClient, replica: Replica, running: int, within_s: float = 30.0) -> None:
    """Wait until the server itself says that it works on so many requests."""
    with anyio.fail_after(within_s):
        while (await load(client, replica)).running != running:  # noqa: ASYNC110  # another process
            await anyio.sleep(0.05)


class Listening(Fleet):
    """A fleet that remembers what its servers told."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        self.loads: list[Load] = []

    def told(self, replica: Replica, load: Load | None, now: float) -> None:
        super().told(replica, load, now)
        self.loads += [] if load is None else [load]


# --- the client ----------------------------------------------------------------------------------

CALL = ModelCall(
    "main/agent",
    "run",
    "m",
    (Message("system", "You tell stories."), Message("user", "Tell me of the sea.")),
    max_output=24,
)
LONG = replace(CALL, max_output=1500, sampling=Sampling(temperature=1.0))
KIND = {
    "type": "object",
    "properties": {"kind": {"type": "string", "enum": ["fish", "bird"]}},
    "required": ["kind"],
    "additionalProperties": False,
}


async def test_it_is_recognised_and_its_window_is_known(
    replica: Replica, replicas: tuple[Replica, ...], served: Served
) -> None:
    assert replica.profile == served.name
    assert (replica.context or 0) >= 2048
    assert (len(replicas) > 1) == (served.name == "llama.cpp")  # a slot each


async def test_a_stream_keeps_to_its_cap_and_its_usage_is_what_was_counted_before(
    client: HttpClient, replica: Replica
) -> None:
    greedy = replace(CALL, sampling=Sampling(temperature=0.0, top_k=0, min_p=0.0), seed=1)
    reply = await client.send(greedy, replica, "id")
    assert reply.text
    assert not reply.usage.estimated
    assert await client.count(greedy, replica) == reply.usage.input > 0
    assert 0 < reply.usage.output <= CALL.max_output
    assert (reply.finish == "length") == (reply.usage.output == CALL.max_output)


async def test_a_schema_is_obeyed(client: HttpClient, replica: Replica) -> None:
    asked = replace(CALL, schema=KIND, max_output=60)
    assert json.loads((await client.send(asked, replica, "id")).text)["kind"] in ("fish", "bird")


async def test_a_schema_that_is_none_is_refused_before_it_costs_anything(
    client: HttpClient, replica: Replica
) -> None:
    wrong = {"type": "object", "properties": {"kind": {"type": "no such type"}}}
    with pytest.raises(CallError) as caught:
        await client.send(replace(CALL, schema=wrong), replica, "id")
    assert (caught.value.kind, caught.value.maybe_paid) == ("request", False)


async def test_tools_may_be_offered_and_what_comes_back_is_a_reply(
    client: HttpClient, replica: Replica, served: Served
) -> None:
    place = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    offer = Offer("weather", "The weather of a city.", place)
    reply = await client.send(replace(CALL, tools=(offer,), max_output=48), replica, "id")
    assert reply.text or reply.tool_calls or reply.finish == "length"
    # To llama.cpp they are told of in words, as the model's template has no place for them: any name may come.
    assert served.name == "llama.cpp" or {call.name for call in reply.tool_calls} <= {"weather"}


async def test_a_prompt_above_the_window_is_an_overflow(
    client: HttpClient, replica: Replica
) -> None:
    words = (Message("user", "sea " * (replica.context or 0)),)
    with pytest.raises(CallError) as caught:
        await client.send(replace(CALL, messages=words), replica, "id")
    assert (caught.value.kind, caught.value.maybe_paid) == ("overflow", False)


async def test_a_model_that_is_not_there_is_told_from_other_mistakes(
    client: HttpClient, replica: Replica, served: Served
) -> None:
    if served.name != "vllm":
        pytest.skip("it answers to any name")
    with pytest.raises(CallError) as caught:
        await client.send(CALL, replace(replica, served="none"), "id")
    assert caught.value.kind == "model"


async def test_cancelled_calls_are_worked_on_no_longer(
    client: HttpClient, replicas: tuple[Replica, ...], served: Served
) -> None:
    spread = (replicas * 4)[: 1 if served.name == "sglang" else 4]  # it may begin others later
    async with anyio.create_task_group() as tasks:
        for one in spread:
            tasks.start_soon(client.send, LONG, one, "id")
        await until(client, replicas[0], len(spread))
        tasks.cancel_scope.cancel()
    await until(client, replicas[0], 0)


async def test_what_a_busy_server_tells_of_itself_is_read(
    client: HttpClient, replica: Replica, served: Served
) -> None:
    loads: list[Load] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.send, LONG, replica, "id")
        await until(client, replica, 1)
        loads.append(await load(client, replica))
        tasks.cancel_scope.cancel()
    [busy] = loads
    assert busy.waiting == 0
    assert (
        served.name == "llama.cpp" or 0 <= (busy.cache or 0) <= 1
    )  # it tells nothing of its KV cache
    assert (busy.cache is None) == (served.name == "llama.cpp")
    assert busy.read is not None
    await until(client, replica, 0)


async def test_while_calls_are_there_the_fleet_hears_of_it(
    client: HttpClient, replicas: tuple[Replica, ...], served: Served
) -> None:
    fleet = Listening(random.Random(0))
    fleet.add("m", replicas)
    if served.name == "llama.cpp":
        assert fleet.gauged(("m",)) == []  # a slot takes one call: there is nothing to be learnt
        return
    admission = Admission(Ledger(), fleet)
    fleet.reached(replicas[0])
    async with anyio.create_task_group() as tasks:
        placed = fleet.place(Wish("m", "", 100), anyio.current_time())
        assert placed is not None
        tasks.start_soon(client.send, LONG, placed, "id")
        tasks.start_soon(listen, client, admission, ("m",), anyio.CancelScope())
        with anyio.fail_after(20):
            while not any(one.running for one in fleet.loads):  # noqa: ASYNC110  # another process
                await anyio.sleep(0.1)
        tasks.cancel_scope.cancel()
    await until(client, replicas[0], 0)


async def test_accounts_do_not_share_the_prompt_cache(
    client: HttpClient, replica: Replica, served: Served
) -> None:
    if served.name != "vllm":
        pytest.skip("it has no salt")
    story = "Once upon a time there was a ship that no wind could move. " * 40
    asked = replace(CALL, messages=(Message("user", story),), max_output=1)

    async def hits(salt: str) -> float:
        before = (await load(client, replica)).hit or 0.0
        await client.send(replace(asked, salt=salt), replica, "id")
        await anyio.sleep(0.3)  # the counters are written after the answer
        return ((await load(client, replica)).hit or 0.0) - before

    mine, other = os.urandom(32).hex(), os.urandom(32).hex()
    assert await hits(mine) == 0
    assert await hits(mine) > 0
    assert await hits(other) == 0
    assert await hits(other) > 0


# --- a run, and the cache ------------------------------------------------------------------------

TEAMS = '''
edition 2026

model m { endpoint = openai("", base_url = "URL" KEY) }

role writer {
  system     = """
    You are one of four writers of a story that is told by many voices, one line each, in plain words that a child
    can read. A line is short, it goes on where the last one ended, and it never says again what was said before.
    Keep to the names, to the weather and to the hour that the others have chosen; where two of them differ, keep
    to the first. The ship is old and her crew is tired. There is a cat on board, whom everybody likes and nobody
    owns. Nobody dies, nobody shouts, and in the end the ship comes home. You may use the sea, the wind, the light
    of the lamps and the sound of the ropes; you may not use a storm, since the last story had one already.
    """
  prompt     = """{{ task.statement }}"""
  max_output = 12 tokens
}

task story { statement = "Go on with the story of the ship and the cat."  verify = contains(["e"]) }

run main {
  task   = story
  flow   = parallel(8) of team(4, members = [4 of writer], rounds = 1) -> best
  budget = [400k tokens, 200 calls, 10m]
}
'''


async def test_teams_read_their_prefix_from_the_servers_cache(
    client: HttpClient,
    replica: Replica,
    served: Served,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The server's own counters before and after `parallel(8) of team(4)`, and what the calls' usage told."""
    key = ', key = env("OPENAI_API_KEY")' if served.key else ""
    text = TEAMS.replace("URL", served.url).replace(" KEY", key)
    before = await load(client, replica)
    async with Engine(tmp_path / "runs.db", environ=served.environ, allow=["env:*"]) as engine:
        result = await (await engine.start(text)).result()
    await anyio.sleep(0.5)  # the counters are written after the answers
    after = await load(client, replica)
    usage = result.folded.total.usage
    read, hit = (after.read or 0) - (before.read or 0), (after.hit or 0) - (before.hit or 0)
    calls = result.folded.total.amount.calls
    with capsys.disabled():  # what a real server gives is worth reading in the log of a check
        told = f"{calls} calls, {read:.0f} tokens of prompts, {hit:.0f} of them from its cache"
        print(f"\n{served.name}: {told}")  # noqa: T201  # a measurement, for who runs it
    assert calls >= 32
    assert hit > 0.3 * read > 0
    assert usage.cached == pytest.approx(hit, rel=0.1)


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
def started(served: Served, folder: Path, *words: str) -> Generator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [*PODIUM, *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **served.environ},
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


@pytest.fixture
def quick(served: Served) -> Served:
    """The server, where it is quick enough for the whole command line: the engine is the same for all. SGLang runs
    its attention in PyTorch on a CPU, token by token, as its kernels are for GPUs."""
    if served.name == "sglang":
        pytest.skip(
            "on a CPU one answer of `hello` takes it a minute; the others try the command line"
        )
    return served


async def holds(what: Callable[[], bool], within_s: float) -> None:
    with anyio.fail_after(within_s):
        while not what():  # noqa: ASYNC110  # what is asked is another process
            await anyio.sleep(0.05)


@pytest.mark.parametrize("name", ["hello", "best_of"])
async def test_an_example_runs(tmp_path: Path, quick: Served, name: str) -> None:
    example = Path(__file__).parents[2] / "examples" / f"{name}.team"
    words = ("run", str(example), "--model", quick.url, "--json", "--max-tokens", "9k")
    with started(quick, tmp_path, *words) as run:
        out, err = run.communicate(timeout=300)
    assert run.returncode in (0, 1, 3), err
    shown = json.loads(out)
    assert (shown["held"], shown["spent"]["usd"]) == (0, 0)
    assert shown["spent"]["calls"] > 0


async def test_a_killed_run_is_finished_and_pays_for_no_answer_twice(
    tmp_path: Path, quick: Served, client: HttpClient, replica: Replica
) -> None:
    (tmp_path / "story.team").write_text(PROGRAM)
    with started(quick, tmp_path, "run", "story.team", "--model", quick.url, "--quiet") as run:
        await holds(lambda: len(addresses(tmp_path, CallAnswered)) >= 2, 180.0)
        run.kill()
    before = addresses(tmp_path, CallAnswered)
    await until(client, replica, 0)
    with started(quick, tmp_path, "resume", "--json") as run:
        out, err = run.communicate(timeout=300)
    assert run.returncode in (0, 1), err
    assert json.loads(out)["held"] == 0
    sent = addresses(tmp_path, CallIntended)
    assert [sent.count(address) for address in before] == [1] * len(before)


async def test_two_interrupts_leave_nothing_running_at_the_server(
    tmp_path: Path, quick: Served, client: HttpClient, replica: Replica
) -> None:
    (tmp_path / "story.team").write_text(PROGRAM)
    with started(quick, tmp_path, "run", "story.team", "--model", quick.url) as run:
        with anyio.fail_after(180):
            while not (await load(client, replica)).running:  # noqa: ASYNC110  # another process
                await anyio.sleep(0.05)
        run.send_signal(signal.SIGINT)
        await anyio.sleep(0.3)
        run.send_signal(signal.SIGINT)
        await until(client, replica, 0)
        _, err = run.communicate(timeout=30)
    assert run.returncode == 130, err
    assert re.search(r"(podium| )resume ", err)
