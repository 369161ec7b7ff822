"""`podium scale`: how many teams of what size a budget is best spent on, from runs or a pilot."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from podium.dsl.problem import ProgramError
from podium.dsl.program import Team

from ..caps import budget_of
from ..compare import Design, Trial
from ..compare.recorded import replicates
from ..sizes import first_team, replicated
from .compare import needs_stats, run_design
from .doors import Doors
from .exits import ShellError
from .inputs import Asked
from .loading import load
from .options import (
    allow_option,
    json_option,
    model_options,
    params_option,
    settings_option,
    store_option,
    verbose_option,
)  # fmt: skip
from .reading import find_run, fold_of, open_store, program_of
from .reports import reject
from .safe import safe_json
from .scale_view import Answer, Question, arms_of_sizes


@click.command(
    short_help="Say how many teams of what size a budget is best spent on.",
    epilog="Example: podium scale squad.team --budget '$200' --pilot",
)
@click.argument("file", type=click.Path())
@click.argument("run", required=False)
@click.option(
    "--budget", required=True, metavar="BUDGET", help="What to spend: '$200', '5M tokens'."
)
@click.option("--task", metavar="NAME", help="The task, as of run.")
@click.option("--sizes", default="1,3,10,30", show_default=True, help="Sizes of a pilot's teams.")
@click.option(
    "--runs",
    type=click.IntRange(2),
    default=5,
    show_default=True,
    help="A pilot's runs of each size.",
)
@click.option("--pilot", is_flag=True, help="Run the pilot; without, it is only priced.")
@click.option(
    "--versus", metavar="RUN", help="A recorded run of one agent, of a stronger model say."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the pilot's runs.")
@settings_option
@params_option
@model_options
@allow_option
@store_option
@click.option(
    "--plot", metavar="PATH", help="Draw the expected best over the budget: .svg or .png."
)
@json_option
@verbose_option
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    file: str,
    run: str | None,
    budget: str,
    task: str | None,
    sizes: str,
    runs: int,
    pilot: bool,
    versus: str | None,
    seed: int,
    settings: tuple[str, ...],
    params_file: str | None,
    models: tuple[str, ...],
    prices: tuple[str, ...],
    allow: tuple[str, ...],
    store: str,
    plot: str | None,
    as_json: bool,
) -> None:
    """Say how many teams of what size a budget is best spent on: k teams of m, the best of them kept.

    It reads the runs of FILE's team that the store has, at any sizes; where they are too few it prices a pilot,
    says whether such a pilot is worth its price, and runs it with --pilot. What is foretold is an estimate with an
    interval; sizes far from those that were run have a wide one. The budget is what is spent after the pilot.
    """
    asked = Asked(
        run=run, task=task, settings=settings, params_file=params_file, models=models, prices=prices, allow=allow,
    )  # fmt: skip
    doors = ctx.obj or Doors()
    needs_stats()
    try:
        question = _question(file, asked, budget, doors.environ)
    except ProgramError as error:
        reject(error, as_json=as_json)
    wanted = _sizes(sizes)
    if pilot:
        opened = partial(doors.opened, store)
        run_design(opened, _pilot(question, wanted, runs, seed), quiet=as_json)
    trials = _recorded(store, question)
    found = Answer.of(question, trials, wanted, runs)
    if versus is not None:
        found = found.against(_lone(store, versus))
    if as_json:
        click.echo(safe_json(found.as_json()))
    else:
        found.print()
    if plot is not None:
        found.draw(Path(plot))


def _question(file: str, asked: Asked, budget: str, environ: Mapping[str, str]) -> Question:
    given = budget_of(budget)
    if (given.usd is None) == (given.tokens is None):
        raise ShellError("--budget is dollars or tokens: --budget '$200', --budget '5M tokens'")
    capped = replace(
        asked,
        max_usd=None if given.usd is None else f"{given.usd / 1e6:.6f}",
        max_tokens=None if given.tokens is None else str(given.tokens),
    )
    loaded = load(file, capped, environ)
    program = loaded.program
    if len(program.tasks) != 1 or program.tasks[0].verify is None:
        raise ShellError("scale looks at one task with a verifier: name it with --task")
    if not isinstance(first_team(program.flow), Team):
        raise ShellError(f"run {program.name} has no team, whose size could be chosen")
    whole = given.tokens if given.usd is None else given.usd / 1e6
    return Question(loaded, float(whole or 0), given.usd is None)


def _sizes(text: str) -> tuple[int, ...]:
    parts = text.replace(" ", "").split(",")
    if not all(part.isdigit() and 0 < int(part) <= 1000 for part in parts) or len(parts) < 2:
        raise ShellError(f"--sizes {text}: two sizes at least, such as 1,3,10,30")
    return tuple(sorted({int(part) for part in parts}))


# --- runs ----------------------------------------------------------------------------------------


def _pilot(question: Question, sizes: Sequence[int], runs: int, seed: int) -> Design:
    return Design(
        f"scale {question.loaded.program.name}", arms_of_sizes(question, sizes), runs, seed
    )


def _recorded(store: str, question: Question) -> dict[int, list[Trial]]:
    """The trials of the program's team in the store, by size."""
    from ..compare.scaling import is_same_team

    found: dict[int, list[Trial]] = {}
    if not Path(store).is_file():
        return found
    program = question.loaded.program
    with open_store(Path(store)) as opened:
        for record in opened.runs():
            ran = program_of(record)
            if ran is None or not ran.tasks or ran.tasks[0].statement != program.tasks[0].statement:
                continue
            size = replicated(ran.flow)
            if size is not None and is_same_team(ran.flow, program.flow):
                found.setdefault(size, []).extend(
                    replicates(record.id, str(size), fold_of(opened, record))
                )
    return found


def _lone(store: str, run: str) -> list[Trial]:
    with open_store(Path(store)) as opened:
        record = find_run(opened, run)
        return replicates(record.id, record.id, fold_of(opened, record))
