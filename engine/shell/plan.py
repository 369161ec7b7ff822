"""`podium plan`: what a run may cost, before anything is called."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from podium.dsl.problem import ProgramError
from podium.dsl.program import Budget, Program

from ..plan import Plan, diff, plan
from ..request import BOUNDLESS, NO_BUDGET, suggestion
from .exits import ShellError
from .inputs import ANYTHING, Asked
from .loading import load
from .options import caps_options, json_option, model_options, params_option, settings_option
from .output import GAP, columns, stdout_console
from .plan_diff import as_json as diff_json
from .plan_diff import lines as diff_lines
from .plan_view import Row, notes, rows, stacked
from .plan_view import as_json as as_json_of
from .project import shown
from .reports import reject
from .safe import safe, safe_json
from .texts import STDIN

# Without a terminal nothing is cut, and a difference stays readable.
_UNCUT, _PAGE = 200, 100
_HEADS = ("part", "agents", "calls", "tokens", "cached", "dollars", "time")


@dataclass(frozen=True, slots=True)
class _Planned:
    """A program and its plan. lacks: the budget that it needs before it can run, as a clause of help.

    project: what there is to say of the project file.
    """

    program: Program
    plan: Plan
    lacks: str = ""
    project: Sequence[str] = ()


@click.command(
    short_help="Say what a run may cost, before anything is called.",
    epilog="Examples: podium plan hello.team; podium plan --diff old.team new.team",
)
@click.argument("file", required=False)
@click.argument("run", required=False)
@click.option(
    "-e",
    "--expression",
    "expressions",
    multiple=True,
    metavar="EXPR",
    help="Plan this flow instead of a run of FILE.",
)
@click.option("--task", metavar="NAME", help="The task for the expression, as of run.")
@settings_option
@params_option
@caps_options
@model_options
@click.option(
    "--diff",
    "differs",
    is_flag=True,
    help="Say what a change costs: FILE is the old program and RUN the new one, each a file or FILE#RUN.",
)
@click.option(
    "--set-new",
    "new_settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="With --diff, set a parameter of the new program alone.",
)
@json_option
def command(
    *,
    file: str | None,
    run: str | None,
    expressions: tuple[str, ...],
    differs: bool,
    new_settings: tuple[str, ...],
    as_json: bool,
    **given: Any,
) -> None:
    """Say what FILE, or its run named RUN, may cost: at least, expected, at most. Nothing is called.

    At least: without it there is no answer; where a budget may run out on the way, the best so far is the answer
    and one reply will do. Expected is an estimate: all branches and rounds, replies of half their caps. At most is
    clipped by every budget around; tries sent again after a failure come on top. A part that runs several times
    is one row, with the figures of one time.

    `podium plan --diff OLD NEW` compares two programs, part by part. With OLD alone it is compared with itself
    under --set-new or -e; -e twice gives both flows.
    """
    asked = Asked(allow=ANYTHING, **given)
    try:
        if differs:
            old, new = _sides(file, run, expressions, asked, new_settings)
            _show_diff(_planned(*old), _planned(*new), as_json=as_json)
        else:
            _show(_planned(file, _alone(asked, run, expressions, new_settings)), as_json=as_json)
    except ProgramError as error:
        reject(error, as_json=as_json)


def _alone(
    asked: Asked, run: str | None, expressions: Sequence[str], new_settings: Sequence[str]
) -> Asked:
    if new_settings:
        raise ShellError("--set-new goes with --diff: write --set")
    if len(expressions) > 1:
        raise ShellError("one -e at a time, but for --diff, where two are compared")
    return replace(asked, run=run, expression=next(iter(expressions), None))


Side = tuple[str | None, Asked]


def _sides(
    old: str | None,
    new: str | None,
    expressions: Sequence[str],
    asked: Asked,
    new_settings: Sequence[str],
) -> tuple[Side, Side]:
    """What to load for the old program and for the new one."""
    if len(expressions) > 2:
        raise ShellError("--diff compares two: -e at most twice")
    if old == STDIN and new in (None, STDIN):
        raise ShellError("standard input can be read once: name a file for one of the two")
    if new is None and not expressions and not new_settings:
        raise ShellError("--diff compares two: podium plan --diff OLD NEW")
    before, after = (None, None, *expressions)[-2:]
    return _side(old, before, asked), _side(
        old if new is None else new,
        after,
        replace(asked, settings=(*asked.settings, *new_settings)),
    )


def _side(text: str | None, expression: str | None, asked: Asked) -> Side:
    """FILE#RUN taken apart, unless a file has that very name."""
    if text is None or "#" not in text or os.path.exists(text):
        return text, replace(asked, expression=expression)
    file, _, run = text.rpartition("#")
    return file, replace(asked, run=run, expression=expression)


def _planned(file: str | None, asked: Asked) -> _Planned:
    """The program with its plan; one that only lacks a budget is planned without, to say what budget it needs."""
    try:
        loaded = load(file, asked, os.environ)
        return _Planned(loaded.program, plan(loaded.program), project=tuple(shown(loaded.project)))
    except ProgramError as error:
        if {problem.code for problem in error.problems} != {NO_BUDGET}:
            raise
        loaded = load(file, replace(asked, max_tokens=str(BOUNDLESS.tokens)), os.environ)
        program = replace(loaded.program, budget=Budget())
        planned = plan(program)
        hint = suggestion(planned.total, written=asked.expression is None)
        return _Planned(program, planned, hint, tuple(shown(loaded.project)))


def _show(one: _Planned, *, as_json: bool) -> None:
    if as_json:
        click.echo(safe_json(as_json_of(one.program, one.plan, one.lacks)))
        return
    console = stdout_console(_UNCUT)
    title = f"Run {safe(one.program.name)}: at least / expected / at most"
    console.print(Text(title, style="bold"))
    draw(console, tuple(rows(one.program, one.plan)))
    for line in (*notes(one.program, one.plan, one.lacks), *one.project):
        console.print(Text(safe(line)), soft_wrap=True)
    console.print(Text("Nothing was called."))


def draw(console: Console, each: Sequence[Row]) -> None:
    """The plan's tree, as a table where the console is wide enough for it: no figure is ever cut."""
    if width_of(each) <= console.width:
        console.print(tree_of(each))
        return
    for row in each:
        for line in stacked(row):
            console.print(Text(line, style=_style(row)), soft_wrap=True)


def width_of(each: Sequence[Row]) -> int:
    """How many columns the table takes."""
    widths = (max(map(len, column)) for column in zip(_HEADS, *each, strict=True))
    return sum(width + GAP for width in widths)


def tree_of(each: Sequence[Row]) -> Table:
    """The plan's tree for a terminal."""
    table = columns(_HEADS, right=_HEADS[1:])
    for row in each:
        table.add_row(*(Text(cell, style=_style(row)) for cell in row))
    return table


def _style(row: Row) -> str:
    return "bold" if row.name == "total" else "yellow" if "! binds" in row.name else ""


def _show_diff(old: _Planned, new: _Planned, *, as_json: bool) -> None:
    found = diff(old.program, new.program)
    if as_json:
        click.echo(safe_json(diff_json(found)))
        return
    console = stdout_console(_PAGE)
    for line in diff_lines(found, console.width):
        console.print(Text(safe(line.text), style=line.style), soft_wrap=True)
    for lack in _lacking(old, new):
        console.print(Text(safe(lack)), soft_wrap=True)
    console.print(Text("Nothing was called."))


def _lacking(old: _Planned, new: _Planned) -> Iterator[str]:
    for name, one in (("The old run", old), ("The new run", new)):
        if one.lacks:
            yield f"{name} has no budget, and its model is not free: {one.lacks}."
