"""Judges a kernel: each trial has a shape, values and processes of its own, in turn with the reference.

Nothing of the reference is in the candidate's process or sandbox. All that it computes is compared; time is that
of the whole process, taken outside. What is built, and how it is started, is a runner's.
"""

from __future__ import annotations

import math
import os
import re
from random import Random
from statistics import median
from typing import Any, NamedTuple

from ..harness import exchange, source
from ..harness.timing import compared
from .problems import HEAD, MAIN, PROBLEMS

SMALL, TRIALS = 3, 5
BUILD_S = 20.0
# All runs of a kernel that never ends, one after the other, must fit into the verifier's time.
RUN_S = 8.0
# Of sums in another order, relative to the number of terms; single precision is off by a hundred times as much.
TOLERANCE = 1e-10
# Two fused operations of eight doubles at 3.5 GHz: more no core does.
PEAK = 112e9
_CLEAR = 4


class Runner(NamedTuple):
    """build: a line that makes of the file `source` one file, written to the output as base64; start: one that
    runs it from the file `built`. Code 77: the tool is not there."""

    tool: str
    source: str
    build: str
    start: str


C = Runner(
    "gcc",
    "kernel.c",
    "command -v gcc >/dev/null || exit 77; "
    "gcc -O3 -march=native -w -o built kernel.c main.c -lm && base64 -w 0 built",
    "base64 -d built >run && chmod +x run && exec ./run",
)
_SUSPECT = {
    "starts threads or processes": r"pthread|\bfork\b|\bclone\b|omp\.h|pragma\s+omp|threads\.h",
    "lower precision": r"\bfloat\b|_Float16|__bf16|ffast-math|fast-math",
    "assembly": r"\b(?:__)?asm(?:__)?\b",
    "ends the process": r"\b_?exit\b|\babort\b|\bquick_exit\b",
    "prints": r"\b(?:printf|puts|putchar|write|fwrite|dprintf)\s*\(",
    "runs before it is called": r"\bconstructor\b|\bifunc\b|\binit_array\b",
    "changes the clock": r"\bclock_gettime\b|\bgettimeofday\b",
    "keeps what it has seen": r"^\s*static\s+(?!inline)[^()]*[;=]",
    "includes a file": r'#\s*include\s*"|\.incbin',
}


def main() -> None:
    asked, problem = exchange.asked(), exchange.problem()
    chosen = PROBLEMS[problem["problem"]]
    code = source.code(asked["text"])
    flags = [words for words, what in _SUSPECT.items() if re.search(what, code, re.MULTILINE)]
    keep: dict[str, Any] = asked.get("keep") or {"seed": os.urandom(16).hex()}
    if why := source.too_long(code):
        exchange.invalid(why)
    elif "runs" not in asked:
        nothing = f"{HEAD}}}\n"
        exchange.ask([_build(C, text) for text in (nothing, chosen.slow, code)], keep)
    elif "built" in keep:
        judged(asked["runs"], _shapes(keep["seed"]), flags, work=chosen.work)
    elif fault := _not_built(asked["runs"]):
        fault()
    else:
        built = [run["out"] for run in asked["runs"]]
        programs = [
            _start(C, built[of], shape) for shape in _shapes(keep["seed"]) for of in shape.turn
        ]
        exchange.ask(programs, keep | {"built": True}, at_once=1)


class Shape(NamedTuple):
    """turn: what runs, in order: 0 nothing, 1 the reference, 2 the candidate. terms: summed for one element."""

    given: str
    elements: int
    terms: int
    turn: tuple[int, ...]


def _shapes(seed: str) -> list[Shape]:
    """Drawn once the kernel was handed in: small ones, odd and empty, and large ones. Every other large one runs
    the other way round, so that no drift favours one."""
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
    files = {runner.source: text, "main.c": MAIN}
    return {"argv": ["sh", "-c", runner.build], "files": files, "seconds": BUILD_S}


def _start(runner: Runner, built: str, shape: Shape) -> dict[str, Any]:
    argv = ["sh", "-c", runner.start]
    return {"argv": argv, "files": {"built": built}, "stdin": shape.given, "seconds": RUN_S}


def _not_built(runs: list[dict[str, Any]]) -> Any:
    """What to say where something was not built; None where all was."""
    if any(run["code"] == 77 for run in runs):
        return lambda: exchange.error(f"{C.tool} is not installed where the sandbox looks")
    if runs[0]["code"] or runs[1]["code"]:
        return lambda: exchange.error(f"the reference was not built: {exchange.ended(runs[1])}")
    if runs[2]["code"] != 0 or runs[2]["cut"]:
        why = str(runs[2]["err"])[:300] or exchange.ended(runs[2])
        return lambda: exchange.invalid(f"it was not built: {why}")
    return None


def judged(runs: list[dict[str, Any]], shapes: list[Shape], flags: list[str], *, work: int) -> None:
    """The verdict on runs, in the order of the shapes and their turns."""
    left = iter(runs)
    trials = [{of: next(left) for of in shape.turn} for shape in shapes]
    for shape, trial in zip(shapes, trials, strict=True):
        if why := exchange.ended(trial[1]):
            exchange.error(f"of the reference: {why}")
            return
        if why := wrong(trial[2], trial[1]["out"], shape):
            exchange.invalid(f"of the shape {shape.given.partition(' ')[2]}: {why}", flags)
            return
    timed(trials[SMALL:], shapes[SMALL:], flags, work=work)


def wrong(run: dict[str, Any], expected: str, shape: Shape) -> str:
    """What is wrong with what the candidate printed; empty where nothing is."""
    if why := exchange.ended(run):
        return why
    lines = str(run["out"]).split()
    if len(lines) != shape.elements:
        return f"it gave {len(lines)} numbers, not {shape.elements}"
    room = TOLERANCE * max(1.0, math.sqrt(shape.terms))
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
