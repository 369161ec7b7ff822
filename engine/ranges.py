"""What scores can be. Pure."""

from collections.abc import Sequence
from math import inf, isfinite
from typing import NamedTuple

from podium.dsl.program import Task, Verifier

from .families import families


class Range(NamedTuple):
    """What scores can be; an end that is not known is infinite."""

    low: float = -inf
    high: float = inf

    @property
    def is_known(self) -> bool:
        return isfinite(self.low) and isfinite(self.high)

    def turned(self) -> "Range":
        """The range of the scores with their sign turned round."""
        return Range(-self.high, -self.low)

    def are_rates(self, scores: Sequence[float]) -> bool:
        """Whether scores only tell passed from not: all are at one end or the other."""
        return self.is_known and set(scores) <= {self.low, self.high}


ANY = Range()
_UNIT = Range(0.0, 1.0)


def mean_range(ranges: Sequence[Range]) -> Range:
    """Of the mean over tasks with these ranges."""
    if not ranges:
        return ANY
    return Range(*(sum(ends) / len(ranges) for ends in zip(*ranges, strict=True)))


def range_of(task: Task) -> Range:
    """The range of the task's scores, as its verifier gives them; an end that is not known is infinite.

    `exact`, `number`, `choice`, `contains` and the verifiers of task families say theirs, and what is made of such
    ones too. A function, a program or a judge of the user's says nothing.
    """
    return ANY if task.verify is None else _range(task.verify)


def _range(verifier: Verifier) -> Range:
    if verifier.parts:
        each = [_range(part) for part in verifier.parts]
        return Range(min(one.low for one in each), max(one.high for one in each))
    if verifier.kind in ("exact", "number", "choice", "contains"):
        return _UNIT
    known = families().get(_family(verifier))
    if known is None:
        return ANY
    low = ANY.low if known.least is None else known.least
    return Range(low, ANY.high if known.most is None else known.most)


def _family(verifier: Verifier) -> str:
    """The family whose own verifier it is; empty where it is none's."""
    ref, argv = verifier.args.get("ref"), verifier.args.get("argv")
    if isinstance(ref, str) and ref.startswith("podium.tasks."):
        return ref.removeprefix("podium.tasks.").partition(":")[0].partition(".")[0]
    match argv:
        case ("python3", "-m", str() as module) if module.startswith("tasks."):
            return module.removeprefix("tasks.").partition(".")[0]
        case _:
            return ""
