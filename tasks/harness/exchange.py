"""What a verifier's program is told by Podium and answers: the protocol of `command`, in `docs/verifier.md`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Any

PROBLEM = "problem.json"
_ANSWER = "answer.txt"


def steady() -> None:
    """Start anew with a fixed order of sets, so that tests make the same calls in every round. Before `asked`."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        argv = [sys.executable, *sys.orig_argv[1:]]
        os.execve(sys.executable, argv, {**os.environ, "PYTHONHASHSEED": "0"})


def asked() -> dict[str, Any]:
    """What Podium says this time: `text`, and after programs were run `runs` and `keep`.

    text: what is judged; of a structured answer its field `answer`, if it has one, else the whole reply.
    """
    found: dict[str, Any] = json.load(sys.stdin)
    return {**found, "text": text(_ANSWER)}


def problem() -> dict[str, Any]:
    """What the family says of the problem; the candidate's programs never have it."""
    with open(PROBLEM, encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    return found


def text(path: str) -> str:
    """A file of the verifier's own."""
    with open(path, encoding="utf-8") as file:
        return file.read()


def ask(programs: Sequence[dict[str, Any]], keep: Any, *, at_once: int | None = None) -> None:
    """Have programs run; this one is started anew with what they did."""
    most = {} if at_once is None else {"at_once": at_once}
    _say({"run": list(programs), "keep": keep, **most})


def verdict(
    score: float | None,
    passed: bool | None,
    evidence: str,
    *,
    valid: bool = True,
    flags: Sequence[str] = (),
) -> None:
    """The last word."""
    told = {"score": score, "passed": passed, "evidence": evidence, "valid": valid}
    _say(told | {"flags": list(flags)})


def invalid(why: str, flags: Sequence[str] = ()) -> None:
    """It is nothing that can be scored."""
    verdict(None, False, why, valid=False, flags=flags)


def error(why: str) -> None:
    """There is no verdict: the verifier's fault, and not the candidate's."""
    _say({"verifier_error": why})


def ended(run: dict[str, Any]) -> str:
    """How a candidate's program ended, in words; empty where it did as it should."""
    if run["ended"] != "exit":
        return _LIMITS.get(run["ended"], f"it reached its limit ({run['ended']})")
    if run["cut"]:
        return _LIMITS["output"]
    last = str(run["err"]).strip().rpartition("\n")[2][:200]
    return (
        f"it ended with code {run['code']}" + (f": {last}" if last else "") if run["code"] else ""
    )


_LIMITS = {
    "wall": "it took too long",
    "cpu": "it took too long",
    "memory": "it took too much memory",
    "output": "it wrote too much",
}


def _say(said: dict[str, Any]) -> None:
    print(json.dumps(said), file=sys.__stdout__, flush=True)
