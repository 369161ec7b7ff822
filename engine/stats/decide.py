"""Evidence that may be looked at after every pair, and stopped on, without the level being lost.

An ordinary p-value that is looked at again and again says "better" of equal arms sooner or later. What is tested
here is who wins a pair: where two arms are alike, each wins with chance 1/2, and the mixture of likelihood ratios
below is a martingale; it reaches 1/level once in 1/level comparisons at most, however often one looks (Ville's
inequality). Means of bounded scores would do too; maxima would not. Source: Robbins 1970; Howard et al. 2021.
"""

from math import exp, log, log2
from typing import NamedTuple

from scipy.optimize import brentq
from scipy.special import betaln, xlog1py, xlogy

# The mixture over win rates is Beta(1/2, 1/2): as strong near 1/2 as far from it.
_PRIOR = 0.5


class Evidence(NamedTuple):
    """e: how many times likelier the wins are if one arm wins more often; p: 1 / e, at most 1, at any look."""

    e: float
    p: float

    def tells(self, level: float) -> bool:
        """Whether arms are told apart, wrongly in a share of 1 - level of comparisons at most."""
        return self.p <= 1 - level


def evidence(wins: int, losses: int) -> Evidence:
    """What wins and losses of pairs say; ties are left out. Nothing yet: e is 1."""
    e = exp(min(700.0, _log_e(wins, losses, 0.5)))
    return Evidence(e, min(1.0, 1 / e))


def win_interval(wins: int, losses: int, *, level: float = 0.95) -> tuple[float, float]:
    """The win rates that the evidence has not ruled out: valid at every look at once."""

    def ruled_out(rate: float) -> float:
        return _log_e(wins, losses, rate) + log(1 - level)

    n = wins + losses
    if n == 0:
        return 0.0, 1.0
    at = wins / n
    edge = 1e-12
    low = 0.0 if wins == 0 else float(brentq(ruled_out, edge, max(at, 2 * edge)))
    high = 1.0 if losses == 0 else float(brentq(ruled_out, min(at, 1 - 2 * edge), 1 - edge))
    return low, high


def _log_e(wins: int, losses: int, rate: float) -> float:
    mixed = betaln(wins + _PRIOR, losses + _PRIOR) - betaln(_PRIOR, _PRIOR)
    return float(mixed - xlogy(wins, rate) - xlog1py(losses, -rate))


def pairs_to_tell(rate: float, level: float) -> float:
    """About how many pairs tell arms apart of which one wins that share: the growth of log e a pair."""
    inside = min(max(rate, 1e-9), 1 - 1e-9)
    gain = 1 + inside * log2(inside) + (1 - inside) * log2(1 - inside)
    return float("inf") if gain < 1e-6 else (log2(1 / (1 - level)) + 2) / gain
