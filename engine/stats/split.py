"""How to split a budget into k teams of m: k teams of m score mu(m) + s(m) e_k at best."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from ..ranges import ANY, Range
from .best import Floats
from .bounded import best_of_teams
from .laws import Curves, Groups, fit_tasks
from .normal import largest

# By how many standard deviations a gain over the default must stand out. Of 0, 0.3, 0.6 and 1 it is the one with
# the least regret after small pilots, by bench_split, and costs next to nothing after large ones.
SHRINK = 1.0


@dataclass(frozen=True, slots=True)
class Cell:
    """k teams of m. score: the expected best; low, high: where it lies, for all splits at once, level of the time.

    chance: that no other split of the grid does better. regret: what is lost against the best split, as expected.
    """

    size: int
    teams: int
    score: float
    low: float
    high: float
    chance: float
    regret: float


@dataclass(frozen=True, slots=True)
class Splits:
    """cells: by size. best: the one to take; default: as many teams as members, for who knows nothing.

    flat: sizes that are expected to lose less than a tenth of a team's spread against the best.
    """

    cells: tuple[Cell, ...]
    best: Cell
    default: Cell
    flat: tuple[int, ...]
    level: float


@dataclass(frozen=True, slots=True)
class Scores:
    """Of runs of one task: by team size, and within what."""

    groups: Groups
    within: Range = ANY

    @property
    def are_rates(self) -> bool:
        return all(self.within.are_rates(scores) for scores in self.groups.values())


def splits(
    groups: Groups,
    teams: Mapping[int, int],
    *,
    within: Range = ANY,
    level: float = 0.9,
    shrink: float = SHRINK,
    draws: int = 1_000,
    seed: int = 0,
) -> Splits:
    """The splits of a budget, from the scores of runs by team size.

    groups, within: as for `laws.fit`. teams: how many teams of each size the budget buys, one at least. shrink: by
    how much a gain over the default must stand out, in standard deviations of what is not known of it: with few
    runs the default is named, and as runs come in it no longer matters.
    """
    scores = [Scores(groups, within)]
    return splits_of(scores, teams, level=level, shrink=shrink, draws=draws, seed=seed)[0]


def splits_of(
    tasks: Sequence[Scores],
    teams: Mapping[int, int],
    *,
    level: float = 0.9,
    shrink: float = SHRINK,
    draws: int = 1_000,
    seed: int = 0,
) -> list[Splits]:
    """The splits that are best for all tasks on average, then those of each, all fitted together.

    teams: what the budget of one task buys. Of one task the first and the second are the same.
    """
    sizes = sorted(m for m, k in teams.items() if k >= 1)
    if not sizes:
        raise ValueError("the budget buys no team of any size")
    curves = fit_tasks(
        [task.groups for task in tasks],
        sizes,
        within=[task.within for task in tasks],
        draws=draws,
        seed=seed,
    )
    bought = {m: teams[m] for m in sizes}
    each = [
        worth(one, list(bought.values()), task) for one, task in zip(curves, tasks, strict=True)
    ]
    spreads = [one.spread.mean(axis=0) for one in curves]
    whole = _named(np.mean(each, axis=0), np.mean(spreads, axis=0), bought, level, shrink)
    alone = zip(each, spreads, strict=True)
    return [whole, *(_named(one, spread, bought, level, shrink) for one, spread in alone)]


def _named(
    values: Floats, spread: Floats, teams: Mapping[int, int], level: float, shrink: float
) -> Splits:
    """What draws of the splits' worth, of shape (draws, sizes), say of them. spread: of a team, by size."""
    sizes = list(teams)
    low, high = _band(values, level)
    mean = values.mean(axis=0)
    lost = (values.max(axis=1, keepdims=True) - values).mean(axis=0)
    first = np.bincount(values.argmax(axis=1), minlength=len(sizes)) / len(values)
    cells = tuple(
        Cell(m, teams[m], float(mean[i]), float(low[i]), float(high[i]), float(first[i]), float(lost[i]))
        for i, m in enumerate(sizes)
    )  # fmt: skip
    home = sizes.index(default_size(sizes, teams))
    gain = values - values[:, [home]]
    best = cells[int((gain.mean(axis=0) - shrink * gain.std(axis=0)).argmax())]
    small = 0.1 * float(spread[sizes.index(best.size)])
    flat = tuple(cell.size for cell in cells if abs(best.score - cell.score) < small)
    return Splits(cells, best, cells[home], flat, level)


def _band(values: Floats, level: float) -> tuple[Floats, Floats]:
    """Where the worth of all splits lies at once, in a share level of the draws.

    At once, as the split that is named is one that its runs flattered: of the intervals for one split each, that
    of the named one is wrong too often. Each is widened about its median by one factor, the least that keeps a
    share level of the draws inside at every size (a sup-t band: Montiel Olea and Plagborg-Moller 2019).
    """
    low, middle, high = np.quantile(values, ((1 - level) / 2, 0.5, (1 + level) / 2), axis=0)
    below, above = np.maximum(middle - low, 1e-12), np.maximum(high - middle, 1e-12)
    away = np.maximum((middle - values) / below, (values - middle) / above).max(axis=1)
    factor = max(1.0, float(np.quantile(away, level)))
    inside = values.min(axis=0), values.max(axis=0)
    return np.maximum(middle - factor * below, inside[0]), np.minimum(
        middle + factor * above, inside[1]
    )


def worth(curves: Curves, teams: Sequence[int], scores: Scores | None = None) -> Floats:
    """The expected best of that many teams of each size, by draw. scores: of the task, for what is possible."""
    if scores is None:
        return best_of_teams(curves.mean, curves.spread, teams)
    within, rates = scores.within, scores.are_rates
    return best_of_teams(curves.mean, curves.spread, teams, within, rates=rates)


def default_size(sizes: Sequence[int], teams: Mapping[int, int]) -> int:
    """The size of which the budget buys as many teams as a team has members.

    That is sqrt(B) of B agents, where teams cost in proportion to their size; where members talk, it is less.
    """
    return min(sizes, key=lambda m: abs(log(m) - log(teams[m])))


@dataclass(frozen=True, slots=True)
class Worth:
    """What a pilot is expected to gain over the default, in spreads of a lone agent's score; se: its error."""

    gain: float
    se: float


def pilot_worth(
    agents: int, sizes: Sequence[int], runs: int, *, trials: int = 60, seed: int = 0
) -> Worth:
    """What is gained by spending `runs` runs of each of sizes first, and splitting the rest of agents by them.

    Over laws as the literature reports them: gains of nothing to three spreads that saturate at sizes from 2 to
    40, a third with an overhead, spreads that shrink by m^-0 to m^-0.5. A budget without a rest gains nothing.
    """
    chance = np.random.default_rng(seed)
    used = runs * sum(sizes)
    gains: list[float] = []
    for _ in range(trials):
        law = _Law.drawn(chance)
        grid = [m for m in _GRID if m <= agents]
        before = law.worth(
            {m: agents // m for m in grid}, default_size(grid, {m: agents // m for m in grid})
        )
        rest = {m: (agents - used) // m for m in _GRID if m <= agents - used}
        if not rest:
            gains.append(-before)
            continue
        groups = {m: law.scores(m, runs, chance) for m in sizes}
        chosen = splits(groups, rest, draws=200, seed=seed).best.size
        seen = max(float(np.max(scores)) for scores in groups.values())
        gains.append(max(law.worth(rest, chosen), seen) - before)
    found = np.asarray(gains)
    return Worth(float(found.mean()), float(found.std() / sqrt(trials)))


_GRID = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32, 40, 50, 64, 80, 100)


@dataclass(frozen=True, slots=True)
class _Law:
    """mu(m) = gain (1 - exp(-(m - 1) / knee)) - overhead m; s(m) = m^-power."""

    gain: float
    knee: float
    overhead: float
    power: float

    @staticmethod
    def drawn(chance: np.random.Generator) -> "_Law":
        knee = float(np.exp(chance.uniform(log(2), log(40))))
        overhead = 0.01 * float(chance.random()) if chance.random() < 1 / 3 else 0.0
        return _Law(3 * float(chance.random()), knee, overhead, 0.5 * float(chance.random()))

    def mean(self, m: int) -> float:
        return float(self.gain * (1 - np.exp(-(m - 1) / self.knee)) - self.overhead * m)

    def scores(self, m: int, runs: int, chance: np.random.Generator) -> list[float]:
        drawn = chance.standard_normal(runs)
        return [self.mean(m) + float(m**-self.power * one) for one in drawn]

    def worth(self, teams: Mapping[int, int], m: int) -> float:
        return self.mean(m) + float(m**-self.power) * largest(teams[m])
