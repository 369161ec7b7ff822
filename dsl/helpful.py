"""Which of the offered edits help: those after which the whole text has one mistake less and no new one.

A slip of a letter is mended all the same: what then shows was hidden behind it.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from .names import SURELY, near
from .problem import Problem, apply
from .source import Source

_MOST_TRIED = 20  # edits: each costs a check of the text
_LETTER = 0.65  # alike, of 1: `us` and `use`, with one letter more or less
_MOST_READ = 200_000  # characters that are checked again in all: a second or two


def helpful(
    source: Source,
    problems: tuple[Problem, ...],
    check: Callable[[Source], Sequence[Problem]],
) -> tuple[Problem, ...]:
    """The problems of source, each with its edits only where those were seen to help.

    Of a large text, and beyond the first few, nothing is tried: there slips have edits, and mistakes of form,
    whose edits were seen to parse.
    """
    before = Counter(_key(p) for p in problems if p.severity == "error")
    told: list[Problem] = []
    tried = 0
    for problem in problems:
        if problem.edits and problem.place.source.name == source.name:
            tried += 1
            if tried <= _MOST_TRIED and tried * len(source.text) <= _MOST_READ:
                keeps = _helps(source, problem, before, check) or _is_slip(source, problem)
            else:
                keeps = _is_sure(problem)
            problem = problem if keeps else replace(problem, edits=())
        told.append(problem)
    return tuple(told)


def slips(problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """The problems with only the edits that mend a slip of a letter, where the text is not checked again."""
    return tuple(p if not p.edits or _is_sure(p) else replace(p, edits=()) for p in problems)


def _helps(
    source: Source,
    problem: Problem,
    before: Counter[tuple[str, str]],
    check: Callable[[Source], Sequence[Problem]],
) -> bool:
    text = apply(source.text, problem.edits)
    after = Counter(_key(p) for p in check(Source(source.name, text)) if p.severity == "error")
    return not after - (before - Counter([_key(problem)]))


def _is_sure(problem: Problem) -> bool:
    """Whether the edits of a problem may stand without a check of what they make of the text."""
    return problem.code.startswith("T") or _is_slip(problem.place.source, problem)


def _is_slip(source: Source, problem: Problem) -> bool:
    """Whether the edit only spells a word as one that is very like it."""
    if len(problem.edits) != 1:
        return False
    span, new = problem.edits[0].span, problem.edits[0].new
    old = source.text[span.start : span.end]
    enough = _LETTER if abs(len(old) - len(new)) <= 1 else SURELY
    return near(old, [new], enough=enough) == [new]


def _key(problem: Problem) -> tuple[str, str]:
    return problem.code, problem.message
