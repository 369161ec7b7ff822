"""The best score against what was spent: runs cost differently, so the axis is dollars, tokens or seconds."""

from collections.abc import Sequence
from math import nan

import numpy as np

from .best import Floats, array


def best_after(
    costs: Sequence[float],
    scores: Sequence[float],
    spent: float,
    *,
    floor: float = nan,
    draws: int = 4_000,
    seed: int = 0,
) -> float:
    """The expected best score once `spent` is spent on runs one after the other, over orders of the runs seen.

    costs, scores: one of each for a run, costs above 0 in the unit of spent. The run that crosses the line is
    cut off: it gives no score, and nothing follows it. floor: what is there before any run ends; without one,
    the mean is over the orders in which one does. NaN where spent is all that was seen or more, as the best
    would then depend on how many runs there were, or less than any run takes.
    """
    money, found = np.asarray(costs, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    array(scores)
    if money.shape != found.shape or not (money > 0).all():
        raise ValueError("each run has a score and a cost above 0")
    # So that ten times a tenth is one.
    line = spent * (1 + 1e-12)
    if line >= money.sum():
        return nan
    chance = np.random.default_rng(seed)
    order = chance.permuted(np.tile(np.arange(money.size), (draws, 1)), axis=1)
    ended = np.cumsum(money[order], axis=1) <= line
    best = np.where(ended, found[order], -np.inf).max(axis=1)
    best = np.where(np.isfinite(best), best, floor)
    return nan if np.isnan(best).all() else float(np.nanmean(best))


def best_so_far(
    spends: Sequence[float], scores: Sequence[float], at: Sequence[float] | Floats
) -> Floats:
    """A run's best score so far at each of the spends `at`: a step function, NaN before the first score.

    spends: rising, what the run had spent when it got each of scores. Shape: that of at.
    """
    top = np.append(nan, np.maximum.accumulate(np.asarray(scores, dtype=np.float64)))
    found: Floats = top[np.searchsorted(np.asarray(spends, dtype=np.float64), at, side="right")]
    return found


def mean_curve(
    runs: Sequence[tuple[Sequence[float], Sequence[float]]], at: Sequence[float] | Floats
) -> Floats:
    """The mean of runs' best scores so far: steps are averaged, not scores. NaN where a run has none yet.

    runs: (spends, scores) of each, as for `best_so_far`.
    """
    if not runs:
        return np.full(len(at), nan)
    found: Floats = np.mean([best_so_far(spends, scores, at) for spends, scores in runs], axis=0)
    return found
