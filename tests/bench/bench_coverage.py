"""How often the intervals that statistics print cover the truth, and how wide they are.

Each line: a distribution, runs n, best of k, the share of nominal 95 % bootstrap-t intervals that hold the truth
beside the reference figure, the mean width. Exits 1 where a share is further from its figure than chance explains
(three and a half standard errors of both).
Then: pass@1, and how often equal arms are called different. Run by hand:

    python tests/bench/bench_coverage.py [REPETITIONS]
"""

import sys
from collections.abc import Callable
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from podium.engine.stats import bootstrap_t, evidence, paired, pass_interval

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


if __name__ == "__main__":
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    same = intervals(many)
    passes(many * 5)
    null(many)
    if not same:
        raise SystemExit("a share differs from the reference by more than chance explains")
