"""The course of a run: when each try was at work, and what had been spent when each attempt was judged. Pure.

Times are seconds of the run's live time: what lies between two of its lives does not count.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..event import CallAnswered, CallFailed, CallIntended, Improved, RunStarted, Scored, Stamped
from ..fold import Fold
from ..ledger import Amount
from ..value import Verdict


@dataclass(frozen=True, slots=True)
class Work:
    """A try. end: `answered`, the kind of its failure, or empty: it was in flight when the events ended."""

    address: str
    kind: str
    end: str
    began: float
    ended: float


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict, and what the run had spent by then."""

    address: str
    verifier: str
    verdict: Verdict
    spent: Amount
    seconds: float

    @property
    def worth(self) -> float | None:
        """The score; 1 or 0 where there is only a pass or none; None where it says neither."""
        score, passed = self.verdict.score, self.verdict.passed
        return (None if passed is None else float(passed)) if score is None else score


@dataclass(slots=True)
class Course:
    """folded: the same events, folded. best: of the best so far, each time it changed. lives: when each began."""

    folded: Fold
    works: list[Work] = field(default_factory=list[Work])
    judged: list[Judged] = field(default_factory=list[Judged])
    best: list[Judged] = field(default_factory=list[Judged])
    lives: list[float] = field(default_factory=list[float])
    _open: dict[tuple[str, int], tuple[str, float]] = field(
        default_factory=dict[tuple[str, int], tuple[str, float]]
    )

    def add(self, stamped: Stamped) -> None:
        self.folded.add(stamped)
        at = self.folded.seconds
        match stamped.event:
            case CallIntended(address=address, try_=number, kind=kind):
                self._open[address, number] = kind, at
            case CallAnswered(address=address, try_=number):
                self._end(address, number, "answered", at)
            case CallFailed(address=address, try_=number, kind=end):
                self._end(address, number, end, at)
            case Scored(flags=flags) as event:
                verdict = Verdict(event.score, event.passed, valid=event.valid, flags=flags)
                self.judged.append(self._now(event.address, event.verifier, verdict, at))
            case Improved() as event:
                flags = self.folded.flags.get(event.address, ())
                verdict = Verdict(event.score, event.passed, flags=flags)
                self.best.append(self._now(event.address, "", verdict, at))
            case RunStarted():
                self.lives.append(at)
            case _:
                pass

    def _end(self, address: str, number: int, end: str, at: float) -> None:
        kind, began = self._open.pop((address, number), ("", at))
        if kind:
            self.works.append(Work(address, kind, end, began, max(began, at)))

    def _now(self, address: str, verifier: str, verdict: Verdict, at: float) -> Judged:
        return Judged(address, verifier, verdict, self.folded.total.amount, at)

    def close(self) -> None:
        """No more events: what is in flight has been so until now."""
        for (address, _), (kind, began) in self._open.items():
            now = self.folded.seconds
            self.works.append(Work(address, kind, "", began, max(began, now)))
        self._open.clear()


def course_of(events: Iterable[Stamped], folded: Fold) -> Course:
    """The course of the run of these events. folded: empty, and takes them in."""
    course = Course(folded)
    for stamped in events:
        course.add(stamped)
    course.close()
    return course
