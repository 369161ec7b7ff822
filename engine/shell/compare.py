"""`podium compare`: an experiment of a file, runs of several files, or recorded runs, told apart or not."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click
from rich.text import Text

from podium.dsl.problem import ProgramError

from ..compare import Design, Trial, carry_out
from .compare_arms import Chosen, is_program, of_experiment, of_files, recorded
from .doors import Doors, Opened
from .exits import Exit, ShellError
from .inputs import Asked
from .options import (
    allow_option,
    json_option,
    model_options,
    params_option,
    settings_option,
    store_option,
    unsafe_option,
    verbose_option,
)
from .output import columns, stdout_console
from .reports import reject
from .safe import safe_json, safe_line
from .session import sole, tell, translated
from .units import show_usd, usd

if TYPE_CHECKING:
    from ..compare.judge import Comparison
    from ..compare.trial import Better


@click.command(
    short_help="Compare topologies at equal cost, with honest intervals.",
    epilog="Examples: podium compare squad.team sizes; podium compare 2f1c 77aa --html report.html",
)
@click.argument("words", nargs=-1, required=True, metavar="FILE [EXPERIMENT] | FILE FILE | RUN RUN")
@click.option("--task", metavar="NAME", help="Of several files: the task of all, as of run.")
@click.option("--each", metavar="BUDGET", help="Of several files: what each run may spend ('$2').")
@click.option("--repeats", type=click.IntRange(1), help="Runs of each arm on each task.")
@click.option("-k", type=click.IntRange(1), default=1, show_default=True, help="Best of k runs.")
@click.option(
    "--level", type=click.FloatRange(0.5, 0.999), default=0.95, show_default=True,
    help="Of intervals, and how seldom equal arms are told apart.",
)  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="Of every run, in pairs.")
@click.option("--until-clear", is_flag=True, help="End as soon as all arms are told apart.")
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
@click.option("--csv", "csv_path", metavar="PATH", help="Also write a line for each run.")
@click.option("--html", "html_path", metavar="PATH", help="Also write a report with plots.")
@click.option(
    "--plot", "plot_path", metavar="PATH", help="Also draw best so far over spend: .svg or .png."
)
@json_option
@verbose_option
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    words: tuple[str, ...],
    task: str | None,
    each: str | None,
    repeats: int | None,
    k: int,
    level: float,
    seed: int,
    until_clear: bool,
    inflight: int,
    max_usd: str | None,
    settings: tuple[str, ...],
    params_file: str | None,
    models: tuple[str, ...],
    prices: tuple[str, ...],
    allow: tuple[str, ...],
    unsafe_sandbox: bool,
    store: str,
    csv_path: str | None,
    html_path: str | None,
    plot_path: str | None,
    as_json: bool,
) -> None:
    """Compare the arms of an EXPERIMENT of FILE, runs of several files (FILE#RUN), or recorded runs.

    Arms run in blocks: on each task, with each seed, one run of every arm, so that what drifts meets all alike.
    Run again, it goes on where it stopped and pays for nothing twice; more --repeats only add to what is there.
    Recorded runs are compared by what ran side by side in them. Exit codes: 0 whether or not arms are told
    apart; 2 wrong program or usage; 4 a server or verifier failed; 130 interrupted.
    """
    asked = Asked(
        task=task, settings=settings, params_file=params_file, models=models, prices=prices, allow=allow,
    )  # fmt: skip
    doors = ctx.obj or Doors()
    writers = _writers(html_path, plot_path)
    needs_stats()
    try:
        if is_program(words[0].partition("#")[0]):
            chosen = _chosen(words, asked, doors, each, repeats, max_usd)
            names, better = [arm.name for arm in chosen.arms], chosen.better
            cap = None if max_usd is None else usd(max_usd)
            if cap is not None and chosen.worst is None:
                raise ShellError(
                    "--max-usd bounds nothing where a price is not known: give --price"
                )
            design = Design(
                chosen.name, chosen.arms, chosen.repeats, seed, inflight, cap, chosen.worst
            )
            _announce(design, quiet=as_json)
            enough = _enough(names, level, better) if until_clear else _never
            opened = partial(doors.opened, store, unsafe_sandbox=unsafe_sandbox)
            trials = run_design(opened, design, enough, quiet=as_json)
            found = _judged(trials, names, k, level, better, sequential=until_clear)
        else:
            names, trials, better = recorded(store, words)
            found = _judged(trials, names, k, level, better, paired=False)
    except ProgramError as error:
        reject(error, as_json=as_json)
    _tell(trials, found, as_json=as_json, csv_path=csv_path)
    for write in writers:
        write(" ".join(words), trials, found)
    ctx.exit(_exit(trials))


def _judged(
    trials: Sequence[Trial],
    names: Sequence[str],
    k: int,
    level: float,
    better: "Better",
    *,
    sequential: bool = False,
    paired: bool = True,
) -> "Comparison":
    from ..compare.judge import compare

    return compare(
        trials, names, k=k, level=level, better=better, sequential=sequential, in_pairs=paired
    )


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


def _writers(html_path: str | None, plot_path: str | None) -> list[Writer]:
    """What also writes files. Loaded before anything runs: what it needs may not be there."""
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
    pairs = ((html_path, write_html), (plot_path, write_plot))
    return [partial(write, Path(path)) for path, write in pairs if path is not None]


def _chosen(
    words: tuple[str, ...],
    asked: Asked,
    doors: Doors,
    each: str | None,
    repeats: int | None,
    max_usd: str | None,
) -> Chosen:
    file, *others = words
    if not others or not is_program(others[0].partition("#")[0]):
        if len(others) > 1 or each is not None or asked.task is not None:
            raise ShellError(
                "an experiment has its own task and `each`: podium compare FILE [EXPERIMENT]"
            )
        name = others[0] if others else None
        capped = replace(asked, max_usd=max_usd)
        return of_experiment(file, name, capped, doors.environ, repeats)
    return of_files(words, asked, doors.environ, each, repeats or 10)


def _announce(design: Design, *, quiet: bool) -> None:
    """What is about to run, and what it may cost, before anything does."""
    runs = design.repeats * len(design.arms) * len(design.arms[0].tasks)
    most = "its price is not known"
    if design.worst is not None:
        whole = design.worst * design.repeats * len(design.arms[0].tasks)
        capped = whole if design.usd is None else min(whole, design.usd)
        most = f"{show_usd(capped)} at most"
    if not quiet:
        tell(f"{runs} runs: {len(design.arms)} arms, {len(design.arms[0].tasks)} tasks, "
             f"{design.repeats} repeats; {most}.")  # fmt: skip


def _enough(
    names: Sequence[str], level: float, better: "Better"
) -> Callable[[Sequence[Trial]], bool]:
    from ..compare.judge import is_clear

    return lambda trials: is_clear(trials, names, level, better)


def run_design(
    opened: Callable[[], Opened],
    design: Design,
    enough: Callable[[Sequence[Trial]], bool] = _never,
    *,
    quiet: bool,
) -> list[Trial]:
    """Carry the design out, each trial told as it ends. Raises ShellError on what the user can mend."""

    def seen(one: Trial) -> None:
        score = "no score" if one.score is None else f"{one.score:.4g}"
        where = f"{one.arm}, {one.task}, repeat {one.repeat + 1}"
        if not quiet:
            tell(f"{safe_line(where, 100)}: {score} ({one.outcome}, run {one.run})")

    async def work() -> list[Trial]:
        async with opened() as engine:
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
    csv_path: str | None,
) -> None:
    from .compare_view import as_csv, heads, rows, sentences

    if csv_path is not None:
        Path(csv_path).write_text(as_csv(trials), "utf-8")
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
