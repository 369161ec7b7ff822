"""What a verifier's program asks for: programs of candidates, each run in a sandbox of its own.

Beside one of them a service may run, in a sandbox of its own too. All that the two share is a folder: it is the
service's and holds its socket; the program sees it and can connect, and can change nothing there.
"""

import importlib.util
import math
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

import anyio
import anyio.to_thread

from .call import CallError
from .clients.loose import mapping, sequence
from .sandbox import Command, Limits, Ran, Sandbox, SandboxFailed
from .value import Json
from .workspace import File, Tree, laid_out

# Who asks for more at once is caught in a loop.
MOST_RUNS = 100
# For a program that is asked for without `seconds`.
RUN_S = 10.0
# Where a program sees the folder of the service beside it, and Python packages of this environment.
LINK, PACKAGES = "/link", "/packages"


@dataclass(frozen=True, slots=True)
class Asked:
    """A program to run, and the service beside it, if there is one. packages: Python's, that it imports.
    on_files: it starts among the attempt's files, of which its own take the place."""

    program: Command
    service: Command | None = None
    packages: tuple[str, ...] = ()
    on_files: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """How a program ended, and the service beside it."""

    program: Ran
    service: Ran | None = None

    @property
    def seconds(self) -> float:
        return self.program.seconds + (self.service.seconds if self.service else 0.0)

    def json(self) -> dict[str, Json]:
        """As the verifier's program is told."""
        beside = {} if self.service is None else {"service": _told(self.service)}
        return _told(self.program) | beside


def asked_for(said: Mapping[str, Any]) -> list[Asked]:
    """The programs in said. Raises CallError(`verifier`) where they are none."""
    wanted = sequence(said["run"])
    if not 0 < len(wanted) <= MOST_RUNS:
        raise no_verdict(f"`run` is a list of 1 to {MOST_RUNS} programs, not of {len(wanted)}")
    try:
        return [_asked(mapping(one)) for one in wanted]
    except (TypeError, ValueError) as error:
        raise no_verdict(f"`run`: {error}") from error


def at_once(said: Mapping[str, Any]) -> int:
    """How many of them at the same time: as many as there are processors, so that times say something, or fewer
    where said wants it. Raises CallError(`verifier`)."""
    most = os.cpu_count() or 1
    wanted = said.get("at_once", most)
    if isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < 1:
        raise no_verdict(f"`at_once` is a whole number from 1 on, not {wanted!r}")
    return min(wanted, most)


def _asked(wanted: Mapping[str, Any]) -> Asked:
    beside = wanted.get("service")
    packages = tuple(str(name) for name in sequence(wanted.get("packages")))
    service = None if beside is None else _command(mapping(beside))
    if service is not None and wanted.get("attempt") is True:
        raise ValueError("a program beside a service is given no files of the attempt")
    return Asked(_command(wanted), service, packages, wanted.get("attempt") is True)


def _command(wanted: Mapping[str, Any]) -> Command:
    argv = tuple(str(word) for word in sequence(wanted.get("argv")))
    files = {name: str(text).encode() for name, text in mapping(wanted.get("files")).items()}
    seconds = float(wanted.get("seconds", RUN_S))
    if not 0 < seconds < math.inf:
        raise ValueError(f"`seconds` is above 0, not {seconds:g}")
    limits = Limits(wall_s=seconds, cpu_s=math.ceil(seconds))
    return Command(argv, files, str(wanted.get("stdin", "")).encode(), limits=limits)


async def run_all(commands: Sequence[Asked], sandbox: Sandbox, most: int, tree: Tree) -> list[Told]:
    """Each in a sandbox of its own, begun in their order, most at once. tree: the attempt's files."""
    waiting = iter(enumerate(commands))
    ran: dict[int, Told] = {}
    failed: list[SandboxFailed] = []

    async def work() -> None:
        for number, command in waiting:
            try:
                ran[number] = await _run_one(command, sandbox, tree)
            except SandboxFailed as error:
                failed.append(error)

    async with anyio.create_task_group() as tasks:
        for _ in range(most):
            tasks.start_soon(work)
    if failed:
        raise failed[0]
    return [ran[number] for number in range(len(commands))]


async def _run_one(asked: Asked, sandbox: Sandbox, tree: Tree) -> Told:
    program = _with_packages(asked.program, asked.packages, isolated=sandbox.isolates)
    if asked.service is None:
        return Told(await run_beside(program, tree if asked.on_files else {}, "", sandbox))
    if not sandbox.isolates:
        raise SandboxFailed("a service is started in one only, apart from who talks to it")
    try:
        with tempfile.TemporaryDirectory(prefix="podium-", ignore_cleanup_errors=True) as made:
            return await _run_both(program, asked.service, sandbox, Path(made))
    except OSError as error:
        raise SandboxFailed(f"the folder of a service cannot be set up: {error}") from error


async def run_beside(program: Command, tree: Tree, under: str, sandbox: Sandbox) -> Ran:
    """program, with the files of tree in the folder under of its own. Where both have a path, its own counts."""
    if not tree:
        return await sandbox.run(program)
    mine = {name: File(data, starts=True) for name, data in program.files.items()}
    theirs = {f"{under}/{path}" if under else path: file for path, file in tree.items()}
    whole = {path: file for path, file in theirs.items() if not _is_taken(path, mine)} | mine
    folder = Path(tempfile.mkdtemp(prefix="podium-"))
    try:
        await anyio.to_thread.run_sync(laid_out, whole, folder)
        return await sandbox.run(replace(program, files={}, folder=folder))
    except OSError as error:
        raise SandboxFailed(f"the work folder cannot be set up: {error}") from error
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(lambda: shutil.rmtree(folder, ignore_errors=True))


def _is_taken(path: str, mine: Mapping[str, File]) -> bool:
    """Whether path is one of mine, lies in one of mine, or is a folder where one of mine lies."""
    above = {path, *map(str, PurePosixPath(path).parents)}
    return not above.isdisjoint(mine) or any(name.startswith(f"{path}/") for name in mine)


def _with_packages(program: Command, names: Sequence[str], *, isolated: bool) -> Command:
    """program, with a path to these packages, as far as they are here; whether they fit is for it to find out."""
    found = [folder for name in names for folder in _folders(name)]
    if not found:
        return program
    if not isolated:
        path = os.pathsep.join(dict.fromkeys(str(folder.parent) for folder in found))
        return replace(program, environ={**program.environ, "PYTHONPATH": path})
    shown = {f"{PACKAGES}/{folder.name}": folder for folder in found}
    environ = {**program.environ, "PYTHONPATH": PACKAGES}
    return replace(program, shown={**program.shown, **shown}, environ=environ)


def _folders(name: str) -> list[Path]:
    """Of a package, and of the libraries that its wheel brings. Not of our own, where solutions are."""
    if not name.isidentifier() or name in ("podium", "__main__"):  # of the last nothing is known
        return []
    spec = importlib.util.find_spec(name)
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    folders = [Path(place) for place in places[:1]]
    return [
        one for each in folders for one in (each, each.with_name(f"{name}.libs")) if one.is_dir()
    ]


async def _run_both(program: Command, service: Command, sandbox: Sandbox, folder: Path) -> Told:
    """The service works in folder, where its files are. It ends by itself, or by its own time."""
    laid_out({name: File(data) for name, data in service.files.items()}, folder)
    ran: dict[str, Ran] = {}
    failed: list[SandboxFailed] = []

    async def run(which: str, command: Command) -> None:
        try:
            ran[which] = await sandbox.run(command)
        except SandboxFailed as error:
            failed.append(error)
            tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, "service", replace(service, files={}, folder=folder))
        tasks.start_soon(run, "program", replace(program, shown={**program.shown, LINK: folder}))
    if failed:
        raise failed[0]
    return Told(ran["program"], ran["service"])


def _told(ran: Ran) -> dict[str, Json]:
    """What the verifier's program is told of one it asked for."""
    return {
        "code": ran.code,
        "ended": ran.ended,
        "out": ran.out.data.decode(errors="replace"),
        "err": ran.err.data.decode(errors="replace"),
        "cut": ran.out.cut + ran.err.cut,
        "seconds": ran.seconds,
    }


def no_verdict(message: str) -> CallError:
    """The verifier, and not what it judges, went wrong."""
    return CallError("verifier", message)
