"""`podium plan`: what a run may cost, before anything is called."""

import os
import sys
from dataclasses import replace

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from podium.dsl.problem import ProgramError
from podium.dsl.program import Budget, Program

from ..library import ALLOWED_KINDS
from ..plan import Plan, plan
from ..request import BOUNDLESS, NO_BUDGET
from .inputs import Asked
from .loading import load
from .options import json_option
from .plan_view import as_json as as_json_of
from .plan_view import notes, rows
from .reports import reject
from .safe import safe, safe_json

# A plan calls nothing, reads no variable and runs no code of the program's: it needs no leave.
ANYTHING = tuple(f"{kind}:*" for kind in ALLOWED_KINDS)


@click.command(
    short_help="Say what a run may cost, before anything is called.",
    epilog="Example: podium plan hello.team",
)
@click.argument("file", required=False, type=click.Path())
@click.argument("run", required=False)
@click.option("-e", "--expression", help="Plan this expression instead of a run of FILE.")
@click.option("--task", help="The task for the expression.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Set a parameter.")
@json_option
def command(
    *,
    file: str | None,
    run: str | None,
    expression: str | None,
    task: str | None,
    settings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Say what FILE, or its run named RUN, may cost: at least, expected, at most. Nothing is called.

    At least: without it there is no answer; where a budget may run out on the way, the best so far is the answer
    and one reply will do. Expected is an estimate: all branches and rounds, replies of half their caps. At most is
    clipped by every budget around; tries sent again after a failure come on top. A part that runs several times
    is one row, with the figures of one time.
    """
    asked = Asked(run=run, expression=expression, task=task, settings=settings, allow=ANYTHING)
    try:
        program = _program(file, asked)
    except ProgramError as error:
        reject(error, as_json=as_json)
    planned = plan(program)
    if as_json:
        click.echo(safe_json(as_json_of(planned)))
        return
    # Without a terminal as wide as the tree needs: nothing is cut.
    width = None if sys.stdout.isatty() else 200
    console = Console(markup=False, highlight=False, emoji=False, width=width)
    console.print(Text(f"Run {safe(program.name)}: at least / expected / at most", style="bold"))
    console.print(tree_of(planned))
    for line in notes(program, planned):
        console.print(Text(safe(line)), soft_wrap=True)
    console.print(Text("Nothing was called."))


def _program(file: str | None, asked: Asked) -> Program:
    """The program; one that only lacks a budget is planned without, to say what budget it needs."""
    try:
        return load(file, asked, os.environ).program
    except ProgramError as error:
        if {problem.code for problem in error.problems} != {NO_BUDGET}:
            raise
        program = load(file, replace(asked, max_tokens=str(BOUNDLESS.tokens)), os.environ).program
        return replace(program, budget=Budget())


def tree_of(planned: Plan) -> Table:
    """The plan's tree for a terminal."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("part", no_wrap=True)
    for name in ("agents", "calls", "tokens", "dollars", "time"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows(planned):
        style = "bold" if row.name == "total" else "yellow" if "! binds" in row.name else ""
        table.add_row(*(Text(cell, style=style) for cell in row))
    return table
