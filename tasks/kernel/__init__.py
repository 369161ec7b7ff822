"""A kernel in C or NumPy to be made faster: fresh shapes, values and processes a trial, all output compared."""

from podium.dsl.program import Compare, Task
from podium.dsl.quantity import Scalar

from ..arguments import Text, Truth, at_least, only, truth
from ..harness import chosen, verifier
from .problems import PROBLEMS, control

_PROBLEM = Text("problem")
_CONTROL = Truth("control")
_TIMES = "times"
LEAST_TIMES, _DEFAULT_TIMES = 1.2, 2.0
_SHIPPED = {name: name for name, (_, problem) in PROBLEMS.items() if problem.work}


def make(**args: Scalar) -> Task:
    """The kernel `problem`; it passes when it is `times` (1.2 or more, default 2) as fast as the reference.

    control = true: one in the same language that has nothing to be made faster. Raises ArgumentError.
    """
    only({name: value for name, value in args.items() if name != _TIMES}, _PROBLEM, _CONTROL)
    times = at_least(args, _TIMES, LEAST_TIMES, _DEFAULT_TIMES)
    name = chosen(args, "kernel", _SHIPPED)
    return _task(control(name) if truth(args, _CONTROL) else name, times)


def _task(name: str, times: float) -> Task:
    runner, problem = PROBLEMS[name]
    return Task(
        f"kernel/{name}",
        f"{runner.asks.format(problem.says)} It is scored by how many times as fast it is, on one core, with m "
        "and n near 50 and k near 65,000; all shapes must be right, in double precision. Answer with the whole of "
        f"it in one fenced block.\n\n{_fenced(runner.fence, problem.slow)}",
        verifier(
            "kernel", "kernel.check", {"problem": name}, timeout_s=240.0, finalists=3, inflight=1
        ),
        Compare("score", ">=", times),
        baseline=_fenced(runner.fence, problem.slow),
    )


def _fenced(fence: str, program: str) -> str:
    return f"```{fence}\n{program}```\n"


def names() -> tuple[str, ...]:
    """The kernels that ship."""
    return tuple(_SHIPPED)


def reference(task: Task) -> str:
    """Our fast kernel. Raises KeyError for other tasks."""
    runner, problem = PROBLEMS[task.name.partition("/")[2]]
    return _fenced(runner.fence, problem.fast)
