"""Scores drawn from a law that is known: what a run makes of them can be compared with what it should.

An attempt's score is a draw from a normal law, by the seed and the attempt's text alone; nothing that the text
says matters. So mean and spread, the share that passes and the expected best of k are known, whatever model runs.
"""

import math
from collections.abc import Mapping
from hashlib import blake2b
from statistics import NormalDist

from podium.dsl.library import ArgumentError
from podium.dsl.program import Compare, Task, Verifier
from podium.dsl.quantity import Scalar
from podium.engine.testing.agents import power_law
from podium.engine.value import Attempt, Verdict

from ..arguments import Truth, Whole, only, truth, whole_number

_SIZE = Whole("size", 1, 10_000)
_SEED = Whole("seed", 0)
_CONTROL = Truth("control")
# The law of `podium.engine.testing.power_law`: mean top - loss / size^power, spread spread / size^shrink.
_LAW: Mapping[str, float] = {
    "top": 0.9, "loss": 0.4, "power": 0.5, "spread": 0.12, "shrink": 0.25, "passes": 0.9, "cost": 0.0
}  # fmt: skip
_UNIT = NormalDist()
# Beyond so many spreads no draw of 64 bits lies.
_FURTHEST = 10.0
# Of the expected best: steps of the trapezoid rule, whose error is far below a float's then.
_STEPS = 4_000


def make(**args: Scalar) -> Task:
    """The task of a law at team size `size`. Others: top, loss, power, spread, shrink, passes, cost, seed.

    cost: seconds that each verdict says it took. control = true: passes lies beyond every draw. Raises
    ArgumentError on values that make no law.
    """
    rest = {name: value for name, value in args.items() if name not in _LAW}
    only(rest, _SIZE, _SEED, _CONTROL)
    size = whole_number(rest, _SIZE, default=1)
    values = {name: _number(args, name, default) for name, default in _LAW.items()}
    law = power_law(*(values[name] for name in ("top", "loss", "power")),
                    spread=values["spread"], shrink=values["shrink"])  # fmt: skip
    mean, spread = law.mean(size), law.spread(size)
    if spread < 0 or values["cost"] < 0:
        raise ArgumentError("spread" if spread < 0 else "cost", "spread and cost are 0 or more")
    control = truth(rest, _CONTROL)
    passes = mean + (_FURTHEST + 1) * max(spread, 1.0) if control else values["passes"]
    checks: dict[str, Scalar | tuple[Scalar, ...]] = {
        "ref": "podium.tasks.synthetic:verify",
        "mean": mean,
        "spread": spread,
        "passes": passes,
        "cost": values["cost"],
        "seed": whole_number(rest, _SEED, default=0),
    }
    return Task(
        "synthetic",
        "Write any sentence. Its score is drawn by chance.",
        Verifier("synthetic", "python", checks),
        Compare("score", ">=", passes),
    )


def _number(args: Mapping[str, Scalar], name: str, default: float) -> float:
    value = args.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ArgumentError(name, f"{name} is {value!r}; a number is needed")
    return float(value)


def _of(task: Task, name: str) -> float:
    value = None if task.verify is None else task.verify.args.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"the verifier of {task.name} needs {name} (a number)")
    return float(value)


def verify(attempt: Attempt, task: Task) -> Verdict:
    """The draw of this text. Raises ValueError on other tasks."""
    cost = _of(task, "cost")
    return Verdict(drawn(attempt.text, task), None, cost=cost or None)


def drawn(text: str, task: Task) -> float:
    """The score of text: the same each time, and independent of that of any other text."""
    key = f"{_of(task, 'seed'):.0f}".encode()
    raw = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest()
    share = (int.from_bytes(raw, "big") + 0.5) / 2**64
    share = min(max(share, 1e-18), 1 - 2**-53)  # so that the normal law has a finite place for it
    return mean(task) + spread(task) * _UNIT.inv_cdf(share)


# --- what is known -------------------------------------------------------------------------------


def mean(task: Task) -> float:
    """The mean of the scores of attempts."""
    return _of(task, "mean")


def spread(task: Task) -> float:
    """Their standard deviation."""
    return _of(task, "spread")


def pass_rate(task: Task) -> float:
    """The share of attempts that pass."""
    if not spread(task):
        return float(mean(task) >= _of(task, "passes"))
    return 1 - _UNIT.cdf((_of(task, "passes") - mean(task)) / spread(task))


def expected_best(task: Task, k: int) -> float:
    """The expected best score of k attempts, k from 1 up.

    The integral of z k phi(z) Phi(z)^(k-1) gives the expected maximum of k standard normals (David and Nagaraja
    2003, section 3.1), 1.539 of 10 and 2.508 of 100.
    """
    step = 2 * _FURTHEST / _STEPS
    points = (i * step - _FURTHEST for i in range(_STEPS + 1))
    whole = math.fsum(z * k * _UNIT.pdf(z) * _UNIT.cdf(z) ** (k - 1) for z in points)
    return mean(task) + spread(task) * whole * step


def reference(task: Task) -> str:
    """A text that passes, found by trying. Raises ValueError where 10,000 do not."""
    for number in range(10_000):
        text = f"This is sentence {number}."
        if drawn(text, task) >= _of(task, "passes"):
            return text
    raise ValueError("no text passes that was tried")
