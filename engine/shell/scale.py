"""`podium scale`: how many teams of what size a budget is best spent on, from runs or a pilot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from podium.dsl.problem import ProgramError
from podium.dsl.program import Budget, Team

from ..caps import budget_of
from ..compare import Arm, Design, Trial
from ..compare.recorded import replicates
from ..plan import plan
from ..sizes import first_team, replicated, sized
from .compare import needs_stats, run_design
from .doors import Doors
from .exits import Exit, ShellError
from .inputs import Asked
from .loading import Loaded, load
from .options import (
    allow_option,
    json_option,
    model_options,
    params_option,
    settings_option,
    store_option,
    verbose_option,
)  # fmt: skip
from .output import columns, stdout_console
from .reading import find_run, fold_of, open_store, program_of
from .reports import reject
from .safe import safe_json
from .units import show_count, show_usd

LEVEL = 0.9


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: a program of one task with a team, and a budget, in dollars or in tokens."""

    loaded: Loaded
    budget: float
    in_tokens: bool

    @property
    def sign(self) -> float:
        return 1.0 if self.loaded.program.tasks[0].better == "higher" else -1.0

    def shown(self, amount: float) -> str:
        return (
            f"{show_count(round(amount))} tokens"
            if self.in_tokens
            else show_usd(round(amount * 1e6))
        )


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
    found = _Answer.of(question, trials, wanted, runs)
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


def _arms(question: Question, sizes: Sequence[int]) -> tuple[Arm, ...]:
    program, request = question.loaded.program, question.loaded.request
    kept = replace(request, texts=program.sources)
    try:
        flows = [(size, sized(program.flow, size)) for size in sizes]
    except ValueError as error:
        raise ShellError(str(error)) from error
    return tuple(
        Arm(f"size {size}", replace(program, flow=flow), replace(kept, size=size), Budget())
        for size, flow in flows
    )


def _pilot(question: Question, sizes: Sequence[int], runs: int, seed: int) -> Design:
    return Design(f"scale {question.loaded.program.name}", _arms(question, sizes), runs, seed)


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


# --- the answer ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Answer:
    """observed: what runs say. splits, tenfold: of the budget and ten times it; None where runs are too few,
    why says so. pilot: the lines about a pilot. versus: about another run."""

    question: Question
    observed: Any
    splits: Any
    tenfold: Any
    lines: tuple[str, ...]

    @staticmethod
    def of(
        question: Question, trials: dict[int, list[Trial]], sizes: Sequence[int], runs: int
    ) -> "_Answer":
        from ..compare.scaling import observed, split

        found = observed(trials, sign=question.sign, in_tokens=question.in_tokens)
        try:
            here = split(found, question.budget, level=LEVEL)
            there = split(found, 10 * question.budget, level=LEVEL)
        except ValueError as error:
            told = _proposed(question, sizes, runs)
            return _Answer(question, found, None, None, (f"Not known yet: {error}.", *told))
        return _Answer(question, found, here, there, tuple(_advice(question, found, here, there)))

    def against(self, trials: Sequence[Trial]) -> "_Answer":
        from ..compare.versus import against

        told = against(trials, self.question.budget, self.splits, sign=self.question.sign,
                       in_tokens=self.question.in_tokens, level=LEVEL)  # fmt: skip
        return replace(self, lines=(*self.lines, told))

    def as_json(self) -> dict[str, Any]:
        return {
            "schema": 1,
            "budget": self.question.budget,
            "unit": "tokens" if self.question.in_tokens else "usd",
            "level": LEVEL,
            "runs": {str(m): len(scores) for m, scores in sorted(self.observed.scores.items())},
            "best": None if self.splits is None else self._cell(self.splits.best),
            "default": None if self.splits is None else self._cell(self.splits.default),
            "flat": [] if self.splits is None else list(self.splits.flat),
            "splits": [] if self.splits is None else [self._cell(c) for c in self.splits.cells],
            "tenfold": None if self.tenfold is None else self._cell(self.tenfold.best),
            "notes": list(self.lines),
        }

    def _cell(self, cell: Any) -> dict[str, float]:
        low, high = sorted((self.question.sign * cell.low, self.question.sign * cell.high))
        return {
            "size": cell.size, "teams": cell.teams, "score": self.question.sign * cell.score,
            "low": low, "high": high, "chance": cell.chance, "regret": cell.regret,
        }  # fmt: skip

    def print(self) -> None:
        console = stdout_console()
        if self.splits is not None:
            heads = ("teams", "of", "expected best", f"{LEVEL:.0%} interval", "chance it is best")
            table = columns(heads, right=heads)
            for cell in map(self._cell, self.splits.cells):
                span = f"{cell['low']:.4g} to {cell['high']:.4g}"
                row = (f"{cell['teams']:.0f}", f"{cell['size']:.0f}", f"{cell['score']:.4g}", span)
                table.add_row(*map(Text, (*row, f"{cell['chance']:.0%}")))
            console.print(table)
        for line in self.lines:
            console.print(Text(line), soft_wrap=True)

    def draw(self, path: Path) -> None:
        if self.splits is None:
            raise ShellError("there is nothing to draw yet", Exit.NOT_PASSED)
        try:
            from .compare_files import write_budgets
        except ModuleNotFoundError as error:
            said = f"plots need {error.name}: pip install 'podium[report]'"
            raise ShellError(said, Exit.FAILED) from error
        unit = "tokens" if self.question.in_tokens else "dollars"
        sizes = sorted({1, self.splits.best.size, self.splits.default.size, 100})
        write_budgets(path, self.observed, self.question.budget, sizes, LEVEL, unit)


def _proposed(question: Question, sizes: Sequence[int], runs: int) -> list[str]:
    """The pilot, priced, and whether it is worth that; and what to take without one."""
    from ..compare.scaling import default_split
    from ..stats.split import pilot_worth

    costs: dict[int, float] = {}
    most = 0.0
    for size, arm in zip(sizes, _arms(question, sizes), strict=True):
        total = plan(arm.program).total
        part, unit = (total.tokens, 1.0) if question.in_tokens else (total.usd, 1e-6)
        if part is None:
            return ["The model's price is not known: give --price, or a --budget in tokens."]
        costs[size] = part.expected * unit
        most += runs * part.most * unit
    if not all(costs.values()):
        return ["The model is free: give a --budget in tokens."]
    expected = runs * sum(costs.values())
    told = [
        f"A pilot of {runs} runs at each of the sizes {', '.join(map(str, sizes))} is expected to take "
        f"{question.shown(expected)}, {question.shown(most)} at most; --pilot runs it."
    ]
    # The budget in agents of the pilot, which are dearer in larger teams.
    agents = int(question.budget / expected * runs * sum(sizes))
    worth = pilot_worth(min(agents, 100_000), sizes, runs)
    if worth.gain <= 2 * worth.se:
        told.append("Paid from this budget, such a pilot cannot be expected to beat the default.")
    else:
        told.append(
            f"Paid from this budget, it is expected to gain {worth.gain:.2f} spreads of a lone agent's score."
        )
    if (default := default_split(costs, question.budget)) is not None:
        told.append(f"The default, by planned prices: {default[0]} teams of {default[1]}.")
    return told


def _advice(question: Question, found: Any, here: Any, there: Any) -> list[str]:
    sign, best, default = question.sign, here.best, here.default
    low, high = sorted((sign * there.best.low, sign * there.best.high))
    told = [
        f"Best split of {question.shown(question.budget)}: {best.teams} teams of {best.size}, "
        f"expected best {sign * best.score:.4g}; the chance that no other is better is {best.chance:.0%}.",
        "That is the default: no other size is sure enough to be better."
        if best == default
        else f"The default, {default.teams} teams of {default.size}, is expected to lose "
        f"{best.score - default.score:.3g} against it.",
        f"Sizes that lose less than a tenth of a team's spread: {', '.join(map(str, here.flat))}.",
        f"Ten times the budget: {there.best.teams} teams of {there.best.size}, expected best "
        f"{sign * there.best.score:.4g} ({low:.4g} to {high:.4g}).",
        "From "
        + ", ".join(f"{len(s)} runs of size {m}" for m, s in sorted(found.scores.items()))
        + ".",
    ]
    if all(score in (0.0, 1.0, -1.0) for scores in found.scores.values() for score in scores):
        told.append(
            "Scores are only 0 and 1, and what is foretold takes them for normal: trust the order, no figure."
        )
    return told
