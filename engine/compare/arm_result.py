"""One arm of a comparison: what its trials say of it. Pure; needs SciPy."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import nan
from statistics import fmean

from ..ranges import ANY, Range
from ..stats import Interval, best_after, best_at, bootstrap_t, pass_interval
from .trial import Trial, Unit


@dataclass(frozen=True, slots=True)
class ArmResult:
    """best: of k runs, over tasks on average, NaN where a task has fewer; interval None: why says so.

    after: the expected best once so much is spent on such runs, one after the other, NaN where runs do not say.
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
    after: float = nan


@dataclass(frozen=True, slots=True)
class Spent:
    """An amount in dollars, tokens or seconds, after which arms are looked at."""

    unit: Unit
    amount: float


def best_after_spend(
    trials: Sequence[Trial], tasks: Sequence[str], spent: Spent, sign: float
) -> float:
    """The expected best score after that spend on runs of one arm, one after the other; over tasks on average.

    The run that crosses the line is cut off and gives nothing. NaN where that cannot be known of a task: a price
    is not known, the spend buys no run, or it is as much as all its runs took or more.
    """
    found: list[float] = []
    for task in tasks:
        kept = [
            one for one in trials if one.task == task and one.score is not None and not one.failed
        ]
        costs = [cost for one in kept if (cost := one.spent(spent.unit))]
        if not kept or len(costs) < len(kept):
            return nan
        scores = [sign * one.score for one in kept if one.score is not None]
        found.append(sign * best_after(costs, scores, spent.amount))
    return fmean(found) if found else nan


def arm_result(
    name: str,
    trials: Sequence[Trial],
    tasks: Sequence[str],
    k: int,
    level: float,
    sign: float,
    within: Range = ANY,
    spent: Spent | None = None,
) -> ArmResult:
    """What the trials of one arm say. sign: -1 where lower scores are better. within: where intervals end."""
    ended = [one for one in trials if not one.failed]
    groups = by_task(ended, tasks, sign, lambda one: one.score)
    clean = by_task(ended, tasks, sign, lambda one: one.unflagged)
    interval, why = _interval(groups, k, level, passes=sign > 0 and _may_be_passes(within))
    priced = [one.usd for one in ended if one.usd is not None]
    return ArmResult(
        name,
        len(ended),
        sum(len(group) for group in groups),
        len(trials) - len(ended),
        sum(one.flagged for one in ended),
        sign * best_of(groups, k),
        sign * best_of(clean, k),
        None if interval is None else _ended(interval if sign > 0 else _turned(interval), within),
        why,
        fmean(priced) if priced and len(priced) == len(ended) else None,
        _mean(one.tokens for one in ended),
        _mean(one.calls for one in ended),
        _mean(one.seconds for one in ended),
        nan if spent is None else best_after_spend(trials, tasks, spent, sign),
    )


def by_task(
    trials: Sequence[Trial],
    tasks: Sequence[str],
    sign: float,
    score: Callable[[Trial], float | None],
) -> list[list[float]]:
    """The scores by task, in the direction in which more is better; without trials that have none."""
    return [
        [sign * s for one in trials if one.task == task and (s := score(one)) is not None]
        for task in tasks
    ]


def best_of(groups: Sequence[Sequence[float]], k: int) -> float:
    """best@k, over tasks on average; NaN where a task has fewer than k scores."""
    if not groups or any(len(group) < k for group in groups):
        return nan
    return fmean(best_at(group, k) for group in groups)


def _may_be_passes(within: Range) -> bool:
    """Whether scores that are all 0 or 1 are passes, or shares, and not just small among those that may come."""
    return within == ANY or (within.low >= 0 and within.high <= 1)


def _interval(
    groups: Sequence[Sequence[float]], k: int, level: float, *, passes: bool
) -> tuple[Interval | None, str]:
    scores = [score for group in groups for score in group]
    try:
        # Where all are 0, or all 1, the interval holds for shares too: one is 0 with chance 1 - mean at most.
        if passes and len(groups) == 1 and len(scores) > 1 and set(scores) <= {0.0, 1.0}:
            return pass_interval(int(sum(scores)), len(scores), k, level=level), ""
        return bootstrap_t(groups, k, level=level), ""
    except ValueError as error:
        return None, str(error)


def _turned(interval: Interval) -> Interval:
    return interval._replace(estimate=-interval.estimate, low=-interval.high, high=-interval.low)


def _ended(interval: Interval, within: Range) -> Interval:
    """Without what cannot be, which the truth is not in: it holds the truth as often."""
    low, high = max(interval.low, within.low), min(interval.high, within.high)
    return interval._replace(low=low, high=high)


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return fmean(found) if found else nan
