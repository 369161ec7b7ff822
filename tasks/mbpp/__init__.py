"""A small Python function from a sentence and an example, in the format of MBPP; its tests are hidden.

MBPP itself is not part of Podium: bring your own copy. The problems that ship are ours.
"""

import ast
import builtins
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any, NamedTuple

from podium.dsl.library import ArgumentError
from podium.dsl.program import Task
from podium.dsl.quantity import Scalar
from podium.engine.clients.loose import sequence

from ..arguments import Text, Truth, Whole, only, truth, whole_number
from ..harness import chosen, drawn, judged_function, rows

_PROBLEM = Text("problem")
_CONTROL = Truth("control")
_SHOWN = Whole("shown", 1, 100)
_SKIP = Truth("skip")


class Problem(NamedTuple):
    """entry: the function that tests call. setup: what these need before. unfit: why they cannot be run here."""

    name: str
    text: str
    entry: str
    setup: str
    tests: tuple[str, ...]
    code: str
    unfit: str


def make(**args: Scalar) -> Task:
    """A problem that ships; `shown` (default 1) of its tests are told. Raises ArgumentError.

    control = true: a function that nobody can write.
    """
    only(args, _PROBLEM, _SHOWN, _CONTROL)
    if truth(args, _CONTROL):
        return drawn("mbpp")
    return _task(chosen(args, "mbpp", _shipped()), whole_number(args, _SHOWN, default=1))


def _task(problem: Problem, shown: int) -> Task:
    examples = "\n".join(problem.tests[:shown])
    return Task(
        f"mbpp/{problem.name}",
        f"{problem.text}\nThe function is called `{problem.entry}`. What it must do, among other things:\n\n"
        f"```python\n{examples}\n```\n\nAnswer with the whole function in one fenced block, with what it imports. "
        "Only the standard library is there.",
        judged_function(
            "mbpp", problem.entry, "", "\n".join(problem.tests), setup=problem.setup
        ),
    )  # fmt: skip


def names() -> tuple[str, ...]:
    """The problems that ship."""
    return tuple(_shipped())


def _shipped() -> Mapping[str, Problem]:
    text = files(__package__ or "").joinpath("problems.jsonl").read_text(encoding="utf-8")
    return {one.name: one for one in _problems(text)}


def load(text: str, **args: Scalar) -> list[Task]:
    """The problems of a JSON Lines file in MBPP's form, sanitized or not. Raises ArgumentError.

    skip = true leaves out those whose tests cannot be run, which else are an error.
    """
    only(args, _SHOWN, _SKIP)
    problems = list(_problems(text))
    unfit = [f"{one.name} ({one.unfit})" for one in problems if one.unfit]
    if unfit and not truth(args, _SKIP):
        raise ArgumentError(
            "file",
            f"the tests of {len(unfit)} problems cannot be run here: {', '.join(unfit[:5])}",
            help="`skip = true` leaves them out",
        )
    shown = whole_number(args, _SHOWN, default=1)
    return [_task(one, shown) for one in problems if not one.unfit]


def _problems(text: str) -> Iterator[Problem]:
    for number, row in rows(text):
        tests = _texts(row, "test_list") + _texts(row, "challenge_test_list")
        said = row.get("prompt") or row.get("text")
        if not tests or not said:
            raise ArgumentError("file", f"line {number} lacks text, prompt or test_list")
        setup = "\n".join((*_texts(row, "test_imports"), str(row.get("test_setup_code") or "")))
        code = str(row.get("code") or "")
        entry, unfit = _called("\n".join(tests), setup, code)
        name = str(row.get("task_id", number))
        yield Problem(name, str(said).strip(), entry, setup, tests, code, unfit)


def _texts(row: Mapping[str, Any], name: str) -> tuple[str, ...]:
    return tuple(map(str, sequence(row.get(name))))


def _called(tests: str, setup: str, code: str) -> tuple[str, str]:
    """The function that tests call, and why they cannot be run; "" where there is none. Nothing is run."""
    try:
        there, made = _bound(setup) | set(dir(builtins)), _bound(code)
        names = [n for n in ast.walk(ast.parse(tests)) if isinstance(n, ast.Name)]
    except SyntaxError as error:
        return "", f"line {error.lineno} is no Python"
    there |= {one.id for one in names if isinstance(one.ctx, ast.Store)}
    free = list(dict.fromkeys(one.id for one in names if one.id not in there))
    wanted = [one for one in free if one in made] if code else free
    others = [one for one in free if one not in wanted[:1]]
    if not wanted:
        return "", "they call no function"
    return wanted[0], f"they need {', '.join(others)}" if others else ""


def _bound(program: str) -> set[str]:
    """The names that program binds at its top."""
    found: set[str] = set()
    for node in ast.parse(program).body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                found |= {alias.asname or alias.name.partition(".")[0] for alias in aliases}
            case _:
                stored = (n for n in ast.walk(node) if isinstance(n, ast.Name))
                found |= {one.id for one in stored if isinstance(one.ctx, ast.Store)}
    return found


def reference(task: Task) -> str:
    """The solution that comes with the problem. Raises KeyError for other tasks."""
    return f"```python\n{_shipped()[task.name.partition('/')[2]].code}```\n"
