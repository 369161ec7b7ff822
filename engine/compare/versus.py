"""One stronger agent against the best split, at equal cost. Pure; needs NumPy, SciPy."""

from collections.abc import Sequence
from statistics import fmean, stdev

from ..stats import best_at, largest
from ..stats.split import Splits
from .trial import Trial


def against(
    trials: Sequence[Trial],
    budget: float,
    splits: Splits | None,
    *,
    sign: float,
    in_tokens: bool,
    level: float,
) -> str:
    """A sentence: what the best of as many such agents as budget buys would score, beside the best split.

    trials: of the other agent, with scores. More agents than there are trials are foretold from a normal law.
    """
    kept = [one for one in trials if one.score is not None and not one.failed]
    scores = [sign * one.score for one in kept if one.score is not None]
    paid = [float(one.tokens) if in_tokens else one.usd for one in kept]
    known = [cost for cost in paid if cost]
    if not scores or len(known) < len(scores):
        return "The other run says nothing of score or price."
    k = int(budget / fmean(known))
    if k < 1:
        return "The budget does not buy one run of the other agent."
    if k <= len(scores):
        value, how = best_at(scores, k), ""
    elif len(scores) > 1:
        value, how = fmean(scores) + stdev(scores) * largest(k), ", foretold from a normal law"
    else:
        value, how = scores[0], ", from one run: its spread is not known"
    said = (
        f"At equal cost the other agent is tried {k} times: expected best {sign * value:.4g}{how}"
    )
    if splits is None:
        return said + "."
    best = splits.best
    if value > best.high or value < best.low:
        word = "better" if value > best.high else "worse"
        return (
            f"{said}; it is {word} than the best split, whose {level:.0%} interval leaves it out."
        )
    return f"{said}; it cannot be told apart from the best split, whose interval holds it."
