"""Mathematics with one right answer, read from the last box alone: numbers exactly, the rest by a library.

What a reply says is data: numbers are read here, and where they do not decide a library compares expressions in a
process of its own.
"""

import json
from collections.abc import Iterable, Mapping
from importlib.resources import files
from random import Random
from typing import Any

from podium.dsl.library import ArgumentError
from podium.dsl.names import did_you_mean
from podium.dsl.program import Compare, Task, Verifier
from podium.dsl.quantity import Scalar
from podium.engine.clients.loose import mapping
from podium.engine.value import Attempt, Verdict

from ..arguments import Text, Truth, Whole, only, text_given, truth, whole_number
from .answers import boxes, same, value_of
from .symbolic import equal

_PROBLEM = Text("problem")
_STATEMENT = Text("statement")
_ANSWER = Text("answer")
_CONTROL = Truth("control")
_SEED = Whole("seed", 0)
_ASK = "Put the final answer in \\boxed{}."
_STATEMENTS = ("problem", "question", "statement", "prompt")
# Boxes with different contents before a reply looks like a list of guesses.
_GUESSES = 3


def make(**args: Scalar) -> Task:
    """A problem that ships (`problem`, by name) or one of yours (`statement` and `answer`).

    control = true: a number that nobody can know, drawn of `seed`. Raises ArgumentError.
    """
    only(args, _PROBLEM, _STATEMENT, _ANSWER, _CONTROL, _SEED)
    if truth(args, _CONTROL):
        seed = whole_number(args, _SEED, default=0)
        number = Random(f"math/control/{seed}").randrange(10**12)
        return _task("control", "A whole number below 10^12 was drawn. Which is it?", str(number))
    if "statement" in args or "answer" in args:
        return _task("own", text_given(args, _STATEMENT), text_given(args, _ANSWER))
    name = str(args.get("problem", next(iter(_shipped()))))
    if name not in _shipped():
        help_ = did_you_mean(name, _shipped()) or "`podium tasks math` lists them"
        raise ArgumentError("problem", f"there is no problem `{name}`", help=help_)
    return _task(name, *_shipped()[name])


def _task(name: str, statement: str, answer: str) -> Task:
    checks = {"ref": "podium.tasks.math:verify", "expected": answer}
    return Task(
        f"math/{name}",
        f"{statement}\n\n{_ASK}",
        Verifier("math", "python", checks, use="final"),
        Compare("score", ">=", 1.0),
    )


def names() -> tuple[str, ...]:
    """The problems that ship."""
    return tuple(_shipped())


def _shipped() -> Mapping[str, tuple[str, str]]:
    text = files(__package__ or "").joinpath("problems.jsonl").read_text(encoding="utf-8")
    rows = (json.loads(line) for line in text.splitlines())
    return {row["id"]: (row["statement"], row["answer"]) for row in rows}


def load(text: str, **args: Scalar) -> list[Task]:
    """The problems of a JSON Lines file: `problem` (or `question`, `statement`, `prompt`) and `answer`, or, where
    there is none, `solution` with the answer in its last box, as MATH has it. Raises ArgumentError."""
    only(args)
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    return [_loaded(number, line) for number, line in lines]


def _loaded(number: int, line: str) -> Task:
    try:
        row: Any = json.loads(line)
    except ValueError as error:
        raise ArgumentError("file", f"line {number} is no JSON: {error}") from error
    row = mapping(row)
    statement = next((str(row[key]) for key in _STATEMENTS if row.get(key)), "")
    answer = row.get("answer")
    if answer is None:
        answer = next(reversed(boxes(str(row.get("solution", "")))), None)
    if not statement or answer is None or not str(answer).strip():
        raise ArgumentError("file", f"line {number} has no problem, or no answer")
    return _task(str(row.get("id", row.get("unique_id", number))), statement, str(answer))


def verify(attempt: Attempt, task: Task) -> Verdict:
    """1 where the last box holds the answer, else 0. Raises ValueError on other tasks."""
    expected = None if task.verify is None else task.verify.args.get("expected")
    if not isinstance(expected, str):
        raise ValueError(f"the verifier of {task.name} needs expected (a text)")
    return judge(attempt.text, expected)


def judge(text: str, expected: str) -> Verdict:
    """Judge text by the rules in the family's README."""
    found = boxes(text)
    if not found:
        return Verdict(0.0, False, "there is no \\boxed{} in the answer")
    flags = ("many boxed answers",) if _distinct(found) > _GUESSES else ()
    right = same(found[-1], expected)
    if right is None:
        right = equal(found[-1], expected)
    return Verdict(float(right), right, "" if right else f"boxed {found[-1][:80]}", flags=flags)


def _distinct(found: Iterable[str]) -> int:
    return len({str(value_of(one)) if value_of(one) is not None else one for one in found})


def reference(task: Task) -> str:
    """The worked answer of a problem that ships. Raises KeyError for any other."""
    _, answer = _shipped()[task.name.partition("/")[2]]
    return f"Worked through step by step, the answer is \\boxed{{{answer}}}."
