"""What size does to a team's score: mu(m) and s(m), fitted to runs of a few sizes, as draws of what they may be.

No one shape is trusted. Saturating powers and exponentials, a logistic in log m, a logarithm, each also with
an overhead that grows with m, and a constant are all kept, each with the weight that the scores give it (the
likelihood of the sizes' means, which asks what a leave-one-size-out error asks: how well is what was not fitted
foretold). What they disagree on, such as a size far from those that were run, comes out wide.

Of several tasks each has a level, a gain and a spread of its own. Whether they have the shape in common, and how
alike their gains are, is found with them: where they are alike, a task with few runs leans on the others.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..ranges import ANY, Range
from .best import Floats
from .bounded import possible

# Members' noise averages out at 0.5; at 0 one shared plan decides.
_POWERS = np.linspace(0.0, 0.6, 7)
# Of the spread at size 1, around the pooled one.
_SCALES = np.geomspace(0.2, 5.0, 41)
# In spreads of all scores: where the level and the gain of a shape may lie, and the overhead of the largest size.
_LEVEL, _GAIN, _OVERHEAD = 3.0, 2.0, 1.2
# The share of what gains vary by that is between tasks: nearly alike, somewhat, nothing in common.
_APART = (0.03, 0.3, 1.0)
# How far the log of a task's spread may be from that of all tasks, and for how many runs the latter counts.
_LIKE, _LENT = 0.7, 2

_FLAT = 1e-9

Shape = Callable[[Floats], Floats]
Groups = Mapping[int, Sequence[float]]


class Curves(NamedTuple):
    """Draws of mean and spread at some sizes; both of shape (draws, sizes)."""

    mean: Floats
    spread: Floats


class _Seen:
    """The scores of one task by size, and what they say at once. unit: what its gains are measured in."""

    def __init__(self, groups: Groups) -> None:
        found = {m: np.asarray(one, dtype=np.float64) for m, one in groups.items() if len(one)}
        self.sizes = np.array(sorted(found), dtype=np.float64)
        scores = [found[int(m)] for m in self.sizes]
        self.counts = np.array([one.size for one in scores])
        self.squares = np.array([((one - one.mean()) ** 2).sum() for one in scores])
        self.freedom, self.within = int((self.counts - 1).sum()), float(self.squares.sum())
        whole = np.concatenate(scores) if scores else np.zeros(1)
        self.largest = float(np.abs(whole).max())
        self.centre, self.unit = float(whole.mean()), float(whole.std())
        self.means = np.array([one.mean() for one in scores]) - self.centre


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
    groups: Groups,
    sizes: Sequence[int],
    *,
    within: Range = ANY,
    draws: int = 400,
    seed: int = 0,
) -> Curves:
    """Draws of mu(m) and s(m) at sizes, from the scores of runs by size.

    groups: sizes of 1 and more; two runs of one size at least, and scores that differ within one. within: what
    scores can be; no draw is outside. Raises ValueError where there are no such runs.
    """
    return fit_tasks([groups], sizes, within=[within], draws=draws, seed=seed)[0]


def fit_tasks(
    tasks: Sequence[Groups],
    sizes: Sequence[int],
    *,
    within: Sequence[Range],
    draws: int = 400,
    seed: int = 0,
) -> list[Curves]:
    """The same of several tasks, by one draw of what they have in common after the other; within: of each.

    Draw i of one task belongs with draw i of another. Raises ValueError where a task has no run, or where no task
    has runs of one size that differ.
    """
    seen = [_Seen(groups) for groups in tasks]
    if not seen or not all(task.counts.size for task in seen):
        raise ValueError("a task without a run says nothing of the size of teams")
    pooled = sum(task.within for task in seen) / max(1, sum(task.freedom for task in seen))
    # Equal scores differ by what rounding leaves of their mean.
    if pooled <= max(_FLAT * task.largest for task in seen) ** 2:
        raise ValueError("two runs of one size at least are needed, and scores that differ")
    usual = float(np.mean([task.unit for task in seen]))
    for task in seen:
        task.unit = task.unit or usual
    chance = np.random.default_rng(seed)
    scales, power = _spreads(seen, float(pooled), draws, chance)
    at = np.asarray(sizes, dtype=np.float64)
    means = _means(seen, at, scales, power, chance)
    found: list[Curves] = []
    for mean, scale, bound in zip(means, scales, within, strict=True):
        found.append(
            Curves(*possible(mean, scale[:, None] * at[None, :] ** -power[:, None], bound))
        )
    return found


def _spreads(
    seen: Sequence[_Seen], pooled: float, draws: int, chance: np.random.Generator
) -> tuple[list[Floats], Floats]:
    """Draws of s(m) = scale m^-power, from what scores of one size differ by; the power is that of all tasks."""
    grids = [_scales(task, pooled, alone=len(seen) == 1) for task in seen]
    tables = [
        _likely(task, grid, pooled, alone=len(seen) == 1)
        for task, grid in zip(seen, grids, strict=True)
    ]
    told = -0.5 * ((_POWERS - 0.2) / 0.25) ** 2
    for table in tables:
        top = table.max(axis=0)
        told = told + top + np.log(np.exp(table - top).sum(axis=0))
    weight = np.exp(told - told.max())
    picked = chance.choice(_POWERS.size, draws, p=weight / weight.sum())
    scales: list[Floats] = []
    for grid, table in zip(grids, tables, strict=True):
        share = np.exp(table - table.max(axis=0))
        bounds = np.cumsum(share / share.sum(axis=0), axis=0)[:, picked]
        scales.append(grid[(bounds < chance.random(draws)).sum(axis=0).clip(max=grid.size - 1)])
    return scales, _POWERS[picked]


def _scales(task: _Seen, pooled: float, *, alone: bool) -> Floats:
    """The spreads at size 1 that a task may have: about its own, with a few runs' worth of the others'."""
    lent = 0 if alone else _LENT
    found: Floats = np.sqrt((task.within + lent * pooled) / (task.freedom + lent)) * _SCALES
    return found


def _likely(task: _Seen, grid: Floats, pooled: float, *, alone: bool) -> Floats:
    """How likely a task's scores are under each scale and power, as logarithms; shape (scales, powers)."""
    scales, powers = np.meshgrid(grid, _POWERS, indexing="ij")
    like = 0.0 if alone else (np.log(scales**2 / pooled) / 2 / _LIKE) ** 2
    told: Floats = -0.5 * like + np.zeros_like(scales)
    for m, count, squares in zip(task.sizes, task.counts, task.squares, strict=True):
        variance = (scales * m**-powers) ** 2
        told = told - 0.5 * ((count - 1) * np.log(variance) + squares / variance)
    return told


def _means(
    seen: Sequence[_Seen],
    at: Floats,
    scales: Sequence[Floats],
    power: Floats,
    chance: np.random.Generator,
) -> list[Floats]:
    """Draws of each task's mu(m), one for each draw of s(m): a shape by its weight, then its coefficients.

    All by Bayes' rule: shapes are as likely beforehand, and coefficients are normal.
    """
    top = max(float(at.max()), *(float(task.sizes.max()) for task in seen), 2.0)
    noises = [
        (scale[:, None] * task.sizes[None, :] ** -power[:, None]) ** 2 / task.counts / task.unit**2
        for task, scale in zip(seen, scales, strict=True)
    ]
    means = [task.means / task.unit for task in seen]
    shares = (1.0,) if len(seen) == 1 else _APART
    models = [_Model(shape, share, seen, at) for shape in _shapes(top) for share in shares]
    each = np.stack([model.each(means, noises) for model in models])
    alike = np.stack([model.alike(means, noises) for model in models]) + each.sum(axis=1)
    own = [number for number, model in enumerate(models) if not model.shares]
    apart = chance.random(power.size) < _odds(each[own], alike)
    found = [np.empty((power.size, at.size)) for _ in seen]
    chosen = _picked(alike, chance)
    for number, model in enumerate(models):
        rows = (chosen == number) & ~apart
        if rows.any():
            shared = model.common(means, [noise[rows] for noise in noises], chance)
            for i, task in enumerate(seen):
                curve = model.draw(i, means[i], noises[i][rows], shared, chance)
                found[i][rows] = task.centre + task.unit * curve
    for i, task in enumerate(seen):
        chosen = _picked(each[own, i], chance)
        for place, number in enumerate(own):
            rows = (chosen == place) & apart
            if rows.any():
                curve = models[number].draw(i, means[i], noises[i][rows], 0.0, chance)
                found[i][rows] = task.centre + task.unit * curve
    return found


def _odds(each: Floats, alike: Floats) -> Floats:
    """The chance that tasks have neither shape nor gain in common, for each draw; as likely as not beforehand.

    each: of the shapes by task, shape (shapes, tasks, draws); alike: of what is common to all, (models, draws).
    """
    apart = np.stack([_mean_of(each[:, task]) for task in range(each.shape[1])]).sum(axis=0)
    gap = np.clip(_mean_of(alike) - apart, -700.0, 700.0)
    found: Floats = 1 / (1 + np.exp(gap))
    return found


def _mean_of(told: Floats) -> Floats:
    """The mean likelihood over models, as a logarithm; told: as logarithms, models first."""
    top = told.max(axis=0)
    found: Floats = top + np.log(np.exp(told - top).mean(axis=0))
    return found


def _picked(told: Floats, chance: np.random.Generator) -> NDArray[np.int64]:
    """For each draw the number of a model, by its likelihood; told: as logarithms, shape (models, draws)."""
    weight = np.exp(told - told.max(axis=0))
    bounds: Floats = np.cumsum(weight / weight.sum(axis=0), axis=0)
    dealt = chance.random(len(bounds[0]))
    found = np.array(
        [np.searchsorted(bounds[:, i], one) for i, one in enumerate(dealt)], dtype=np.int64
    )
    return np.minimum(found, len(told) - 1)


class _Common(NamedTuple):
    """What tasks say of the coefficients that they share. root, told: of their normal law, by row."""

    root: Floats
    told: Floats


class _Model:
    """One shape, linear in its coefficients, which are normal beforehand.

    apart: the share of their variance that tasks have not in common; the level is each task's own.
    """

    def __init__(
        self, shape: Sequence[Shape], apart: float, seen: Sequence[_Seen], at: Floats
    ) -> None:
        self._here = [_columns(shape, task.sizes) for task in seen]
        self._there = _columns(shape, at)
        wide = np.array([_LEVEL, *([_GAIN] * len(shape))])
        if len(shape) == 2:
            wide[-1] = _OVERHEAD
        self._own = wide * np.sqrt([1.0, *([apart] * len(shape))])
        self._shared = wide[1:] * np.sqrt(1 - apart)

    @property
    def shares(self) -> bool:
        """Whether coefficients of tasks have anything in common."""
        return bool(self._shared.any())

    def each(self, means: Sequence[Floats], noises: Sequence[Floats]) -> Floats:
        """The likelihood of each task's means, for each row of noise (their variances): shape (tasks, rows)."""
        found: list[Floats] = []
        for here, mean, noise in zip(self._here, means, noises, strict=True):
            known = self._covariance(here, noise)
            _, size = np.linalg.slogdet(known)
            solved = np.linalg.solve(known, np.broadcast_to(mean[:, None], (*noise.shape, 1)))[
                ..., 0
            ]
            found.append(-0.5 * (size + solved @ mean))
        return np.stack(found)

    def alike(self, means: Sequence[Floats], noises: Sequence[Floats]) -> Floats:
        """What it adds, all tasks together, that they have something in common; shape (rows,)."""
        if not self.shares:
            nothing: Floats = np.zeros(len(noises[0]))
            return nothing
        common = self._common(means, noises)
        _, size = np.linalg.slogdet(common.root)
        solved = np.linalg.solve(common.root, common.told[..., None])[..., 0]
        whole: Floats = 0.5 * (solved**2).sum(axis=-1) - size
        return whole

    def common(
        self, means: Sequence[Floats], noises: Sequence[Floats], chance: np.random.Generator
    ) -> Floats | float:
        """A draw of what coefficients have in common, for each row of noise."""
        if not self.shares:
            return 0.0
        common = self._common(means, noises)
        middle = np.linalg.solve(common.root, common.told[..., None])[..., 0]
        unit = middle + chance.standard_normal(middle.shape)
        turned = np.swapaxes(common.root, -1, -2)
        found: Floats = self._shared * np.linalg.solve(turned, unit[..., None])[..., 0]
        return found

    def draw(
        self,
        task: int,
        mean: Floats,
        noise: Floats,
        common: Floats | float,
        chance: np.random.Generator,
    ) -> Floats:
        """A task's curve for each row of noise: drawn from before, moved by what it misses of the means."""
        here = self._here[task]
        before = chance.standard_normal((len(noise), self._own.size)) * self._own
        before[:, 1:] += common
        seen = before @ here.T + chance.standard_normal(noise.shape) * np.sqrt(noise)
        missed = np.linalg.solve(self._covariance(here, noise), (mean - seen)[..., None])[..., 0]
        found: Floats = (before + missed @ here * self._own**2) @ self._there.T
        return found

    def _common(self, means: Sequence[Floats], noises: Sequence[Floats]) -> _Common:
        """The Cholesky root of what is known of the shared coefficients, in their own units, and what is said."""
        rows, many = noises[0].shape[0], self._shared.size
        known = np.broadcast_to(np.eye(many), (rows, many, many)).copy()
        told = np.zeros((rows, many))
        for here, mean, noise in zip(self._here, means, noises, strict=True):
            columns = here[:, 1:] * self._shared
            wide = np.broadcast_to(columns, (rows, *columns.shape))
            solved = np.linalg.solve(self._covariance(here, noise), wide)
            known += columns.T @ solved
            told += mean @ solved
        return _Common(np.linalg.cholesky(known).astype(np.float64), told)

    def _covariance(self, here: Floats, noise: Floats) -> Floats:
        prior = (here * self._own**2) @ here.T
        whole: Floats = prior[None] + noise[:, :, None] * np.eye(noise.shape[1])[None]
        return whole


def _columns(shape: Sequence[Shape], m: Floats) -> Floats:
    return np.stack([np.ones_like(m), *(column(m) for column in shape)], axis=1)
