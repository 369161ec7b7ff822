"""Asking the world: a call's answer, or what became of it, the same in each life of the run.

A call that got no answer is a decision; one that met an interruption waits for the end of the run.
"""

import math
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from typing import cast

import anyio
import anyio.lowlevel

from .call import (
    BudgetExhausted,
    Call,
    CallError,
    FailureKind,
    Interrupted,
    ModelCall,
    ModelReply,
    Pausing,
    Reply,
    ToolReply,
    ToolUse,
    VerifierCall,
    is_judging,
    request_digest,
)
from .guard import READING_S, Guard
from .outcome import Exhausted, Failed
from .pool import Asking
from .walk import Here, budget_mark, no_room, paused_by

# A call so near to its deadline is urgent.
HURRY_S = 30.0
# Steps of the loop from a call's answer to the attempt that comes of it; there are about five.
_STEPS = 12


async def ask(here: Here, call: Call) -> Reply:
    """The answer to call. Raises CallError and BudgetExhausted, in each life of the run the same."""
    mark, guards = _mark(here, call), here.guards
    is_cut = any(guard.cut is not None for guard in guards)
    if is_cut:
        await _reach(here, mark)
    earlier = here.recorder.recall(mark, "no_answer")
    if earlier is not None:
        raise await _again(here, cast(Sequence[str], earlier))  # as `_no_answer` wrote it
    if is_cut:
        await _only_known(here, call)
    for guard in guards:
        guard.open[mark] = here.address
    due = min([guard.due for guard in guards], default=math.inf)
    if due < math.inf and due < (now := anyio.current_time()) + HURRY_S:
        await _in_time(here, call, now)
        if isinstance(call, ModelCall):  # urgent, as a deadline is near
            call = replace(call, urgency=max(1, call.urgency))
    counts = isinstance(call, ModelCall) and not call.judges
    with Asking(here.pledges, here.part, counts):
        return await _answer(here, call, mark)


def ask_model(here: Here, call: ModelCall) -> Awaitable[ModelReply]:
    # No coroutine of its own, as each one of an agent that waits takes room. A call is answered in kind.
    return cast(Awaitable[ModelReply], ask(here, call))


def ask_tool(here: Here, call: ToolUse) -> Awaitable[ToolReply]:
    return cast(Awaitable[ToolReply], ask(here, call))  # likewise


def _mark(here: Here, call: Call) -> str:
    """What names the call in decisions: its address; of a verifier its content, whoever asks."""
    match call:
        case ModelCall(address=address) | ToolUse(address=address):
            return address
        case VerifierCall(verifier=verifier):
            return f"{here.world.program.name}/{verifier.name}.{request_digest(call)[:32]}"


async def _answer(here: Here, call: Call, mark: str) -> Reply:
    """A call that is cancelled stays in `open`: that is what tells where time ran out."""
    walk = here.walk
    walk.in_air += 1
    try:
        try:
            reply = await walk.world.call(call)
        finally:
            walk.in_air -= 1
            if walk.paused is not None:
                walk.tell()
    except CallError as error:
        _no_answer(here, mark, "failed", error.kind, error.message)
        raise
    except BudgetExhausted as error:
        await refused(here, error)
        _no_answer(here, mark, "budget", error.account, error.dimension)
        raise
    except Interrupted as error:
        if isinstance(error, Pausing):
            await here.walk.pause(error.cause, str(error))
        await here.walk.pause(str(error) or "user")
        raise
    _close(here, mark)
    return reply


def _close(here: Here, mark: str) -> None:
    for guard in here.guards:
        guard.open.pop(mark)


def _no_answer(here: Here, mark: str, *why: str) -> None:
    _close(here, mark)
    here.recorder.decide(mark, "no_answer", lambda: list(why))


async def _again(here: Here, earlier: Sequence[str]) -> Exception:
    """The error of an earlier life."""
    if earlier[0] == "budget":
        error = BudgetExhausted(earlier[1], earlier[2])
        await refused(here, error)
        return error
    return CallError(cast(FailureKind, earlier[1]), earlier[2])  # its kind was one


async def _reach(here: Here, mark: str) -> None:
    """Stop here if the call was in the air when a budget around it was cut in an earlier life."""
    for guard in here.guards:
        if guard.cut is not None and mark in guard.cut.open:
            guard.open[mark] = here.address
            guard.reached.add(mark)
            guard.check()
            await anyio.sleep_forever()


async def _only_known(here: Here, call: Call) -> None:
    """Stop here on the way back to where a budget was cut, if the call had not begun then."""
    is_new = not is_judging(call) and not here.world.known(call.address)
    if is_new and any(guard.cut is not None for guard in here.guards):
        await anyio.sleep_forever()


async def _in_time(here: Here, call: Call, now: float) -> None:
    """After a deadline a life still reads what earlier ones were answered, and asks no model or tool more."""
    late = [guard for guard in here.guards if guard.due < now + READING_S]
    if late and here.world.known(call.address):
        for guard in late:
            guard.allow(now)
    elif not is_judging(call) and any(guard.due <= now for guard in late):
        await anyio.sleep_forever()


async def refused(here: Here, error: BudgetExhausted) -> None:
    """Do what the refusing budget's policy says. A budget above the run is the run's business."""
    guards = {guard.account: guard for guard in here.guards}
    guard = guards.get(error.account)
    if guard is None and not error.account.startswith(here.world.account + "/"):
        guard = next(iter(here.guards), None)
    if guard is None:
        return
    guard.refused = guard.refused or Exhausted(error.account, error.dimension)
    match guard.policy:
        case "pause":
            await here.walk.pause("budget", paused_by(here, guard.account, error.dimension))
        case "shrink":
            guard.shrunk = True
        case "fail":
            await _rest_is_read()
            _fail(here, guard, no_room(here, error))
        case "best" | "vote":
            pass


async def _rest_is_read() -> None:
    """Let those go on who were answered in the same instant: a refusal often comes with the answer that used
    the money up, and a replay knows that answer. A team's takes a few steps to become its submission."""
    for _ in range(_STEPS):
        await anyio.lowlevel.checkpoint()


def _fail(here: Here, guard: Guard, why: str) -> None:
    """Fail the budget, the first time that it has no room; where that was is a decision."""
    if guard.ended is None:
        mark = budget_mark(here, "failed", guard.account, guard.address)
        open_, attempts, _, judged = guard.now()
        here.recorder.decide(guard.address, mark, lambda: [open_, attempts, [why], judged])
        guard.ended = Failed("budget", why)
        guard.scope.cancel()
