"""A hundred agents alone, in ten teams of ten, or as one team: does `podium compare` find which is best?

    python scripts/reproduce_three_ways.py [--seeds 8] [--repeats 20] [--agents 100] [--write]

Twelve laws that we chose, with the names of twelve families of tasks, say how the scores of a team depend on its
size; so the truth is known. For each law and each seed `podium compare` is run on
docs/reproduction/three_ways.team, and `podium scale` after a pilot of its own. --write puts figures, tables and
plots into docs/reproduction, after each seed; --scale-again runs `podium scale` alone anew, with the seeds of the
figures there, and leaves what compare said; --again makes the page anew from the figures there.
"""
# Beyond 400 lines, as the laws, what is run on them and the tables of the one page are read together.

import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import fmean
from typing import Any

import click
from reproduction import PAGES, Report, by_law, machine, share, shell, table

from podium.engine.compare import Trial
from podium.engine.compare.judge import compare as compare_trials
from podium.engine.compare.judge import is_clear
from podium.engine.stats import Interval, largest
from podium.engine.testing import Law

FILE = str(PAGES / "three_ways.team")
ARMS = ("alone", "teams", "one_team")
NAMED = {"alone": "alone", "teams": "teams", "one_team": "one team"}
# A truth within so many spreads of a lone agent's score is a tie for who has to choose.
SMALL = 0.1
Curve = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Shape:
    """said: mean and spread of a team of m, as formulas."""

    said: str
    mean: Curve
    spread: Curve

    @property
    def law(self) -> Law:
        return Law(self.mean, self.spread, lambda _: 0.0, passes=1e9)

    def worth(self, teams: int, size: int) -> float:
        """The expected best of that many teams."""
        return self.mean(size) + self.spread(size) * largest(teams)

    def truths(self, agents: int, size: int) -> dict[str, float]:
        return {
            "alone": self.worth(agents, 1),
            "teams": self.worth(agents // size, size),
            "one_team": self.worth(1, agents),
        }


def _one(_: float) -> float:
    return 1.0


SHAPES: Mapping[str, Shape] = {
    "arithmetic": Shape("0; 1", lambda _: 0.0, _one),
    "choice": Shape("0; m^-0.5", lambda _: 0.0, lambda m: m**-0.5),
    "commongen": Shape("1.5 (1 - m^-0.5); 1", lambda m: 1.5 * (1 - m**-0.5), _one),
    "golf": Shape("2.5 (1 - m^-0.5); 1", lambda m: 2.5 * (1 - m**-0.5), _one),
    "humaneval": Shape("2 (1 - 1/m); m^-0.1", lambda m: 2 * (1 - 1 / m), lambda m: m**-0.1),
    "kernel": Shape("2.5 (1 - e^(-(m-1)/6)); 1", lambda m: 2.5 * (1 - exp(-(m - 1) / 6)), _one),
    "math": Shape(
        "3 / (1 + (16/m)^1.5); m^-0.2", lambda m: 3 / (1 + (16 / m) ** 1.5), lambda m: m**-0.2
    ),
    "mbpp": Shape("1 - m^-0.5 - 0.02 m; 1", lambda m: 1 - m**-0.5 - 0.02 * m, _one),
    "packing": Shape(
        "3 (1 - e^(-(m-1)/20)); m^-0.3", lambda m: 3 * (1 - exp(-(m - 1) / 20)), lambda m: m**-0.3
    ),
    "proof": Shape("1.2 ln m; m^-0.2", lambda m: 1.2 * log(m), lambda m: m**-0.2),
    "repair": Shape("3 (1 - m^-0.5); m^-0.25", lambda m: 3 * (1 - m**-0.5), lambda m: m**-0.25),
    "speedup": Shape("1.2 (1 - m^-0.5); m^0.1", lambda m: 1.2 * (1 - m**-0.5), lambda m: m**0.1),
}


@dataclass(frozen=True, slots=True)
class Size:
    """How large the whole is. looks: after how many runs of each arm the table is read."""

    seeds: int
    looks: tuple[int, ...]
    agents: int
    team: int
    pilot: str
    runs: int

    def words(self, law: str) -> list[str]:
        values = {"law": law, "agents": self.agents, "team_size": self.team}
        return [word for name, value in values.items() for word in ("--set", f"{name}={value}")]


# --- what is run ---------------------------------------------------------------------------------


def measure(size: Size, laws: Sequence[str]) -> Iterator[dict[str, Any]]:
    """All figures so far, as JSON has them, after each seed."""
    began = time.monotonic()
    compared: list[dict[str, Any]] = []
    scaled: list[dict[str, Any]] = []
    for seed in range(1, size.seeds + 1):
        for law in laws:
            compared.append({"law": law, "seed": seed, **compare(size, law, seed)})
            scaled.append({"law": law, "seed": seed, **scale(size, law, seed)})
            click.echo(f"seed {seed}, {law}, {time.monotonic() - began:.0f} s", err=True)
        yield {
            "seeds": seed, "looks": size.looks, "agents": size.agents, "team": size.team,
            "pilot": size.pilot, "runs": size.runs, "laws": list(laws), "machine": machine(began),
            "compared": compared, "scaled": scaled,
        }  # fmt: skip


def scale_anew(found: dict[str, Any]) -> dict[str, Any]:
    """The same figures, but what `podium scale` says now of the same laws and seeds."""
    numbers = (found["agents"], found["team"], found["pilot"], found["runs"])
    size = Size(found["seeds"], tuple(found["looks"]), *numbers)
    each = [(law, seed) for seed in range(1, size.seeds + 1) for law in found["laws"]]
    scaled = [{"law": law, "seed": seed, **scale(size, law, seed)} for law, seed in each]
    return {**found, "scaled": scaled}


def compare(size: Size, law: str, seed: int) -> dict[str, Any]:
    """What `podium compare` says: of all runs, of the first of them, and where --until-clear ends.

    It is run once. What it would say earlier is asked of what it asks: `compare` and `is_clear`.
    """
    asked = ("--seed", str(seed), "--max-usd", "1000000", "--repeats", str(size.looks[-1]))
    with shell(by_law(SHAPES[law].law)) as podium:
        found = podium.json("compare", FILE, "three_ways", *size.words(law), *asked)
    trials = [Trial(**run) for run in found["runs"]]
    looks = {str(look): told(trials[: len(ARMS) * look]) for look in size.looks[:-1]}
    last = told(trials)
    assert last["winners"] == [pair["winner"] for pair in found["pairs"]]
    return {"clear": until_clear(trials), "looks": {**looks, str(size.looks[-1]): last}}


def told(trials: Sequence[Trial], *, sequential: bool = False) -> dict[str, Any]:
    found = compare_trials(trials, ARMS, sequential=sequential)
    return {
        "runs": len(trials),
        "usd": round(sum(one.usd or 0.0 for one in trials), 5),
        "winners": [pair.winner for pair in found.pairs],
        "best": [round(arm.best, 4) for arm in found.arms],
        "intervals": [_ends(arm.interval) for arm in found.arms],
    }


def until_clear(trials: Sequence[Trial]) -> dict[str, Any]:
    """What is said after the first block at which every two arms are told apart, or after the last."""
    for end in range(len(ARMS), len(trials), len(ARMS)):
        if is_clear(trials[:end], ARMS, 0.95, "higher"):
            return told(trials[:end], sequential=True)
    return told(trials, sequential=True)


def _ends(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [round(interval.low, 4), round(interval.high, 4)]


def scale(size: Size, law: str, seed: int) -> dict[str, Any]:
    """What `podium scale` names after a pilot, and what is lost by it, by the law."""
    shape = SHAPES[law]
    words = ("scale", FILE, *size.words(law), "--seed", str(seed), "--sizes", size.pilot)
    with shell(by_law(shape.law)) as podium:
        budget = f"${0.0006 * size.agents:.4f}"
        found = podium.json(*words, "--runs", str(size.runs), "--budget", budget, "--pilot")
    cells, best, default = found["splits"], found["best"], found["default"]
    truths = {one["size"]: shape.worth(one["teams"], one["size"]) for one in cells}
    top = max(truths.values())
    inside = [one["low"] <= truths[one["size"]] <= one["high"] for one in cells]
    return {
        "budget": budget, "size": best["size"], "teams": best["teams"],
        "oracle": max(truths, key=truths.__getitem__), "regret": round(top - truths[best["size"]], 4),
        "default": round(top - truths[default["size"]], 4),
        "alone": round(top - truths.get(1, top), 4), "ten": round(top - truths.get(10, top), 4),
        "inside": sum(inside), "of": len(inside),
        "best_inside": best["low"] <= truths[best["size"]] <= best["high"],
    }  # fmt: skip


# --- what is told --------------------------------------------------------------------------------


def named(winners: Sequence[str | None]) -> str | None:
    """The arm that is told apart from both others as the better one; None where there is none."""
    for arm in ARMS:
        if winners.count(arm) == len(ARMS) - 1:
            return arm
    return None


def report(found: dict[str, Any]) -> str:
    size = (found["agents"], found["team"])
    truths = {law: SHAPES[law].truths(*size) for law in found["laws"]}
    heading = (
        f"{found['seeds']} seeds of each of {len(truths)} laws; {found['agents']} agents alone, "
        f"{size[0] // size[1]} teams of {size[1]}, one team of {size[0]}; {found['machine']}.\n"
    )
    parts = (_laws(found, truths), _rates(found, truths), _by_law(found, truths), _scale(found))
    return heading + "\n" + "\n".join(parts)


Truths = Mapping[str, Mapping[str, float]]


def _best(truth: Mapping[str, float]) -> str:
    return max(truth, key=truth.__getitem__)


def _gap(truth: Mapping[str, float]) -> float:
    first, second, *_ = sorted(truth.values(), reverse=True)
    return first - second


def _laws(found: dict[str, Any], truths: Truths) -> str:
    """What the laws say, beside the mean of all runs."""
    last = str(found["looks"][-1])
    rows = list[list[str]]()
    for law, truth in truths.items():
        seen = [one["looks"][last]["best"] for one in found["compared"] if one["law"] == law]
        means = [fmean(column) for column in zip(*seen, strict=True)]
        cells = [f"{truth[arm]:.2f} ({mean:.2f})" for arm, mean in zip(ARMS, means, strict=True)]
        rows.append([law, SHAPES[law].said, *cells, NAMED[_best(truth)], f"{_gap(truth):.2f}"])
    heads = ("law", "mean; spread of a team of m", *map(NAMED.get, ARMS), "truly best", "by")
    text = "### The laws\n\nThe expected best score by the law, and in brackets the mean of all runs.\n\n"
    return text + table([str(head) for head in heads], rows)


def _looks(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [(str(look), f"after {look} runs of each") for look in found["looks"]]


def _at(one: dict[str, Any], look: str) -> dict[str, Any]:
    found: dict[str, Any] = one["clear"] if look == "clear" else one["looks"][look]
    return found


def _rates(found: dict[str, Any], truths: Truths) -> str:
    rows = list[list[str]]()
    for look, words in [*_looks(found), ("clear", "with --until-clear")]:
        all_of, right, wrong, open_ = 0, 0, 0, 0
        false, pairs, spent = 0, 0, list[float]()
        for one in found["compared"]:
            said, truth = _at(one, look), truths[one["law"]]
            best = named(said["winners"])
            all_of += 1
            right += best == _best(truth)
            wrong += best is not None and best != _best(truth)
            open_ += best is None
            false += sum(_is_false(winner, pair, truth) for winner, pair in _pairs(said))
            pairs += len(said["winners"])
            spent.append(said["usd"])
        cells = [share(count, all_of) for count in (right, open_, wrong)]
        rows.append([words, *cells, share(false, pairs), f"${fmean(spent):.2f}"])
    text = (
        "### What compare says of all laws\n\nBest: told apart from both others as the better one. "
        "False: of all pairs of arms, those told apart the wrong way round.\n\n"
    )
    heads = ("", "names the best", "cannot tell", "names another", "pairs told falsely", "spent")
    return text + table(heads, rows)


def _pairs(said: dict[str, Any]) -> list[tuple[str | None, tuple[str, str]]]:
    order = [(ARMS[0], ARMS[1]), (ARMS[0], ARMS[2]), (ARMS[1], ARMS[2])]
    return list(zip(said["winners"], order, strict=True))


def _is_false(winner: str | None, pair: tuple[str, str], truth: Mapping[str, float]) -> bool:
    return winner is not None and truth[winner] < max(truth[arm] for arm in pair)


def _by_law(found: dict[str, Any], truths: Truths) -> str:
    """Law by law: how often the best is named at each look, the cost until it was clear, coverage."""
    rows = list[list[str]]()
    last = str(found["looks"][-1])
    for law, truth in truths.items():
        ours = [one for one in found["compared"] if one["law"] == law]
        cells = list[str]()
        for look, _ in _looks(found):
            verdicts = [named(one["looks"][look]["winners"]) for one in ours]
            right = sum(best == _best(truth) for best in verdicts)
            wrong = sum(best is not None and best != _best(truth) for best in verdicts)
            cells.append(f"{right} of {len(ours)}" + (f", {wrong} wrong" if wrong else ""))
        clear = [one["clear"] for one in ours if None not in one["clear"]["winners"]]
        runs = f"{fmean(one['runs'] / len(ARMS) for one in clear):.0f}" if clear else "-"
        usd = f"${fmean(one['usd'] for one in clear):.2f}" if clear else "-"
        spans = [one["looks"][last]["intervals"] for one in ours]
        hits = [low <= truth[arm] <= high for each in spans for arm, (low, high) in _spans(each)]
        cells += [f"{len(clear)} of {len(ours)}", runs, usd, f"{fmean(hits):.0%}"]
        rows.append([law, NAMED[_best(truth)], f"{_gap(truth):.2f}", *cells])
    heads = ("law", "best", "by", *(f"named, {look} runs" for look, _ in _looks(found)),
             "all clear", "runs of each until then", "dollars until then", "95 % intervals hold")  # fmt: skip
    return "### Law by law\n\n" + table(heads, rows) + "\n" + _ties(found, truths)


def _spans(each: Sequence[list[float] | None]) -> list[tuple[str, list[float]]]:
    return [(arm, span) for arm, span in zip(ARMS, each, strict=True) if span is not None]


def _ties(found: dict[str, Any], truths: Truths) -> str:
    close = [law for law, truth in truths.items() if _gap(truth) < SMALL]
    last = str(found["looks"][-1])
    hits = [
        low <= truths[one["law"]][arm] <= high
        for one in found["compared"]
        for arm, (low, high) in _spans(one["looks"][last]["intervals"])
    ]
    text = f"Of all 95 % intervals {share(sum(hits), len(hits))} hold the truth."
    return text + (f" Nearly a tie: {', '.join(close)}.\n" if close else "\n")


def _scale(found: dict[str, Any]) -> str:
    rows = list[list[str]]()
    for law in found["laws"]:
        ours = [one for one in found["scaled"] if one["law"] == law]
        sizes = sorted(one["size"] for one in ours)
        rows.append([law, str(ours[0]["oracle"]), _span(sizes), *_losses(ours), *_cover(ours)])
    every = found["scaled"]
    rows.append(["all", "", "", *_losses(every), *_cover(every)])
    text = (
        f"### What scale names\n\nA pilot of {found['runs']} runs at each of the sizes {found['pilot']}, then "
        f"the best split of {every[0]['budget']}. Lost: the law's best split less that of the one named, in "
        "spreads of a lone agent's score.\n\n"
    )
    heads = ("law", "best size", "named", "lost by the named", "by the default", "by lone agents",
             "by teams of ten", "90 % interval of the named holds", "each split's", "all at once")  # fmt: skip
    return text + table(heads, rows)


def _span(sizes: list[int]) -> str:
    return f"{sizes[len(sizes) // 2]} ({sizes[0]} to {sizes[-1]})"


def _losses(ours: Sequence[dict[str, Any]]) -> list[str]:
    return [
        f"{fmean(one[key] for one in ours):.2f}" for key in ("regret", "default", "alone", "ten")
    ]


def _cover(ours: Sequence[dict[str, Any]]) -> list[str]:
    named_ = sum(one["best_inside"] for one in ours)
    whole = fmean(one["inside"] / one["of"] for one in ours)
    at_once = sum(one["inside"] == one["of"] for one in ours)
    return [share(named_, len(ours)), f"{whole:.0%}", share(at_once, len(ours))]


def draw(size: Size) -> None:
    """The plots of one law, as the commands draw them."""
    law, looks = "kernel", str(size.looks[-1])
    with shell(by_law(SHAPES[law].law)) as podium:
        words = (FILE, *size.words(law), "--seed", "1")
        plot = podium.store.parent / "plot.svg"
        podium.run(
            "compare", *words, "--max-usd", "1000000", "--repeats", looks, "--plot", str(plot)
        )
        shutil.copy(plot, PAGES / "three_ways_runs.svg")
        budget = f"${0.0006 * size.agents:.4f}"
        pilot = ("--sizes", size.pilot, "--runs", str(2 * size.runs), "--budget", budget)
        podium.run("scale", *words, *pilot, "--pilot", "--plot", str(plot))
        shutil.copy(plot, PAGES / "three_ways_budget.svg")


REPORT = Report("three_ways", report)


@click.command(help=__doc__)
@click.option("--seeds", default=8, type=click.IntRange(1), help="Comparisons of each law.")
@click.option("--repeats", default=20, type=click.IntRange(4), help="Runs of each arm in each.")
@click.option("--agents", default=100, type=click.IntRange(4), help="Agents of each arm.")
@click.option("--team", default=10, type=click.IntRange(2), help="Members of a team.")
@click.option(
    "--law", "laws", multiple=True, type=click.Choice(list(SHAPES)), help="Not all of them."
)
@click.option("--write", is_flag=True, help="Write figures, page and plots.")
@click.option("--scale-again", is_flag=True, help="Run scale alone, and write.")
@click.option("--again", is_flag=True, help="Run nothing: make the page from the figures.")
def main(
    *,
    seeds: int,
    repeats: int,
    agents: int,
    team: int,
    laws: tuple[str, ...],
    write: bool,
    scale_again: bool,
    again: bool,
) -> None:
    if scale_again:
        REPORT.write(scale_anew(json.loads(REPORT.figures.read_text("utf-8"))))
        return
    if again:
        REPORT.put()
        return
    looks = (repeats // 4, repeats // 2, repeats)
    size = Size(seeds, looks, agents, team, "1,3,10,30", 5)
    for found in measure(size, laws or list(SHAPES)):
        click.echo(report(found))
        if write:
            REPORT.write(found)
    if write:
        draw(size)


if __name__ == "__main__":
    main()
