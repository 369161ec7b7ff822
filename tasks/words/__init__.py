"""One sentence that contains all the given words: any difficulty, a graded score, judged exactly."""

import re
from collections.abc import Iterator, Sequence
from random import Random

from podium.dsl.program import Compare, Task, Verifier
from podium.dsl.quantity import Scalar
from podium.engine.value import Attempt, Verdict

from ..arguments import Whole, only, whole_number
from .bank import WORDS

_COUNT = Whole("count", 1, 24)
_SEED = Whole("seed", 0)
_MAX_WORDS = Whole("max_words", 1)

# Typographic quotes and dashes as their plain forms.
_PLAIN = str.maketrans("\u2018\u2019\u201c\u201d\u2013\u2014", "''\"\"--")
# One sentence in plain text: an end mark at the end and nowhere else, quotes around it allowed.
_SENTENCE = re.compile(r"""["']?[^\W_][\w ,;:'"()-]*[.!?]["']?""")
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_JOINS = frozenset({"and", "or"})  # between two given words these make a list


def make(**args: Scalar) -> Task:
    """The task of a seed. Arguments: count (of words, 1 to 24, default 6), seed (0), max_words (10 + 4 * count).

    A sentence needs at least 2 * count words: a lower max_words makes a task that nobody can solve.
    Raises ArgumentError on other arguments or values out of range.
    """
    only(args, _COUNT, _SEED, _MAX_WORDS)
    count = whole_number(args, _COUNT, default=6)
    longest = whole_number(args, _MAX_WORDS, default=10 + 4 * count)
    seed = whole_number(args, _SEED, default=0)
    words = tuple(Random(f"words/{count}/{seed}").sample(WORDS, count))
    checks: dict[str, Scalar | tuple[Scalar, ...]] = {
        "ref": "podium.tasks.words:verify",
        "words": words,
        "max_words": longest,
    }
    return Task(
        name="words",
        statement=f"Write one sentence of at most {longest} words that contains all of these words: "
        f"{', '.join(words)}.",
        verify=Verifier("words", "python", checks),
        pass_rule=Compare("score", ">=", 1.0),
    )


def verify(attempt: Attempt, task: Task) -> Verdict:
    """The fraction of the given words that the sentence contains; 0 where it is no sentence within the rules."""
    given, longest = _rules(task)
    return judge(attempt.text, given, longest)


def _rules(task: Task) -> tuple[tuple[str, ...], int]:
    if task.verify is None:
        raise ValueError(f"the task {task.name} has no verifier that names its words")
    words, longest = task.verify.args["words"], task.verify.args["max_words"]
    if not isinstance(words, tuple) or not isinstance(longest, int):
        raise ValueError(
            f"the verifier of {task.name} needs words (a list) and max_words (a number)"
        )
    return tuple(str(word) for word in words), longest


def judge(text: str, given: Sequence[str], longest: int) -> Verdict:
    """Judge text by the rules in the family's README. given: distinct lower-case words."""
    plain = text.strip().translate(_PLAIN)
    words = [word.removesuffix("'s") for word in _WORD.findall(plain.lower())]
    if fault := _fault(plain, words, given, longest):
        return Verdict(0.0, False, fault)
    counted = set(_counted(words, frozenset(given)))
    missing = [word for word in given if word not in words]
    listed = [word for word in given if word in words and word not in counted]
    evidence = [f"It lacks {', '.join(missing)}."] if missing else []
    evidence += [f"In a list these do not count: {', '.join(listed)}."] if listed else []
    all_counted = len(counted) == len(given)
    said = " ".join(evidence) or "It has all the words."
    return Verdict(len(counted) / len(given), all_counted, said)


def _fault(text: str, words: Sequence[str], given: Sequence[str], longest: int) -> str:
    """What makes text no sentence within the rules; empty where nothing does."""
    if not _SENTENCE.fullmatch(text):
        return "It is not one plain sentence with one mark at its end."
    if len(words) > longest:
        return f"It has {len(words)} words, {longest} are allowed."
    others = len(set(words) - set(given))
    if others < len(given):
        return f"It has {others} different other words, {len(given)} are needed."
    return ""


def _counted(words: Sequence[str], given: frozenset[str]) -> Iterator[str]:
    """The given words in words that do not merely continue a list: another word stands before each."""
    listed = False
    for word in words:
        if word in given and not listed:
            yield word
        listed = word in given or (listed and word in _JOINS)


# Connectives for `reference`: at most two words each but one, so that 10 + 4 * count words suffice.
_BETWEEN = (
    "near the", "met a", "beside another", "under some", "while the", "left its", "with every",
    "before this", "behind that", "around one", "and brought my", "for your",
)  # fmt: skip


def reference(task: Task) -> str:
    """An honest solution: passes whenever max_words is at least 3 * count + 1."""
    given, _ = _rules(task)
    parts = [f"{_BETWEEN[i % len(_BETWEEN)]} {word}" for i, word in enumerate(given)]
    return f"Today {' '.join(parts)}."
