"""Measure what the best of eight attempts of the embedded model adds to one, on `words` and `arithmetic`.

    python scripts/measure_gain.py [--tasks 40] [--write]

Each task (other words, other numbers) is tried by eight agents at once. One attempt is the mean of the eight, the
best of eight their best; the gain is their difference, task by task. By chance: the same eight replies, judged on
the next task, which they were not written for. --write puts the table into docs/measurements.md.
"""

import os
import platform
import tempfile
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from statistics import NormalDist, fmean, stdev

import anyio
import click
from marked import put

from podium.dsl.program import Task
from podium.dsl.source import Source
from podium.engine import Engine
from podium.engine.event import CallAnswered
from podium.engine.families import family
from podium.engine.value import Attempt

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "measurements.md"
BEGIN, END = "<!-- gain -->\n", "<!-- end of gain -->\n"
AGENTS = 8
PROGRAM = """
edition 2026

param seed: int = 0

role writer {
  system     = "SYSTEM"
  prompt     = \"""{{ task.statement }}\"""
  max_output = 64 tokens
  sampling   = { temperature = 0.8, top_p = 0.95, top_k = 40, min_p = 0.05, stop = ["\\n"] }
}

task one = family("FAMILY", ARGS, seed = seed)

run main {
  task   = one
  flow   = parallel(8) of writer -> best
  budget = [40k tokens, 40 calls, 10m]
  seed   = 7
}
"""
FAMILIES = {
    "words": ("You write short, clear sentences.", "count = 5"),
    "arithmetic": ("You answer with one number.", "digits = 1"),
}


@dataclass(frozen=True, slots=True)
class Tried:
    """The scores of one task's attempts, on it and on the next one."""

    scores: tuple[float, ...]
    chance: tuple[float, ...]


async def tried(engine: Engine, name: str, seed: int) -> Tried:
    system, args = FAMILIES[name]
    text = PROGRAM.replace("SYSTEM", system).replace("FAMILY", name).replace("ARGS", args)
    running = await engine.start(Source("gain.team", text), run="main", params={"seed": seed})
    answers = [
        stamped.event.reply
        async for stamped in running.events()
        if isinstance(stamped.event, CallAnswered)
    ]
    replies = [str(answer["text"]) for answer in answers if "text" in answer]
    result = await running.result()
    key, _, value = args.partition(" = ")
    own, other = (family(name, {key: int(value), "seed": one}) for one in (seed, seed + 1))
    found = Tried(judged(name, replies, own), judged(name, replies, other))
    kept = None if result.attempt is None else result.attempt.score
    if len(replies) != AGENTS or kept != max(found.scores):
        raise RuntimeError(f"{len(replies)} replies, the run kept {kept}: {found}")
    return found


def judged(name: str, replies: list[str], task: Task) -> tuple[float, ...]:
    verify = import_module(f"podium.tasks.{name}").verify
    return tuple(verify(Attempt(text, text, "main"), task).score for text in replies)


def interval(values: list[float]) -> str:
    """Mean and 95 % interval over tasks, by Student's t (its quantile by Cornish and Fisher's expansion)."""
    z, free = NormalDist().inv_cdf(0.975), len(values) - 1
    t = z + (z**3 + z) / (4 * free) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * free**2)
    return f"{fmean(values):.2f} ± {t * stdev(values) / len(values) ** 0.5:.2f}"


def rows(name: str, all_tried: list[Tried]) -> list[str]:
    one = [fmean(each.scores) for each in all_tried]
    best = [max(each.scores) for each in all_tried]
    gain = [high - mean for high, mean in zip(best, one, strict=True)]
    luck = [max(each.chance) - fmean(each.chance) for each in all_tried]
    real = [all_ - chance for all_, chance in zip(gain, luck, strict=True)]
    cells = (name, *map(interval, (one, best, gain, luck, real)))
    return [f"| {' | '.join(cells)} |"]


async def measure(tasks: int, folder: str) -> list[str]:
    lines: list[str] = []
    async with Engine(str(Path(folder) / "runs.db")) as engine:
        for name in FAMILIES:
            found: list[Tried] = []
            for seed in range(1, tasks + 1):
                found.append(await tried(engine, name, seed))
                click.echo(f"{name} {seed}: {found[-1]}", err=True)
            lines += rows(name, found)
    return lines


@click.command(help=__doc__)
@click.option("--tasks", default=40, type=click.IntRange(10, 1000), help="How many of each family.")
@click.option("--write", is_flag=True, help="Put the table into docs/measurements.md.")
def main(tasks: int, write: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lines = anyio.run(measure, tasks, folder)
    cores = len(os.sched_getaffinity(0))
    text = f"{tasks} tasks of each, {platform.machine()}, {cores} cores:\n\n"
    text += "| family | one attempt | best of 8 | gain | gain by chance | gain less chance |\n"
    text += "|---|---|---|---|---|---|\n" + "\n".join(lines) + "\n"
    click.echo(text)
    if write:
        put(TARGET, BEGIN, text, END)


if __name__ == "__main__":
    main()
