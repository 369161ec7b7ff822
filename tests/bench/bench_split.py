"""How good the split of a budget is that `scale` names, on 12 tasks whose laws are known.

A budget of $2, with agents at 2 cents: a hundred of them. For each task the oracle's split, and over many pilots
the regret of the split named after the pilot, of always teams of ten, of the default, in spreads of a lone agent;
how often what is printed as an interval holds the truth: each split's, all at once, the named split's, that of ten
times the budget. Then the 12 tasks as one set, and tasks whose scores have a range. Run by hand; 200 pilots of all
of it take half an hour of one core:

    python tests/bench/bench_split.py [PILOTS] [one:3|one:5|one:10|set|range|pilot …]
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from math import exp, log

import numpy as np

from podium.engine.compare.scaling import Observed, split, teams_of
from podium.engine.ranges import ANY, Range
from podium.engine.stats.bounded import best_of_teams
from podium.engine.stats.normal import largest
from podium.engine.stats.split import Scores, Splits, pilot_worth

PRICE, BUDGET = 0.02, 2.0
PILOT = (1, 3, 10, 30)
Curve = Callable[[float], float]
Law = tuple[Curve, Curve]
LAWS: dict[str, Law] = {
    "1.5(1-m^-.5), 1": (lambda m: 1.5 * (1 - m**-0.5), lambda _: 1.0),
    "2.5(1-m^-.5), 1": (lambda m: 2.5 * (1 - m**-0.5), lambda _: 1.0),
    "3(1-m^-.5), m^-.25": (lambda m: 3 * (1 - m**-0.5), lambda m: m**-0.25),
    ".6 ln m, m^-.2": (lambda m: 0.6 * log(m), lambda m: m**-0.2),
    "2.5(1-e^-m/6), 1": (lambda m: 2.5 * (1 - exp(-m / 6)), lambda _: 1.0),
    "the same - .01 m": (lambda m: 2.5 * (1 - exp(-m / 6)) - 0.01 * m, lambda _: 1.0),
    "0, 1": (lambda _: 0.0, lambda _: 1.0),
    "0, m^-.5": (lambda _: 0.0, lambda m: m**-0.5),
    "2(1-m^-1), m^-.1": (lambda m: 2 * (1 - 1 / m), lambda m: m**-0.1),
    "logistic at 16": (lambda m: 3 / (1 + (16 / m) ** 1.5), lambda m: m**-0.2),
    "3(1-e^-m/20), m^-.3": (lambda m: 3 * (1 - exp(-m / 20)), lambda m: m**-0.3),
    "1(1-m^-.5) - .02 m, 1": (lambda m: 1 - m**-0.5 - 0.02 * m, lambda _: 1.0),
}
# Scores of 0 to 1: their means and spreads.
BOUNDED: dict[str, Law] = {
    "Beta, .3 + .4(1-m^-.5)": (lambda m: 0.3 + 0.4 * (1 - m**-0.5), lambda _: 0.15),
    "Beta, .7 + .2(1-1/m)": (lambda m: 0.7 + 0.2 * (1 - 1 / m), lambda m: 0.12 * m**-0.2),
    "Beta, .85": (lambda _: 0.85, lambda _: 0.1),
    "rate, .1 + .3(1-m^-.5)": (lambda m: 0.1 + 0.3 * (1 - m**-0.5), lambda _: 0.0),
    "rate, .5 - .003 m": (lambda m: 0.5 - 0.003 * m, lambda _: 0.0),
}
COSTS = {m: PRICE * m for m in PILOT}


def truth(law: Law, budget: float, within: Range = ANY, *, rates: bool = False) -> dict[int, float]:
    """What each split of the budget is worth."""
    mean, spread = law
    teams = teams_of(COSTS, budget)
    if within == ANY:
        return {m: mean(m) + spread(m) * largest(k) for m, k in teams.items()}
    worth = (
        best_of_teams(np.array([[mean(m)]]), np.array([[spread(m)]]), [k], within, rates=rates)
        for m, k in teams.items()
    )
    return {m: float(found[0, 0]) for m, found in zip(teams, worth, strict=True)}


def normal(law: Law, runs: int, chance: np.random.Generator) -> Scores:
    mean, spread = law
    return Scores({m: (mean(m) + spread(m) * chance.standard_normal(runs)).tolist() for m in PILOT})


def bounded(law: Law, runs: int, chance: np.random.Generator) -> Scores:
    """Of 0 to 1: rates where the spread is 0, else of a Beta."""
    mean, spread = law
    groups: dict[int, list[float]] = {}
    for m in PILOT:
        middle, sd = mean(m), spread(m)
        if sd == 0:
            groups[m] = (chance.random(runs) < middle).astype(float).tolist()
        else:
            size = middle * (1 - middle) / sd**2 - 1
            groups[m] = chance.beta(middle * size, (1 - middle) * size, runs).tolist()
    return Scores(groups, Range(0.0, 1.0))


def holds(found: Splits, true: dict[int, float]) -> tuple[float, float, float]:
    """The share of splits whose interval holds the truth; whether all do; whether the named one's does."""
    inside = [cell.low <= true[cell.size] <= cell.high for cell in found.cells]
    best = found.best
    return (
        float(np.mean(inside)),
        float(all(inside)),
        float(best.low <= true[best.size] <= best.high),
    )


HEADS = ("named", "ten", "default", "each", "at once", "named's", "tenfold")


def told(name: str, figures: Sequence[float]) -> None:
    shown = ", ".join(f"{head} {value:.3f}" for head, value in zip(HEADS, figures, strict=True))
    print(f"  {name:24} {shown}", flush=True)


def row(found: Sequence[Splits], here: dict[int, float], there: dict[int, float]) -> list[float]:
    """Regret of the named, of ten and of the default; coverage. found: of the budget, of ten times it."""
    top = max(here.values())
    lost = [top - here[m] for m in (found[0].best.size, 10, found[0].default.size)]
    return [*lost, *holds(found[0], here), holds(found[1], there)[2]]


def alone(runs: int, pilots: int) -> None:
    print(
        f"{runs} runs of each of {PILOT}: {runs * sum(PILOT)} agents, ${PRICE * runs * sum(PILOT):.2f}"
    )
    every: list[list[float]] = []
    for law in LAWS.values():
        here, there = truth(law, BUDGET), truth(law, 10 * BUDGET)
        rows = [
            row(
                list(_split([normal(law, runs, np.random.default_rng([seed, runs]))], seed)),
                here,
                there,
            )
            for seed in range(pilots)
        ]
        every.append(np.mean(rows, axis=0).tolist())
        told(next(name for name, one in LAWS.items() if one is law), every[-1])
    told("mean", np.mean(every, axis=0).tolist())
    told("worst", [*np.max(every, axis=0)[:3], *np.min(every, axis=0)[3:]])


def _split(tasks: Sequence[Scores], seed: int) -> Iterable[Splits]:
    """Of the budget and of ten times it, of all tasks."""
    found = Observed({str(i): one for i, one in enumerate(tasks)}, COSTS, len(tasks))
    for times in (1, 10):
        yield split(found, times * BUDGET * len(tasks), level=0.9, seed=seed)[0]


def together(runs: int, pilots: int) -> None:
    """The 12 tasks as a set, each with the budget: the set's split, each task's own, with the others and alone."""
    here = {
        m: float(np.mean([truth(law, BUDGET)[m] for law in LAWS.values()]))
        for m in teams_of(COSTS, BUDGET)
    }
    wide = teams_of(COSTS, 10 * BUDGET)
    there = {m: float(np.mean([truth(law, 10 * BUDGET)[m] for law in LAWS.values()])) for m in wide}
    rows: list[list[float]] = []
    own: list[float] = []
    by_itself: list[float] = []
    inside: list[float] = []
    for seed in range(pilots):
        chance = np.random.default_rng([seed, runs, 2])
        tasks = [normal(law, runs, chance) for law in LAWS.values()]
        rows.append(row(list(_split(tasks, seed)), here, there))
        found = Observed({str(i): one for i, one in enumerate(tasks)}, COSTS, len(tasks))
        _, *each = split(found, BUDGET * len(tasks), level=0.9, seed=seed)
        for scores, one, law in zip(tasks, each, LAWS.values(), strict=True):
            true = truth(law, BUDGET)
            by_itself.append(
                max(true.values()) - true[next(iter(_split([scores], seed))).best.size]
            )
            own.append(max(true.values()) - true[one.best.size])
            inside.append(holds(one, true)[2])
    print(f"the 12 tasks as one set, {runs} runs of each size on each")
    told("the set's split", np.mean(rows, axis=0).tolist())
    print(
        f"  each task's own split: regret {np.mean(own):.3f}, its interval holds {np.mean(inside):.3f};"
    )
    # Of one pilot all tasks are fitted together, so it is pilots that are independent, not tasks.
    gain = (np.array(by_itself) - own).reshape(pilots, -1)
    error = gain.mean(axis=1).std(ddof=1) / pilots**0.5 if pilots > 1 else float("nan")
    print(
        f"  fitted alone: regret {np.mean(by_itself):.3f}; fitting together gains "
        f"{gain.mean():+.3f} +- {error:.3f} over {pilots} pilots"
    )
    for law, one in zip(LAWS, gain.mean(axis=0), strict=True):
        print(f"    {law:24} {one:+.3f}")


def ranges(runs: int, pilots: int) -> None:
    print(f"scores of 0 to 1, {runs} runs of each size; regret in scores")
    for name, law in BOUNDED.items():
        rates = name.startswith("rate")
        here, there = (truth(law, b, Range(0, 1), rates=rates) for b in (BUDGET, 10 * BUDGET))
        rows: list[list[float]] = []
        refused = 0
        for seed in range(pilots):
            try:
                scores = bounded(law, runs, np.random.default_rng([seed, runs, 3]))
                rows.append(row(list(_split([scores], seed)), here, there))
            except ValueError:  # no two scores of one size differ
                refused += 1
        told(name, np.mean(rows, axis=0).tolist())
        if refused:
            print(f"    {refused} of {pilots} pilots refused: their scores do not differ")


def pilots_worth() -> None:
    for agents in (100, 1_000, 10_000):
        found = pilot_worth(agents, PILOT, 5)
        print(
            f"a pilot of {5 * sum(PILOT)} agents before {agents}: gains {found.gain:+.3f} +- {found.se:.3f}"
        )


def main() -> None:
    pilots = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    parts = sys.argv[2:] or ["one:3", "one:5", "one:10", "set", "range", "pilot"]
    for runs in (3, 5, 10):
        if f"one:{runs}" in parts:
            alone(runs, pilots)
    if "set" in parts:
        together(3, pilots)
    if "range" in parts:
        ranges(5, pilots)
    if "pilot" in parts:
        pilots_worth()


if __name__ == "__main__":
    main()
