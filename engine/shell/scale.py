"""`podium scale`: how many teams of what size a budget is best spent on, from runs or a pilot."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypedDict, Unpack

import click

from podium.dsl.parse import parse
from podium.dsl.problem import ProgramError
from podium.dsl.program import Budget, Team

from ..caps import budget_of
from ..sizes import first_team
from .compare import needs_stats, run_design
from .compare_arms import range_of
from .doors import Doors
from .exits import ShellError
from .inputs import Asked
from .loading import load
from .options import (
    allow_option,
    json_option,
    model_options,
    params_option,
    range_option,
    settings_option,
    store_option,
    unsafe_option,
    verbose_option,
)
from .reports import reject
from .safe import safe_json
from .scale_runs import Rival, must_know, pilot, recorded
from .scale_view import Answer, Question
from .texts import read_program

_LARGEST = 1_000


class _Given(TypedDict):
    """The options, as typed."""

    file: str
    run: str | None
    budget: str
    task: str | None
    sizes: str
    runs: int
    pilot: bool
    versus: str | None
    score_range: str | None
    seed: int
    settings: tuple[str, ...]
    params_file: str | None
    models: tuple[str, ...]
    prices: tuple[str, ...]
    allow: tuple[str, ...]
    unsafe_sandbox: bool
    store: str
    plot: str | None
    as_json: bool


@click.command(
    short_help="Say how many teams of what size a budget is best spent on.",
    epilog="Example: podium scale squad.team --budget '$200' --pilot",
)
@click.argument("file", type=click.Path())
@click.argument("run", required=False)
@click.option(
    "--budget", required=True, metavar="BUDGET", help="What to spend: '$200', '5M tokens'."
)
@click.option("--task", metavar="NAME", help="The task, or a set of tasks, as of run.")
@click.option("--sizes", default="1,3,10,30", show_default=True, help="Sizes of a pilot's teams.")
@click.option(
    "--runs",
    type=click.IntRange(2),
    default=5,
    show_default=True,
    help="A pilot's runs of each size on each task.",
)
@click.option("--pilot", is_flag=True, help="Run the pilot; without, it is only priced.")
@click.option(
    "--versus",
    metavar="MODEL|RUN",
    help="One agent of a stronger model, a name in the file or NAME=URL, or a recorded run, at equal cost.",
)
@range_option
@click.option("--seed", type=int, default=0, show_default=True, help="Of the pilot's runs.")
@settings_option
@params_option
@model_options
@allow_option
@unsafe_option
@store_option
@click.option(
    "--plot", metavar="PATH", help="Draw the expected best over the budget: .svg or .png."
)
@json_option
@verbose_option
@click.pass_context
def command(ctx: click.Context, /, **given: Unpack[_Given]) -> None:
    """Say how many teams of what size a budget is best spent on: k teams of m, the best of them kept.

    It reads the runs of FILE's team that the store has, at any sizes; where they are too few it prices a pilot,
    says whether such a pilot is worth its price, and runs it with --pilot. What is foretold is an estimate with an
    interval; sizes far from those that were run have a wide one. The budget is what is spent after the pilot; of
    several tasks each has an even share of it.
    """
    doors = ctx.obj or Doors()
    needs_stats()
    try:
        question = _question(given, doors.environ)
        rival = _rival(given, doors.environ)
    except ProgramError as error:
        reject(error, as_json=given["as_json"])
    wanted = _sizes(given["sizes"])
    if rival is not None:
        must_know(given["store"], rival)
    if given["pilot"]:
        design = pilot(question.loaded, rival, wanted, given["runs"], given["seed"])
        opened = partial(doors.opened, given["store"], unsafe_sandbox=given["unsafe_sandbox"])
        run_design(opened, design, quiet=given["as_json"])
    trials = recorded(given["store"], question.loaded, rival)
    found = Answer.of(question, trials, rival, wanted, given["runs"])
    if given["as_json"]:
        click.echo(safe_json(found.as_json()))
    else:
        found.print()
    if given["plot"] is not None:
        found.draw(Path(given["plot"]))


def _question(given: _Given, environ: Mapping[str, str]) -> Question:
    budget = _budget(given["budget"])
    loaded = load(given["file"], _capped(_asked(given), budget), environ)
    program = loaded.program
    if not program.tasks or any(task.verify is None for task in program.tasks):
        raise ShellError("scale looks at tasks with a verifier: name one, or a set, with --task")
    if len({task.better for task in program.tasks}) > 1:
        raise ShellError("of one task higher scores are better, of another lower ones: take one")
    if not isinstance(first_team(program.flow), Team):
        raise ShellError(f"run {program.name} has no team, whose size could be chosen")
    whole = budget.tokens if budget.usd is None else budget.usd / 1e6
    within = None if given["score_range"] is None else range_of(given["score_range"])
    return Question(loaded, float(whole or 0), budget.usd is None, within)


def _budget(text: str) -> Budget:
    budget = budget_of(text)
    given = (budget.usd, budget.tokens, budget.calls, budget.seconds)
    if sum(part is not None for part in given) != 1 or (budget.usd or budget.tokens) is None:
        raise ShellError("--budget is dollars or tokens: --budget '$200', --budget '5M tokens'")
    return budget


def _capped(asked: Asked, budget: Budget) -> Asked:
    return replace(
        asked,
        max_usd=None if budget.usd is None else f"{budget.usd / 1e6:.6f}",
        max_tokens=None if budget.tokens is None else str(budget.tokens),
    )


def _sizes(text: str) -> tuple[int, ...]:
    parts = text.replace(" ", "").split(",")
    wrong = [part for part in parts if not (part.isdigit() and 0 < int(part) <= _LARGEST)]
    if wrong:
        said = f'"{wrong[0]}" is no size of a team: each is a whole number from 1 to {_LARGEST:,}'
        raise ShellError(f"--sizes {text}: {said}")
    if len(set(parts)) < 2:
        raise ShellError(f"--sizes {text}: two sizes at least, such as 1,3,10,30")
    return tuple(sorted({int(part) for part in parts}))


# --- one stronger agent --------------------------------------------------------------------------


def _rival(given: _Given, environ: Mapping[str, str]) -> Rival | None:
    """A model of the file, NAME=URL or a URL; else a recorded run. Raises ProgramError and ShellError."""
    word = given["versus"]
    if word is None:
        return None
    asked, served = _asked(given), _served(word)
    if served is not None:
        name, url = served
        asked = replace(asked, models=(*given["models"], f"{name}={url}"), prices=given["prices"])
    else:
        tree, _ = parse(read_program(given["file"]))
        name = word
        names = tuple(one.name for one in tree.declarations if one.kind == "model")
        if name not in names:
            return Rival(word, models=names)
    capped = _capped(replace(asked, versus=name), _budget(given["budget"]))
    return Rival(name, load(given["file"], capped, environ))


def _served(word: str | None) -> tuple[str, str] | None:
    """Name and URL of a model that is served somewhere; None where word is a name alone."""
    if word is None or "://" not in word:
        return None
    name, equals, url = word.partition("=")
    return (name, url) if equals and name.isidentifier() else ("versus", word)


def _asked(given: _Given) -> Asked:
    """What the file's own program is asked to be: a price of the rival's is not for it."""
    served = _served(given["versus"])
    mine = [one for one in given["prices"] if served is None or not one.startswith(f"{served[0]}:")]
    return Asked(
        run=given["run"], task=given["task"], settings=given["settings"], params_file=given["params_file"],
        models=given["models"], prices=mine, allow=given["allow"],
    )  # fmt: skip
