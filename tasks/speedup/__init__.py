"""A slow Python function to be made faster: how many times as fast it is, by times taken outside its process."""

from podium.dsl.program import Compare, Task
from podium.dsl.quantity import Scalar

from ..arguments import Text, Truth, at_least, only, truth
from ..harness import chosen, verifier
from .problems import PROBLEMS, Problem

_PROBLEM = Text("problem")
_CONTROL = Truth("control")
_TIMES = "times"
# Less is within what chance gives between two equal programs on a busy machine.
LEAST_TIMES = 1.2
_DEFAULT_TIMES = 2.0
_SHIPPED = {name: (name, problem) for name, problem in PROBLEMS.items() if name != "control"}


def make(**args: Scalar) -> Task:
    """The problem `problem`; it passes when it is `times` (default 2) as fast as the reference.

    control = true: a function that has nothing to be made faster. Raises ArgumentError.
    """
    only({name: value for name, value in args.items() if name != _TIMES}, _PROBLEM, _CONTROL)
    times = at_least(args, _TIMES, LEAST_TIMES, _DEFAULT_TIMES)
    if truth(args, _CONTROL):
        return _task("control", PROBLEMS["control"], times)
    return _task(*chosen(args, "speedup", _SHIPPED), times)


def _task(name: str, problem: Problem, times: float) -> Task:
    return Task(
        f"speedup/{name}",
        "Make this Python function faster. It must give the same for all arguments; it is scored by how many "
        "times as fast it is, on large arguments that you do not know, each in a new process. Only the standard "
        f"library is there. Answer with the whole function in one fenced block.\n\n```python\n{problem.slow}```",
        verifier("speedup", "speedup.check", {"problem": name}, finalists=3, inflight=1),
        Compare("score", ">=", times),
        baseline=_fenced(problem.slow),
    )


def _fenced(program: str) -> str:
    return f"```python\n{program}```\n"


def names() -> tuple[str, ...]:
    """The problems that ship."""
    return tuple(_SHIPPED)


def reference(task: Task) -> str:
    """Our fast function. Raises KeyError for other tasks."""
    return _fenced(PROBLEMS[task.name.partition("/")[2]].fast)
