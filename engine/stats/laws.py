"""What size does to a team's score: mu(m) and s(m), fitted to runs of a few sizes, as draws of what they may be.

No one shape is trusted. Saturating powers and exponentials, a logistic in log m, a logarithm, each also with
an overhead that grows with m, and a constant are all kept, each with the weight that the scores give it (the
likelihood of the sizes' means, which asks what a leave-one-size-out error asks: how well is what was not fitted
foretold). What they disagree on, such as a size far from those that were run, comes out wide.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .best import Floats

# Members' noise averages out at 0.5; at 0 one shared plan decides.
_POWERS = np.linspace(0.0, 0.6, 7)
# Of the spread at size 1, around the pooled one.
_SCALES = np.geomspace(0.2, 5.0, 41)
# In spreads of all scores: where the level and the gain of a shape may lie, and the overhead of the largest size.
_LEVEL, _GAIN, _OVERHEAD = 3.0, 2.0, 1.2

Shape = Callable[[Floats], Floats]


class Curves(NamedTuple):
    """Draws of mean and spread at some sizes; both of shape (draws, sizes)."""

    mean: Floats
    spread: Floats


def _shapes(top: float) -> list[list[Shape]]:
    """The columns of each shape beside its level; every column runs from about 0 to 1 over the sizes."""
    gains: list[Shape] = [
        *(lambda m, c=c: (1 - m**-c) / (1 - top**-c) for c in (0.25, 0.5, 1.0, 2.0)),
        *(lambda m, t=t: 1 - np.exp(-(m - 1) / t) for t in (1.5, 3.0, 6.0, 15.0, 40.0)),
        *(lambda m, a=a: 1 / (1 + (a / m) ** 1.5) for a in (4.0, 12.0, 30.0)),
        lambda m: np.log(m) / np.log(top),
    ]

    def overhead(m: Floats) -> Floats:
        return (m - 1) / (top - 1)

    return [[], [overhead], *([gain] for gain in gains), *([gain, overhead] for gain in gains)]


def fit(
    groups: Mapping[int, Sequence[float]],
    sizes: Sequence[int],
    *,
    draws: int = 400,
    seed: int = 0,
) -> Curves:
    """Draws of mu(m) and s(m) at sizes, from the scores of runs by size.

    groups: sizes of 1 and more; two runs of one size at least, and scores that differ within one.
    Raises ValueError where there are none.
    """
    seen = {m: np.asarray(scores, dtype=np.float64) for m, scores in groups.items() if len(scores)}
    freedom = sum(scores.size - 1 for scores in seen.values())
    within = sum(float(((scores - scores.mean()) ** 2).sum()) for scores in seen.values())
    if freedom < 1 or within <= 0:
        raise ValueError("two runs of one size at least are needed, and scores that differ")
    chance = np.random.default_rng(seed)
    scale, power = _spreads(seen, np.sqrt(within / freedom), draws, chance)
    at = np.asarray(sizes, dtype=np.float64)
    spread: Floats = scale[:, None] * at[None, :] ** -power[:, None]
    mean = _means(seen, at, scale, power, chance)
    return Curves(mean, spread)


def _spreads(
    seen: Mapping[int, Floats], pooled: float, draws: int, chance: np.random.Generator
) -> tuple[Floats, Floats]:
    """Draws of s(m) = scale m^-power, from what scores of one size differ by."""
    scales, powers = np.meshgrid(pooled * _SCALES, _POWERS, indexing="ij")
    told = -0.5 * ((powers - 0.2) / 0.25) ** 2
    for m, scores in seen.items():
        variance = (scales * m**-powers) ** 2
        squares = float(((scores - scores.mean()) ** 2).sum())
        told = told - 0.5 * ((scores.size - 1) * np.log(variance) + squares / variance)
    weight = np.exp(told - told.max()).ravel()
    picked = chance.choice(weight.size, draws, p=weight / weight.sum())
    return scales.ravel()[picked], powers.ravel()[picked]


def _means(
    seen: Mapping[int, Floats],
    at: Floats,
    scale: Floats,
    power: Floats,
    chance: np.random.Generator,
) -> Floats:
    """A draw of mu(m) for each draw of s(m): a shape by its weight, then its coefficients, by Bayes' rule."""
    sizes = np.array(sorted(seen), dtype=np.float64)
    means = np.array([seen[int(m)].mean() for m in sizes])
    counts = np.array([seen[int(m)].size for m in sizes])
    whole = np.concatenate(list(seen.values()))
    unit, centre = float(whole.std()), float(whole.mean())
    noise = scale[:, None] ** 2 * sizes[None, :] ** (-2 * power[:, None]) / counts
    top = max(float(at.max()), float(sizes.max()), 2.0)
    models = [_Model(shape, sizes, at, unit) for shape in _shapes(top)]
    told = np.stack([model.likelihood(means - centre, noise) for model in models], axis=1)
    weight = np.exp(told - told.max(axis=1, keepdims=True))
    bounds = np.cumsum(weight / weight.sum(axis=1, keepdims=True), axis=1)
    picked = (bounds < chance.random((scale.size, 1))).sum(axis=1).clip(max=len(models) - 1)
    found = np.empty((scale.size, at.size))
    for number, model in enumerate(models):
        rows = picked == number
        if rows.any():
            found[rows] = centre + model.draw(means - centre, noise[rows], chance)
    return found


class _Model:
    """One shape: linear in its coefficients, which are normal beforehand."""

    def __init__(self, shape: Sequence[Shape], sizes: Floats, at: Floats, unit: float) -> None:
        self._here = _columns(shape, sizes)
        self._there = _columns(shape, at)
        wide = [_LEVEL, *([_GAIN] * len(shape))]
        if len(shape) == 2:
            wide[-1] = _OVERHEAD
        self._prior = np.array(wide) * unit

    def likelihood(self, means: Floats, noise: Floats) -> Floats:
        """Of the sizes' means, for each row of noise (their variances); shape (rows,)."""
        known = self._covariance(noise)
        _, size = np.linalg.slogdet(known)
        solved = np.linalg.solve(known, np.broadcast_to(means[:, None], (*noise.shape, 1)))[..., 0]
        found: Floats = -0.5 * (size + (solved * means).sum(axis=-1))
        return found

    def draw(self, means: Floats, noise: Floats, chance: np.random.Generator) -> Floats:
        """A draw of the curve for each row of noise: one from before, moved by what it misses of the means."""
        rows = noise.shape[0]
        before = chance.standard_normal((rows, self._prior.size)) * self._prior
        seen = before @ self._here.T + chance.standard_normal(noise.shape) * np.sqrt(noise)
        missed = np.linalg.solve(self._covariance(noise), (means - seen)[..., None])[..., 0]
        found: Floats = (before + missed @ self._here * self._prior**2) @ self._there.T
        return found

    def _covariance(self, noise: Floats) -> NDArray[np.float64]:
        prior = (self._here * self._prior**2) @ self._here.T
        return prior[None] + noise[:, :, None] * np.eye(noise.shape[1])[None]


def _columns(shape: Sequence[Shape], m: Floats) -> Floats:
    return np.stack([np.ones_like(m), *(column(m) for column in shape)], axis=1)
