"""What the families about programs share: verifiers that run a candidate's program apart from what judges it.

The modules beside this one run in the sandbox, each with nothing but the standard library: `server` with the
candidate's program, the others where the tests are. Their paths there are those that they have here.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeVar

from podium.dsl.library import ArgumentError
from podium.dsl.names import did_you_mean
from podium.dsl.program import Task, Verifier
from podium.dsl.quantity import Scalar
from podium.engine.clients.loose import mapping, parsed

from .tests import TOP

Row = TypeVar("Row")
# For all calls of a candidate's process, its start included.
SECONDS = 10.0
_JUDGING = ("wire", "server", "calls", "exchange", "source", "tests", "timing")


def verifier(
    name: str,
    check: str,
    problem: Mapping[str, Any],
    *,
    timeout_s: float = 120.0,
    use: Literal["always", "final"] = "always",
    finalists: int = 0,
    inflight: int | None = None,
) -> Verifier:
    """A verifier named name that starts check, as in `harness.function`, in the sandbox, with problem as data."""
    modules = [*(f"harness.{one}" for one in _JUDGING), *_with(check)]
    # The first, so that no package `tasks` of the machine's comes before these.
    texts = [(TOP, ""), *((_path(module), _text(module)) for module in modules)]
    words = [word for pair in (*texts, ("problem.json", json.dumps(problem))) for word in pair]
    return Verifier(
        name,
        "command",
        {"argv": ("python3", "-m", f"tasks.{check}"), "files": tuple(words)},
        timeout_s=timeout_s,
        inflight=inflight,
        use=use,
        finalists=finalists,
    )


def _with(check: str) -> list[str]:
    """check, and the modules beside it, of which it may need any."""
    package = check.rpartition(".")[0]
    if package == "harness":
        return [check]
    folder = files("podium").joinpath(f"tasks/{package}")
    beside = sorted(one.name[:-3] for one in folder.iterdir() if one.name.endswith(".py"))
    return [f"{package}.{name}" for name in beside if name != "__init__"]


def _path(module: str) -> str:
    return f"tasks/{module.replace('.', '/')}.py"


@cache
def _text(module: str) -> str:
    return files("podium").joinpath(_path(module)).read_text(encoding="utf-8")


def rows(text: str) -> list[tuple[int, dict[str, Any]]]:
    """The objects of a JSON Lines file, each with the number of its line. Raises ArgumentError(`file`)."""
    found: list[tuple[int, dict[str, Any]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        row = mapping(parsed(line))
        if not row:
            raise ArgumentError("file", f"line {number} is no JSON object")
        found.append((number, row))
    return found


def chosen(args: Mapping[str, Scalar], family: str, shipped: Mapping[str, Row]) -> Row:
    """The one of shipped that `problem` names, else the first. Raises ArgumentError(`problem`)."""
    name = str(args.get("problem", next(iter(shipped))))
    if name not in shipped:
        help_ = did_you_mean(name, shipped) or f"`podium tasks {family}` lists them"
        raise ArgumentError("problem", f"there is no problem `{name}`", help=help_)
    return shipped[name]


def judged_function(
    name: str, entry: str, tests: str, run: str, *, before: str = "", setup: str = ""
) -> Verifier:
    """A verifier of a program that defines entry, which tests also call `candidate`. run: what starts them.

    before: comes before the candidate's program. setup: runs before the tests. Its scores are final.
    """
    problem = {
        "entry": entry,
        "before": before,
        "setup": setup,
        "names": dict.fromkeys(("candidate", entry), f"solution:{entry}"),
        "tests": [{"name": "tests", "source": tests, "run": run}],
        "seconds": SECONDS,
    }
    return verifier(name, "harness.function", problem, use="final")


def drawn(name: str) -> Task:
    """The control of families about functions: one to find out a number that is drawn after it was handed in."""
    tests = "import random\n\n\ndef check():\n    assert candidate() == random.getrandbits(64)\n"
    return Task(
        f"{name}/control",
        "Write a Python function `drawn()` that returns a number of 64 bits, which is drawn once you have handed "
        "it in. Answer with the function in one fenced block.",
        judged_function(name, "drawn", tests, "check()"),
    )
