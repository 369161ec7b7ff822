"""One stronger agent against the best split, at equal cost. Pure; needs NumPy, SciPy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import hypot
from statistics import fmean

import numpy as np

from ..stats.best import Floats
from ..stats.laws import Curves, fit_tasks
from ..stats.split import Scores, Splits, worth
from .scaling import Observed


@dataclass(frozen=True, slots=True)
class Versus:
    """What the best of `tries` such agents scores, a share of the budget for each task. Higher is better.

    low, high: where it lies; equal to score where runs are too few, or too alike, to say. ahead: whether it is
    better than the best split, None where they cannot be told apart: where the difference is less than what
    neither's interval rules out (the root of the sum of the squares of the halves).
    """

    name: str
    tries: int
    score: float
    low: float
    high: float
    ahead: bool | None

    def told(self, sign: float, level: float, splits: Splits | None) -> str:
        """A sentence. sign: -1 where lower scores are better."""
        low, high = sorted((sign * self.low, sign * self.high))
        span = (
            f" ({low:.4g} to {high:.4g})"
            if low < high
            else ", without an interval: too few runs differ"
        )
        best = f"expected best {sign * self.score:.4g}{span}"
        said = f"At equal cost {self.name} is tried {self.tries} times: {best}"
        if splits is None:
            return said + "."
        if self.ahead is None:
            return f"{said}; it cannot be told apart from the best split at {level:.0%}."
        return f"{said}; it is {'better' if self.ahead else 'worse'} than the best split."


def against(
    name: str, other: Observed, budget: float, splits: Splits | None, *, level: float, seed: int = 0
) -> Versus | str:
    """The other agent at the same cost, by its own runs, all of size 1; a sentence where they do not say.

    More agents than there are runs are foretold by the same laws as teams are.
    """
    if not other.scores:
        return f"The runs of {name} say nothing of score or price."
    tries = int(budget / other.tasks / other.costs[1] * (1 + 1e-9))
    if tries < 1:
        return f"The budget does not buy one run of {name}."
    drawn = _worth(other.scores, tries, seed)
    score = float(drawn.mean())
    low, high = (float(end) for end in np.quantile(drawn, ((1 - level) / 2, (1 + level) / 2)))
    return Versus(
        name, tries, score, low, high, None if splits is None else _ahead(score, high - low, splits)
    )


def _ahead(score: float, width: float, splits: Splits) -> bool | None:
    best = splits.best
    apart = score - best.score
    if width == 0 or abs(apart) <= hypot(width, best.high - best.low) / 2:
        return None
    return apart > 0


def _worth(tasks: Mapping[str, Scores], tries: int, seed: int) -> Floats:
    found = list(tasks.values())
    try:
        curves: Sequence[Curves] = fit_tasks(
            [one.groups for one in found], [1], within=[one.within for one in found], seed=seed
        )
    except ValueError:  # nothing is known of how scores differ: what was seen is all there is
        return np.array([fmean(fmean(one.groups[1]) for one in found)])
    each = [worth(curve, [tries], one) for curve, one in zip(curves, found, strict=True)]
    whole: Floats = np.mean(each, axis=0)[:, 0]
    return whole
