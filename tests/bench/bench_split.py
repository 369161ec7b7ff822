"""How good the split of a budget is that `scale` names, on 12 tasks whose laws are known.

For each task: the oracle's split of 100 agents, and over many pilots the regret of the split named after the
pilot, of always taking teams of ten, of always the default, in spreads of a lone agent; how often an interval
holds the truth. Run by hand:

    python tests/bench/bench_split.py [PILOTS]
"""

import sys
from collections.abc import Callable
from math import exp, log

import numpy as np

from podium.engine.stats.normal import largest
from podium.engine.stats.split import pilot_worth, splits

SIZES = (1, 2, 4, 5, 10, 20, 25, 50, 100)
TEAMS = {m: 100 // m for m in SIZES}
PILOT = (1, 3, 10, 30)
Curve = Callable[[float], float]
LAWS: dict[str, tuple[Curve, Curve]] = {
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


def truth(law: tuple[Curve, Curve]) -> dict[int, float]:
    mean, spread = law
    return {m: mean(m) + spread(m) * largest(k) for m, k in TEAMS.items()}


def tried(name: str, runs: int, pilots: int) -> tuple[float, float, float, float, float]:
    """Mean regret of the named split, of ten, of the default; coverage over sizes, and at the named one."""
    mean, spread = LAWS[name]
    true = truth(LAWS[name])
    top = max(true.values())
    named, default, inside, at_best = 0.0, 0.0, 0, 0
    for seed in range(pilots):
        chance = np.random.default_rng([seed, runs])
        groups = {m: (mean(m) + spread(m) * chance.standard_normal(runs)).tolist() for m in PILOT}
        found = splits(groups, TEAMS, draws=400, seed=seed)
        named += top - true[found.best.size]
        default += top - true[found.default.size]
        inside += sum(cell.low <= true[cell.size] <= cell.high for cell in found.cells)
        at_best += found.best.low <= true[found.best.size] <= found.best.high
    whole = pilots * len(SIZES)
    return named / pilots, top - true[10], default / pilots, inside / whole, at_best / pilots


def main() -> None:
    pilots = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for runs in (3, 5, 10):
        print(f"{runs} runs of each of {PILOT}, {runs * sum(PILOT)} agents; nominal coverage 0.90")
        every = list[tuple[float, ...]]()
        for name in LAWS:
            found = tried(name, runs, pilots)
            every.append(found)
            best = max(truth(LAWS[name]), key=truth(LAWS[name]).__getitem__)
            print(
                f"  {name:23} oracle m={best:3}  regret: named {found[0]:.3f}, ten {found[1]:.3f}, "
                f"default {found[2]:.3f}  coverage {found[3]:.2f}, of the named {found[4]:.2f}"
            )
        mean = np.mean(every, axis=0)
        print(
            f"  on average: named {mean[0]:.3f}, ten {mean[1]:.3f}, default {mean[2]:.3f}, "
            f"coverage {mean[3]:.3f}, of the named {mean[4]:.3f}"
        )
    for agents in (100, 1_000, 10_000):
        found = pilot_worth(agents, PILOT, 5)
        print(
            f"a pilot of {5 * sum(PILOT)} agents before {agents}: gains {found.gain:+.3f} +- {found.se:.3f}"
        )


if __name__ == "__main__":
    main()
