"""The same questions asked of a real model that is very small: as many agents in three ways, and a CEO's levers.

    python scripts/reproduce_small_model.py [--tasks 10] [--lever-tasks 3] [--write]

Runs the experiments of docs/reproduction/small_model.team with `podium compare` on the embedded model, each task
with other words or another sum. With --store PATH what was broken off goes on, no run is paid for twice. --write
puts figures, tables and plots into docs/reproduction; --again makes the page anew from the figures there.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from reproduction import PAGES, Report, machine, shell, table

from podium.engine.compare import Trial
from podium.engine.compare.judge import Comparison, compare
from podium.engine.compare.pair_result import PairResult
from podium.engine.ranges import Range
from podium.engine.stats import Interval

FILE = str(PAGES / "small_model.team")
# An experiment, the parameter that makes another task of it, and what it is called.
EXPERIMENTS = {
    "words_ways": ("words", "Words: a sentence with five given words"),
    "arithmetic_ways": ("sum", "Arithmetic: two numbers of one digit"),
    "levers": ("words", "Words: the levers of a CEO"),
}

ORDER = {
    "words_ways": ("alone", "teams", "one_team"),
    "arithmetic_ways": ("alone", "teams", "one_team"),
    "levers": ("all", "no_ceo", "no_size", "no_direction", "no_effort", "no_assignment", "no_stop"),
}


# --- what is run ---------------------------------------------------------------------------------


def measure(
    tasks: dict[str, int], agents: int, team: int, store: Path | None = None
) -> dict[str, Any]:
    """All figures, as JSON has them."""
    began = time.monotonic()
    found: dict[str, list[dict[str, Any]]] = {name: [] for name, count in tasks.items() if count}
    with shell(store=store) as podium:
        for name, runs in found.items():
            param, _ = EXPERIMENTS[name]
            for number in range(1, tasks[name] + 1):
                values = {param: number, "agents": agents, "team_size": team}
                given = [
                    word for key, value in values.items() for word in ("--set", f"{key}={value}")
                ]
                told = podium.json("compare", FILE, name, *given, "--seed", str(number))
                runs += [{**run, "run": "", "repeat": number} for run in told["runs"]]
                click.echo(f"{name} {number}: {time.monotonic() - began:.0f} s", err=True)
    return {"agents": agents, "team": team, "machine": machine(began), "runs": found}


# --- what is told --------------------------------------------------------------------------------


def report(found: dict[str, Any]) -> str:
    agents, team = found["agents"], found["team"]
    text = f"{agents} agents: alone, in {agents // team} teams of {team}, as one team; {found['machine']}.\n"
    for name, runs in found["runs"].items():
        text += f"\n### {EXPERIMENTS[name][1]}\n\n" + _told(name, runs)
    return text


def _told(name: str, runs: Sequence[dict[str, Any]]) -> str:
    done = _compared(name, runs)
    rows = [
        [arm.name.replace("_", " "), str(arm.scored), f"{arm.best:.2f}", _span(arm.interval),
         f"{arm.calls:.1f}", f"{arm.tokens:,.0f}", f"{arm.seconds:.0f}"]
        for arm in done.arms
    ]  # fmt: skip
    text = table(
        ("arm", "tasks", "mean score", "95 % interval", "calls", "tokens", "seconds"), rows
    )
    pairs = [_pair(pair) for pair in done.pairs if name != "levers" or pair.one == "all"]
    heads = ("", "difference", "95 % interval", "won, lost, tied", "p", "verdict")
    return text + "\n" + table(heads, pairs)


def _compared(name: str, runs: Sequence[dict[str, Any]]) -> Comparison:
    """The runs of all tasks as of one; their scores are shares."""
    trials = [replace(Trial(**run), task="") for run in runs]
    return compare(trials, ORDER[name], within=Range(0.0, 1.0))


def _span(interval: Interval | None) -> str:
    return "-" if interval is None else f"{interval.low:.2f} to {interval.high:.2f}"


def _pair(pair: PairResult) -> list[str]:
    one, other = (name.replace("_", " ") for name in (pair.one, pair.other))
    verdict = "cannot be told apart"
    if pair.winner is not None:
        verdict = f"{pair.winner.replace('_', ' ')} is better"
    elif pair.needs < 1_000:
        verdict += f"; about {pair.needs:,.0f} tasks would be needed"
    counts = f"{pair.wins}, {pair.losses}, {pair.ties}"
    p = f"{pair.p:.2g} (below {pair.alpha:.2g})"
    return [
        f"{one} less {other}",
        f"{round(pair.difference, 2) + 0.0:+.2f}",  # -0.0 + 0.0 is 0
        _span(pair.interval),
        counts,
        p,
        verdict,
    ]


def draw(found: dict[str, Any]) -> None:
    """The plot of each experiment, as `podium compare` draws it."""
    from podium.engine.compare.plots import intervals  # takes a second to load

    for name, runs in found["runs"].items():
        done = _compared(name, runs)
        (PAGES / f"small_model_{name}.svg").write_bytes(intervals(done))


REPORT = Report("small_model", report)


@click.command(help=__doc__)
@click.option("--tasks", default=10, type=click.IntRange(0), help="Of words and of arithmetic.")
@click.option("--lever-tasks", default=3, type=click.IntRange(0), help="For the levers of a CEO.")
@click.option("--agents", default=9, type=click.IntRange(4), help="Agents of each arm.")
@click.option("--team", default=3, type=click.IntRange(2), help="Members of a team.")
@click.option("--store", type=click.Path(path_type=Path), help="Where the runs are kept.")
@click.option("--write", is_flag=True, help="Write figures, page and plots.")
@click.option("--again", is_flag=True, help="Run nothing: make the page from the figures.")
def main(
    *,
    tasks: int,
    lever_tasks: int,
    agents: int,
    team: int,
    store: Path | None,
    write: bool,
    again: bool,
) -> None:
    if again:
        REPORT.put()
        return
    counts = {"words_ways": tasks, "arithmetic_ways": tasks, "levers": lever_tasks}
    found = measure(counts, agents, team, store)
    click.echo(report(found))
    if write:
        REPORT.write(found)
        draw(found)


if __name__ == "__main__":
    main()
