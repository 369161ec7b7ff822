"""What strikes the lives of a run: at which step it is cancelled, at which record its process dies."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from .disk import Disk, Moment

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
