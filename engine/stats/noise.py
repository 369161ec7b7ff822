"""What scores are worth: verifiers that are noisy or wrong, runs that are alike, verdicts that are suspected."""

from collections.abc import Callable, Sequence
from math import exp, nan, sqrt
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaln

from .normal import largest


def noise_sd(first: Sequence[float], second: Sequence[float]) -> float:
    """The verifier's standard deviation, from two scores of each of some answers, two answers at least."""
    if len(first) != len(second) or len(first) < 2:
        raise ValueError("each answer is scored twice, and there are two at least")
    apart = np.asarray(first) - np.asarray(second)
    return float(np.sqrt(np.mean(apart**2) / 2))


def winner_true(mean: float, sd: float, noise: float, k: int) -> float:
    """The true score that the best of k is expected to have, where the verifier's noise is part of sd.

    sd: of the scores as observed, at least noise. What is observed is mean + sd e_k; the rest of it is luck.
    Source: regression to the mean for normal scores: mean + r s_true e_k, r = s_true / sd.
    """
    if not 0 <= noise <= sd:
        raise ValueError(f"noise {noise} is not within the spread {sd}")
    return mean if sd == 0 else mean + (sd**2 - noise**2) / sd * largest(k)


def true_rate(observed: float, *, false_accepts: float, false_rejects: float) -> float:
    """The share of right answers, from the share that a verifier accepts and its own two error rates; in [0, 1].

    false_accepts: of wrong answers accepted; false_rejects: of right ones refused.
    Raises ValueError where they sum to 1: such a verifier says nothing. Source: Rogan and Gladen 1978.
    """
    informed = 1 - false_accepts - false_rejects
    if informed <= 0:
        raise ValueError("a verifier whose error rates sum to 1 says nothing")
    return min(1.0, max(0.0, (observed - false_accepts) / informed))


def accepted_right(right: float, false_accept: float) -> float:
    """How often the first accepted answer is right, however many are tried: p / (p + f).

    right: the chance that a sample is right; false_accept: that it is wrong and accepted. NaN where both are 0.
    """
    total = right + false_accept
    return nan if total == 0 else right / total


def icc(groups: Sequence[Sequence[float]]) -> float:
    """How alike the runs of one group (a host, a seed, an hour) are: 0 independent, 1 the same; in [0, 1].

    groups: two at least, of two scores at least in one. The one-way random-effects estimate by analysis of
    variance, cut off at 0. Source: Shrout and Fleiss 1979, ICC(1, 1), with the mean size for unequal groups.
    """
    found = [np.asarray(group, dtype=np.float64) for group in groups if len(group)]
    sizes = np.array([group.size for group in found], dtype=np.float64)
    total, count = sizes.sum(), len(found)
    if count < 2 or total <= count:
        raise ValueError("two groups at least, and one of two runs or more")
    grand = np.concatenate(found).mean()
    between = sum(g.size * (g.mean() - grand) ** 2 for g in found) / (count - 1)
    within = sum(((g - g.mean()) ** 2).sum() for g in found) / (total - count)
    size = (total - (sizes**2).sum() / total) / (count - 1)
    below = between + (size - 1) * within
    return 0.0 if below <= 0 else float(min(1.0, max(0.0, (between - within) / below)))


def effective_k(k: int, rho: float) -> float:
    """How many independent runs are worth k that correlate by rho, 0 <= rho <= 1; in [1, k].

    The expected best is mean + sd sqrt(1 - rho) e_k.
    """
    if not 0 <= rho <= 1:
        raise ValueError(f"a correlation of runs is between 0 and 1, not {rho}")
    worth = sqrt(1 - rho) * largest(k)
    if rho == 0 or k == 1:
        return float(k)
    if worth <= 0:
        return 1.0
    return float(brentq(lambda n: largest(n) - worth, 1.0, float(k)))


class WithFlags(NamedTuple):
    """An estimate over all runs, over those no verifier suspects (NaN: too few), and the share suspected."""

    every: float
    unflagged: float
    share: float


def with_flags(
    scores: Sequence[float], flagged: Sequence[bool], estimate: Callable[[Sequence[float]], float]
) -> WithFlags:
    """An estimate with the runs that a verifier suspects of cheating, and without them.

    flagged: one for each score. estimate: of scores, such as best@k; NaN of fewer than it needs.
    """
    if len(scores) != len(flagged):
        raise ValueError(f"{len(flagged)} flags for {len(scores)} scores")
    clean = [score for score, flag in zip(scores, flagged, strict=True) if not flag]
    share = sum(flagged) / len(flagged) if flagged else 0.0
    return WithFlags(estimate(scores), estimate(clean) if clean else nan, share)


def beta_pass(a: float, b: float, k: int) -> float:
    """pass@k over tasks whose pass rates are Beta(a, b): 1 - B(a, b + k) / B(a, b)."""
    if a <= 0 or b <= 0:
        raise ValueError("a and b of a Beta are above 0")
    return 1 - exp(float(betaln(a, b + k) - betaln(a, b)))


def jeffreys_pass(passed: int, runs: int, k: int) -> float:
    """The predicted pass@k of one task from any number of runs, k beyond them too, under Jeffreys' prior."""
    return beta_pass(passed + 0.5, runs - passed + 0.5, k)
