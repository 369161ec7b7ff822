"""Measure the shipped example: one agent, the best of a hundred, one team of ten, the best of ten teams.

    python scripts/measure_words.py [--tasks 6] [--write]

Runs both runs of examples/words.team on the embedded model for several tasks (other words each) and prints a
table; --write puts it into docs/measurements.md. About three minutes a task on two cores.
"""

import os
import platform
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev

import anyio
import click
from marked import put

from podium.dsl.source import Source
from podium.engine import Engine

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "words.team"
TARGET = ROOT / "docs" / "measurements.md"
BEGIN, END = "<!-- measured -->\n", "<!-- end -->\n"
# Two-sided 95 % points of Student's t, by degrees of freedom (any table of the distribution).
T95 = {
    1: 12.706,
    2: 4.303,
    3: 3.182,
    4: 2.776,
    5: 2.571,
    6: 2.447,
    7: 2.365,
    8: 2.306,
    9: 2.262,
    11: 2.201,
}


@dataclass(frozen=True, slots=True)
class Arm:
    """One run. scores: of its branches, in order; best: of what it returned."""

    scores: tuple[float, ...]
    best: float
    calls: int
    tokens: int
    seconds: float


async def measured(engine: Engine, run: str, words: int) -> Arm:
    """The run of the example on the task with this seed."""
    source = Source(str(EXAMPLE), EXAMPLE.read_text("utf-8"))
    running = await engine.start(source, run=run, params={"words": words}, seed=words)
    result = await running.result()
    branches = [node for node in result.folded.nodes.values() if _is_branch(node.address)]
    judged = {event.address: event.score for event in result.folded.scores.values()}
    # A team's end tells its best score; a lone agent's attempt is judged after its end. None: no attempt.
    scores = tuple(node.score or judged.get(node.address) or 0.0 for node in branches)
    spent = result.folded.total.amount
    best = 0.0 if result.attempt is None else result.attempt.score or 0.0
    return Arm(scores, best, spent.calls, spent.tokens, result.seconds)


def _is_branch(address: str) -> bool:
    """Whether a node is one of the copies directly below `parallel`."""
    above, _, _ = address.rpartition("/")
    return above.rpartition("/")[2].endswith("parallel")


def interval(values: list[float]) -> str:
    """Mean and 95 % interval over tasks, by Student's t; the range of the values where there are too few."""
    half = T95[len(values) - 1] * stdev(values) / len(values) ** 0.5
    return f"{fmean(values):.2f} ± {half:.2f}"


def table(alone: list[Arm], teams: list[Arm]) -> str:
    agents = [fmean(arm.scores) for arm in alone]
    team = [fmean(arm.scores) for arm in teams]
    best_agents, best_teams = [arm.best for arm in alone], [arm.best for arm in teams]
    gain = [best - one for best, one in zip(best_teams, agents, strict=True)]
    margin = [best - other for best, other in zip(best_teams, best_agents, strict=True)]
    rows = [
        ("one agent", interval(agents), _cost(alone, len(alone[0].scores))),
        (f"best of {len(alone[0].scores)} agents", interval(best_agents), _cost(alone, 1)),
        ("one team of ten", interval(team), _cost(teams, len(teams[0].scores))),
        (f"best of {len(teams[0].scores)} teams", interval(best_teams), _cost(teams, 1)),
        ("best of the teams less one agent", interval(gain), ""),
        ("best of the teams less best of the agents", interval(margin), ""),
    ]
    lines = ["| | score | calls, tokens, seconds |", "|---|---|---|"]
    lines += [f"| {name} | {score} | {cost} |" for name, score, cost in rows]
    return "\n".join(lines) + "\n"


def _cost(arms: list[Arm], parts: int) -> str:
    calls, tokens = fmean(a.calls for a in arms) / parts, fmean(a.tokens for a in arms) / parts
    seconds = f", {fmean(a.seconds for a in arms):.0f}" if parts == 1 else ""
    return f"{calls:,.0f}, {tokens:,.0f}{seconds}"


async def measure(tasks: int, folder: str) -> tuple[list[Arm], list[Arm]]:
    alone: list[Arm] = []
    teams: list[Arm] = []
    async with Engine(str(Path(folder) / "runs.db")) as engine:
        for words in range(1, tasks + 1):
            alone.append(await measured(engine, "alone", words))
            teams.append(await measured(engine, "main", words))
            click.echo(f"task {words}: {alone[-1]}\n        {teams[-1]}", err=True)
    return alone, teams


@click.command(help=__doc__)
@click.option("--tasks", default=6, type=click.IntRange(2, 10), help="How many tasks.")
@click.option("--write", is_flag=True, help="Put the table into docs/measurements.md.")
def main(tasks: int, write: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        alone, teams = anyio.run(measure, tasks, folder)
    cores = len(os.sched_getaffinity(0))
    text = f"{tasks} tasks, {platform.machine()}, {cores} cores, Python {platform.python_version()}:\n\n"
    text += table(alone, teams)
    click.echo(text)
    if write:
        put(TARGET, BEGIN, text, END)


if __name__ == "__main__":
    main()
