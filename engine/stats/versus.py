"""One arm against another: how often the best of it beats the other's, and whether that may be chance."""

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from scipy import stats

from .best import Floats, array, best_at, weights
from .intervals import Interval, bootstrap_t

# Of a permutation test that cannot be exact: the p-value's own error is then below 0.003 near 0.05.
_PERMUTATIONS = 9_999


def prob_best(one: Sequence[float], k_one: int, other: Sequence[float], k_other: int) -> float:
    """The chance that the best of k_one runs of one beats the best of k_other of the other, ties half.

    one, other: their scores, k at least of each. In [0, 1], exact over all choices of runs. Raises ValueError on
    too few. Source: `weights` of one, summed over what of the other is below it; for k = 1 that is Mann and
    Whitney's U over the number of pairs.
    """
    a, b = array(one), array(other)
    below = np.append(0.0, np.cumsum(weights(b.size, k_other)))
    less, most = np.searchsorted(b, a, "left"), np.searchsorted(b, a, "right")
    return float(weights(a.size, k_one) @ (below[less] + below[most]) / 2)


class WinCount(NamedTuple):
    """wins of wins + losses: p two-sided, and the exact interval of the win rate."""

    wins: int
    losses: int
    p: float
    low: float
    high: float


def sign_test(wins: int, losses: int, *, level: float = 0.95) -> WinCount:
    """Whether a count of wins may be chance; ties are left out before. Without any, p is 1.

    Source: exact binomial test; interval of Clopper and Pearson.
    """
    if wins + losses == 0:
        return WinCount(0, 0, 1.0, 0.0, 1.0)
    found = stats.binomtest(wins, wins + losses)
    between = found.proportion_ci(level)
    return WinCount(wins, losses, float(found.pvalue), float(between.low), float(between.high))


class Paired(NamedTuple):
    """Differences of pairs: their mean with its interval (None where there is none), p, and who won how often."""

    difference: float
    interval: Interval | None
    p: float
    wins: WinCount
    ties: int


def paired(
    one: Sequence[float], other: Sequence[float], *, level: float = 0.95, seed: int = 0
) -> Paired:
    """Two arms on the same tasks and seeds: score i of one belongs with score i of the other.

    p: of the mean difference, two-sided, by turning pairs round; exact up to 13 pairs. It holds for any scores:
    where arms are alike, a pair is as likely the other way round. Raises ValueError on lists of unequal length.
    """
    if len(one) != len(other):
        raise ValueError(f"{len(one)} scores are paired with {len(other)}")
    apart = np.asarray(one, dtype=np.float64) - np.asarray(other, dtype=np.float64)
    won = sign_test(int((apart > 0).sum()), int((apart < 0).sum()), level=level)
    interval = None
    if apart.size > 1 and np.ptp(apart) > 0:
        with suppress(ValueError):  # too few pairs differ to say how sure it is
            interval = bootstrap_t(apart.tolist(), level=level, seed=seed)
    p = _flipped(apart, seed)
    return Paired(float(apart.mean()), interval, p, won, int((apart == 0).sum()))


def _flipped(apart: Floats, seed: int) -> float:
    if apart.size < 2 or not apart.any():
        return 1.0
    found = stats.permutation_test(
        (apart,),
        _mean,
        permutation_type="samples",
        n_resamples=_PERMUTATIONS,
        rng=np.random.default_rng(seed),
    )
    return float(found.pvalue)


def _mean(apart: Floats, axis: int) -> Floats:
    found: Floats = np.mean(apart, axis=axis)
    return found


def unpaired_p(one: Sequence[float], other: Sequence[float], k: int = 1, *, seed: int = 0) -> float:
    """The two-sided p-value of the difference in best@k where nothing pairs the runs: labels are dealt anew."""
    a, b = array(one), array(other)
    seen = best_at(a, k) - best_at(b, k)
    chance = np.random.default_rng(seed)
    every = np.tile(np.concatenate((a, b)), (_PERMUTATIONS, 1))
    dealt = chance.permuted(every, axis=1)
    first, second = np.sort(dealt[:, : a.size], axis=1), np.sort(dealt[:, a.size :], axis=1)
    found = first @ weights(a.size, k) - second @ weights(b.size, k)
    as_far = int((np.abs(found) >= abs(seen) - 1e-12).sum())
    return (as_far + 1) / (_PERMUTATIONS + 1)
