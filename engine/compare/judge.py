"""What trials say: each arm's best of k with its interval, pairs told apart or not. Pure; needs NumPy, SciPy."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import combinations
from math import isfinite, nan
from statistics import fmean
from typing import Any

from ..stats import (
    Interval,
    best_at,
    bootstrap_t,
    detectable,
    difference,
    evidence,
    paired,
    pass_interval,
    prob_best,
    runs_needed,
    unpaired_p,
)
from .trial import Better, Trial


@dataclass(frozen=True, slots=True)
class ArmResult:
    """best: of k runs, over tasks on average, NaN where a task has fewer; interval None: why says so.

    runs: that ended by themselves. scored: of these with a score; failed: others. flagged: with a suspected best;
    best_unflagged: best without those. usd, tokens, calls, seconds: of one run, on average; usd None: unknown.
    """

    name: str
    runs: int
    scored: int
    failed: int
    flagged: int
    best: float
    best_unflagged: float
    interval: Interval | None
    why: str
    usd: float | None
    tokens: float
    calls: float
    seconds: float


@dataclass(frozen=True, slots=True)
class PairResult:
    """one against other, by blocks. chance: that the best of k of one beats the other's, ties half.

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


@dataclass(frozen=True, slots=True)
class Comparison:
    k: int
    level: float
    better: Better
    tasks: tuple[str, ...]
    arms: tuple[ArmResult, ...]
    pairs: tuple[PairResult, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "k": self.k,
            "level": self.level,
            "better": self.better,
            "tasks": list(self.tasks),
            "arms": [_plain(asdict(arm)) for arm in self.arms],
            "pairs": [_plain(asdict(pair)) for pair in self.pairs],
        }


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """NaN and infinities, which JSON lacks, as null; intervals by name."""
    return {name: _json(value) for name, value in values.items()}


def _json(value: Any) -> Any:
    match value:
        case Interval():
            return {name: _json(part) for name, part in value._asdict().items()}
        case float() if not isfinite(value):
            return None
        case _:
            return value


def compare(
    trials: Sequence[Trial],
    arms: Sequence[str],
    *,
    k: int = 1,
    level: float = 0.95,
    better: Better = "higher",
    sequential: bool = False,
    in_pairs: bool = True,
) -> Comparison:
    """The arms, in this order, compared on their trials.

    level: of each interval, and 1 less the chance that any two equal arms are told apart. sequential: the
    trials were looked at before and more of them run while it was not clear. in_pairs: trials of the same task
    and repeat belong together; those of recorded runs do not.
    """
    tasks = tuple(dict.fromkeys(trial.task for trial in trials))
    sign = 1.0 if better == "higher" else -1.0
    sides = {arm: [one for one in trials if one.arm == arm] for arm in arms}
    names = list(combinations(arms, 2))
    alpha = (1 - level) / max(1, len(names))
    return Comparison(
        k,
        level,
        better,
        tasks,
        tuple(_arm(arm, sides[arm], tasks, k, level, sign) for arm in arms),
        tuple(
            _pair(a, b, sides, tasks, k, level, alpha, sign, sequential=sequential)
            if in_pairs
            else _apart(a, b, sides, tasks, k, level, alpha, sign)
            for a, b in names
        ),
    )


def is_clear(trials: Sequence[Trial], arms: Sequence[str], level: float, better: Better) -> bool:
    """Whether every two arms are told apart; it may be asked after each block, and the answer stays valid."""
    names = list(combinations(arms, 2))
    alpha = (1 - level) / len(names)
    sides = {arm: [one for one in trials if one.arm == arm] for arm in arms}
    sign = 1.0 if better == "higher" else -1.0
    for one, other in names:
        wins, losses, _ = _won(sides[one], sides[other], sign)
        if evidence(wins, losses).p > alpha:
            return False
    return True


# --- one arm -------------------------------------------------------------------------------------


def _arm(
    name: str, trials: Sequence[Trial], tasks: Sequence[str], k: int, level: float, sign: float
) -> ArmResult:
    ended = [one for one in trials if not one.failed]
    groups = _by_task(ended, tasks, sign, lambda one: one.score)
    clean = _by_task(ended, tasks, sign, lambda one: one.unflagged)
    interval, why = _interval(groups, k, level)
    priced = [one.usd for one in ended if one.usd is not None]
    return ArmResult(
        name,
        len(ended),
        sum(len(group) for group in groups),
        len(trials) - len(ended),
        sum(one.flagged for one in ended),
        sign * _best(groups, k),
        sign * _best(clean, k),
        interval if interval is None or sign > 0 else _turned(interval),
        why,
        fmean(priced) if priced and len(priced) == len(ended) else None,
        _mean(one.tokens for one in ended),
        _mean(one.calls for one in ended),
        _mean(one.seconds for one in ended),
    )


def _by_task(
    trials: Sequence[Trial],
    tasks: Sequence[str],
    sign: float,
    score: Callable[[Trial], float | None],
) -> list[list[float]]:
    return [
        [sign * s for one in trials if one.task == task and (s := score(one)) is not None]
        for task in tasks
    ]


def _best(groups: Sequence[Sequence[float]], k: int) -> float:
    if not groups or any(len(group) < k for group in groups):
        return nan
    return fmean(best_at(group, k) for group in groups)


def _interval(
    groups: Sequence[Sequence[float]], k: int, level: float
) -> tuple[Interval | None, str]:
    scores = [score for group in groups for score in group]
    try:
        if len(groups) == 1 and scores and set(scores) <= {0.0, 1.0}:
            return pass_interval(int(sum(scores)), len(scores), k, level=level), ""
        return bootstrap_t(groups, k, level=level), ""
    except ValueError as error:
        return None, str(error)


def _turned(interval: Interval) -> Interval:
    return interval._replace(estimate=-interval.estimate, low=-interval.high, high=-interval.low)


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return fmean(found) if found else nan


# --- two arms ------------------------------------------------------------------------------------


def _pair(
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
    here, there = sides[one], sides[other]
    wins, losses, ties = _won(here, there, sign)
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
        runs_needed(gap, least, len(both)) if se else nan,
    )


def _apart(
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
        _by_task([t for t in sides[arm] if not t.failed], tasks, sign, lambda t: t.score)
        for arm in (one, other)
    )
    p, found = 1.0, None
    if len(tasks) == 1 and min(len(here[0]), len(there[0])) >= k:
        p = unpaired_p(here[0], there[0], k)
        with suppress(ValueError):  # too few to say how sure the difference is
            found = difference(here, there, k, level=level)
    apart = _best(here, k) - _best(there, k)
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
    """Task by task, then their mean: scores of different tasks are not compared."""
    sides = [
        _by_task([one for one in side if not one.failed], tasks, sign, lambda one: one.score)
        for side in (here, there)
    ]
    if not tasks or any(len(group) < k for side in sides for group in side):
        return nan
    return fmean(prob_best(a, k, b, k) for a, b in zip(*sides, strict=True))


def _won(here: Sequence[Trial], there: Sequence[Trial], sign: float) -> tuple[int, int, int]:
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
