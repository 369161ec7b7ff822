"""What trials say: each arm's best of k with its interval, pairs told apart or not. Pure; needs NumPy, SciPy."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from math import isfinite
from typing import Any

from ..ranges import ANY, Range
from ..stats import Interval, evidence
from .arm_result import ArmResult, Spent, arm_result
from .pair_result import PairResult, apart_result, pair_result, won
from .trial import Better, Trial


@dataclass(frozen=True, slots=True)
class Comparison:
    k: int
    level: float
    better: Better
    tasks: tuple[str, ...]
    arms: tuple[ArmResult, ...]
    pairs: tuple[PairResult, ...]
    spent: Spent | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "k": self.k,
            "level": self.level,
            "better": self.better,
            "tasks": list(self.tasks),
            "arms": [_plain(asdict(arm)) for arm in self.arms],
            "pairs": [_plain(asdict(pair)) for pair in self.pairs],
            "spent": None if self.spent is None else asdict(self.spent),
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
    within: Range = ANY,
    spent: Spent | None = None,
) -> Comparison:
    """The arms, in this order, compared on their trials.

    level: of each interval, and 1 less the chance that any two equal arms are told apart. sequential: the
    trials were looked at before and more of them run while it was not clear. in_pairs: trials of the same task
    and repeat belong together; those of recorded runs do not. within: what scores can be, where intervals end.
    spent: after which each arm's expected best is told too.
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
        tuple(arm_result(arm, sides[arm], tasks, k, level, sign, within, spent) for arm in arms),
        tuple(
            pair_result(a, b, sides, tasks, k, level, alpha, sign, sequential=sequential)
            if in_pairs
            else apart_result(a, b, sides, tasks, k, level, alpha, sign)
            for a, b in names
        ),
        spent,
    )


def is_clear(
    trials: Sequence[Trial],
    arms: Sequence[str],
    level: float,
    better: Better,
    *,
    best_only: bool = False,
) -> bool:
    """Whether every two arms are told apart; it may be asked after each block, and the answer stays valid.

    best_only: whether one arm is told to be better than each other, which may be alike.
    """
    names = list(combinations(arms, 2))
    alpha = (1 - level) / len(names)
    sides = {arm: [one for one in trials if one.arm == arm] for arm in arms}
    sign = 1.0 if better == "higher" else -1.0
    beaten: dict[str, int] = dict.fromkeys(arms, 0)
    for one, other in names:
        wins, losses, _ = won(sides[one], sides[other], sign)
        if evidence(wins, losses).p <= alpha:
            beaten[one if wins > losses else other] += 1
    return (
        max(beaten.values()) == len(arms) - 1 if best_only else sum(beaten.values()) == len(names)
    )
