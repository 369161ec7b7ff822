"""A mistake as data: made where it is found, turned into words for a person or a program elsewhere."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from .source import Place, Source, Span

Severity = Literal["error", "warning", "note"]
MOST_REPORTS = 100
"""Of one text; what is told beyond is how many more there are."""


@dataclass(frozen=True, slots=True)
class Label:
    """A second place that explains the mistake, and what is to be seen there."""

    place: Place
    text: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text of span by new; offered only after the result was seen to parse."""

    span: Span
    new: str


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake. code is stable (`E201`); message is one sentence without a full stop.

    label is what stands under the caret; help says what to write instead. about: a name that nothing has,
    or what a task lacks, which is one mistake wherever it is used.
    """

    code: str
    message: str
    place: Place
    label: str = ""
    severity: Severity = "error"
    secondary: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    help: str = ""
    edits: tuple[Edit, ...] = ()
    about: str = ""


@dataclass(frozen=True, slots=True)
class More(Problem):
    """T008. count: how many problems are not shown, at least."""

    count: int = 0


class ProgramError(Exception):
    """A text that is no program: carries every problem found, in order of place."""

    def __init__(self, problems: "tuple[Problem, ...]") -> None:
        super().__init__("; ".join(f"{p.code}: {p.message}" for p in problems))
        self.problems = problems


def ordered(problems: "list[Problem] | tuple[Problem, ...]") -> tuple[Problem, ...]:
    """The problems by source and place, each once."""
    unique = {(p.place.source.name, p.place.span.start, p.code, p.message): p for p in problems}
    return tuple(unique[key] for key in sorted(unique))


def first(problems: "list[Problem]", *, more: int = 0) -> list[Problem]:
    """The first MOST_REPORTS problems in order, errors before all others, and a note where there are more.

    more: how many there are, at least, that nobody looked into.
    """
    every = ordered(problems)
    found = [p for p in every if p.code != "T008"]
    more += sum(p.count for p in every if isinstance(p, More)) + max(0, len(found) - MOST_REPORTS)
    by_weight = sorted(found, key=lambda p: p.severity != "error")
    kept = {id(problem) for problem in by_weight[:MOST_REPORTS]}
    told = [problem for problem in found if id(problem) in kept]
    if not more:
        return told
    many = (
        f"{more} more mistakes follow that are" if more > 1 else "one more mistake follows that is"
    )
    message = f"at least {many} not shown"
    return [*told, More("T008", message, told[-1].place, severity="note", count=more)]


def has_errors(problems: "tuple[Problem, ...] | list[Problem]") -> bool:
    return any(problem.severity == "error" for problem in problems)


def whole(source: Source) -> Place:
    """The place of a mistake that has no better one: the first character."""
    return Place(source, Span(0, min(1, len(source.text))))


def apply(text: str, edits: Iterable[Edit], within: Span | None = None) -> str:
    """text (or the part of it within a span) after the edits, which do not overlap."""
    within = within or Span(0, len(text))
    parts: list[str] = []
    at = within.start
    for edit in sorted(edits, key=lambda e: (e.span.start, e.span.end)):
        parts += [text[at : edit.span.start], edit.new]
        at = edit.span.end
    return "".join([*parts, text[at : within.end]])
