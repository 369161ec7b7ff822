"""`podium watch`: the progress and the answer of a run that another process runs."""

from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import click

from podium.dsl.program import Program

from ..event import RunEnded, Stamped
from ..fold import fold
from ..outcome import Named, outcome_of
from ..result import RunResult
from ..store import RunRecord, Store
from .ending import conclude
from .exits import Exit, ShellError
from .options import viewing, viewing_options
from .ordering import live_or_named
from .reading import open_store, program_of
from .session import RunningRun, carry

# What a live run writes is read so often: as often as a person can look.
LOOK_S = 0.3


@click.command(short_help="Follow a live run.", epilog="Example: podium watch 2026-11-30-0c1b7a1b3")
@click.argument("run", required=False)
@viewing_options
@click.pass_context
def command(ctx: click.Context, /, *, run: str | None, **shown: Any) -> None:
    """Follow RUN (default: the only live one) until it ends. Ctrl-C ends the watching, never the run.

    Output and exit codes are those of `podium run`.
    """
    view = viewing(**shown)
    with open_store(Path(view.store)) as store:
        record = live_or_named(store, run)
        followed = Followed(record.id, _program(record), store)
        ended = carry(_nothing, partial(_begin, followed), view)
    if followed.left:
        click.echo(f"Run {record.id} goes on.", err=True)
        ctx.exit(Exit.PASSED)
    ctx.exit(conclude(ended, view))


def _program(record: RunRecord) -> Program:
    """The run's program; it keeps its answer where it was told to, not here too."""
    program = program_of(record)
    if program is None:
        raise ShellError(
            f"run {record.id} was started without its text: `podium show {record.id}` shows it"
        )
    return replace(program, out=None)


@asynccontextmanager
async def _nothing() -> AsyncGenerator[None, None]:
    yield


async def _begin(followed: "Followed", _: None) -> RunningRun:
    return followed


@dataclass(slots=True, eq=False)
class Followed:
    """A run of another process, read from its store. left: who watches has gone."""

    id: str
    program: Program
    store: Store
    watchers: list[Callable[[Stamped], None]] = field(
        default_factory=list[Callable[[Stamped], None]]
    )
    left: bool = False
    _gone: anyio.Event = field(default_factory=anyio.Event)

    def past(self) -> Iterable[Stamped]:
        return self.store.events(self.id)

    async def written(self) -> None:
        await anyio.lowlevel.checkpoint()

    def pause(self, cause: str = "user") -> None:
        """The first signal: nobody watches any more."""
        del cause
        self.left = True
        self._gone.set()

    abort = pause

    async def result(self) -> RunResult:
        """The end of the life that was watched, or what there is when who watches goes.

        Raises ShellError where the process died without an end.
        """
        seen, last = -1, None
        while not self.left:
            live = self.store.owner(self.id) is not None  # asked first: its last events come before
            for stamped in self.store.events(self.id, seen):
                seen, last = stamped.number, stamped.event
                for watcher in self.watchers:
                    watcher(stamped)
            if not live:
                break
            with anyio.move_on_after(LOOK_S):
                await self._gone.wait()
        if not self.left and not isinstance(last, RunEnded):
            raise ShellError(f"run {self.id} died; `podium resume {self.id}` takes it up")
        return self._result()

    def _result(self) -> RunResult:
        folded = fold(self.past())
        end = folded.ended
        named = Named(self.id, self.program.name)
        outcome = outcome_of("paused", "user", named)
        if end is not None:
            outcome = outcome_of(end.outcome, end.reason, named)
        resumable = end is None or end.resumable
        seconds, kept = folded.seconds, self.store.blob
        return RunResult(self.id, outcome, resumable, (), seconds, Path(), folded, kept)
