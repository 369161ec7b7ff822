"""`podium check`: every mistake of a program, in order."""

import os

import click

from podium.dsl.compile import check
from podium.dsl.problem import Problem, ProgramError, has_errors

from ..clients.address import BASE
from ..library import DiskLibrary
from .exits import Exit
from .reports import show
from .safe import safe
from .texts import read_program


@click.command(
    short_help="Say what is wrong with a program.",
    epilog="Example: podium check hello.team",
)
@click.argument("file", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print the problems as one JSON object.")
@click.pass_context
def command(ctx: click.Context, file: str, as_json: bool) -> None:
    """Say what is wrong with FILE (- reads standard input). Nothing is called."""
    problems = problems_of(file)
    show(problems, as_json=as_json)
    if has_errors(problems):
        ctx.exit(Exit.USAGE)
    if not problems and not as_json:
        click.echo(f"{safe(file)}: no mistakes found", err=True)


def problems_of(path: str) -> tuple[Problem, ...]:
    """What is wrong with the program at path, a missing or unreadable file included."""
    try:
        return check(read_program(path), DiskLibrary(path, os.environ.get(BASE)))
    except ProgramError as error:
        return error.problems
