"""The end of a run, as an embedding program sees it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .event import Stamped
from .fold import Fold
from .outcome import Outcome
from .value import Attempt


@dataclass(frozen=True, slots=True)
class RunResult:
    """attempts: the answer, one for each task of the run; None where a task got none.

    folded: what every node did and cost. resumable: `Engine.resume` can take the run up again.
    seconds: live time over all lives of the run.
    """

    run: str
    outcome: Outcome
    resumable: bool
    attempts: tuple[Attempt | None, ...]
    seconds: float
    store: Path
    folded: Fold

    @property
    def attempt(self) -> Attempt | None:
        """The first task's answer: all there is in a run of one task."""
        return self.attempts[0] if self.attempts else None


@dataclass(frozen=True, slots=True)
class Recorded:
    """The events of a run that ended before, read as those of a live one: no generator, as in the journal."""

    past: Iterator[Stamped]

    def __aiter__(self) -> "Recorded":
        return self

    async def __anext__(self) -> Stamped:
        stamped = next(self.past, None)
        if stamped is None:
            raise StopAsyncIteration
        return stamped
