"""`--detach`: the same command in a process of its own, which outlives the terminal; no daemon.

The child does all the work, the reading of the program included. It says its run's id through a pipe once
the run lives; until then its messages are this command's.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Never

import click

from .called import called
from .ending import store_option_of
from .exits import ShellError
from .safe import safe, safe_json

if TYPE_CHECKING:  # it takes a while to load, and most commands need none
    from ..life import Run

DETACH = "--detach"
# In the child's environment: where to say the run's id.
TELL_FD = "PODIUM_TELL_FD"
_COMMAND = "from podium.engine.shell.cli import main; main()"

detach_option = click.option(
    DETACH,
    "detached",
    is_flag=True,
    help="Run in the background: print the run's id, its store and its log, and come back.",
)
_WORDS = "podium.words"


class Detachable(click.Command):
    """A command that remembers how it was called."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_WORDS] = [str(ctx.info_name), *(word for word in args if word != DETACH)]
        return super().parse_args(ctx, args)


def detach(ctx: click.Context, *, store: str, as_json: bool) -> Never:
    """Start the command that ctx was called with in the background, and say where it is.

    A child that ends before its run lives has its messages and its exit code passed on.
    """
    words: list[str] = ctx.meta[_WORDS]
    if "-" in words:
        raise ShellError("--detach needs a file: standard input ends with this command")
    folder = Path(store).parent / "logs"
    folder.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix="starting-", suffix=".log", dir=folder)
    with os.fdopen(handle, "wb") as log:
        child, run = _started(words, log.fileno())
    if not run:
        click.echo(Path(name).read_text(errors="replace"), nl=False, err=not as_json)
        Path(name).unlink(missing_ok=True)
        ctx.exit(child.wait())
    child.returncode = 0  # it outlives this process, which therefore does not wait for it
    path = Path(name).rename(folder / f"{run}.log")
    _say(run, store, path, child.pid, as_json=as_json)
    ctx.exit()


def _started(words: Sequence[str], log: int) -> tuple["subprocess.Popen[bytes]", str]:
    """The child, and its run's id: empty where the child ended first."""
    reading, writing = os.pipe()
    child = subprocess.Popen(
        [sys.executable, "-c", _COMMAND, *words],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
        pass_fds=(writing,),
        env={**os.environ, TELL_FD: str(writing)},
    )
    os.close(writing)
    with os.fdopen(reading) as told:
        return child, told.read().strip()


async def announce(run: "Run") -> None:
    """In a child that was started so: say that run lives. Else nothing.

    It is said once the run's beginning is on disk: whoever reads the id may give it an order, which is judged by
    the budget that is told there.
    """
    if (fd := os.environ.pop(TELL_FD, None)) is not None:
        async for _ in run.events():
            break
        with os.fdopen(int(fd), "w") as told:
            told.write(run.id)


def _say(run: str, store: str, log: Path, pid: int, *, as_json: bool) -> None:
    if as_json:
        click.echo(
            safe_json({"schema": 1, "run": run, "store": store, "log": str(log), "pid": pid})
        )
        return
    more = f" {store_option_of(store)}" if store_option_of(store) else ""
    click.echo(f"Run {run} (pid {pid})\nStore {safe(store)}\nLog {safe(str(log))}")
    for what, verb in (("Watch it", "watch"), ("Pause it", "pause"), ("End it", "stop")):
        click.echo(f"{what}: {called()} {verb} {run}{more}", err=True)
