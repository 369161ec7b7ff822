"""`podium compare`: an experiment of a file, runs of several files, or recorded runs, told apart or not."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import anyio
import click
from rich.text import Text

from podium.dsl.problem import ProgramError

from ..caps import budget_of
from ..compare import Design, Trial, carry_out, ended
from ..compare.trial import Unit
from ..ranges import Range
from .compare_arms import Chosen, is_program, of_experiment, of_files, range_of, recorded
from .doors import Doors, Opened
from .exits import Exit, ShellError
from .inputs import Asked
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
from .output import columns, stdout_console
from .reports import reject
from .safe import safe_json, safe_line
from .session import sole, tell, translated
from .units import counted, show_usd, usd

if TYPE_CHECKING:
    from ..compare.arm_result import Spent
    from ..compare.judge import Comparison
    from ..compare.trial import Better


class _Given(TypedDict):
    """The options, as typed."""

    words: tuple[str, ...]
    task: str | None
    each: str | None
    repeats: int | None
    k: int
    level: float
    score_range: str | None
    seed: int
    until_clear: bool
    until_best: bool
    inflight: int
    max_usd: str | None
    settings: tuple[str, ...]
    params_file: str | None
    models: tuple[str, ...]
    prices: tuple[str, ...]
    allow: tuple[str, ...]
    unsafe_sandbox: bool
    store: str
    after: str | None
    csv_path: str | None
    curves_path: str | None
    over: Unit | None
    html_path: str | None
    plot_path: str | None
    as_json: bool


@click.command(
    short_help="Compare topologies at equal cost, with honest intervals.",
    epilog="Examples: podium compare squad.team sizes; podium compare 2f1c 77aa --html report.html",
)
@click.argument("words", nargs=-1, required=True, metavar="FILE [EXPERIMENT] | FILE FILE | RUN RUN")
@click.option("--task", metavar="NAME", help="Of several files: the task of all, as of run.")
@click.option(
    "--each",
    metavar="BUDGET",
    help="Of several files: what each run may spend ('$2'), or have of agents (10).",
)
@click.option("--repeats", type=click.IntRange(1), help="Runs of each arm on each task.")
@click.option("-k", type=click.IntRange(1), default=1, show_default=True, help="Best of k runs.")
@click.option(
    "--level", type=click.FloatRange(0.5, 0.999), default=0.95, show_default=True,
    help="Of intervals, and how seldom equal arms are told apart.",
)  # fmt: skip
@range_option
@click.option("--seed", type=int, default=0, show_default=True, help="Of every run, in pairs.")
@click.option("--until-clear", is_flag=True, help="End as soon as all arms are told apart.")
@click.option("--until-best", is_flag=True, help="End as soon as one arm beats all others.")
@click.option(
    "--inflight", type=click.IntRange(1), default=1, show_default=True, help="Blocks at a time."
)
@click.option("--max-usd", metavar="DOLLARS", help="Of all runs together.")
@settings_option
@params_option
@model_options
@allow_option
@unsafe_option
@store_option
@click.option(
    "--after",
    metavar="SPEND",
    help="Also say the expected best once so much is spent on runs of an arm: '$5', '1M tokens', '30m'.",
)
@click.option("--csv", "csv_path", metavar="PATH", help="Also write a line for each run.")
@click.option(
    "--curves",
    "curves_path",
    metavar="PATH",
    help="Also write a line, as CSV, for each time a run got better: at what spend and time.",
)
@click.option("--html", "html_path", metavar="PATH", help="Also write a report with plots.")
@click.option(
    "--plot", "plot_path", metavar="PATH", help="Also draw best so far over spend: .svg or .png."
)
@click.option(
    "--over",
    type=click.Choice(["usd", "tokens", "seconds"]),
    help="What --plot draws over; dollars, or tokens where free.",
)
@json_option
@verbose_option
@click.pass_context
def command(ctx: click.Context, /, **given: Unpack[_Given]) -> None:
    """Compare the arms of an EXPERIMENT of FILE, runs of several files (FILE#RUN), or recorded runs.

    Arms run in blocks: on each task, with each seed, one run of every arm, so that what drifts meets all alike.
    Run again, it goes on where it stopped and pays for nothing twice; more --repeats only add to what is there.
    Recorded runs are compared by what ran side by side in them. Exit codes: 0 whether or not arms are told
    apart; 2 wrong program or usage; 4 a server or verifier failed; 130 interrupted.
    """
    words = given["words"]
    writers = _writers(given)
    needs_stats()
    from .compare_view import as_csv, curves_csv

    try:
        if is_program(words[0].partition("#")[0]):
            trials, found = _carried_out(given, ctx.obj or Doors())
        else:
            trials, found = _read(given)
    except ProgramError as error:
        reject(error, as_json=given["as_json"])
    if given["csv_path"] is not None:
        Path(given["csv_path"]).write_text(as_csv(trials), "utf-8")
    if given["curves_path"] is not None:
        Path(given["curves_path"]).write_text(curves_csv(trials), "utf-8")
    _tell(trials, found, as_json=given["as_json"])
    for write in writers:
        write(" ".join(words), trials, found)
    ctx.exit(_exit(trials))


def _carried_out(given: _Given, doors: Doors) -> "tuple[Sequence[Trial], Comparison]":
    """The arms that words name, run as far as they are not in the store. Raises ProgramError and ShellError."""
    from ..compare.judge import compare

    chosen = _chosen(given, doors)
    cap = None if given["max_usd"] is None else usd(given["max_usd"])
    if cap is not None and chosen.worst is None:
        raise ShellError("--max-usd bounds nothing where a price is not known: give --price")
    design = Design(
        chosen.name, chosen.arms, chosen.repeats, given["seed"], given["inflight"], cap, chosen.worst
    )  # fmt: skip
    names, better = [arm.name for arm in chosen.arms], chosen.better
    spent = spent_of(given["after"])
    early = given["until_clear"] or given["until_best"]
    best_only = not given["until_clear"]
    enough = _enough(names, given["level"], better, best_only=best_only) if early else _never
    opened = partial(doors.opened, given["store"], unsafe_sandbox=given["unsafe_sandbox"])
    trials = run_design(opened, design, enough, quiet=given["as_json"])
    return trials, compare(
        trials, names, k=given["k"], level=given["level"], better=better, sequential=early,
        within=_within(given, chosen.within), spent=spent,
    )  # fmt: skip


# What runs have behind them once they are in the store.
_OF_RUNS = {
    "task": "--task", "each": "--each", "repeats": "--repeats", "max_usd": "--max-usd", "seed": "--seed",
    "until_clear": "--until-clear", "until_best": "--until-best", "settings": "--set", "params_file": "--params",
    "models": "--model", "prices": "--price",
}  # fmt: skip


def _read(given: _Given) -> "tuple[Sequence[Trial], Comparison]":
    """The runs of the store that words name. Raises ShellError, also on an option that would change nothing."""
    from ..compare.judge import compare

    useless = [option for name, option in _OF_RUNS.items() if given[name]]  # type: ignore[literal-required]  # keys of _Given
    if useless:
        one = given["words"][0]
        raise ShellError(
            f"{', '.join(useless)} is for what is yet to run, and {one} names a recorded run: leave it out, "
            "or name a .team file"
        )
    runs = recorded(given["store"], given["words"])
    found = compare(
        runs.trials, runs.names, k=given["k"], level=given["level"], better=runs.better, in_pairs=False,
        within=_within(given, runs.within), spent=spent_of(given["after"]),
    )  # fmt: skip
    return runs.trials, found


def spent_of(text: str | None) -> "Spent | None":
    """An amount of one unit. Raises ShellError on calls or several, and ProgramError on what is no amount."""
    from ..compare.arm_result import Spent

    if text is None:
        return None
    budget = budget_of(text)
    usd_spent = None if budget.usd is None else budget.usd / 1e6
    known: list[tuple[Unit, float | None]] = [
        ("usd", usd_spent), ("tokens", budget.tokens), ("seconds", budget.seconds),
    ]  # fmt: skip
    match [Spent(unit, float(amount)) for unit, amount in known if amount is not None]:
        case [one]:
            return one
        case _:
            raise ShellError("--after is dollars, tokens or a time: --after '$5', --after 30m")


def _within(given: _Given, declared: Range) -> Range:
    return declared if given["score_range"] is None else range_of(given["score_range"])


def _never(_: Sequence[Trial]) -> bool:
    return False


def needs_stats() -> None:
    """Raise ShellError where NumPy or SciPy is missing, before anything is run."""
    try:
        from ..compare import judge as judge
    except ModuleNotFoundError as error:
        if error.name not in ("numpy", "scipy"):
            raise
        raise ShellError(str(error), Exit.FAILED) from error


Writer = Callable[[str, Sequence[Trial], "Comparison"], None]


def _writers(given: _Given) -> list[Writer]:
    """What also writes files. Loaded before anything runs: what it needs may not be there."""
    html_path, plot_path = given["html_path"], given["plot_path"]
    if plot_path is not None and Path(plot_path).suffix not in (".svg", ".png"):
        raise ShellError(f"--plot {plot_path}: a plot is .svg or .png")
    if html_path is None and plot_path is None:
        return []
    try:
        from .compare_files import write_html, write_plot
    except ModuleNotFoundError as error:
        if error.name not in ("matplotlib", "numpy", "scipy"):
            raise
        said = f"plots need {error.name}: pip install 'podium[report]'"
        raise ShellError(said, Exit.FAILED) from error
    drawn = partial(write_plot, over=given["over"])
    pairs = ((html_path, write_html), (plot_path, drawn))
    return [partial(write, Path(path)) for path, write in pairs if path is not None]


def _chosen(given: _Given, doors: Doors) -> Chosen:
    asked = Asked(
        task=given["task"], settings=given["settings"], params_file=given["params_file"],
        models=given["models"], prices=given["prices"], allow=given["allow"],
    )  # fmt: skip
    file, *others = given["words"]
    if others and is_program(others[0].partition("#")[0]):
        return of_files(given["words"], asked, doors.environ, given["each"], given["repeats"] or 10)
    if len(others) > 1 or given["each"] is not None or asked.task is not None:
        raise ShellError(
            "an experiment has its own task and `each`: podium compare FILE [EXPERIMENT]"
        )
    name = others[0] if others else None
    capped = replace(asked, max_usd=given["max_usd"])
    return of_experiment(file, name, capped, doors.environ, given["repeats"])


def announced(design: Design, done: int) -> str:
    """What is about to run, and what it may cost, before anything does. done: runs that are in the store."""
    tasks, arms = len(design.arms[0].tasks), len(design.arms)
    runs = design.repeats * arms * tasks
    repeats = counted(design.repeats, "repeat")
    said = f"{counted(runs, 'run')}: {counted(arms, 'arm')}, {counted(tasks, 'task')}, {repeats}"
    if done == runs:
        return f"{said}; all are in the store, and cost nothing again."
    most = "its price is not known"
    if design.worst is not None:
        # Blocks that are there in part are counted in full: an upper bound.
        whole = design.worst * min(design.repeats * tasks, runs - done)
        most = f"{show_usd(whole if design.usd is None else min(whole, design.usd))} at most"
    there = f"{done} are in the store, {runs - done} are to run; " if done else ""
    return f"{said}; {there}{most}."


def _enough(
    names: Sequence[str], level: float, better: "Better", *, best_only: bool
) -> Callable[[Sequence[Trial]], bool]:
    from ..compare.judge import is_clear

    return lambda trials: is_clear(trials, names, level, better, best_only=best_only)


def run_design(
    opened: Callable[[], Opened],
    design: Design,
    enough: Callable[[Sequence[Trial]], bool] = _never,
    *,
    quiet: bool,
) -> list[Trial]:
    """Carry the design out, each trial told as it ends. Raises ShellError on what the user can mend."""

    def seen(one: Trial) -> None:
        if one.run in before:
            return
        score = "no score" if one.score is None else f"{one.score:.4g}"
        where = f"{one.arm}, {one.task}, repeat {one.repeat + 1}"
        if not quiet:
            tell(f"{safe_line(where, 100)}: {score} ({one.outcome}, run {one.run})")

    before: set[str] = set()

    async def work() -> list[Trial]:
        async with opened() as engine:
            before.update(run.id for run in engine.runs() if run.status == "ended")
            if not quiet:
                tell(announced(design, ended(engine, design)))
            return await carry_out(engine, design, seen=seen, enough=enough)

    try:
        return anyio.run(work)
    except Exception as error:  # of the known ones the user is told; any other goes on
        found = sole(error)
        if (known := translated(found)) is not None:
            raise known from error
        raise found from None if found is error else error


def _tell(
    trials: Sequence[Trial],
    found: "Comparison",
    *,
    as_json: bool,
) -> None:
    from .compare_view import heads, rows, sentences

    if as_json:
        runs = [one.as_json() for one in trials]
        click.echo(safe_json({"schema": 1, **found.as_json(), "runs": runs}))
        return
    console = stdout_console()
    table = columns(heads(found), right=heads(found)[1:])
    for row in rows(found):
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)
    for line in sentences(found):
        console.print(Text(line), soft_wrap=True)


def _exit(trials: Sequence[Trial]) -> Exit:
    """4 where no arm said anything, as all runs failed."""
    return Exit.FAILED if all(one.failed for one in trials) else Exit.PASSED
