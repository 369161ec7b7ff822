"""Verdicts: asked for lazily, once for each content, and noted as events."""

from collections.abc import Sequence
from dataclasses import replace

import anyio

from podium.dsl.program import Verifier

from .ask import ask
from .call import BudgetExhausted, CallError, VerifierCall, VerifierReply, request_digest
from .event import Improved, Scored
from .outcome import Failed
from .reduce import attempts_of, rank, settled
from .value import Attempt, Many, Value, Verdict
from .walk import Ended, Failure, Here, ending, no_room


async def judge(here: Here, attempt: Attempt, by: Verifier | None = None) -> Attempt:
    """attempt with its verdict by the verifier (the task's, if none is named). Raises as `ask` does."""
    verifier = by or here.task.verify
    assert verifier is not None
    judged = replace(attempt, verdict=await verdict_on(here, attempt, verifier))
    _note(here, judged, verifier)
    return judged


async def verdict_on(here: Here, attempt: Attempt, verifier: Verifier) -> Verdict:
    """The verdict alone: nothing is noted, and the attempt is none of the run's. Raises as `ask` does.

    Equal content is judged once in a run. Two who ask at once would both send it; the lock lets the second read
    the first one's verdict.
    """
    address = f"{attempt.address}/v.{verifier.name}"
    call = VerifierCall(address, here.account, verifier, here.task, attempt.answer, attempt.text)
    key = request_digest(call)
    async with here.walk.judging.setdefault(key, anyio.Lock()):
        if key not in here.walk.verdicts:
            reply = await ask(here, call)
            assert isinstance(reply, VerifierReply)
            here.walk.verdicts[key] = settled(reply.verdict, here.task, verifier)
    here.walk.judging.pop(key, None)  # who comes later finds the verdict
    return here.walk.verdicts[key]


def _note(here: Here, judged: Attempt, verifier: Verifier) -> None:
    verdict = judged.verdict
    assert verdict is not None
    if (judged.address, verifier.name) not in here.walk.scored:
        here.walk.scored.add((judged.address, verifier.name))
        here.recorder.emit(Scored(judged.address, verifier.name, verdict.score, verdict.passed))
    if verifier == here.task.verify:
        for guard in here.guards:
            if judged.address in guard.attempts:
                guard.keep(judged)
        _improve(here, judged)


def _improve(here: Here, judged: Attempt) -> None:
    so_far = here.walk.best
    better = here.task.better
    if so_far is None or rank(judged.verdict, better) > rank(so_far.verdict, better):
        here.walk.best = judged
        here.recorder.emit(
            Improved(
                judged.address,
                judged.score,
                judged.verdict.passed if judged.verdict else None,
                judged.answer,
            )
        )


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
