"""One run of an arm, as a comparison sees it: its score and what it had spent whenever it got better. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from ..event import Improved, Stamped
from ..fold import Fold
from ..spend import MICRO

Better = Literal["higher", "lower"]
Unit = Literal["usd", "tokens", "seconds"]


@dataclass(frozen=True, slots=True)
class Point:
    """The best score so far, once so much was spent. usd: dollars; seconds: of live time."""

    usd: float
    tokens: int
    seconds: float
    score: float

    def spent(self, unit: Unit) -> float:
        return float(getattr(self, unit))


@dataclass(frozen=True, slots=True)
class Trial:
    """score: as the task gives it, 1 and 0 where it only passes or does not; None where the run has none.

    failed: it says nothing of the arm, as a server or a verifier failed or it was stopped from outside.
    usd: dollars, None where a price is unknown. unflagged: the best score that no verifier suspects; equal to
    score where none is suspected.
    """

    arm: str
    task: str
    repeat: int
    run: str
    outcome: str
    score: float | None
    unflagged: float | None
    failed: bool
    usd: float | None
    tokens: int
    calls: int
    seconds: float
    curve: tuple[Point, ...] = ()

    def spent(self, unit: Unit) -> float | None:
        """What the run took; None where its price is not known."""
        found: float | None = getattr(self, unit)
        return found

    @property
    def flagged(self) -> bool:
        return self.score != self.unflagged

    def as_json(self) -> dict[str, Any]:
        return {
            "arm": self.arm,
            "task": self.task,
            "repeat": self.repeat,
            "run": self.run,
            "outcome": self.outcome,
            "score": self.score,
            "unflagged": self.unflagged,
            "failed": self.failed,
            "usd": self.usd,
            "tokens": self.tokens,
            "calls": self.calls,
            "seconds": self.seconds,
            "curve": [
                {"usd": at.usd, "tokens": at.tokens, "seconds": at.seconds, "score": at.score}
                for at in self.curve
            ],
        }


# Ends that are no fault of the arm's, but for these reasons: what its agents did, or what they could spend.
_FAILED = ("failed", "cancelled", "paused")
_OWN = ("budget: ", "reply: ", "overflow: ", "turns: ")


def trial_of(
    run: str, events: Iterable[Stamped], folded: Fold, *, arm: str, task: str, repeat: int
) -> Trial:
    """The trial that the events of a run of one task are. folded: empty, and takes them in."""
    curve: list[Point] = []
    for stamped in events:
        folded.add(stamped)
        if isinstance(stamped.event, Improved):
            point = _point(folded, stamped.event, stamped.time)
            curve += () if point is None else (point,)
    end, amount = folded.ended, folded.total.amount
    outcome = "running" if end is None else end.outcome
    score = None if end is None else _worth(end.score, passed=end.passed)
    best = folded.best_unflagged
    clean = score
    if folded.best is not None and best is not folded.best:
        clean = None if best is None else _worth(best.score, passed=best.passed)
    return Trial(
        arm,
        task,
        repeat,
        run,
        outcome,
        score,
        clean,
        end is None or (outcome in _FAILED and not end.reason.startswith(_OWN)),
        folded.total.usd,
        amount.tokens,
        amount.calls,
        folded.seconds,
        tuple(curve),
    )


def _point(folded: Fold, event: Improved, time: float) -> Point | None:
    score = _worth(event.score, passed=event.passed)
    amount = folded.total.amount
    if score is None:
        return None
    return Point(amount.usd / MICRO, amount.tokens, folded.seconds_at(time), score)


def _worth(score: float | None, *, passed: bool | None) -> float | None:
    return (None if passed is None else float(passed)) if score is None else score
