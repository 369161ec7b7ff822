"""Questions with one right option of several, in the format of GPQA: shuffled by a seed, judged by the letter.

The shuffle depends on the seed and the question alone, so that every letter is right about as often as any other,
whichever order a file has.
"""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from importlib.resources import files
from random import Random
from typing import Any, NamedTuple

from podium.dsl.library import ArgumentError
from podium.dsl.names import did_you_mean
from podium.dsl.program import Task, Verifier
from podium.dsl.quantity import Scalar
from podium.engine.clients.loose import mapping, sequence

from ..arguments import Text, Truth, Whole, only, truth, whole_number

_PROBLEM = Text("problem")
_SEED = Whole("seed", 0)
_CONTROL = Truth("control")
_LETTERS = "ABCDEFGHIJ"
_ASK = "Answer with the letter of the right option alone, such as: Answer: {letter}"


class Question(NamedTuple):
    """options: the right one first."""

    name: str
    text: str
    options: tuple[str, ...]


def make(**args: Scalar) -> Task:
    """A question that ships (`problem`, by name), its options in the order of `seed`.

    control = true: one whose options are made up and alike, and which of them is right nobody told.
    Raises ArgumentError.
    """
    only(args, _PROBLEM, _SEED, _CONTROL)
    seed = whole_number(args, _SEED, default=0)
    if truth(args, _CONTROL):
        return _task(_control(seed), seed)
    name = str(args.get("problem", next(iter(_shipped()))))
    if name not in _shipped():
        help_ = did_you_mean(name, _shipped()) or "`podium tasks choice` lists them"
        raise ArgumentError("problem", f"there is no problem `{name}`", help=help_)
    return _task(_shipped()[name], seed)


def _control(seed: int) -> Question:
    draw = Random(f"choice/control/{seed}")
    options = tuple(f"{draw.randrange(10**8):08d}" for _ in _LETTERS)
    return Question("control", "One of these numbers was drawn. Which one?", options)


def _task(question: Question, seed: int) -> Task:
    order = list(range(len(question.options)))
    Random(f"choice/{seed}/{question.text}").shuffle(order)
    lines = [f"{letter}. {question.options[i]}" for letter, i in zip(_LETTERS, order, strict=False)]
    letter = _LETTERS[order.index(0)]
    # An example that says which letter is right would, with one letter for all, favour that one.
    example = _LETTERS[Random(f"example/{seed}/{question.text}").randrange(len(order))]
    body = "\n".join(lines)
    return Task(
        f"choice/{question.name}",
        f"{question.text}\n\n{body}\n\n{_ASK.format(letter=example)}",
        Verifier("choice", "choice", {"expected": letter}, use="final"),
    )


def names() -> tuple[str, ...]:
    """The questions that ship."""
    return tuple(_shipped())


def _shipped() -> Mapping[str, Question]:
    text = files(__package__ or "").joinpath("questions.jsonl").read_text(encoding="utf-8")
    return {one.name: one for one in _questions(text)}


def load(text: str, **args: Scalar) -> list[Task]:
    """The questions of a file: CSV with GPQA's columns, or JSON Lines with `question`, `correct` and `wrong`.

    seed: of the order of options. Raises ArgumentError.
    """
    only(args, _SEED)
    seed = whole_number(args, _SEED, default=0)
    return [_task(question, seed) for question in _questions(text)]


def _questions(text: str) -> Iterator[Question]:
    for number, row in _rows(text):
        question = row.get("question") or row.get("Question")
        right = row.get("correct") or row.get("Correct Answer")
        wrong = sequence(row.get("wrong")) or [row.get(f"Incorrect Answer {i}") for i in (1, 2, 3)]
        if not (question and right and all(wrong)):
            raise ArgumentError("file", f"question {number} lacks its text or an option")
        options = tuple(" ".join(str(one).split()) for one in (right, *wrong))
        if len(set(options)) < len(options) or len(options) > len(_LETTERS):
            raise ArgumentError("file", f"question {number} has an option twice, or too many")
        name = row.get("id") or row.get("Record ID") or number
        yield Question(str(name), str(question).strip(), options)


def _rows(text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if not text.lstrip().startswith("{"):
        yield from enumerate(csv.DictReader(io.StringIO(text)), 1)
        return
    for number, line in enumerate(filter(str.strip, text.splitlines()), 1):
        try:
            row: Any = json.loads(line)
        except ValueError as error:
            raise ArgumentError("file", f"question {number} is no JSON: {error}") from error
        yield number, mapping(row)


def reference(task: Task) -> str:
    """The letter of the option that is known to be right, found by its text. Raises KeyError for other tasks."""
    right = _shipped()[task.name.partition("/")[2]].options[0]
    line = next(line for line in task.statement.splitlines() if line[1:] == f". {right}")
    return f"By elimination only one option is left.\n\nAnswer: {line[0]}"
