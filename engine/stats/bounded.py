"""Scores that cannot be above or below some value, and the best of k of them."""

from collections.abc import Sequence

import numpy as np
from scipy.special import betainc

from ..ranges import ANY, Range
from .best import Floats
from .normal import largest

# Nodes of the integral over a Beta's distribution function, and how many spreads from the mean it goes.
_NODES, _REACH = 48, 9.0
# The least share of the range that a mean keeps from its ends, where a Beta has no spread left.
_EDGE = 1e-6


def possible(mean: Floats, spread: Floats, within: Range) -> tuple[Floats, Floats]:
    """Means moved into the range, and spreads made no larger than scores in it can have.

    That is at most sqrt((mean - low)(high - mean)), which only scores at both ends have (Bhatia and Davis 2000).
    """
    if within == ANY:
        return mean, spread
    inside = np.clip(mean, within.low, within.high)
    if not within.is_known:
        return inside, spread
    most = np.sqrt((inside - within.low) * (within.high - inside))
    return inside, np.minimum(spread, most)


def best_of_teams(
    mean: Floats, spread: Floats, teams: Sequence[int], within: Range = ANY, *, rates: bool = False
) -> Floats:
    """The expected best of that many teams of each size, in the range.

    mean, spread: of one team, shape (draws, sizes), as `possible` gives them; teams: one number for each size.
    rates: scores are at the ends of the range alone, and mean says how often at the upper one; then it is exact.
    Else scores follow a Beta where both ends are known, and a normal law, cut off at the end that is, where not.
    """
    k = np.asarray(teams, dtype=np.float64)
    if not within.is_known:
        normal = mean + spread * np.array([largest(each) for each in teams])
        cut: Floats = np.clip(normal, within.low, within.high)
        return cut
    span = within.high - within.low
    share, error = (mean - within.low) / span, spread / span
    found = 1 - (1 - share) ** k if rates else _beta_best(share, error, k)
    whole: Floats = within.low + span * found
    return whole


def _beta_best(share: Floats, error: Floats, k: Floats) -> Floats:
    """E max of k Betas with that mean and spread: 1 less the integral of F^k, over where F is neither 0 nor 1."""
    mean = np.clip(share, _EDGE, 1 - _EDGE)
    # A Beta with all of the spread that is possible has its mass at the ends: shapes near 0 are hard to integrate.
    sd = np.clip(error, _EDGE, 0.97 * np.sqrt(mean * (1 - mean)))
    size = mean * (1 - mean) / sd**2 - 1
    low, high = np.maximum(mean - _REACH * sd, 0.0), np.minimum(mean + _REACH * sd, 1.0)
    nodes, parts = np.polynomial.legendre.leggauss(_NODES)
    half = (high - low) / 2
    total = np.zeros_like(mean)
    for node, part in zip(nodes, parts, strict=True):
        at = (low + high) / 2 + half * node
        total += part * betainc(mean * size, (1 - mean) * size, at) ** k
    found: Floats = np.maximum(high - half * total, mean)
    return found
