"""The built-in verifiers: a table from kind to a pure function, and the door to functions of the user's.

`exact`, `number`, `choice` and `contains` give a score and say `passed`; the first three score 0 or 1. They read
the answer: of a structured one its field `answer`, if it has one, else the whole reply.
"""

import inspect
import math
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, Protocol, TypeVar, cast

import anyio
import anyio.to_thread

from podium.dsl.draft import verifiers
from podium.dsl.program import Program, Task, Verifier
from podium.dsl.values import Tasks

from . import workspace
from .call import CallError, VerifierCall
from .checker import checked
from .clients.service import asked
from .combine import combined, named_parts
from .database import StoreError
from .functions import Bindings, Function, load
from .sandbox import Sandbox
from .value import Attempt, Json, Verdict
from .workspace import Tree

T = TypeVar("T")


def no_text(name: str) -> str:
    """Where no text is kept."""
    raise KeyError(name)


NOTHING: Mapping[str, str] = MappingProxyType({})


class Judging(Protocol):
    """What `judge` is, or stands for it under simulation."""

    def __call__(
        self, call: VerifierCall, bindings: Bindings | None = None, *, inline: bool = False
    ) -> Awaitable[Verdict]: ...


# Two floats that print alike may differ in their last bits.
DEFAULT_TOLERANCE = 1e-9

_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)?(?:\.\d+|(?<=\d))(?:[eE][-+]?\d+)?")
_LETTERS = (
    re.compile(r"(?i:answer|choice|option)\W{0,3}(?i:is|:)?\W{0,6}([A-Z])(?![A-Za-z])"),
    re.compile(r"\(([A-Z])\)"),
    re.compile(r"^\W*([A-Z])\W*$", re.MULTILINE),
    re.compile(r"^\W*([A-Z])[).:]", re.MULTILINE),
)


async def judge(
    call: VerifierCall,
    bindings: Bindings | None = None,
    *,
    inline: bool = False,
    environ: Mapping[str, str] = NOTHING,
    sandbox: Sandbox | None = None,
    kept: Callable[[str], str] = no_text,
) -> Verdict:
    """The verdict on call's answer, within the verifier's time-out. Raises CallError(`verifier`) if there is none.

    bindings: functions by the name in `python("name")`, looked up before modules are. A function that is not async
    runs in a thread, which a time-out abandons but cannot stop; inline runs it here (under simulated time).
    environ: where the tokens of services are looked up by name. sandbox: where `command` runs its program.
    kept: a text of the run's store, by its name: those that have attempts' files.
    """
    verifier = call.verifier
    if verifier.parts:
        on = partial(judge, inline=inline, environ=environ, sandbox=sandbox, kept=kept)
        each = [replace(call, verifier=part) for part in named_parts(verifier)]
        said = [await on(one, bindings) for one in each]
        return combined(verifier, said, call.task.better)
    pure = KINDS.get(verifier.kind)
    if pure is not None:
        return pure(call)
    tree = _files(call, kept)
    if verifier.kind == "http":
        return _sound(await _in_time(verifier, asked(call, environ, tree)))
    if verifier.kind == "command":
        return _sound(await _in_time(verifier, _program(call, sandbox, tree)))
    if verifier.judges:
        raise _error(f"{verifier.name} asks a model, which only a run can")
    if verifier.kind != "python":
        raise _error(f"there is no verifier of kind {verifier.kind!r}")
    function = load(str(call.verifier.args.get("ref", "")), bindings or {}, "verifier")
    files = {path: file.data for path, file in tree.items()}
    attempt = Attempt(call.answer, call.text, call.address, tree=call.tree, files=files)
    called = _called(function, attempt, call.task, inline=inline)
    return verdict_of(await _in_time(verifier, called))


def _program(call: VerifierCall, sandbox: Sandbox | None, tree: Tree) -> Awaitable[Verdict]:
    if sandbox is None:
        raise _error(f"{call.verifier.name} starts a program, and there is no sandbox at hand")
    return checked(call, answered(call.answer, call.text), sandbox, tree)


def _files(call: VerifierCall, kept: Callable[[str], str]) -> Tree:
    try:
        return workspace.read(kept(call.tree)) if call.tree else {}
    except (KeyError, StoreError) as error:
        raise _error(f"the attempt's files cannot be read: {error}") from error


async def _in_time(verifier: Verifier, judging: Awaitable[T]) -> T:
    seconds = verifier.timeout_s
    with anyio.move_on_after(seconds):
        return await judging
    raise _error(f"{verifier.name} took longer than {seconds:g} s")


def load_all(program: Program, bindings: Bindings) -> None:
    """Load every function that judges in program, before anything is paid. Raises CallError as `load` does."""
    found = verifiers(program.flow, Tasks(program.tasks))
    leaves = [leaf for one in found for leaf in one.leaves()]
    for ref in sorted({str(one.args.get("ref", "")) for one in leaves if one.kind == "python"}):
        load(ref, bindings, "verifier")


def verdict_of(value: object) -> Verdict:
    """A function's result as a verdict: bool is passed, a number is a score. Raises CallError on anything else."""
    if isinstance(value, Verdict):
        return _sound(value)
    if isinstance(value, bool):
        return Verdict(None, value)
    if isinstance(value, int | float):
        if not math.isfinite(value):
            raise _error(f"the score {value} is not finite")
        return Verdict(float(value), None)
    raise _error(f"a verifier returns a bool, a number or a Verdict, not {type(value).__name__}")


def _sound(verdict: Verdict) -> Verdict:
    if verdict.score is not None and not math.isfinite(verdict.score):
        raise _error(f"the score {verdict.score} is not finite")
    if not verdict.valid:  # there is nothing that could have been scored
        verdict = replace(verdict, score=None, passed=False)
    return replace(verdict, flags=tuple(map(str, verdict.flags)))


async def _called(function: Function, attempt: Attempt, task: Task, *, inline: bool) -> object:
    try:
        if inline or inspect.iscoroutinefunction(function):
            result = function(attempt, task)
        else:
            result = await anyio.to_thread.run_sync(function, attempt, task, abandon_on_cancel=True)
        if inspect.isawaitable(result):
            return await cast(Awaitable[object], result)  # the question does not say of what
        return result
    except CallError:
        raise
    except Exception as error:  # a verifier's mistake is told, with its place, and is no score
        raise _error(f"{type(error).__name__}: {error}{_place(error)}") from error


def _place(error: Exception) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return ""
    return f" ({trace.tb_frame.f_code.co_filename}, line {trace.tb_lineno})"


def _error(message: str) -> CallError:
    return CallError("verifier", message)


# --- kinds ---------------------------------------------------------------------------------------


def exact(call: VerifierCall) -> Verdict:
    """Equal to `expected`, or to one of a list, after strip, casefold and runs of blanks as one."""
    wanted = {_plain(str(item)) for item in _expected(call.verifier)}
    return _pass_or_fail(_plain(_answer(call)) in wanted, f"expected {' or '.join(sorted(wanted))}")


def number(call: VerifierCall) -> Verdict:
    """The last number in the answer is `expected` within `tolerance` (absolute; else 1e-9 of its size).

    `1,234.5` is one number.
    """
    wanted = _as_number(_expected(call.verifier)[0])
    found = last_number(_answer(call))
    if found is None:
        return Verdict(0.0, False, "there is no number in the answer")
    tolerance = call.verifier.args.get("tolerance")
    room = (
        float(tolerance)
        if isinstance(tolerance, int | float)
        else DEFAULT_TOLERANCE * max(1.0, abs(wanted))
    )
    return _pass_or_fail(abs(found - wanted) <= room, f"found {found:g}")


def choice(call: VerifierCall) -> Verdict:
    """The letter that the answer names is `expected`."""
    wanted = str(_expected(call.verifier)[0]).strip().strip("().").upper()
    found = named_letter(_answer(call))
    return _pass_or_fail(
        found == wanted, "no letter is named" if found is None else f"found {found}"
    )


def contains(call: VerifierCall) -> Verdict:
    """The fraction of `expected` texts that occur in the answer at a word's start, in any case; passed is all."""
    wanted = [str(item) for item in _expected(call.verifier)]
    text = " ".join(_answer(call).split())
    missing = [word for word in wanted if not _occurs(" ".join(word.split()), text)]
    score = 1 - len(missing) / len(wanted)
    return Verdict(score, not missing, f"missing: {', '.join(missing)}" if missing else "")


KINDS: Mapping[str, Callable[[VerifierCall], Verdict]] = {
    "exact": exact,
    "number": number,
    "choice": choice,
    "contains": contains,
}


def last_number(text: str) -> float | None:
    """The last finite number written in text."""
    values = [float(one) for one in numbers(text)]
    return next((value for value in reversed(values) if math.isfinite(value)), None)


def numbers(text: str) -> list[str]:
    """Every number written in text, in order, as float() and Decimal read it; `1,234` is one, `3, 4` are two."""
    found = _NUMBER.finditer(text.replace("\u2212", "-"))
    return [one[0].replace(",", "") for one in found if one[0]]


def named_letter(text: str) -> str | None:
    """The letter chosen in text: alone, after `answer`, in brackets, or at a line's start; the last one counts."""
    alone = re.fullmatch(r"\W*([A-Za-z])\W*", text)
    if alone is not None:
        return alone[1].upper()
    for pattern in _LETTERS:
        found = cast(list[str], pattern.findall(text))  # each has one group
        if found:
            return found[-1]
    return None


def _occurs(word: str, text: str) -> bool:
    start = r"(?<!\w)" if word[:1].isalnum() else ""
    return re.search(start + re.escape(word), text, re.IGNORECASE) is not None


def _pass_or_fail(passed: bool, evidence: str) -> Verdict:
    return Verdict(float(passed), passed, "" if passed else evidence)


def _expected(verifier: Verifier) -> tuple[Any, ...]:
    wanted = verifier.args.get("expected")
    items = wanted if isinstance(wanted, tuple) else (wanted,)
    if not items or any(item is None for item in items):
        raise _error(f"{verifier.name} has nothing to compare with")
    return items


def _answer(call: VerifierCall) -> str:
    return answered(call.answer, call.text)


def answered(answer: Json, text: str) -> str:
    """What of an attempt is read: answer, its field `answer` if it has one, or the whole text."""
    if isinstance(answer, Mapping) and answer.get("answer") is not None:
        answer = answer["answer"]
    if isinstance(answer, bool) or not isinstance(answer, str | int | float):
        return text
    return str(answer)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _as_number(value: object) -> float:
    found = last_number(str(value))
    if found is None:
        raise _error(f"number() compares with a number, not {value!r}")
    return found
