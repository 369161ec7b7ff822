"""A candidate's program as a server: it reads calls, a line of JSON each, and answers them, a line each.

This is the candidate's process, and whatever is in it may be changed by the candidate: what it answers is data.
It knows the arguments of calls, never what is expected.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from .wire import decoded, encoded

_SHOWN = 200


def main() -> None:
    sys.path.insert(0, os.getcwd())
    calls = sys.stdin.read().splitlines()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDWR)
    # What the candidate prints is no answer, and its input none of its business.
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    for call in calls:
        print(json.dumps(answer(json.loads(call))), file=answers, flush=True)


def answer(call: dict[str, Any]) -> dict[str, Any]:
    """What the function that call names gives, or the error that it raises."""
    try:
        args, named = decoded(call["args"]), decoded(call["named"])
        return {"id": call["id"], "value": encoded(function(call["of"])(*args, **named))}
    except BaseException as error:  # a candidate's SystemExit too ends a call, and no test
        return {"id": call["id"], "error": type(error).__name__, "told": _told(error)}


def function(of: str) -> Callable[..., Any]:
    """`package.module:name`; a module is loaded when it is first asked for."""
    module, _, name = of.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return found


def _told(error: BaseException) -> str:
    try:
        return str(error)[:_SHOWN]
    except BaseException:  # an error's own text may raise whatever it likes
        return ""


if __name__ == "__main__":
    main()
