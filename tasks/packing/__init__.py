"""Circles in a square, the sum of their radii as large as may be; judged exactly, in fractions.

The score is computed here from the numbers that were handed in, each taken for the fraction that it is.
There is no tolerance: published steps of records are smaller than the tolerances of published judges.
"""

import json
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any, cast

from podium.dsl.library import ArgumentError
from podium.dsl.program import Compare, Task, Verifier
from podium.dsl.quantity import Scalar
from podium.engine.agent.shape import objects
from podium.engine.clients.loose import sequence
from podium.engine.value import Attempt, Json, Verdict

from ..arguments import Truth, Whole, only, truth, whole_number

_COUNT = Whole("circles", 1, 200)
_CONTROL = Truth("control")
_TARGET = "target"
# What keeps the plain arrangement apart although its numbers are rounded.
_ROOM = 1e-12

Circle = tuple[Fraction, Fraction, Fraction]


def make(**args: Scalar) -> Task:
    """Pack `circles` (1 to 200, default 26). It passes from a sum of `target` on, by default that of a plain grid.

    control = true: the target is the bound that the square's area gives, which nobody can reach.
    Raises ArgumentError.
    """
    given = {name: value for name, value in args.items() if name != _TARGET}
    only(given, _COUNT, _CONTROL)
    count = whole_number(given, _COUNT, default=26)
    plain = arranged(count)
    target = _target(args, sum(r for _, _, r in plain) - 1e-6)
    if truth(given, _CONTROL):
        target = math.sqrt(count / math.pi)
    return Task(
        "packing",
        f"Place {count} circles inside the square with corners (0, 0) and (1, 1) so that no two overlap and "
        "the sum of their radii is as large as possible. Circles may touch each other and the sides, and must "
        "not cross them by any amount, however small. Answer with a JSON object "
        '{"circles": [[x, y, r], …]} of exactly '
        f"{count} triples: the centre and the radius of each circle.",
        Verifier("packing", "python", {"ref": "podium.tasks.packing:verify", "circles": count}),
        Compare("score", ">=", target),
        baseline=_written(plain),
    )


def _target(args: Mapping[str, Scalar], default: float) -> float:
    value = args.get(_TARGET, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise ArgumentError(_TARGET, f"target is {value!r}; a number above 0 is needed")
    return float(value)


def verify(attempt: Attempt, task: Task) -> Verdict:
    """The sum of the radii; invalid where one lies outside or two overlap. Raises ValueError on other tasks."""
    count = None if task.verify is None else task.verify.args.get("circles")
    if not isinstance(count, int):
        raise ValueError(f"the verifier of {task.name} needs circles (a number)")
    return judge(attempt.answer, attempt.text, count)


def judge(answer: Json, text: str, count: int) -> Verdict:
    """Judge what is handed in by the rules in the family's README."""
    read = _read(answer, text)
    if isinstance(read, str):
        return _invalid(read)
    if len(read) != count:
        return _invalid(f"there are {len(read)} circles, not {count}")
    fault = _fault(read)
    if fault:
        return _invalid(fault)
    return Verdict(float(sum(r for _, _, r in read)), None)


def _invalid(why: str) -> Verdict:
    return Verdict(None, False, why, valid=False)


def _read(answer: Json, text: str) -> list[Circle] | str:
    found = answer if isinstance(answer, Mapping) and "circles" in answer else None
    if found is None:
        found = next((one for one in reversed([*objects(text)]) if "circles" in one), None)
    if found is None:
        return 'there is no JSON object with "circles" in it'
    circles: list[Circle] = []
    for number, triple in enumerate(sequence(found["circles"]), 1):
        exact = [_exact(one) for one in sequence(triple)]
        if len(exact) != 3 or any(one is None for one in exact):
            return f"circle {number} is not three numbers"
        circles.append(cast(Circle, tuple(exact)))  # as was looked at
    return circles


def _exact(value: Any) -> Fraction | None:
    """The number exactly as it is held; None for what is none, or is out of any square."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return Fraction(value) if abs(value) <= 2 else None  # nor is NaN


def _fault(circles: Sequence[Circle]) -> str:
    for number, (x, y, r) in enumerate(circles, 1):
        if r <= 0:
            return f"circle {number} has no positive radius"
        out = max(r - x, r - y, x + r - 1, y + r - 1)
        if out > 0:
            return f"circle {number} lies outside by {float(out):.3g}"
    for (i, one), (j, other) in combinations(enumerate(circles, 1), 2):
        apart = (one[0] - other[0]) ** 2 + (one[1] - other[1]) ** 2
        if apart < (one[2] + other[2]) ** 2:
            over = float(one[2] + other[2]) - math.sqrt(apart)
            return f"circles {i} and {j} overlap by {over:.3g}"
    return ""


def arranged(count: int) -> list[tuple[float, float, float]]:
    """A plain packing of so many circles: a grid, and small ones in its gaps as far as they are needed."""
    side = math.isqrt(count)
    gaps = (side - 1) ** 2
    if count - side * side > gaps:
        side, gaps = side + 1, 0
    r = 1 / (2 * side)
    grid = [((2 * i + 1) * r, (2 * j + 1) * r, r - _ROOM) for i in range(side) for j in range(side)]
    small = (math.sqrt(2) - 1) * r - 2 * _ROOM
    between = [
        ((2 * i + 2) * r, (2 * j + 2) * r, small) for i in range(side - 1) for j in range(side - 1)
    ]
    return [*grid, *between][:count]


def _written(circles: Sequence[tuple[float, float, float]]) -> str:
    return json.dumps({"circles": [list(circle) for circle in circles]})


def reference(task: Task) -> str:
    """The plain packing, which passes where the target was left to the default."""
    assert task.verify is not None
    count = task.verify.args["circles"]
    assert isinstance(count, int)
    return _written(arranged(count))
