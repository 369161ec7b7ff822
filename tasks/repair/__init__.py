"""A small repository with faults in it: make its tests pass, and others like them that are not told.

The repositories are ours. A candidate hands over files or a patch; its modules run as a server in a sandbox of
their own, and the tests, as they were, call them from another one.
"""

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from podium.dsl.program import Compare, Task
from podium.dsl.quantity import Scalar

from ..arguments import Text, Truth, only, truth
from ..harness import chosen, verifier

_PROBLEM = Text("problem")
_CONTROL = Truth("control")
_SHIPPED = ("till", "rota")
_HEAD = "=== "
# For a process with the calls of one test: where all of them hang, a verdict still comes in its time.
_TEST_S = 4.0


class Repository(NamedTuple):
    """By path: files as handed out; tests, the known ones and, below `hidden/`, the others; fixed, our repair."""

    name: str
    about: str
    files: Mapping[str, str]
    tests: Mapping[str, str]
    fixed: Mapping[str, str]


def make(**args: Scalar) -> Task:
    """The repository `problem`. control = true: one that nobody can repair. Raises ArgumentError."""
    only(args, _PROBLEM, _CONTROL)
    if truth(args, _CONTROL):
        return _task(_repository("control"))
    return _task(chosen(args, "repair", {name: _repository(name) for name in _SHIPPED}))


def names() -> tuple[str, ...]:
    """The repositories that ship."""
    return _SHIPPED


@cache
def _repository(name: str) -> Repository:
    text = files(__package__ or "").joinpath(f"{name}.txt").read_text(encoding="utf-8")
    parts = {
        path: body
        for path, _, body in (one.partition("\n") for one in f"\n{text}".split(f"\n{_HEAD}")[1:])
    }
    parts = {
        path: f"{body}\n" if body and not body.endswith("\n") else body
        for path, body in parts.items()
    }
    fixed = {
        path.removeprefix("fixed/"): body
        for path, body in parts.items()
        if path.startswith("fixed/")
    }
    tests = {path: body for path, body in parts.items() if path.startswith(("tests/", "hidden/"))}
    others = {
        path: body for path, body in parts.items() if path.endswith(".py") and "/test" not in path
    }
    plain = {path: body for path, body in others.items() if not path.startswith("fixed/")}
    return Repository(name, parts["about"].strip(), plain, tests, fixed)


def _task(repository: Repository) -> Task:
    package = next(iter(repository.files)).partition("/")[0]
    known = {
        path: text for path, text in repository.tests.items() if not path.startswith("hidden/")
    }
    shown = "\n\n".join(
        f"```python {path}\n{text}```"
        for path, text in {**repository.files, **known}.items()
        if text
    )
    problem: dict[str, Any] = {
        "package": package,
        "files": repository.files,
        "tests": [*_tests(repository.tests)],
        "names": {},
        "modules": [
            package,
            *(_module(path) for path in repository.files if "__init__" not in path),
        ],
        "seconds": _TEST_S,
    }
    return Task(
        f"repair/{repository.name}",
        f"{repository.about} Its tests fail. Repair the modules, so that each does what its text says; there are "
        "more tests than these.\n\n"
        f"{shown}\n\n"
        "Hand in the modules that you change, whole, each in a fenced block with its path behind the fence, or "
        f"a unified diff in one ```diff block. Only modules in {package}/ are used; tests stay as they are. "
        "Only the standard library is there.",
        verifier("repair", "repair.check", problem, timeout_s=180.0),
        Compare("score", ">=", 1.0),
    )


def _module(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")


def _tests(tests: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for path, text in tests.items():
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield {"name": f"{path}::{node.name}", "source": text, "run": f"{node.name}()"}


def reference(task: Task) -> str:
    """Our repair, as whole files; of the control an attempt at one."""
    fixed = _repository(task.name.partition("/")[2]).fixed
    return "\n\n".join(f"```python {path}\n{text}```" for path, text in fixed.items()) + "\n"
