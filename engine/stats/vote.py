"""How often the vote of k answers is right."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from math import comb, nan

import numpy as np

# As many choices of k answers are all looked at; of more, as many are drawn.
MOST = 20_000


def majority_at(
    answers: Sequence[str],
    right: str,
    k: int,
    *,
    votes: Sequence[float] | None = None,
    seed: int = 0,
) -> float:
    """The chance that the answer with most of k votes is right, from n >= k answers; NaN where n < k.

    votes: what each answer counts, 1 without. Answers that share the lead are as likely taken. Exact where there
    are at most 20,000 ways to choose k of n, else over as many drawn ones (error below 0.004).
    Source: self-consistency, Wang et al. 2022 (arXiv 2203.11171).
    """
    n = len(answers)
    if k < 1 or (votes is not None and len(votes) != n):
        raise ValueError("k is 1 at least, and each answer has one vote")
    if n < k:
        return nan
    counts = [1.0] * n if votes is None else list(votes)
    chosen: Iterable[Sequence[int]] = combinations(range(n), k)
    ways = comb(n, k)
    if ways > MOST:
        chance = np.random.default_rng(seed)
        chosen, ways = (chance.permutation(n)[:k].tolist() for _ in range(MOST)), MOST
    return sum(_share(answers, counts, some, right) for some in chosen) / ways


def _share(
    answers: Sequence[str], counts: Sequence[float], some: Sequence[int], right: str
) -> float:
    sums: defaultdict[str, float] = defaultdict(float)
    for i in some:
        sums[answers[i]] += counts[i]
    top = max(sums.values())
    leaders = [answer for answer, count in sums.items() if count >= top]
    return (right in leaders) / len(leaders)
