"""How a budget is best split, from recorded runs of a program's team at several sizes. Pure; needs SciPy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import fmean

import numpy as np

from podium.dsl.program import Agent, Flow, Role, Task, Team

from ..ranges import ANY, Range, range_of
from ..sizes import first_team, sized
from ..stats.best import Floats
from ..stats.laws import Curves, fit_tasks
from ..stats.split import Scores, Splits, default_size, splits_of, worth
from .arms import digest_of
from .trial import Trial

GRID = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32, 40, 50, 64, 80, 100)
_RATES = Range(0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Observed:
    """Runs of teams of some sizes. scores: by task, higher being better, of tasks that have any.

    costs: what one run of a size takes, in the budget's unit, on average. tasks: how many there are, with those of
    which there is no run.
    """

    scores: Mapping[str, Scores]
    costs: Mapping[int, float]
    tasks: int = 1

    def runs(self) -> dict[int, int]:
        """How many there are of each size, of all tasks."""
        found: dict[int, int] = {}
        for one in self.scores.values():
            for size, scores in one.groups.items():
                found[size] = found.get(size, 0) + len(scores)
        return dict(sorted(found.items()))

    def best(self) -> float:
        return max(max(s) for one in self.scores.values() for s in one.groups.values())

    @property
    def are_bounded(self) -> bool:
        return all(one.within.high < ANY.high for one in self.scores.values())


def observed(
    trials: Mapping[int, Sequence[Trial]],
    tasks: Sequence[Task],
    *,
    sign: float,
    in_tokens: bool,
    within: Range | None = None,
) -> Observed:
    """What trials by size say. A run without a score, or whose price is unknown, says nothing.

    within: what scores can be, where the user says it; else as far as the tasks' verifiers do. Scores that are all
    0 or 1 are taken for passes.
    """
    by_task: dict[str, dict[int, tuple[float, ...]]] = {}
    costs: dict[int, float] = {}
    for size, found in trials.items():
        kept = [one for one in found if not one.failed and one.score is not None]
        known = paid(kept, in_tokens=in_tokens)
        if not kept or len(known) < len(kept):
            continue
        costs[size] = fmean(known)
        for task in {one.task for one in kept}:
            own = tuple(one.score for one in kept if one.task == task and one.score is not None)
            by_task.setdefault(task, {})[size] = own
    scores = {
        task.name: _scores(by_task[task.name], within or range_of(task), sign)
        for task in tasks
        if task.name in by_task
    }
    return Observed(scores, costs, len(tasks))


def paid(trials: Sequence[Trial], *, in_tokens: bool) -> list[float]:
    """What each cost, in the budget's unit; without those of which that is not known, or nothing."""
    return [cost for one in trials if (cost := float(one.tokens) if in_tokens else one.usd)]


def _scores(groups: Mapping[int, Sequence[float]], within: Range, sign: float) -> Scores:
    seen = {score for scores in groups.values() for score in scores}
    if within == ANY and seen <= {0.0, 1.0}:
        within = _RATES
    turned = {size: tuple(sign * one for one in scores) for size, scores in groups.items()}
    return Scores(turned, within if sign > 0 else within.turned())


def cost_at(costs: Mapping[int, float], size: int) -> float:
    """What a team of that size costs: between known sizes by a power through two, beyond by one of all.

    A lone agent says nothing of teams where any team is known: it is asked once, and reads nobody. Of one size
    alone others cost in proportion. Raises ValueError where nothing is known.
    """
    if size in costs:
        return costs[size]
    if not costs:
        raise ValueError("no run says what a team costs")
    known = {m: costs[m] for m in sorted(costs) if m > 1} or costs
    sizes, prices = np.log(list(known)), np.log(list(known.values()))
    power = float(np.polyfit(sizes, prices, 1)[0]) if len(known) > 1 else 1.0
    end = min(max(size, min(known)), max(known))
    return exp(float(np.interp(log(end), sizes, prices)) + power * log(size / end))


def teams_of(costs: Mapping[int, float], budget: float) -> dict[int, int]:
    """How many teams of each size of the grid budget buys, one at least."""
    bought = {m: int(budget / cost_at(costs, m) * (1 + 1e-9)) for m in GRID}
    return {m: k for m, k in bought.items() if k >= 1}


def split(found: Observed, budget: float, *, level: float, seed: int = 0) -> list[Splits]:
    """The splits of budget for all tasks, an even share for each, then those of each task that was seen.

    Raises ValueError where the runs are too few, or the share buys no team.
    """
    share = budget / found.tasks
    tasks = list(found.scores.values())
    return splits_of(tasks, teams_of(found.costs, share), level=level, seed=seed)


@dataclass(frozen=True, slots=True)
class Line:
    """The expected best of teams of one size against the budget; low, high: where it lies."""

    size: int
    budgets: tuple[float, ...]
    scores: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    def turned(self, sign: float) -> "Line":
        """With scores as the task gives them: sign is -1 where lower ones are better."""
        if sign > 0:
            return self
        scores, low, high = (
            tuple(-one for one in part) for part in (self.scores, self.low, self.high)
        )
        return Line(self.size, self.budgets, scores, high, low)


def lines(
    found: Observed, budget: float, sizes: Sequence[int], *, level: float, seed: int = 0
) -> list[Line]:
    """For each size what its teams are worth as the budget grows, from one team to ten times budget.

    Of several tasks on average, an even share of the budget for each.
    """
    tasks = list(found.scores.values())
    within = [one.within for one in tasks]
    curves = fit_tasks([one.groups for one in tasks], sizes, within=within, seed=seed)
    made: list[Line] = []
    for place, size in enumerate(sizes):
        cost = cost_at(found.costs, size) * found.tasks
        most = int(10 * budget / cost)
        if most < 1:
            continue
        teams = sorted({int(k) for k in np.geomspace(1, most, 30)})
        alone = [Curves(one.mean[:, [place]], one.spread[:, [place]]) for one in curves]
        drawn = np.mean(
            [_over(one, teams, task) for one, task in zip(alone, tasks, strict=True)], axis=0
        )
        low, high = np.quantile(drawn, ((1 - level) / 2, (1 + level) / 2), axis=0)
        spent = tuple(k * cost for k in teams)
        made.append(
            Line(size, spent, *(tuple(map(float, one)) for one in (drawn.mean(axis=0), low, high)))
        )
    return made


def _over(curves: Curves, teams: Sequence[int], task: Scores) -> Floats:
    """What more and more teams of one size are worth, by draw."""
    return np.concatenate([worth(curves, [k], task) for k in teams], axis=1)


def default_split(costs: Mapping[int, float], budget: float) -> tuple[int, int] | None:
    """The number and the size of teams for who knows nothing but costs; None where budget buys no team."""
    teams = teams_of(costs, budget)
    if not teams:
        return None
    size = default_size(sorted(teams), teams)
    return teams[size], size


def is_lone(recorded: Flow, flow: Flow, model: str) -> bool:
    """Whether what recorded ran is one agent of flow's team, asked from model."""
    theirs = first_team(recorded)
    lone = sized(flow, 1, model)
    return (
        isinstance(theirs, Agent)
        and isinstance(lone, Agent)
        and _asked(theirs.role) == _asked(lone.role)
    )


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
