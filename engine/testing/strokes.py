"""A run struck at each of its steps or records in turn, and what must hold whichever one it was.

    for simulation in struck(program, "cancel"):
        assert not simulation.violations, simulation.told()

It is cancelled before each step that any task takes, which is at every await; or its process is killed at every
record. Then it is resumed, and struck again if one wishes, until it ends.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from ..event import CallAnswered, CallIntended, Stamped
from .disk import Disk, Moment
from .invariants import Violation

if TYPE_CHECKING:
    from .simulate import Simulation

How = Literal["cancel"] | Moment


@dataclass(frozen=True, slots=True)
class Stroke:
    """What befalls one life of a run, counted from 0 in that life.

    cancel: the task that embeds the engine is cancelled before the at-th step of any task. before, torn,
    written: the process dies at its at-th record: before it; in the middle of its transaction; when it is on
    disk and nobody was told yet.
    """

    how: How
    at: int


@dataclass(slots=True, eq=False)
class Arm:
    """Brings the strokes, one a life. steps: how many were taken, records: written, by life."""

    strokes: Sequence[Stroke]
    disk: Disk
    steps: list[int] = field(default_factory=list[int])
    records: list[int] = field(default_factory=list[int])
    _cancel: Callable[[], None] | None = None

    def begins(self, cancel: Callable[[], None]) -> None:
        """A life begins; cancel is how it is cancelled."""
        stroke = self._stroke(len(self.steps))
        dies = None if stroke is None or stroke.how == "cancel" else (stroke.at, stroke.how)
        self.disk.begin_life(dies)
        self.steps.append(0)
        self._cancel = cancel

    def ends(self) -> None:
        self.records.append(self.disk.records)
        self._cancel = None
        self.disk.begin_life(None)

    def step(self) -> None:
        """Called before each step of a task."""
        if self._cancel is None:
            return
        stroke = self._stroke(len(self.steps) - 1)
        if stroke is not None and stroke.how == "cancel" and stroke.at == self.steps[-1]:
            self._cancel()
        self.steps[-1] += 1

    def _stroke(self, life: int) -> Stroke | None:
        return self.strokes[life] if life < len(self.strokes) else None


def struck(
    simulated: "Callable[[Sequence[Stroke]], Simulation]",
    how: How,
    *,
    every: int = 1,
    first: int = 0,
    then: Sequence[Stroke] = (),
    same: bool = False,
) -> "Iterator[Simulation]":
    """The simulations of a run that is struck at its first-th step or record and at every every-th from there.

    simulated: the run under strokes, `lambda strokes: simulate(program, strokes=strokes)`. then: strokes of
    the lives that follow. same: whether it must come to the transcript of the run that nothing struck, as it
    does where nothing in the program depends on an order.
    """
    whole = simulated(())
    if whole.violations:
        yield whole
        return
    count = whole.steps[0] if how == "cancel" else whole.records[0]
    for at in range(first, count, every):
        one = simulated((Stroke(how, at), *then))
        yield replace(one, violations=(*one.violations, *_differs(whole, one, same=same)))


def _differs(whole: "Simulation", one: "Simulation", *, same: bool) -> Iterable[Violation]:
    if same and not one.violations and one.transcript != whole.transcript:
        text = "it came to another transcript than the run that nothing struck"
        yield Violation("replay", one.program.name, text)


def overcharged(events: Iterable[Stamped], generated: int) -> Iterable[Violation]:
    """No answer is charged more than once: what servers told of their answers is within their bill."""
    answers = (s.event for s in events if isinstance(s.event, CallAnswered))
    told = sum(one.spent.tokens for one in answers if not one.usage.estimated)
    if told > generated:
        yield Violation("bill", "", f"{told} tokens are charged for answers, {generated} generated")


def paid_once(events: Iterable[Stamped]) -> Iterable[Violation]:
    """No call is sent again where an answer to it is on record."""
    answered: set[str] = set()
    for stamped in events:
        event = stamped.event
        if isinstance(event, CallAnswered):
            answered.add(event.address)
        elif not isinstance(event, CallIntended) or event.kind != "model":
            continue
        elif event.address in answered:
            yield Violation("bill", event.address, "sent again after an answer", stamped.number)
