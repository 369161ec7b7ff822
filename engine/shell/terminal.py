"""Progress on standard error: a live picture on a terminal, a line now and then elsewhere."""

import os
import sys
import time
from contextlib import suppress
from typing import Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from podium.dsl.program import Budget

from ..event import Stamped
from ..fold import Fold
from .progress import View, one_line, view

LINE_EVERY_S = 10.0  # of the run's own time, without a terminal
_REDRAW_S = 0.2  # a person reads no faster, and a busy run has thousands of events a second


class Progress(Protocol):
    """Told of each event after the fold took it in; tick redraws, close leaves the terminal as found."""

    def seen(self, stamped: Stamped) -> None: ...

    def tick(self) -> None: ...

    def close(self) -> None: ...


class Silent:
    """`--quiet`."""

    def seen(self, stamped: Stamped) -> None:
        pass

    def tick(self) -> None:
        pass

    def close(self) -> None:
        pass


class Sturdy:
    """Another progress, until the terminal it draws on is gone: a closed window ends no run."""

    def __init__(self, inner: Progress) -> None:
        self._inner = inner

    def seen(self, stamped: Stamped) -> None:
        try:
            self._inner.seen(stamped)
        except OSError:
            self._inner = Silent()

    def tick(self) -> None:
        try:
            self._inner.tick()
        except OSError:
            self._inner = Silent()

    def close(self) -> None:
        with suppress(OSError):
            self._inner.close()


class Lines:
    """One plain line for every ten seconds of work, driven by the events' own times."""

    def __init__(self, console: Console, folded: Fold, budget: Budget) -> None:
        self._console, self._fold, self._budget = console, folded, budget
        self._printed: float | None = None

    def seen(self, stamped: Stamped) -> None:
        if self._printed is None:
            self._printed = stamped.time
        elif stamped.time - self._printed >= LINE_EVERY_S:
            self._printed = stamped.time
            line = one_line(self._fold, self._budget, stamped.time)
            self._console.print(Text(line), soft_wrap=True)

    def tick(self) -> None:
        pass

    def close(self) -> None:
        pass


class Lively:
    """A picture that is drawn again as the run goes on."""

    def __init__(self, console: Console, folded: Fold, budget: Budget) -> None:
        self._fold, self._budget = folded, budget
        self._drawn = 0.0
        self._live = Live(
            console=console, auto_refresh=False, transient=True, redirect_stdout=False
        )
        self._live.start()

    def seen(self, stamped: Stamped) -> None:
        if time.monotonic() - self._drawn >= _REDRAW_S:
            self.tick()

    def tick(self) -> None:
        self._drawn = time.monotonic()
        self._live.update(
            render(view(self._fold, self._budget, time.time())),
            refresh=True,
        )

    def close(self) -> None:
        self._live.stop()


class Plain(Console):
    """A console that reads no text as markup, and raises what its stream raises."""

    def __init__(self, *, stderr: bool = False, width: int | None = None) -> None:
        super().__init__(stderr=stderr, width=width, markup=False, highlight=False, emoji=False)

    def on_broken_pipe(self) -> None:
        """Called while BrokenPipeError is handled; the usual way here is to end the process."""
        raise


def stderr_console() -> Console:
    """Standard error, with colour where a person wants it."""
    return Plain(stderr=True)


def is_lively() -> bool:
    """Whether standard error is a terminal that can be redrawn."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def progress(folded: Fold, budget: Budget, *, quiet: bool) -> Progress:
    """The progress that suits where standard error goes."""
    if quiet:
        return Silent()
    console = stderr_console()
    if is_lively():
        return Lively(console, folded, budget)
    return Lines(console, folded, budget)


def render(seen: View) -> RenderableType:
    """The view for a terminal."""
    table = Table.grid(padding=(0, 2))
    for line in seen.lines:
        colour = _COLOURS.get(line.state, "")
        table.add_row(
            Text(line.name),
            Text(line.state, style=colour),
            Text(line.score, style="bold"),
            Text(line.spent, style="dim"),
            Text(line.activity, style="dim", no_wrap=True, overflow="ellipsis"),
        )
    bars = Table.grid(padding=(0, 2))
    for bar in seen.bars:
        bars.add_row(ProgressBar(total=max(bar.cap, 1), completed=bar.used, width=30), bar.text)
    foot = Text("  ".join(part for part in (seen.total, seen.best) if part), style="bold")
    return Group(table, bars, foot)


_COLOURS = {
    "running": "cyan",
    "passed": "green",
    "finished": "",
    "exhausted": "yellow",
    "stopped": "dim",
    "failed": "red",
    "cancelled": "dim",
}
