"""Problems of a program, shown to a person on standard error or to a program on standard output."""

from collections.abc import Sequence
from typing import NoReturn

import click

from podium.dsl import report
from podium.dsl.problem import Problem, ProgramError

from .exits import Exit
from .safe import safe, safe_json
from .terminal import stderr_console


def reject(error: ProgramError, *, as_json: bool) -> NoReturn:
    """Show why there is no program and end with the exit code for that."""
    show(error.problems, as_json=as_json)
    raise click.exceptions.Exit(Exit.USAGE)


def show(problems: Sequence[Problem], *, as_json: bool) -> None:
    """All problems; as JSON on standard output even if there are none."""
    if as_json:
        click.echo(safe_json(report.as_json(tuple(problems))))
    elif problems:
        console = stderr_console()
        if console.is_terminal and not console.no_color:
            click.echo(report.coloured(tuple(problems)), err=True, color=True)
        else:
            click.echo(safe(report.plain(tuple(problems))), err=True)
