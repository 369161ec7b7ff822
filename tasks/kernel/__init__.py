"""A kernel in C to be made faster: fresh shapes and values a trial, separate processes, all output compared."""

from podium.dsl.program import Compare, Task
from podium.dsl.quantity import Scalar

from ..arguments import Text, Truth, at_least, only, truth
from ..harness import chosen, verifier
from .problems import PROBLEMS, Problem

_PROBLEM = Text("problem")
_CONTROL = Truth("control")
_TIMES = "times"
LEAST_TIMES, _DEFAULT_TIMES = 1.2, 2.0
_SHIPPED = {name: (name, problem) for name, problem in PROBLEMS.items() if name != "control"}


def make(**args: Scalar) -> Task:
    """The kernel `problem`; it passes when it is `times` (1.2 or more, default 2) as fast as the reference.

    control = true: one that has nothing to be made faster. Raises ArgumentError.
    """
    only({name: value for name, value in args.items() if name != _TIMES}, _PROBLEM, _CONTROL)
    times = at_least(args, _TIMES, LEAST_TIMES, _DEFAULT_TIMES)
    if truth(args, _CONTROL):
        return _task("control", PROBLEMS["control"], times)
    return _task(*chosen(args, "kernel", _SHIPPED), times)


def _task(name: str, problem: Problem, times: float) -> Task:
    return Task(
        f"kernel/{name}",
        f"Make this C function faster: {problem.says}; a is m by k, b is k by n, c is m by n, in rows, and they "
        "do not overlap. It is scored by how many times as fast it is, on one core, with m and n near 50 and k "
        "near 65,000; all shapes must be right, in double precision. It is built with gcc -O3 -march=native. "
        f"Answer with the whole function in one fenced block.\n\n```c\n{problem.slow}```",
        verifier(
            "kernel", "kernel.check", {"problem": name}, timeout_s=240.0, finalists=3, inflight=1
        ),
        Compare("score", ">=", times),
        baseline=_fenced(problem.slow),
    )


def _fenced(program: str) -> str:
    return f"```c\n{program}```\n"


def names() -> tuple[str, ...]:
    """The kernels that ship."""
    return tuple(_SHIPPED)


def reference(task: Task) -> str:
    """Our fast kernel. Raises KeyError for other tasks."""
    return _fenced(PROBLEMS[task.name.partition("/")[2]].fast)
