"""Two arms of a comparison, told apart or not. Pure; needs SciPy."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import nan
from statistics import fmean

from ..stats import (
    Interval,
    detectable,
    difference,
    evidence,
    fewest_pairs,
    paired,
    prob_best,
    runs_needed,
    unpaired_p,
)
from .arm_result import best_of, by_task
from .trial import Trial


@dataclass(frozen=True, slots=True)
class PairResult:
    """one against other, by blocks. chance: that the best of k of one beats the other's, ties half; NaN of k runs
    or fewer.

    winner: the better arm; None where they cannot be told apart. p: two-sided, of one look at all pairs, or,
    where sequential, valid at every look; it is compared with alpha. difference: of pairs' scores, one's less
    the other's, in the direction in which more is better. needs: runs of each arm in all that would tell such a
    difference apart (80 % power); detectable: the least difference that these runs would.
    """

    one: str
    other: str
    chance: float
    winner: str | None
    p: float
    alpha: float
    sequential: bool
    difference: float
    interval: Interval | None
    wins: int
    losses: int
    ties: int
    detectable: float
    needs: float


def pair_result(
    one: str,
    other: str,
    sides: dict[str, list[Trial]],
    tasks: Sequence[str],
    k: int,
    level: float,
    alpha: float,
    sign: float,
    *,
    sequential: bool,
) -> PairResult:
    """Two arms by their blocks. alpha: the p-value below which they are told apart."""
    here, there = sides[one], sides[other]
    wins, losses, ties = won(here, there, sign)
    both = [(sign * a, sign * b) for _, a, b in _scores(here, there)]
    apart = paired([a for a, _ in both], [b for _, b in both], level=level) if both else None
    gap = nan if apart is None else apart.difference
    p = evidence(wins, losses).p if sequential or apart is None else apart.p
    se = 0.0 if apart is None or apart.interval is None else apart.interval.se
    least = detectable(se, 0.0, level=1 - alpha) if se else nan
    ahead = wins - losses if sequential else gap
    winner = (one if ahead > 0 else other) if p <= alpha and ahead != 0 else None
    return PairResult(
        one,
        other,
        _chance(here, there, tasks, k, sign),
        winner,
        p,
        alpha,
        sequential,
        gap,
        None if apart is None else apart.interval,
        wins,
        losses,
        ties,
        least,
        _needs(runs_needed(gap, least, len(both)), len(both), winner, alpha) if se else nan,
    )


def _needs(enough: float, pairs: int, winner: str | None, alpha: float) -> float:
    """Where these pairs did not tell the arms apart, more of them, and so many that any could."""
    return enough if winner is not None else max(enough, pairs + 1, fewest_pairs(alpha))


def apart_result(
    one: str,
    other: str,
    sides: dict[str, list[Trial]],
    tasks: Sequence[str],
    k: int,
    level: float,
    alpha: float,
    sign: float,
) -> PairResult:
    """Two arms whose trials nothing pairs. p: by dealing labels anew, of best@k; of one task only."""
    here, there = (
        by_task([t for t in sides[arm] if not t.failed], tasks, sign, lambda t: t.score)
        for arm in (one, other)
    )
    p, found = 1.0, None
    if len(tasks) == 1 and min(len(here[0]), len(there[0])) >= k:
        p = unpaired_p(here[0], there[0], k)
        with suppress(ValueError):  # too few to say how sure the difference is
            found = difference(here, there, k, level=level)
    apart = best_of(here, k) - best_of(there, k)
    least = nan if found is None else detectable(found.se, 0.0, level=1 - alpha)
    runs = min((len(group) for group in (*here, *there)), default=0)
    return PairResult(
        one,
        other,
        _chance(sides[one], sides[other], tasks, k, sign),
        (one if apart > 0 else other) if p <= alpha else None,
        p,
        alpha,
        False,
        apart,
        found,
        0,
        0,
        0,
        least,
        nan if found is None else runs_needed(apart, least, runs),
    )


def _chance(
    here: Sequence[Trial], there: Sequence[Trial], tasks: Sequence[str], k: int, sign: float
) -> float:
    """Task by task, then their mean: scores of different tasks are not compared. NaN of k runs or fewer of a task.

    Of k runs there is one best of k, so the chance would be 0 or 1, as if it were sure.
    """
    sides = [
        by_task([one for one in side if not one.failed], tasks, sign, lambda one: one.score)
        for side in (here, there)
    ]
    if not tasks or any(len(group) <= k for side in sides for group in side):
        return nan
    return fmean(prob_best(a, k, b, k) for a, b in zip(*sides, strict=True))


def won(here: Sequence[Trial], there: Sequence[Trial], sign: float) -> tuple[int, int, int]:
    """Wins, losses and ties by block. One that ended without a score loses to one with; failed ones are out."""
    wins = losses = ties = 0
    for a, b in _blocks(here, there):
        left, right = (-float("inf") if s is None else sign * s for s in (a.score, b.score))
        wins, losses, ties = wins + (left > right), losses + (left < right), ties + (left == right)
    return wins, losses, ties


def _scores(here: Sequence[Trial], there: Sequence[Trial]) -> Iterable[tuple[str, float, float]]:
    for a, b in _blocks(here, there):
        if a.score is not None and b.score is not None:
            yield a.task, a.score, b.score


def _blocks(here: Sequence[Trial], there: Sequence[Trial]) -> Iterable[tuple[Trial, Trial]]:
    """The pairs of one block, where both say something."""
    others = {(one.task, one.repeat): one for one in there if not one.failed}
    for one in here:
        other = others.get((one.task, one.repeat))
        if not one.failed and other is not None:
            yield one, other
