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
        click.echo(safe_json(report.as_json(problems)))
        return
    for problem in problems:
        if is_placeless(problem):
            help_ = f"; {problem.help}" if problem.help else ""
            click.echo(f"podium: {safe(problem.message + help_)}", err=True)
    placed = [problem for problem in problems if not is_placeless(problem)]
    console = stderr_console()
    coloured = console.is_terminal and not console.no_color
    text = report.coloured(placed) if coloured else report.plain(placed)
    click.echo(text, err=True, nl=False, color=coloured)


def is_placeless(problem: Problem) -> bool:
    """Whether it is about a text that could not be had, so that there is no line to show."""
    return problem.code == "E104" and not problem.place.source.text
