"""Tests and runs of a file, many cases of each, until one breaks a promise: what `podium test` and pytest do."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from podium.dsl.compile import Choice
from podium.dsl.library import Library
from podium.dsl.source import Source

from ..functions import Bindings
from .cases import Subject, Tried, case_of, tried
from .shrinking import Shrunk, shrunk


@dataclass(frozen=True, slots=True)
class File:
    """A file under test. bindings: verifiers of the user's own that run as they are."""

    source: Source
    library: Library
    choice: Choice
    bindings: Bindings


@dataclass(slots=True)
class Checked:
    """How a subject has done. done: cases that were tried, of so many wanted. found: the case that broke a
    promise, after which no more are tried, and its smallest form. stuck: why the cases say nothing."""

    subject: Subject
    wanted: int
    done: int = 0
    found: Tried | None = None
    shrunk: Shrunk | None = None
    stuck: str = ""

    @property
    def goes_on(self) -> bool:
        return self.done < self.wanted and self.found is None and not self.stuck

    @property
    def kept(self) -> bool:
        """Whether a case was tried and none broke a promise."""
        return self.done > 0 and self.found is None and not self.stuck


def spread(subjects: Sequence[Subject], cases: int) -> list[Checked]:
    """cases over the subjects, at least one each; the first ones take what is left over."""
    each, more = divmod(cases, max(1, len(subjects)))
    return [Checked(s, max(1, each + (number < more))) for number, s in enumerate(subjects)]


def check(file: File, checks: Sequence[Checked], seed: int, *, goes_on: Callable[[], bool]) -> None:
    """A case of each in turn, so that all have had some whenever goes_on says that it is enough."""
    for number in range(1, max((one.wanted for one in checks), default=0) + 1):
        for one in checks:
            if one.goes_on:
                if not goes_on():
                    return
                check_case(file, one, seed, number)


def check_case(file: File, one: Checked, seed: int, number: int) -> None:
    """The nth case; where it breaks a promise, also its smallest form."""
    found = tried(one.subject, case_of(one.subject, seed, number), file.bindings)
    one.done += 1
    one.stuck = found.stuck
    if found.broken:
        one.found = found
        one.shrunk = shrunk(
            file.source, file.library, file.choice, one.subject, found, bindings=file.bindings
        )
