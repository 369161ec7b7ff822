"""How a budget is best split, from recorded runs of a program's team at several sizes. Pure; needs SciPy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import fmean

import numpy as np

from podium.dsl.program import Agent, Flow, Role, Team

from ..sizes import first_team, sized
from ..stats.laws import fit
from ..stats.split import Splits, default_size, splits, worth
from .arms import digest_of
from .trial import Trial

GRID = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32, 40, 50, 64, 80, 100)


@dataclass(frozen=True, slots=True)
class Observed:
    """Runs of teams of some sizes: their scores (higher is better), and what one costs, in the budget's unit."""

    scores: Mapping[int, tuple[float, ...]]
    costs: Mapping[int, float]


def observed(trials: Mapping[int, Sequence[Trial]], *, sign: float, in_tokens: bool) -> Observed:
    """What trials by size say. A run without a score, or whose price is unknown, says nothing."""
    scores: dict[int, tuple[float, ...]] = {}
    costs: dict[int, float] = {}
    for size, found in trials.items():
        kept = [one for one in found if not one.failed and one.score is not None]
        paid = [float(one.tokens) if in_tokens else one.usd for one in kept]
        known = [cost for cost in paid if cost]
        if kept and len(known) == len(kept):
            scores[size] = tuple(sign * one.score for one in kept if one.score is not None)
            costs[size] = fmean(known)
    return Observed(scores, costs)


def cost_at(costs: Mapping[int, float], size: int) -> float:
    """What a team of that size costs: by a power of the size through what is known, or in proportion.

    Raises ValueError where nothing is known.
    """
    if size in costs:
        return costs[size]
    if not costs:
        raise ValueError("no run says what a team costs")
    if len(costs) == 1:
        ((known, cost),) = costs.items()
        return cost * size / known
    sizes = np.log(np.array(sorted(costs), dtype=np.float64))
    slope, level = np.polyfit(sizes, np.log([costs[m] for m in sorted(costs)]), 1)
    return exp(float(level) + float(slope) * log(size))


def teams_of(costs: Mapping[int, float], budget: float) -> dict[int, int]:
    """How many teams of each size of the grid budget buys, one at least."""
    bought = {m: int(budget / cost_at(costs, m) * (1 + 1e-9)) for m in GRID}
    return {m: k for m, k in bought.items() if k >= 1}


def split(found: Observed, budget: float, *, level: float, seed: int = 0) -> Splits:
    """The splits of budget. Raises ValueError where the runs are too few, or budget buys no team."""
    return splits(found.scores, teams_of(found.costs, budget), level=level, seed=seed)


@dataclass(frozen=True, slots=True)
class Line:
    """The expected best of teams of one size against the budget; low, high: where it lies."""

    size: int
    budgets: tuple[float, ...]
    scores: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


def lines(
    found: Observed, budget: float, sizes: Sequence[int], *, level: float, seed: int = 0
) -> list[Line]:
    """For each size what its teams are worth as the budget grows, from one team to ten times budget."""
    curves = fit(found.scores, sizes, seed=seed)
    made: list[Line] = []
    for place, size in enumerate(sizes):
        cost = cost_at(found.costs, size)
        most = int(10 * budget / cost)
        if most < 1:
            continue
        teams = sorted({int(k) for k in np.geomspace(1, most, 30)})
        one = type(curves)(curves.mean[:, [place]], curves.spread[:, [place]])
        drawn = np.concatenate([worth(one, [k]) for k in teams], axis=1)
        low, high = np.quantile(drawn, ((1 - level) / 2, (1 + level) / 2), axis=0)
        made.append(
            Line(
                size,
                tuple(k * cost for k in teams),
                tuple(map(float, drawn.mean(axis=0))),
                tuple(map(float, low)),
                tuple(map(float, high)),
            )
        )
    return made


def default_split(costs: Mapping[int, float], budget: float) -> tuple[int, int] | None:
    """The number and the size of teams for who knows nothing but costs; None where budget buys no team."""
    teams = teams_of(costs, budget)
    if not teams:
        return None
    size = default_size(sorted(teams), teams)
    return teams[size], size


def is_same_team(recorded: Flow, flow: Flow) -> bool:
    """Whether what recorded ran is flow's team at some size: the same members, whatever their number and label."""
    ours, theirs = first_team(flow), first_team(recorded)
    if not isinstance(ours, Team) or theirs is None:
        return False
    if isinstance(theirs, Agent):
        lone = sized(flow, 1)
        return isinstance(lone, Agent) and _asked(theirs.role) == _asked(lone.role)
    return digest_of(_bare(theirs)) == digest_of(_bare(ours))


def _asked(role: Role) -> str:
    return digest_of((role.prompt, role.system, role.model, role.tools, role.max_output))


def _bare(team: Team) -> tuple[object, ...]:
    kinds = tuple(_asked(member.role) for member in team.members)
    return (
        kinds,
        team.ceo,
        team.recruit,
        team.order,
        team.style,
        team.rounds,
        team.cycles,
        team.sees,
    )
