"""One run at the terminal, from its start to its end: watching, signals, translation of errors."""

import signal
import time
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar, cast

import anyio
import anyio.abc
import click

from podium.dsl.program import Program

from ..artifacts import artifacts_of, trees_of
from ..call import CallError
from ..event import RunEnded, Stamped
from ..fold import Fold, fold_for
from ..journal import Diverged
from ..outcome import Named
from ..result import RunResult, end_of
from ..run import NotResumable
from ..store import RunOwned, StoreError, StoreRefused
from ..workspace import File
from .artifacts import require_room, write_artifacts
from .exits import Exit, ShellError
from .notify import Notifier
from .safe import safe
from .sinks import EventLog, OutFolder
from .terminal import Progress, Sturdy, is_lively, progress

E = TypeVar("E")
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
_TICK_S = 0.5  # how often the clock of the live picture moves when nothing happens


class RunningRun(Protocol):
    """What is asked of a live run; `podium.engine.run.Run` is one."""

    @property
    def id(self) -> str: ...

    @property
    def program(self) -> Program: ...

    @property
    def watchers(self) -> list[Callable[[Stamped], None]]: ...

    def past(self) -> Iterable[Stamped]:
        """The events that were recorded before the watchers were there."""
        ...

    async def written(self) -> None:
        """Return when `past` has all that happened so far."""
        ...

    def pause(self, cause: str = "user") -> None: ...

    def abort(self) -> None: ...

    async def result(self) -> RunResult: ...


@dataclass(frozen=True, slots=True)
class Viewing:
    """How a run is shown. as_json: one object on standard output in place of the bare answer.

    notify: a command that is told what happens."""

    store: str
    as_json: bool = False
    quiet: bool = False
    events: str | None = None
    out: str | None = None
    notify: str | None = None


@dataclass(slots=True)
class Ended:
    """What is known when the command ends; folded is empty and run "" where none came to be.

    files: of the answer. written: where they are, None where they were not to be written, or could not be.
    """

    run: str = ""
    folded: Fold = field(default_factory=Fold)
    interrupted: bool = False
    files: Mapping[str, File] = field(default_factory=dict[str, File])
    written: Path | None = None


def tell(text: str) -> None:
    """A remark on standard error, dropped where the terminal is gone: the run goes on without it."""
    with suppress(OSError):
        click.echo(safe(text), err=True)


class Interrupts:
    """The first signal asks the run to stop starting work, the second aborts it, the third gives up.

    Before there is a run, the first signal gives up.
    """

    def __init__(self) -> None:
        self.count = 0
        self.run: RunningRun | None = None
        self.give_up: Callable[[], None] = lambda: None

    async def listen(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        known = [getattr(signal, name) for name in SIGNALS if hasattr(signal, name)]
        with anyio.open_signal_receiver(*known) as received:
            task_status.started()
            async for _ in received:
                self.strike()

    def strike(self) -> None:
        self.count += 1
        if self.run is None or self.count > 2:
            self.give_up()
        elif self.count == 1:
            tell("Stopping: no new work starts; once more to abort what is in flight.")
            self.run.pause()
        else:
            tell("Aborting.")
            self.run.abort()


def carry(
    make: Callable[[], AbstractAsyncContextManager[E]],
    begin: Callable[[E], Awaitable[RunningRun]],
    viewing: Viewing,
) -> Ended:
    """Run to the end, shown as viewing says. Raises ShellError where the run could not begin."""
    try:
        return anyio.run(partial(_session, make, begin, viewing))
    except Exception as error:  # of the known ones the user is told; any other goes on
        found = sole(error)
        if (known := translated(found)) is not None:
            raise known from error
        raise found from None if found is error else error


async def _session(
    make: Callable[[], AbstractAsyncContextManager[E]],
    begin: Callable[[E], Awaitable[RunningRun]],
    viewing: Viewing,
) -> Ended:
    ended = Ended()
    interrupts = Interrupts()
    async with anyio.create_task_group() as tasks:
        interrupts.give_up = tasks.cancel_scope.cancel
        await tasks.start(interrupts.listen)
        async with make() as engine:
            run = interrupts.run = await begin(engine)
            ended.run = run.id
            async with anyio.create_task_group() as telling:
                with _watching(run, viewing, ended, telling) as (watch, screen):
                    tasks.start_soon(_tick, screen)
                    await run.written()
                    watch.catch_up()
                    result = await run.result()
                    watch.catch_up()
                    if ended.folded.ended is None:
                        end = _unwritten_end(result, run)
                        watch.seen(Stamped(watch.next, time.time(), end))
                    _keep_files(ended, result, viewing.out or run.program.out)
        tasks.cancel_scope.cancel()
    ended.interrupted = interrupts.count > 0
    return ended


@contextmanager
def _watching(
    run: RunningRun, viewing: Viewing, ended: Ended, telling: anyio.abc.TaskGroup
) -> Generator[tuple["Watch", Progress], None, None]:
    """Inside, every event of the run reaches the fold, the screen, the log, the folder and who is told of
    it in telling, in order."""
    program = run.program
    folded = ended.folded = fold_for(program)
    out = viewing.out or program.out
    require_room(program, out)
    with ExitStack() as stack:
        sinks: list[Callable[[Stamped], None]] = [folded.add]
        if viewing.events is not None:
            log = EventLog(viewing.events, tell)
            stack.callback(log.close)
            sinks.append(log.seen)
        if out is not None:
            sinks.append(OutFolder(out, tell).seen)
        watch = Watch(run.past, sinks)
        notifier = None if viewing.notify is None else Notifier(viewing.notify, run.id, tell)
        if notifier is not None:  # of what came before, in an earlier life, it was told then
            watch.sinks.append(notifier.known)
        watch.catch_up()
        if notifier is not None:
            watch.sinks.remove(notifier.known)
            watch.sinks.append(notifier.seen)
            stack.callback(notifier.close)
            telling.start_soon(notifier.work)
        screen = Sturdy(progress(folded, program.budget, quiet=viewing.quiet))
        stack.callback(screen.close)
        watch.sinks.append(screen.seen)
        run.watchers.append(watch.seen)
        yield watch, screen


@dataclass(slots=True)
class Watch:
    """Passes each event on once and in order, by its number; past reads back those it was not told of.

    What happened before the watcher came may not be readable yet: later events wait until `catch_up`.
    """

    past: Callable[[], Iterable[Stamped]]
    sinks: list[Callable[[Stamped], None]]
    next: int = 0
    waiting: list[Stamped] = field(default_factory=list[Stamped])

    def seen(self, stamped: Stamped) -> None:
        if stamped.number == self.next:
            self._pass_on(stamped)
        elif stamped.number > self.next:
            self.waiting.append(stamped)

    def catch_up(self) -> None:
        """Read what is missing, then pass on what waited for it."""
        for stamped in (*self.past(), *self.waiting):
            if stamped.number == self.next:
                self._pass_on(stamped)
        self.waiting = [one for one in self.waiting if one.number >= self.next]

    def _pass_on(self, stamped: Stamped) -> None:
        self.next += 1
        for sink in self.sinks:
            sink(stamped)


def _keep_files(ended: Ended, result: RunResult, out: str | None) -> None:
    """Take the answer's files from the store, and write them where they are wanted; what hinders that is told."""
    try:
        ended.files = artifacts_of(trees_of(ended.folded), result.kept)
        if out is not None and ended.files:
            ended.written = write_artifacts(Path(out), ended.files)
    except (StoreError, KeyError) as error:
        tell(f"the files of the answer cannot be read: {error}")
    except ShellError as error:
        tell(error.message)


def _unwritten_end(result: RunResult, run: RunningRun) -> RunEnded:
    """The end of a run whose store took no more events, a full disk for instance."""
    return end_of(
        run.program,
        Named(run.id, run.program.name),
        result.outcome,
        result.attempts,
        seconds=result.seconds,
        resumable=result.resumable,
    )


async def _tick(screen: Progress) -> None:
    """Move the live picture's clock; without a terminal there is nothing to move."""
    while is_lively():
        await anyio.sleep(_TICK_S)
        screen.tick()


# --- errors ------------------------------------------------------------------------------------


def sole(error: Exception) -> Exception:
    """What the task groups around it wrapped; the first of several."""
    while isinstance(error, ExceptionGroup):
        inner = cast(tuple[Exception, ...], error.exceptions)  # isinstance loses the parameter
        error = inner[0]
    return error


def translated(error: Exception) -> ShellError | None:
    """An error of the engine's in the user's terms, with its exit code; None for any other."""
    match error:
        case CallError(message=message):
            return ShellError(message, Exit.FAILED)
        case StoreRefused():
            return ShellError(str(error), Exit.FAILED)
        case StoreError() | RunOwned() | Diverged() | NotResumable():
            return ShellError(str(error))
        case _:
            return None
