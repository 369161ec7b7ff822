"""Judges a faster program: by times of whole processes, taken from outside, in turn with the reference's.

Each trial has arguments of its own, drawn once the program was handed in, and every process that is timed must
give what the reference's gives. What starting a process and reading its input take is measured and subtracted.
"""

from __future__ import annotations

import os
from random import Random
from statistics import median
from typing import Any

from ..harness import exchange, source
from ..harness.calls import read, written
from ..harness.tests import SERVER
from ..harness.timing import compared
from ..harness.wire import decoded, encoded
from .problems import PROBLEMS, Problem

SMALL, TRIALS = 6, 5
SECONDS = 5.0
# With a reference that takes less than so many floors a ratio says nothing.
_CLEAR = 4


def main() -> None:
    asked, problem = exchange.asked(), exchange.problem()
    chosen = PROBLEMS[problem["problem"]]
    code = source.code(asked["text"], chosen.entry)
    if why := source.too_long(code):
        exchange.invalid(why)
        return
    keep: dict[str, Any] = asked.get("keep") or {"seed": os.urandom(16).hex(), "timed": False}
    draw = Random(keep["seed"])
    small = [chosen.draw(draw, draw.choice([0, 0.001, 0.01, 0.05])) for _ in range(SMALL)]
    large = [chosen.draw(draw, draw.uniform(0.8, 1.0)) for _ in range(TRIALS)]
    if "runs" not in asked:
        exchange.ask([_program(code, chosen, args) for args in small], keep)
    elif keep["timed"]:
        measured(asked["runs"], source.flags(code), is_control=problem["problem"] == "control")
    elif fault := _fault(asked["runs"], [_expected(chosen, args) for args in small]):
        exchange.invalid(fault, source.flags(code))
    else:
        programs = [_program(text, chosen, large[at]) for at, text in _turns(code, chosen)]
        exchange.ask(programs, keep | {"timed": True}, at_once=1)


def _turns(code: str, chosen: Problem) -> list[tuple[int, str]]:
    """By trial what runs, in order: every other trial the other way round, so that no drift favours one."""
    nothing = f"def {chosen.entry}(*args):\n    return None\n"
    three = [nothing, chosen.slow, code]
    return [(at, text) for at in range(TRIALS) for text in three[:: -1 if at % 2 else 1]]


def _program(code: str, chosen: Problem, args: list[Any]) -> dict[str, Any]:
    call = {"id": 0, "of": f"solution:{chosen.entry}", "args": encoded(args), "named": encoded({})}
    return {
        "argv": ["python3", "-m", "tasks.harness.server"],
        "files": {"solution.py": code} | {path: exchange.text(path) for path in SERVER},
        "stdin": written([call]),
        "seconds": SECONDS,
    }


def _expected(chosen: Problem, args: list[Any]) -> Any:
    space: dict[str, Any] = {}
    exec(chosen.slow, space)
    return space[chosen.entry](*args)


def _fault(runs: list[dict[str, Any]], expected: list[Any]) -> str:
    """What is wrong with what the candidate's processes gave; empty where nothing is."""
    return next(
        (why for run, one in zip(runs, expected, strict=True) if (why := _wrong(run, one))), ""
    )


def _wrong(run: dict[str, Any], expected: Any) -> str:
    answers, whole = read(run["out"])
    if not answers or not whole:
        return exchange.ended(run) or "it answered with what is no answer"
    if "error" in answers[0]:
        return f"it raised {answers[0]['error']}: {answers[0].get('told', '')}"[:300]
    try:
        value = decoded(answers[0].get("value"))
    except (ValueError, RecursionError):
        return "it answered with what is no value"
    same = type(value) is type(expected) and value == expected
    return "" if same else "what it gives is not what the reference gives"


def measured(runs: list[dict[str, Any]], flags: list[str], *, is_control: bool) -> None:
    """The verdict on trials, of three runs each, in the order of `_turns`."""
    trials = [runs[at : at + 3][:: -1 if at % 2 else 1] for at in range(0, len(runs), 3)]
    if ends := [why for _, slow, _ in trials if (why := exchange.ended(slow))]:
        exchange.error(f"of the reference: {ends[0]}")
        return
    given = [read(slow["out"])[0][0]["value"] for _, slow, _ in trials]
    fault = _fault([fast for _, _, fast in trials], [decoded(value) for value in given])
    if fault:
        exchange.invalid(fault, flags)
        return
    idle, slow, fast = ([one["seconds"] for one in times] for times in zip(*trials, strict=True))
    ratios, floor = compared(idle, slow, fast)
    took = median(slow) - median(idle)
    if took < _CLEAR * floor and not is_control:
        exchange.error(
            f"the machine is too busy: {took:.3f} s are to be measured, and {floor:.3f} s vary"
        )
        return
    least = "at least " if median(fast) - median(idle) < floor else ""
    exchange.verdict(
        median(ratios),
        None,
        f"{least}{median(ratios):.2f} times as fast as the reference, from {min(ratios):.2f} to {max(ratios):.2f} "
        f"in {TRIALS} trials; the reference took {took:.3f} s, and {floor:.3f} s cannot be told from nothing",
        flags=flags,
    )


if __name__ == "__main__":
    main()
