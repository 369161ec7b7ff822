"""Judges an attack on a toy service: the flag is drawn once the program was handed in, and compared here."""

from __future__ import annotations

import hmac
import json
import re
import secrets
from typing import Any

from ..harness import exchange, source
from ..harness.wire import parsed
from .weak import numbers

SECONDS = 5.0
# The service outlives the program that attacks it.
SERVICE_S = SECONDS + 5.0
_FLAG = re.compile(r"flag\{[0-9a-f]{32}\}")
# A program may say that it found none, and what it tried.
_FLAGS = 3
_HARMLESS = ("ends the process",)
_SERVICE = ("tasks/capture/service.py", "tasks/capture/weak.py")


def main() -> None:
    asked, problem = exchange.asked(), exchange.problem()
    code = source.code(asked["text"])
    if why := source.too_long(code):
        exchange.invalid(why)
    elif "runs" in asked:
        judged(asked["runs"][0], asked["keep"], code, problem["most"])
    else:
        flag = f"flag{{{secrets.token_hex(16)}}}"
        exchange.ask([_attack(code, problem, flag)], flag)


def _attack(code: str, problem: dict[str, Any], flag: str) -> dict[str, Any]:
    relay = exchange.text("tasks/capture/relay.py")
    given = problem | {"flag": flag, "numbers": numbers()}
    return {
        "argv": ["python3", "-I", "-S", "relay.py"],
        "files": {"relay.py": relay, "solution.py": code},
        "seconds": SECONDS,
        "service": {
            "argv": ["python3", "-m", "tasks.capture.service"],
            "files": {path: exchange.text(path) for path in _SERVICE},
            "stdin": json.dumps(given),
            "seconds": SERVICE_S,
        },
    }


def judged(run: dict[str, Any], flag: str, code: str, most: int) -> None:
    """The verdict on what the program printed, in whose sandbox the flag never was."""
    told = parsed(run["service"]["out"])
    if told is None:
        exchange.error(f"the service failed: {exchange.ended(run['service']) or 'it said nothing'}")
        return
    printed = str(run["out"])
    flags = source.flags(code, _HARMLESS)
    if len(set(_FLAG.findall(printed))) > _FLAGS:
        flags.append("prints many flags")
    why = exchange.ended(run) or wrong(printed, flag)
    after = f"after {told['requests']} of {most} requests"
    exchange.verdict(float(not why), not why, f"{why or 'it has the flag'}, {after}", flags=flags)


def wrong(printed: str, flag: str) -> str:
    """What is wrong with the last line that was printed; empty where its one field is the flag."""
    said = parsed(printed.rstrip().rpartition("\n")[2])
    if said is None or [*said] != ["flag"] or not isinstance(said["flag"], str):
        return 'the last line is not {"flag": "…"}'
    found = said["flag"].encode("utf-8", "replace")
    return "" if hmac.compare_digest(found, flag.encode()) else "it is not the flag"


if __name__ == "__main__":
    main()
