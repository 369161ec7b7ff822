"""Choosing among attempts that are already judged. Pure; ties go to whole replies, then to the earliest."""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from podium.dsl.program import Task, Verifier

from .call import canonical
from .condition import Facts, holds
from .value import Attempt, Json, Many, Value, Verdict

Better = Literal["higher", "lower"]
Rank = tuple[bool, bool, bool, float, bool, bool]


def rank(verdict: Verdict | None, better: Better) -> Rank:
    """The place of a verdict among others, larger is better: passed, then any score, then by the score.

    Of equal ones that without a flag comes first. No verdict comes last of all.
    """
    if verdict is None:
        return (False, False, False, 0.0, False, False)
    score = 0.0 if verdict.score is None else verdict.score
    turned = -score if better == "lower" else score
    scored = verdict.score is not None
    open_ = verdict.passed is None
    return (True, verdict.passed is True, scored, turned, open_, not verdict.flags)


def worth(attempt: Attempt, better: Better) -> tuple[Rank, bool]:
    """The place of an attempt among others, larger is better: by its verdict, and of equal ones a whole reply is
    before one that was cut, which is no success unless it passes."""
    return rank(attempt.verdict, better), not attempt.cut


def settled(verdict: Verdict, task: Task, verifier: Verifier) -> Verdict:
    """The verdict with `passed` from the task's pass rule, where the task's own verifier gave only a score."""
    if verdict.passed is not None or task.pass_rule is None or verifier != task.verify:
        return verdict
    if verdict.score is None:
        return verdict
    return replace(verdict, passed=holds(task.pass_rule, Facts(score=verdict.score)))


def best(attempts: Sequence[Attempt], better: Better) -> Attempt:
    """The attempt with the best verdict; attempts without a verdict come last. attempts is not empty."""
    return max(attempts, key=lambda attempt: worth(attempt, better))  # max keeps the first


def top(attempts: Sequence[Attempt], k: int, better: Better) -> tuple[Attempt, ...]:
    """The k best, best first."""
    ordered = sorted(attempts, key=lambda attempt: worth(attempt, better), reverse=True)
    return tuple(ordered[:k])


def ballot(answer: Json) -> bytes:
    """What two answers must share to be the same: text stripped and casefolded, the rest as canonical JSON.

    Of an object with a field `answer`, that field alone: its reasons may differ.
    """
    if isinstance(answer, Mapping) and answer.get("answer") is not None:
        answer = answer["answer"]
    if isinstance(answer, str):
        answer = " ".join(answer.split()).casefold()
    return canonical(answer)


def sample(attempts: Sequence[Attempt], k: int, seed: int) -> tuple[Attempt, ...]:
    """k attempts drawn without replacement, in their old order; all of them where there are no more than k."""
    drawn = random.Random(seed).sample(range(len(attempts)), min(k, len(attempts)))
    return tuple(attempts[i] for i in sorted(drawn))


def attempts_of(value: Value | None) -> tuple[Attempt, ...]:
    """The attempts in a value: none in a task."""
    match value:
        case Many(attempts=attempts):
            return attempts
        case Attempt():
            return (value,)
        case _:
            return ()


def order(address: str) -> tuple[tuple[str | int, ...], ...]:
    """A sort key for addresses: parents before children, numbers by size (branch 10 after branch 9)."""
    return tuple(_pieces(segment) for segment in address.split("/"))


def _pieces(segment: str) -> tuple[str | int, ...]:
    return tuple(int(p) if i % 2 else p for i, p in enumerate(re.split(r"(\d+)", segment)))
