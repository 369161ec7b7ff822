"""Verdicts: asked for lazily, once for each content, and noted as events.

Where a verifier's scores are random, the best of many is the luckiest of them, and its score too high: `best` has
the finalists scored once more, and chooses by that score alone. Such an attempt keeps its second verdict.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

import anyio

from podium.dsl.program import Verifier

from .ask import ask
from .call import BudgetExhausted, CallError, VerifierCall, VerifierReply, request_digest
from .combine import combined, named_parts
from .event import Improved, Measured, Scored, Unflagged
from .judges import at_once, by_judges
from .outcome import Failed
from .reduce import attempts_of, settled, top, worth
from .value import Attempt, Json, Many, Value, Verdict
from .walk import Ended, Failure, Here, ending, no_room

# Verifiers that are given an attempt's files with it.
READERS = frozenset({"python", "command", "http"})


async def judge(here: Here, attempt: Attempt, by: Verifier | None = None) -> Attempt:
    """attempt with its verdict by the verifier (the task's, if none is named). Raises as `ask` does."""
    verifier = by or here.task.verify
    assert verifier is not None
    if _is_measured_again(here, attempt, verifier):
        return attempt
    judged = replace(attempt, verdict=await verdict_on(here, attempt, verifier))
    _note(here, judged, verifier)
    return judged


def _is_measured_again(here: Here, attempt: Attempt, verifier: Verifier) -> bool:
    verdict = attempt.verdict
    return verifier == here.task.verify and verdict is not None and verdict.first is not None


async def verdict_on(here: Here, attempt: Attempt, verifier: Verifier, measure: int = 1) -> Verdict:
    """The verdict alone: nothing is noted, and the attempt is none of the run's. Raises as `ask` does.

    Equal content is judged once in a run. Two who ask at once would both send it; the lock lets the second read
    the first one's verdict.
    """
    if verifier.parts:
        verdicts = await _on_parts(here, attempt, verifier, measure)
        return settled(combined(verifier, verdicts, here.task.better), here.task, verifier)
    if verifier.judges:
        return settled(await _by_judges(here, attempt, verifier), here.task, verifier)
    again = "" if measure == 1 else f".{measure}"
    name = here.walk.called(verifier, here.task)
    address = f"{attempt.address}/v.{name}{again}"
    content = attempt.answer, attempt.text
    tree = attempt.tree if verifier.kind in READERS else ""
    call = VerifierCall(address, here.account, verifier, here.task, *content, measure, tree)
    key = request_digest(call)
    async with here.walk.judging.setdefault(key, anyio.Lock()):
        if key not in here.walk.verdicts:
            reply = await ask(here, call)
            assert isinstance(reply, VerifierReply)
            here.walk.verdicts[key] = settled(reply.verdict, here.task, verifier)
    here.walk.judging.pop(key, None)  # who comes later finds the verdict
    return here.walk.verdicts[key]


async def _by_judges(here: Here, attempt: Attempt, verifier: Verifier) -> Verdict:
    """Once for each attempt and judge: who asks for the same content elsewhere asks at another address, so that
    what was paid for is found there again, whoever comes first in a later life."""
    content = attempt.answer, attempt.text
    call = VerifierCall(attempt.address, here.account, verifier, here.task, *content)
    key = f"{attempt.address} {verifier.name} {request_digest(call)}"
    async with here.walk.judging.setdefault(key, anyio.Lock()):
        if key not in here.walk.verdicts:
            here.walk.verdicts[key] = await by_judges(here, attempt, verifier)
    here.walk.judging.pop(key, None)
    return here.walk.verdicts[key]


async def _on_parts(
    here: Here, attempt: Attempt, verifier: Verifier, measure: int
) -> list[Verdict]:
    """What the parts say, asked for at once, each in a call of its own; raises the first error in their order."""
    parts = named_parts(verifier)
    return await at_once([partial(verdict_on, here, attempt, one, measure) for one in parts])


def _note(here: Here, judged: Attempt, verifier: Verifier) -> None:
    verdict = judged.verdict
    assert verdict is not None
    name = here.walk.called(verifier, here.task)
    if (judged.address, name) not in here.walk.scored:
        here.walk.scored.add((judged.address, name))
        said = verdict.score, verdict.passed, verdict.valid, verdict.flags
        here.recorder.emit(Scored(judged.address, name, *said))
    if verifier == here.task.verify:
        for guard in here.guards:
            if judged.address in guard.attempts:
                guard.keep(judged)
        _improve(here, judged)


def _improve(here: Here, judged: Attempt) -> None:
    walk = here.walk
    is_best = _is_better(here, judged, walk.best)
    is_other = not _has_flag(judged) and _is_better(here, judged, walk.unflagged)
    if is_best:
        walk.best = judged
        here.recorder.emit(Improved(*_told(judged), judged.tree))
    if is_other:
        walk.unflagged = judged
    flagged = walk.best is not None and _has_flag(walk.best)
    if flagged and walk.unflagged is not None and (is_best or is_other):
        here.recorder.emit(Unflagged(*_told(walk.unflagged)))


def _is_better(here: Here, one: Attempt, than: Attempt | None) -> bool:
    better = here.task.better
    return than is None or worth(one, better) > worth(than, better)


def _has_flag(attempt: Attempt) -> bool:
    return attempt.verdict is not None and bool(attempt.verdict.flags)


def _told(one: Attempt) -> tuple[str, float | None, bool | None, Json]:
    passed = None if one.verdict is None else one.verdict.passed
    return one.address, one.score, passed, one.answer


async def finalists(
    here: Here, judged: Sequence[Attempt], by: Verifier | None = None
) -> tuple[Attempt, ...]:
    """Those of judged that `best` is to choose from: all, but where scores are random the best few, scored again.

    One whose second measurement fails keeps the first.
    """
    verifier = by or here.task.verify
    scored = tuple(one for one in judged if one.verdict is not None)
    if verifier is None or not verifier.finalists or len(scored) < 2:
        return tuple(judged)
    chosen = list(top(scored, verifier.finalists, here.task.better))

    async def one(number: int) -> None:
        with suppress(CallError):
            chosen[number] = await _measured_again(here, chosen[number], verifier)

    async with anyio.create_task_group() as tasks:
        for number in range(len(chosen)):
            tasks.start_soon(one, number)
    _correct(here, chosen)
    return tuple(chosen)


async def _measured_again(here: Here, attempt: Attempt, verifier: Verifier) -> Attempt:
    if attempt.verdict is None or attempt.verdict.first is not None:
        return attempt
    first = attempt.verdict.score
    second = await verdict_on(here, attempt, verifier, 2)
    told = Measured(attempt.address, verifier.name, first, second.score, second.passed)
    here.recorder.emit(told)
    return replace(attempt, verdict=replace(second, first=first))


def _correct(here: Here, chosen: Sequence[Attempt]) -> None:
    """The best so far, where it is one of chosen, has its second score, by which another may be better now."""
    best = here.walk.best
    if best is None or all(one.address != best.address for one in chosen):
        return
    new = max(chosen, key=lambda one: worth(one, here.task.better))
    here.walk.best = new
    here.recorder.emit(Improved(*_told(new), new.tree))


async def judge_all(
    here: Here, attempts: Sequence[Attempt], by: Verifier | None = None
) -> tuple[tuple[Attempt, ...], CallError | None]:
    """The attempts with their verdicts, asked for at once, and the first error in their order, if there was one.

    An attempt whose verifier failed has no verdict: that is never a score of zero.
    """
    judged = list(attempts)
    errors: dict[int, CallError] = {}

    async def one(number: int) -> None:
        try:
            judged[number] = await judge(here, attempts[number], by)
        except CallError as error:
            judged[number], errors[number] = replace(attempts[number], verdict=None), error
        except BudgetExhausted as error:  # a verifier that is charged for its calls
            judged[number] = replace(attempts[number], verdict=None)
            errors[number] = CallError("verifier", no_room(here, error))

    async with anyio.create_task_group() as tasks:
        for number in range(len(attempts)):
            tasks.start_soon(one, number)
    return tuple(judged), errors[min(errors)] if errors else None


async def submitted(here: Here, ended: Ended) -> Ended:
    """ended with the task's verdict on what it gave. Where the verifier failed the node did; the value is kept."""
    if here.task.verify is None or not attempts_of(ended.value):
        return ended
    judged, error = await judge_all(here, attempts_of(ended.value))
    value: Value = Many(judged) if isinstance(ended.value, Many) else judged[0]
    if error is not None and all(attempt.verdict is None for attempt in judged):
        outcome = Failed(error.kind, error.message)
        failures = (*ended.failures, Failure(here.address, outcome))
        return replace(ended, outcome=outcome, failures=failures)
    passed = any(attempt.passed for attempt in judged) and not ended.too_few
    if passed or _is_plain(ended):
        return ending(value, ended.failures, ended.reason)
    return replace(ended, value=value)


def _is_plain(ended: Ended) -> bool:
    """Whether the outcome says no more than what the value does, so that a verdict may replace it."""
    if ended.value is None:
        return False
    return ending(ended.value, why=ended.reason).outcome == ended.outcome
