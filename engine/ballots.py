"""The vote: which answer most attempts give. Pure; ties go to the earliest.

What an attempt votes for is its answer and not its words. Two that reason differently and come to the same number
agree, so of a text only what it comes to is compared: the number or the letter that the task's verifier reads in
it, whatever that finds right, else its last line.
"""

import re
from collections.abc import Callable, Sequence

from podium.dsl.program import Verifier

from .reduce import ballot
from .value import Attempt
from .verify import answered, last_number, named_letter

# What may stand around an answer in a line of its own: `**Answer:** 4.`
_BEFORE = re.compile(r"^(?:the |my |final )*answer\b(?: is)?[\s*_`:=]*", re.IGNORECASE)
_WORD = re.compile(r"\w")
# What a verifier of a kind reads in an answer, where it is there.
_READ: dict[str, Callable[[str], float | str | None]] = {
    "number": last_number,
    "choice": named_letter,
}
_AROUND = " \t*_`#>\"'"


def vote(
    attempts: Sequence[Attempt], verifier: Verifier | None = None, *, weighted: bool = False
) -> Attempt:
    """The first attempt with the commonest answer. Cut replies vote only where there are no others.

    verifier: the task's. weighted: a vote counts as much as its verdict's score, none below 0; a pass without a
    score counts 1.
    """
    voters = [attempt for attempt in attempts if not attempt.cut] or list(attempts)
    ballots: dict[bytes, list[Attempt]] = {}
    for attempt in voters:
        ballots.setdefault(voted(attempt, verifier), []).append(attempt)
    if not weighted:
        return max(ballots.values(), key=len)[0]
    return max(ballots.values(), key=lambda votes: sum(map(_weight, votes)))[0]


def _weight(attempt: Attempt) -> float:
    return max(0.0, float(attempt.passed) if attempt.score is None else attempt.score)


def voted(attempt: Attempt, verifier: Verifier | None) -> bytes:
    """What two attempts must share to be the same vote."""
    answer = attempt.answer
    read = None if verifier is None else _READ.get(verifier.kind)
    found = None if read is None else read(answered(answer, attempt.text))
    if found is not None:
        return ballot(found)
    return ballot(_comes_to(answer) if isinstance(answer, str) else answer)


def _comes_to(text: str) -> str:
    """The last line of a text, without what stands around it; the whole of one that holds code."""
    lines = [line for line in text.splitlines() if _WORD.search(line)]
    if not lines or "```" in text:
        return text
    line = lines[-1].strip(_AROUND).rstrip(".").strip(_AROUND)
    return _BEFORE.sub("", line) or line
