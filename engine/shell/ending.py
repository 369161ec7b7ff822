"""What a command prints when its run is over, and its exit code."""

import shlex
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..answer import result_json
from ..artifacts import artifacts_json
from ..early import early
from ..event import RunEnded, Stamped
from ..fold import Fold
from ..ledger import NOTHING
from ..workspace import File
from .called import called
from .early_view import saved_and_wasted
from .exits import Exit, ShellError, exit_of
from .options import DEFAULT_STORE
from .output import columns
from .safe import safe, safe_json
from .session import Ended, Viewing
from .streams import drop, told
from .summary import Row, closing_lines, failure_lines, headline, price_table, what_next
from .terminal import stderr_console
from .units import counted


def conclude(ended: Ended, viewing: Viewing) -> Exit:
    """Print the answer on standard output and the rest on standard error; gives the exit code."""
    folded = ended.folded
    if not ended.run:
        click.echo("Interrupted before the run began; nothing was sent.", err=True)
        return Exit.INTERRUPTED
    code = code_of(folded, interrupted=ended.interrupted)
    lost = _answer(ended, viewing)
    with _said_or_lost():
        if not viewing.quiet:
            _talk(ended, viewing.store)
        elif code != Exit.PASSED:
            click.echo(f"{headline(folded)}\n{_next(folded, ended.run, viewing.store)}", err=True)
        if lost:
            click.echo(_where(ended.run, viewing.store, lost), err=True)
    return Exit.FAILED if lost else code


def _answer(ended: Ended, viewing: Viewing) -> str:
    """Print the answer; gives why that could not be done, empty where it was."""
    folded = ended.folded
    try:
        if viewing.as_json:
            click.echo(safe_json(_json(ended, viewing)))
        elif (text := answer_text(folded)) is not None:
            click.echo(safe(text))
    except OSError as error:
        drop(sys.stdout)
        return told(error)
    return ""


def _where(run: str, store: str, lost: str) -> str:
    show = " ".join(word for word in (called(), "show", run, store_option_of(store)) if word)
    return f"podium: the answer could not be written to standard output: {lost}; `{show}` prints it"


@contextmanager
def _said_or_lost() -> Generator[None, None, None]:
    """Inside, what standard error does not take is lost: it is no part of the answer, nor of the exit code."""
    try:
        yield
    except OSError:
        drop(sys.stderr)


def not_begun(error: ShellError, viewing: Viewing, run: str | None = None) -> None:
    """The JSON answer of a run that could not begin, such as for an endpoint that is down; the message
    itself goes to standard error. run: the one that was to be taken up, and still can be."""
    if not viewing.as_json or error.code != Exit.FAILED:
        return
    folded = Fold()
    end = RunEnded("failed", error.message, run is not None, None, None, None, 0.0)
    folded.add(Stamped(0, 0.0, end))
    click.echo(safe_json({**result_json("", folded, viewing.store), "run": run}))


def code_of(folded: Fold, *, interrupted: bool = False) -> Exit:
    """The exit code of the run that was folded."""
    end = folded.ended
    return exit_of(
        None if end is None else end.outcome,
        passed=None if end is None else end.passed,
        judged=bool(folded.scores),
        interrupted=interrupted,
        resumable=end is None or end.resumable,
        reason="" if end is None else end.reason,
    )


def answer_text(folded: Fold) -> str | None:
    """The answer for a person: text as it is, anything else as JSON; None where there is none."""
    end = folded.ended
    best = folded.best
    answer = end.answer if end is not None else best.answer if best is not None else None
    if answer is None or isinstance(answer, str):
        return answer
    return safe_json(answer)


def table_of(rows: tuple[Row, ...]) -> Table:
    """The price table for a terminal."""
    figures = ("calls", "tokens", "price")
    table = columns(("node", "outcome", *figures), right=figures, wraps=("outcome",))
    for row in rows:
        style = "bold" if row.name == "total" else ""
        table.add_row(*(Text(cell, style=style) for cell in row))
    return table


def what_and_price(console: Console, folded: Fold) -> None:
    """What failed, then the price table, unless every figure in it would be zero."""
    for line in failure_lines(folded):
        console.print(Text(line), soft_wrap=True)
    if folded.total.amount != NOTHING:
        console.print(table_of(price_table(folded)))


def store_option_of(store: str) -> str:
    """`--store PATH` as it is typed; nothing for the usual store."""
    return "" if store == DEFAULT_STORE else f"--store {shlex.quote(safe(store))}"


def files_told(
    files: Mapping[str, File], run: str, *, store: str, written: Path | None = None
) -> str:
    """How many files came with the answer, and where they are, or how to have them; empty where none came."""
    if not files:
        return ""
    size = sum(len(file.data) for file in files.values())
    came = f"{counted(len(files), 'file')} ({size:,} bytes) came with the answer"
    if written is not None:
        return f"{came}, in {safe(str(written))}"
    words = (called(), "show", run, "--out DIR", store_option_of(store))
    return f"{came}; `{' '.join(word for word in words if word)}` writes them"


def _next(folded: Fold, run: str, store: str) -> str:
    return what_next(folded, run, podium=called(), store=store_option_of(store))


def _json(ended: Ended, viewing: Viewing) -> Mapping[str, Any]:
    files = artifacts_json(ended.files)
    return result_json(ended.run, ended.folded, viewing.store, files)


def _talk(ended: Ended, store: str) -> None:
    folded, run = ended.folded, ended.run
    console = stderr_console()
    console.print(Text(headline(folded), style="bold"), soft_wrap=True)
    what_and_price(console, folded)
    files = files_told(ended.files, run, store=store, written=ended.written)
    told = f"Run {run} in {safe(store)}", saved_and_wasted(early(folded)), files
    for line in filter(None, told):
        console.print(Text(line), soft_wrap=True)
    for line in closing_lines(folded, run, podium=called(), store=store_option_of(store)):
        console.print(Text(line), soft_wrap=True)
