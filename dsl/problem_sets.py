"""Problems from a file of the user's: a JSON Lines file that says of each line what it asks, or one of a family.

A line of a file without a family is an object with `statement` (or `problem`, `question`, `prompt`) and, where
there is a right answer, `answer`; `verify` says how they are compared (`exact`, `number`, `choice`, `contains`),
else what the answer is does. A line with `family` is a problem of that family, its other fields the arguments.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from posixpath import basename

from .context import Context
from .library import LibraryError
from .program import Task, Verifier
from .quantity import Scalar
from .source import Place
from .types import TASK
from .values import BAD, Json, Tasks, Unknown, Value

MOST_PROBLEMS = 100_000
_STATEMENTS = ("statement", "problem", "question", "prompt")
_NAMES = ("id", "name", "task_id")
_KINDS = ("exact", "number", "choice", "contains")
_FIELDS = (*_STATEMENTS, "answer", "verify", "tolerance", "baseline", *_NAMES)
_NUMBER = re.compile(r"[-+]?[\d,]*\.?\d+")

# What stands for problems that cannot be had, which has been told: whatever one may ask of it, it may be asked.
SOME_TASK = Tasks((Task("task", "", Verifier("verify", "python", {})),))


def is_file(name: str) -> bool:
    """Whether name, given for a task, is a file's."""
    return name.endswith((".jsonl", ".json", ".csv", ".mm"))


def of_family(
    context: Context, name: str, path: str, args: Mapping[str, Scalar], place: Place
) -> Value:
    """The tasks that the family name reads from the file at path. Mistakes are reported."""
    text = context.text(path, place)
    if text is None:
        return Unknown(TASK)
    try:
        found = context.library.problems(name, text, args)
    except LibraryError as error:
        context.error(error.code, f"{path}: {error}", place, help=error.help)
        return BAD
    return _several(context, found, path, place)


def of_lines(context: Context, path: str, place: Place) -> Value:
    """The tasks of a JSON Lines file, each line of which says what it is. The first mistake is reported."""
    text = context.text(path, place)
    if text is None:
        return Unknown(TASK)
    tasks: list[Task] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            tasks.append(_task(context, json.loads(line), f"{basename(path)}/{number}"))
        except LibraryError as error:
            context.error(error.code, f"line {number} of {path}: {error}", place, help=error.help)
            return BAD
        except (ValueError, RecursionError) as error:
            context.error("E131", f"line {number} of {path}: {error}", place)
            return BAD
    return _several(context, tuple(tasks), path, place)


def _several(context: Context, tasks: tuple[Task, ...], path: str, place: Place) -> Value:
    if not 0 < len(tasks) <= MOST_PROBLEMS:
        context.error("E131", f"{path} has {len(tasks):,} problems", place)
        return BAD
    return Tasks(tasks)


def _task(context: Context, row: Json, name: str) -> Task:
    if not isinstance(row, dict):
        raise ValueError("it is no JSON object")
    if isinstance(family := row.get("family"), str):
        args = {key: _scalar(key, value) for key, value in row.items() if key != "family"}
        return replace(context.library.family(family, args), name=name)
    unknown = next((key for key in row if key not in _FIELDS), None)
    statement = next((row[key] for key in _STATEMENTS if isinstance(row.get(key), str)), None)
    if not isinstance(statement, str):
        raise ValueError(f"it has no statement: one of {', '.join(_STATEMENTS)}")
    if unknown is not None:
        raise ValueError(f"there is no field `{unknown}`; fields are {', '.join(_FIELDS)}")
    baseline = row.get("baseline")
    own = next((row[key] for key in _NAMES if isinstance(row.get(key), str | int)), None)
    return Task(
        name if own is None else f"{name.rpartition('/')[0]}/{own}",
        statement,
        _verifier(row),
        baseline=baseline if isinstance(baseline, str) else None,
    )


def _verifier(row: Mapping[str, Json]) -> Verifier | None:
    answer = row.get("answer")
    if answer is None:
        if "verify" in row:
            raise ValueError("it has `verify`, and no `answer` to compare with")
        return None
    kind = row.get("verify", _kind(answer))
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ValueError(f"`verify` is {kind!r}; it is one of {', '.join(_KINDS)}")
    several = answer if isinstance(answer, list) else [answer]
    expected = tuple(_scalar("answer", item) for item in several)
    if not expected:
        raise ValueError("`answer` is an empty list")
    args: dict[str, Scalar | tuple[Scalar, ...]] = {"expected": expected}
    if kind == "number":
        if len(expected) != 1 or not _reads_as_number(expected[0]):
            raise ValueError(f"`answer` is {answer!r}, no number")
        args = {"expected": expected[0], "tolerance": _scalar("tolerance", row.get("tolerance", 0))}
    return Verifier(kind, kind, args, use="always" if kind == "contains" else "final")


def _kind(answer: Json) -> str:
    if _reads_as_number(answer):
        return "number"
    return "choice" if isinstance(answer, str) and re.fullmatch("[A-Z]", answer) else "exact"


def _reads_as_number(value: Json) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int | float) or (
        isinstance(value, str) and _NUMBER.fullmatch(value.strip()) is not None
    )


def _scalar(name: str, value: Json) -> Scalar:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ValueError(f"`{name}` is a list or an object")
