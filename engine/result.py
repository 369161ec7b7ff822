"""The end of a run, as an embedding program sees it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from podium.dsl.program import Program

from .event import RunEnded, Stamped
from .fold import Fold
from .outcome import Named, Outcome, reason, word
from .value import Attempt, Json
from .workspace import read


def _nothing(name: str) -> str:
    raise KeyError(name)


@dataclass(frozen=True, slots=True)
class RunResult:
    """attempts: the answer, one for each task of the run; None where a task got none.

    folded: what every node did and cost. resumable: `Engine.resume` can take the run up again.
    seconds: live time over all lives of the run. kept: a text of the store, by its name.
    """

    run: str
    outcome: Outcome
    resumable: bool
    attempts: tuple[Attempt | None, ...]
    seconds: float
    store: Path
    folded: Fold
    kept: Callable[[str], str] = field(default=_nothing, repr=False, compare=False)

    @property
    def artifacts(self) -> Mapping[str, bytes]:
        """The files of the first task's answer, by path within its folder. As `files_of` reads them."""
        return {} if self.attempt is None else self.files_of(self.attempt)

    def files_of(self, attempt: Attempt) -> Mapping[str, bytes]:
        """The files of an attempt, by path; none where it came without. Read from the store, so while the engine
        is open. Raises StoreError."""
        if not attempt.tree:
            return {}
        return {path: file.data for path, file in read(self.kept(attempt.tree)).items()}

    @property
    def attempt(self) -> Attempt | None:
        """The first task's answer: all there is in a run of one task."""
        return self.attempts[0] if self.attempts else None


def end_of(
    program: Program,
    run: Named,
    outcome: Outcome,
    attempts: tuple[Attempt | None, ...],
    *,
    seconds: float,
    resumable: bool,
    said: str = "",
) -> RunEnded:
    """The event that ends a run. said: the reason, in place of the outcome's own, where it is not empty."""
    there = [attempt for attempt in attempts if attempt is not None]
    scores = [attempt.score for attempt in there if attempt.score is not None]
    judged = any(attempt.verdict is not None for attempt in there)
    passed = len(there) == len(attempts) and all(attempt.passed for attempt in there)
    trees = tuple("" if a is None else a.tree for a in attempts)
    answers: list[Json] = [None if a is None else a.answer for a in attempts]
    return RunEnded(
        word(outcome),
        said or reason(outcome, run),
        resumable,
        answers if len(program.tasks) > 1 else next(iter(answers), None),
        sum(scores) / len(scores) if scores else None,
        passed if judged else None,
        seconds,
        trees if any(trees) else (),
    )


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
