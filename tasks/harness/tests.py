"""Runs tests whose functions are a candidate's, of one problem: once more each time that answers have come.

The tests run here, in the verifier's process, and never beside what the candidate wrote.
"""

from __future__ import annotations

import ast
import contextlib
import os
import random
import signal
import sys
import time
from collections.abc import Generator
from types import CodeType, FrameType, ModuleType
from typing import Any

from . import exchange
from .calls import MOST_KINDS, Calls, Stop, Unfit, read, written

TOP = "tasks/__init__.py"
SERVER = (TOP, "tasks/harness/wire.py", "tasks/harness/server.py")
# Answers that lead a test elsewhere so often are drawn, and not computed.
MOST_ROUNDS = 8
# Of a test on answers that are there; a candidate may answer with what takes for ever to look at.
TEST_S = 5.0
_GUESSES = "__guesses__"


def judge(
    asked: dict[str, Any], problem: dict[str, Any], files: dict[str, str]
) -> dict[str, str] | None:
    """By test why it failed, empty where it passed; None where the candidate was asked for more answers.

    problem: `tests`, each with `name`, `source` and `run`, a statement; `setup`, a program that runs before each;
    `names`, by which the tests call functions of the candidate's; `modules` of the candidate's that they import;
    `seconds` for all calls of a test. files: the candidate's.
    """
    keep = asked.get("keep") or _begun()
    faults: dict[str, str] = keep["faults"]
    runs: dict[str, Any] = dict(zip(keep["open"], asked.get("runs", ()), strict=True))
    waiting: dict[str, Calls] = {}
    for test in problem["tests"]:
        name = test["name"]
        if name in faults:
            continue
        digests = keep["open"].get(name, [])
        calls, fault = explored(test, problem, digests, runs.get(name), f"{keep['seed']}/{name}")
        if not calls.guesses:
            faults[name] = fault
        elif keep["round"] >= MOST_ROUNDS:
            faults[name] = "its answers lead the tests to other calls each time"
        else:
            waiting[name] = calls
    if not waiting:
        return faults
    programs = [_program(files, calls, problem["seconds"]) for calls in waiting.values()]
    asked_now = {name: calls.digests for name, calls in waiting.items()}
    exchange.ask(programs, {**keep, "round": keep["round"] + 1, "open": asked_now})
    return None


def _begun() -> dict[str, Any]:
    """Nothing is decided. The seed is drawn now, after the candidate was handed in."""
    return {"seed": os.urandom(16).hex(), "round": 0, "faults": {}, "open": {}}


def suspected(asked: dict[str, Any]) -> list[str]:
    """A flag where a candidate's process wrote what its server does not, although it was not cut off."""
    whole = (run for run in asked.get("runs", ()) if run["ended"] == "exit" and not run["cut"])
    return ["writes answers of its own"] if any(not read(run["out"])[1] for run in whole) else []


def explored(
    test: dict[str, Any],
    problem: dict[str, Any],
    digests: list[str],
    run: dict[str, Any] | None,
    seed: str,
) -> tuple[Calls, str]:
    """What test calls, and why it failed. Where it stops at a guess, another one is made of the last call."""
    answers = read(run["out"])[0] if run else []
    ended = (exchange.ended(run) or "it ended before it had answered") if run else ""
    kinds: dict[int, int] = {}
    until = time.monotonic() + TEST_S
    while True:
        calls = Calls(digests, answers, ended, kinds)
        fault = _tried(test, problem, calls, seed)
        last = len(calls.made) - 1
        kinds[last] = kinds.get(last, 0) + 1
        if not (calls.guesses and fault) or kinds[last] == MOST_KINDS or time.monotonic() > until:
            return calls, fault


def _program(files: dict[str, str], calls: Calls, seconds: float) -> dict[str, Any]:
    return {
        "argv": ["python3", "-m", "tasks.harness.server"],
        "files": files | {path: exchange.text(path) for path in SERVER},
        "stdin": written(calls.made),
        "seconds": seconds,
    }


def _tried(test: dict[str, Any], problem: dict[str, Any], calls: Calls, seed: str) -> str:
    """Why test fails on these answers; empty where it passes. Raises Unfit where it is none that can be judged."""
    space: dict[str, Any] = {"__name__": "tests", _GUESSES: lambda: calls.guesses}
    try:
        with _modules(problem.get("modules", ()), calls), _aside():
            exec(_compiled(problem.get("setup", ""), "setup"), space)
            space |= {name: calls.function(of) for name, of in problem["names"].items()}
            exec(_compiled(test["source"], "tests"), space)
            random.seed(seed)
            with _in_time():
                exec(_compiled(test["run"], "run"), space)
    except Unfit:
        raise
    except Stop as stop:
        return stop.why
    except AssertionError:
        return f"an assertion failed after {len(calls.made)} calls"
    except BaseException as error:  # whatever it is, the test did not pass
        return _fault(error, calls)
    return ""


def _fault(error: BaseException, calls: Calls) -> str:
    """What to tell of error. A name that is missing here is missing in the tests: no fault of the candidate's."""
    told = f"{type(error).__name__}: {error}"
    if any(error is one for one in calls.raised):
        return f"it raised {told}"
    if isinstance(error, (NameError, ImportError, SyntaxError)) and not calls.guesses:
        raise Unfit(f"the tests do not run: {told}")
    return f"the tests cannot use what it returned ({told})"


def _compiled(source: str, name: str) -> CodeType:
    try:
        tree = _Lenient().visit(ast.parse(source, f"<{name}>"))
        return compile(ast.fix_missing_locations(tree), f"<{name}>", "exec")
    except SyntaxError as error:
        raise Unfit(f"the {name} is no Python: {error}") from error


class _Lenient(ast.NodeTransformer):
    """No assertion fails on a guess, so that the calls behind it are known too."""

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        guesses = ast.Call(ast.Name(_GUESSES, ast.Load()), [], [])
        return ast.Assert(ast.BoolOp(ast.Or(), [node.test, guesses]), node.msg)


@contextlib.contextmanager
def _modules(names: list[str], calls: Calls) -> Generator[None]:
    """The candidate's modules, for the tests to import: every name in them is a function of the candidate's."""
    for name in names:
        sys.modules[name] = _Remote(name, calls)
    try:
        yield
    finally:
        for name in names:
            del sys.modules[name]


class _Remote(ModuleType):
    def __init__(self, name: str, calls: Calls) -> None:
        super().__init__(name)
        self.__path__ = []
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._calls.function(f"{self.__name__}:{name}")


@contextlib.contextmanager
def _aside() -> Generator[None]:
    """What tests print is no verdict."""
    with open(os.devnull, "w", encoding="utf-8") as nothing, contextlib.redirect_stdout(nothing):
        yield


@contextlib.contextmanager
def _in_time() -> Generator[None]:
    def late(number: int, frame: FrameType | None) -> None:
        raise Stop("what it returned takes too long to look at")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, TEST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
