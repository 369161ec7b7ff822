"""Judges a kernel: each trial has a shape, values and processes of its own, in turn with the reference.

Nothing of the reference is in the candidate's process or sandbox. All that it computes is compared; time is that
of the whole process, taken outside. How a kernel is built and started, and what in it is suspect, is a runner's.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from random import Random
from statistics import median
from typing import Any, NamedTuple

from ..harness import exchange, source
from ..harness.timing import compared
from .problems import PROBLEMS
from .runner import MISSING, Runner

SMALL, TRIALS = 3, 5
BUILD_S = 20.0
# All runs of a kernel that never ends, one after the other, must fit into the verifier's time.
RUN_S = 8.0
# All trials are asked for at once, each with a copy of what was built, in the MiB that a verifier may write.
MOST_BUILT = 100_000
# For the 12 digits that are printed, and by the root of the number of terms for sums in another order. What single
# precision does to a sum is ten times as much, even where all that is summed is above zero.
PRINTED, SUMMED = 2e-11, 2e-13
# Two fused operations of eight doubles at 3.5 GHz: more no core does.
PEAK = 112e9
_CLEAR = 4


def main() -> None:
    asked, problem = exchange.asked(), exchange.problem()
    runner, chosen = PROBLEMS[problem["problem"]]
    code = source.code(asked["text"])
    flags = suspected(runner, code)
    keep: dict[str, Any] = asked.get("keep") or {"seed": os.urandom(16).hex()}
    if why := source.too_long(code):
        exchange.invalid(why)
    elif "runs" not in asked:
        exchange.ask([_build(runner, text) for text in (runner.nothing, chosen.slow, code)], keep)
    elif "built" not in keep:
        if fault := _not_built(asked["runs"]):
            fault()
        else:
            keep["built"] = [run["out"] for run in asked["runs"]]
            _try(runner, _shapes(keep["seed"])[:SMALL], keep)
    elif "tried" not in keep:
        if tried(asked["runs"], _shapes(keep["seed"])[:SMALL], flags):
            _try(runner, _shapes(keep["seed"])[SMALL:], keep | {"tried": True})
    else:
        shapes = _shapes(keep["seed"])[SMALL:]
        if trials := tried(asked["runs"], shapes, flags):
            timed(trials, shapes, flags, work=chosen.work)


def suspected(runner: Runner, code: str) -> list[str]:
    """What looks like a cheat in code, in words."""
    return [words for words, what in runner.suspect.items() if re.search(what, code, re.MULTILINE)]


def _try(runner: Runner, shapes: list[Shape], keep: dict[str, Any]) -> None:
    """Have what was built run on shapes: on the large ones once it was right on the small ones."""
    built = keep["built"]
    programs = [_start(runner, built[of], shape) for shape in shapes for of in shape.turn]
    exchange.ask(programs, keep, at_once=1)


class Shape(NamedTuple):
    """turn: what runs, in order: 0 nothing, 1 the reference, 2 the candidate. terms: summed for one element."""

    given: str
    elements: int
    terms: int
    turn: tuple[int, ...]


def _shapes(seed: str) -> list[Shape]:
    """Drawn once the kernel was handed in: small ones, then large ones, of which every other runs the other way
    round, so that no drift favours one."""
    draw = Random(seed)
    small = [
        (draw.randint(1, 9), draw.randint(1, 9), draw.choice([1, 3, 37])) for _ in range(SMALL)
    ]
    large = [
        (draw.randint(44, 56), draw.randint(44, 56), draw.randint(60_000, 70_000))
        for _ in range(TRIALS)
    ]
    turns = [(1, 2)] * SMALL + [(0, 1, 2) if at % 2 else (2, 1, 0) for at in range(TRIALS)]
    return [
        Shape(f"{draw.getrandbits(60) | 1} {m} {n} {k}", m * n, k, turn)
        for (m, n, k), turn in zip([*small, *large], turns, strict=True)
    ]


def _build(runner: Runner, text: str) -> dict[str, Any]:
    files = {**runner.beside, runner.source: text}
    return _program(runner, runner.build, files) | {"seconds": BUILD_S}


def _start(runner: Runner, built: str, shape: Shape) -> dict[str, Any]:
    files = {**runner.beside, "built": built}
    return _program(runner, runner.start, files) | {"stdin": shape.given, "seconds": RUN_S}


def _program(runner: Runner, line: str, files: dict[str, str]) -> dict[str, Any]:
    return {"argv": ["sh", "-c", line], "files": files, "packages": list(runner.packages)}


def _not_built(runs: list[dict[str, Any]]) -> Callable[[], None] | None:
    """Says that something was not built; None where all was."""
    nothing, slow, fast = runs
    if nothing["code"] == MISSING:
        return lambda: exchange.error(str(nothing["err"]).strip()[-300:])
    if nothing["code"] or slow["code"]:
        return lambda: exchange.error(f"the reference was not built: {exchange.ended(slow)}")
    if len(fast["out"]) > MOST_BUILT:
        return lambda: exchange.invalid("it is too large when it is built")
    if fast["code"] != 0 or fast["cut"]:
        why = str(fast["err"])[-300:] or exchange.ended(fast)
        return lambda: exchange.invalid(f"it was not built: {why}")
    return None


def tried(
    runs: list[dict[str, Any]], shapes: list[Shape], flags: list[str]
) -> list[dict[int, dict[str, Any]]]:
    """By shape the runs, which are in the order of the shapes and their turns, by what ran; none where the verdict
    was given, as something was wrong."""
    left = iter(runs)
    trials = [{of: next(left) for of in shape.turn} for shape in shapes]
    for shape, trial in zip(shapes, trials, strict=True):
        if why := exchange.ended(trial[1]):
            exchange.error(f"of the reference: {why}")
            return []
        if why := wrong(trial[2], trial[1]["out"], shape):
            exchange.invalid(f"of the shape {shape.given.partition(' ')[2]}: {why}", flags)
            return []
    return trials


def wrong(run: dict[str, Any], expected: str, shape: Shape) -> str:
    """What is wrong with what the candidate printed; empty where nothing is."""
    if why := exchange.ended(run):
        return why
    lines = str(run["out"]).split()
    if len(lines) != shape.elements:
        return f"it gave {len(lines)} numbers, not {shape.elements}"
    room = PRINTED + SUMMED * math.sqrt(shape.terms)
    for line, wanted in zip(lines, map(float, expected.split()), strict=True):
        found = _number(line)
        if not abs(found - wanted) <= room * max(1.0, abs(wanted)):
            return f"it gave {found:.12g} where the reference gave {wanted:.12g}"
    return ""


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def timed(
    trials: list[dict[int, dict[str, Any]]], shapes: list[Shape], flags: list[str], *, work: int
) -> None:
    idle, slow, fast = ([trial[of]["seconds"] for trial in trials] for of in range(3))
    ratios, floor = compared(idle, slow, fast)
    took = median(slow) - median(idle)
    if work and took < _CLEAR * floor:
        exchange.error(
            f"the machine is too busy: {took:.3f} s are to be measured, and {floor:.3f} s vary"
        )
        return
    least = max(median(fast) - median(idle), floor)
    rate = work * median(shape.elements * shape.terms for shape in shapes) / least
    beyond = ["faster than a core can be"] if rate > PEAK else []
    exchange.verdict(
        median(ratios),
        None,
        f"{median(ratios):.2f} times as fast as the reference, from {min(ratios):.2f} to {max(ratios):.2f} in "
        f"{TRIALS} trials; the reference took {took:.3f} s, and {floor:.3f} s cannot be told from nothing; "
        f"{rate / 1e9:.1f} billion operations a second",
        flags=[*flags, *beyond],
    )


if __name__ == "__main__":
    main()
