"""Code golf: a program in as few bytes as may be, right on hidden inputs that are drawn once it was handed in."""

from podium.dsl.program import Compare, Task
from podium.dsl.quantity import Scalar

from ..arguments import Text, Truth, Whole, only, truth, whole_number
from ..harness import chosen, verifier
from .problems import PROBLEMS, Problem

_PROBLEM = Text("problem")
_BYTES = Whole("bytes", 1, 30_000)
_CONTROL = Truth("control")
_SHIPPED = {name: (name, problem) for name, problem in PROBLEMS.items() if name != "control"}


def make(**args: Scalar) -> Task:
    """The problem `problem`; it passes with `bytes` or fewer, by default as many as our shortest program has.

    control = true: one that no program solves. Raises ArgumentError.
    """
    only(args, _PROBLEM, _BYTES, _CONTROL)
    if truth(args, _CONTROL):
        return _task("control", PROBLEMS["control"], 30_000)
    name, problem = chosen(args, "golf", _SHIPPED)
    return _task(name, problem, whole_number(args, _BYTES, default=size(problem.short)))


def size(program: str) -> int:
    """What a program is scored with."""
    return len(program.strip("\n").encode())


def _task(name: str, problem: Problem, most: int) -> Task:
    return Task(
        f"golf/{name}",
        f"Write a Python program of as few bytes as you can. {problem.text}\n\nIt is scored by its length in "
        "UTF-8, fewer is better, and must be right on hidden inputs, within 3 seconds each, without an error at "
        "the end. Only the standard library is there. Answer with the program in one fenced block.",
        verifier("golf", "golf.check", {"problem": name}, finalists=3),
        Compare("score", "<=", float(most)),
        better="lower",
        baseline=_fenced(problem.plain),
    )


def _fenced(program: str) -> str:
    return f"```python\n{program}```\n"


def names() -> tuple[str, ...]:
    """The problems that ship."""
    return tuple(_SHIPPED)


def reference(task: Task) -> str:
    """Our shortest program. Raises KeyError for other tasks."""
    return _fenced(PROBLEMS[task.name.partition("/")[2]].short)
