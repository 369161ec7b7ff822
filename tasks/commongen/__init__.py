"""A short text that uses all the given concepts, in the manner of CommonGen: strict and lenient coverage.

Strict counts a concept written as it was given, lenient in any of its usual forms (`run`: runs, ran, running). The
published judges count a bare list of the concepts as full coverage; here what stands in a list does not count.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from podium.dsl.library import ArgumentError
from podium.dsl.names import did_you_mean
from podium.dsl.program import Compare, Task, Verifier
from podium.dsl.quantity import Scalar
from podium.engine.clients.loose import mapping, sequence
from podium.engine.value import Attempt, Verdict

from ..arguments import Text, Truth, only, truth
from .forms import forms

_PROBLEM = Text("problem")
_CONCEPTS = Text("concepts")
_STRICT = Truth("strict")
_CONTROL = Truth("control")
# Words for each concept, at most and at least: a text is no essay, and no list.
MOST, LEAST = 12, 3
MOST_CONCEPTS = 60
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_JOINS = frozenset({"and", "or"})


def make(**args: Scalar) -> Task:
    """A set that ships (`problem`, by name) or one of yours (`concepts`, separated by commas).

    strict = true scores strict coverage, else lenient. control = true: a set of which no text within the rules can
    have every word. Raises ArgumentError.
    """
    only(args, _PROBLEM, _CONCEPTS, _STRICT, _CONTROL)
    strict = truth(args, _STRICT)
    if truth(args, _CONTROL):
        return _task("control", ("a", "b c d e"), strict=strict)
    if "concepts" in args:
        own = [one.strip().lower() for one in str(args["concepts"]).split(",")]
        return _task("own", _checked(own, "concepts"), strict=strict)
    name = str(args.get("problem", next(iter(_shipped()))))
    if name not in _shipped():
        help_ = did_you_mean(name, _shipped()) or "`podium tasks commongen` lists them"
        raise ArgumentError("problem", f"there is no problem `{name}`", help=help_)
    return _task(name, _shipped()[name], strict=strict)


def _checked(concepts: Sequence[str], argument: str) -> tuple[str, ...]:
    wrong = next((one for one in concepts if not _WORD.fullmatch(one)), None)
    if wrong is not None:
        raise ArgumentError(argument, f"{wrong!r} is no single word")
    if not 2 <= len(set(concepts)) == len(concepts) <= MOST_CONCEPTS:
        raise ArgumentError(argument, f"2 to {MOST_CONCEPTS} different concepts are needed")
    return tuple(concepts)


def _task(name: str, concepts: tuple[str, ...], *, strict: bool) -> Task:
    how = "exactly as it is written here" if strict else "in any of its forms"
    return Task(
        f"commongen/{name}",
        f"Write a coherent text of at most {MOST * len(concepts)} words, in full sentences, that uses each of "
        f"these concepts {how}, and no two of them side by side as in a list: {', '.join(concepts)}.",
        Verifier(
            "commongen",
            "python",
            {"ref": "podium.tasks.commongen:verify", "concepts": concepts, "strict": strict},
        ),
        Compare("score", ">=", 1.0),
    )


def names() -> tuple[str, ...]:
    """The sets that ship."""
    return tuple(_shipped())


@cache
def _shipped() -> Mapping[str, tuple[str, ...]]:
    text = files(__package__ or "").joinpath("sets.json").read_text(encoding="utf-8")
    return {name: tuple(words.split()) for name, words in json.loads(text).items()}


def load(text: str, **args: Scalar) -> list[Task]:
    """The sets of a JSON Lines file: `concepts` (a list), or `concept_set` (`ski#mountain#skier`).

    Raises ArgumentError.
    """
    only(args, _STRICT)
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    return [_loaded(number, line, strict=truth(args, _STRICT)) for number, line in lines]


def _loaded(number: int, line: str, *, strict: bool) -> Task:
    try:
        row: Any = mapping(json.loads(line))
    except ValueError as error:
        raise ArgumentError("file", f"line {number} is no JSON: {error}") from error
    words = sequence(row.get("concepts")) or str(row.get("concept_set", "")).split("#")
    try:
        concepts = _checked([str(word).strip().lower() for word in words], "file")
    except ArgumentError as error:
        raise ArgumentError("file", f"line {number}: {error}") from error
    return _task(str(row.get("id", number)), concepts, strict=strict)


def verify(attempt: Attempt, task: Task) -> Verdict:
    """The share of the concepts that the text uses. Raises ValueError on other tasks."""
    strict = None if task.verify is None else task.verify.args.get("strict")
    if not isinstance(strict, bool):
        raise ValueError(f"the verifier of {task.name} does not say whether it is strict")
    return judge(attempt.text, _concepts(task), strict=strict)


def _concepts(task: Task) -> tuple[str, ...]:
    concepts = None if task.verify is None else task.verify.args.get("concepts")
    if not isinstance(concepts, tuple):
        raise ValueError(f"the verifier of {task.name} needs concepts (a list)")
    return tuple(map(str, concepts))


def judge(text: str, concepts: Sequence[str], *, strict: bool) -> Verdict:
    """Judge text by the rules in the family's README."""
    words = [word.lower().replace("\u2019", "'").removesuffix("'s") for word in _WORD.findall(text)]
    if fault := _fault(text, words, concepts):
        return Verdict(0.0, False, fault)
    exact = _covered(words, {one: one for one in concepts})
    loose = _covered(words, {form: one for one in reversed(concepts) for form in forms(one)})
    found = exact if strict else exact | loose
    missing = [one for one in concepts if one not in found]
    shares = f"strict {len(exact)}, lenient {len(exact | loose)} of {len(concepts)}"
    lacks = f"; it lacks {', '.join(missing)}" if missing else ""
    return Verdict(len(found) / len(concepts), not missing, shares + lacks)


def _fault(text: str, words: Sequence[str], concepts: Sequence[str]) -> str:
    """What makes text none within the rules; empty where nothing does."""
    if not text.strip().endswith((".", "!", "?", '"', "\u201d")):
        return "it does not end with a full sentence"
    if len(words) > MOST * len(concepts):
        return f"it has {len(words)} words, {MOST * len(concepts)} are allowed"
    known = {form for one in concepts for form in forms(one)}
    if len(words) < LEAST * len(concepts) or len(set(words) - known) < len(concepts):
        return "it has too few words beside the concepts to be a text"
    return ""


def _covered(words: Sequence[str], of: Mapping[str, str]) -> set[str]:
    """The concepts that words use, by the form that each word is of, without those that only go on a list."""
    return set(_counted(words, of))


def _counted(words: Sequence[str], of: Mapping[str, str]) -> Iterator[str]:
    listed = False
    for word in words:
        if word in of and not listed:
            yield of[word]
        listed = word in of or (listed and word in _JOINS)


def reference(task: Task) -> str:
    """An honest text: a sentence about each concept, which passes in both ways."""
    concepts = _concepts(task)
    starts = ("Later one noticed", "Then somebody named", "Nobody there expected", "My aunt wanted")
    ends = ("with care", "near home", "once more", "by chance", "in silence", "at noon")
    return " ".join(
        f"{starts[i % len(starts)]} {one} {ends[i % len(ends)]}." for i, one in enumerate(concepts)
    )
