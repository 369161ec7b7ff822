"""Judges a short program: a process of its own reads each hidden input; what it prints is compared here."""

from __future__ import annotations

import os
from random import Random
from typing import Any

from ..harness import exchange, source
from .problems import PROBLEMS

# A program that is wrong mostly is so at once; the others are tried on many more.
FIRST, TESTS = 2, 24
SECONDS = 3.0
_HARMLESS = ("reads its input", "ends the process")


def main() -> None:
    asked, problem = exchange.asked(), exchange.problem()
    code = source.code(asked["text"]).strip("\n")
    size = len(code.encode())
    if why := source.too_long(code) or ("" if code else "there is no program"):
        exchange.invalid(why)
        return
    keep: dict[str, Any] = asked.get("keep") or {"seed": os.urandom(16).hex(), "right": 0}
    draw = Random(keep["seed"])
    cases = [PROBLEMS[problem["problem"]].draw(draw) for _ in range(TESTS)]
    flags = source.flags(code, _HARMLESS)
    for run, (_, expected) in zip(asked.get("runs", ()), cases[keep["right"] :], strict=False):
        if fault := wrong(run, expected):
            exchange.invalid(f"after {keep['right']} hidden tests: {fault}", flags)
            return
        keep["right"] += 1
    waiting = cases[keep["right"] :][: None if keep["right"] else FIRST]
    if waiting:
        exchange.ask([_program(code, given) for given, _ in waiting], keep)
    else:
        exchange.verdict(
            float(size), None, f"{size} bytes, right on {TESTS} hidden tests", flags=flags
        )


def wrong(run: dict[str, Any], expected: str) -> str:
    """What is wrong with what a program did; empty where nothing is. Blanks at the ends of lines do not matter."""
    if fault := exchange.ended(run):
        return fault
    return "" if plain(run["out"]) == plain(expected) else "it prints something else"


def plain(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().splitlines()]


def _program(code: str, given: str) -> dict[str, Any]:
    argv = ["python3", "-I", "-S", "solution.py"]
    return {"argv": argv, "files": {"solution.py": code}, "stdin": given, "seconds": SECONDS}


if __name__ == "__main__":
    main()
