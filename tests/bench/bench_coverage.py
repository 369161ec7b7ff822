"""How often the intervals that statistics print cover the truth, and how wide they are.

Each line: a distribution, runs n, best of k, the share of nominal 95 % bootstrap-t intervals that hold the truth
beside the reference figure, the mean width. Exits 1 where a share is further from its figure than chance explains
(three and a half standard errors of both).
Then the other intervals that are printed: pass@1, the difference of two arms, win rates, looked at once and at any
time; and how often equal arms are called different, also three arms by the whole of `compare`. Run by hand:

    python tests/bench/bench_coverage.py [REPETITIONS] [best|others …]
"""

import sys
from collections.abc import Callable
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from podium.engine.compare import Trial
from podium.engine.compare.judge import compare
from podium.engine.stats import (
    bootstrap_t,
    difference,
    evidence,
    paired,
    pass_interval,
    sign_test,
    win_interval,
)

Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]
LAWS: dict[str, Draw] = {
    "normal": lambda chance, n: chance.standard_normal(n),
    "lognormal(0.5)": lambda chance, n: chance.lognormal(0, 0.5, n),
    "Beta(2,5)": lambda chance, n: chance.beta(2, 5, n),
    "t5": lambda chance, n: chance.standard_t(5, n),
}
CELLS = [(10, 5), (20, 5), (20, 10), (30, 10), (50, 10), (100, 10)]
# Of 600 repetitions with 1,000 resamples, in the order of CELLS.
REFERENCE = {
    "normal": (0.967, 0.927, 0.948, 0.935, 0.925, 0.940),
    "lognormal(0.5)": (0.952, 0.945, 0.940, 0.923, 0.928, 0.940),
    "Beta(2,5)": (0.952, 0.942, 0.960, 0.938, 0.933, 0.940),
    "t5": (0.937, 0.925, 0.942, 0.928, 0.912, 0.927),
}
REFERENCE_RUNS = 600


def covered(name: str, n: int, k: int, repetitions: int) -> tuple[float, float]:
    """The share of intervals that hold the truth, and their mean width."""
    law = LAWS[name]
    chance = np.random.default_rng([n, k, sorted(LAWS).index(name)])
    truth = law(chance, 200_000 * k).reshape(-1, k).max(axis=1).mean()
    inside, width = 0, 0.0
    for seed in range(repetitions):
        found = bootstrap_t(law(chance, n).tolist(), k, draws=1_000, seed=seed)
        inside += found.low <= truth <= found.high
        width += found.high - found.low
    return inside / repetitions, width / repetitions


def intervals(repetitions: int) -> bool:
    """Whether every share is that of the reference, as far as chance lets one say."""
    fits = True
    for name in LAWS:
        for (n, k), wanted in zip(CELLS, REFERENCE[name], strict=True):
            share, width = covered(name, n, k, repetitions)
            error = sqrt(wanted * (1 - wanted) * (1 / repetitions + 1 / REFERENCE_RUNS))
            far = abs(share - wanted) > 3.5 * error
            fits = fits and not far
            mark = "  <- differs" if far else ""
            print(
                f"{name:15} n={n:3} k={k:2}  {share:.3f} (reference {wanted:.3f})  width {width:.2f}{mark}"
            )
    return fits


def passes(repetitions: int) -> None:
    chance = np.random.default_rng(1)
    for rate, n in ((0.1, 20), (0.5, 20), (0.9, 10)):
        found = [pass_interval(int(chance.binomial(n, rate)), n) for _ in range(repetitions)]
        share = np.mean([one.low <= rate <= one.high for one in found])
        print(f"pass@1, rate {rate}, n={n}: exact interval covers {share:.3f}")


def null(repetitions: int) -> None:
    """Equal arms over 12 tasks of different difficulty, 5 pairs of each, looked at once or after each pair."""
    chance = np.random.default_rng(2)
    once, ever = 0, 0
    for _ in range(repetitions):
        level = np.repeat(chance.random(12), 5)
        one, other = (level + 0.2 * chance.standard_normal(60) for _ in range(2))
        once += paired(one.tolist(), other.tolist()).p <= 0.05
        won = np.cumsum(one > other)
        ever += any(evidence(int(w), i - int(w)).tells(0.95) for i, w in enumerate(won, 1))
    print(f"equal arms called different at level 0.05: {once / repetitions:.3f} looked at once,")
    print(f"{ever / repetitions:.3f} looked at after each of 60 pairs")


def differences(repetitions: int) -> None:
    """Two arms of which one is better by half a spread, in pairs and apart; k = 1 and 5."""
    chance = np.random.default_rng(3)
    inside = {"pairs": 0, "apart, k = 1": 0, "apart, k = 5": 0}
    for seed in range(repetitions):
        level = chance.standard_normal(20)
        one, other = (level + chance.standard_normal(20) + gain for gain in (0.5, 0.0))
        found = paired(one.tolist(), other.tolist(), seed=seed).interval
        inside["pairs"] += found is not None and found.low <= 0.5 <= found.high
        one, other = (chance.standard_normal(20) + gain for gain in (0.5, 0.0))
        for k in (1, 5):
            gap = difference([one.tolist()], [other.tolist()], k, draws=1_000, seed=seed)
            inside[f"apart, k = {k}"] += gap.low <= 0.5 <= gap.high
    for name, count in inside.items():
        print(
            f"difference of two arms of 20 runs, {name}: 95 % interval covers {count / repetitions:.3f}"
        )


def win_rates(repetitions: int) -> None:
    chance = np.random.default_rng(4)
    once, ever = 0, 0
    for _ in range(repetitions):
        won = np.cumsum(chance.random(30) < 0.7)
        count = sign_test(int(won[-1]), 30 - int(won[-1]))
        once += count.low <= 0.7 <= count.high
        looks = [win_interval(int(w), i - int(w)) for i, w in enumerate(won, 1)]
        ever += all(low <= 0.7 <= high for low, high in looks)
    print(f"win rate 0.7 of 30 pairs: exact interval covers {once / repetitions:.3f};")
    print(f"that for any time covers at all of 30 looks {ever / repetitions:.3f}")


def three_arms(repetitions: int) -> None:
    """How often `compare` tells any of three equal arms from another."""
    chance = np.random.default_rng(5)
    wrong = {True: 0, False: 0}
    for _ in range(repetitions):
        trials = [
            Trial(arm, "t", i, "r", "finished", score, score, False, 1.0, 10, 1, 1.0)
            for arm in "abc"
            for i, score in enumerate(chance.standard_normal(20).tolist())
        ]
        for in_pairs in wrong:
            found = compare(trials, ["a", "b", "c"], in_pairs=in_pairs)
            wrong[in_pairs] += any(pair.winner is not None for pair in found.pairs)
    for in_pairs, count in wrong.items():
        how = "pairs" if in_pairs else "recorded runs"
        print(f"three equal arms of 20 {how}: any called different {count / repetitions:.3f}")


def main() -> None:
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    parts = sys.argv[2:] or ["best", "others"]
    same = intervals(many) if "best" in parts else True
    if "others" in parts:
        passes(many * 5)
        differences(many)
        win_rates(many)
        null(many)
        three_arms(many)
    if not same:
        raise SystemExit("a share differs from the reference by more than chance explains")


if __name__ == "__main__":
    main()
