"""Judges a program that is to define a function, by tests that call it. See `tests`."""

from __future__ import annotations

import re
from typing import Any

from . import exchange, source, tests
from .calls import Unfit

_FUTURE = re.compile(r"^from __future__ import .*\n?", re.MULTILINE)


def main() -> None:
    exchange.steady()
    asked, problem = exchange.asked(), exchange.problem()
    code = source.code(asked["text"], problem["entry"])
    if why := source.too_long(code):
        exchange.invalid(why)
        return
    try:
        files = {"solution.py": program(code, problem.get("before", ""), problem["entry"])}
        faults = tests.judge(asked, problem, files)
    except Unfit as error:
        exchange.error(str(error))
        return
    if faults is not None:
        _tell(faults, source.flags(code) + tests.suspected(asked))


def program(code: str, before: str, entry: str) -> str:
    """code with what comes before it; where it does not define entry itself, it goes on with what that began."""
    if not source.defines(code, entry):
        return before + code
    future = "".join(_FUTURE.findall(code))
    return f"{future}{before}\n{_FUTURE.sub('', code)}"


def _tell(faults: dict[str, Any], flags: list[str]) -> None:
    failed = [why for why in faults.values() if why]
    passed = not failed
    exchange.verdict(float(passed), passed, failed[0][:300] if failed else "", flags=flags)


if __name__ == "__main__":
    main()
