"""Judging by agents: `judge` and `panel`. Each opinion is a call of a model, at an address below the attempt.

So it is held, charged to who asks, journaled, and never paid twice. One that compares with the baseline is asked
in both orders, for models like what stands first.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean
from typing import NamedTuple

import anyio

from podium.dsl.program import Role, Verifier

from .agent import act, attempt_view, messages_of
from .ask import ask_model
from .call import BudgetExhausted, CallError, ModelCall, ModelReply
from .clients.loose import mapping
from .turns import turn_of, view_of
from .value import Attempt, Json, Many, Verdict
from .walk import Here

_WORTH = {"first": 1.0, "same": 0.5, "second": 0.0}


class _Opinion(NamedTuple):
    """mark: its segment of the address. flipped: the baseline stands first."""

    mark: str
    role: Role
    flipped: bool


async def by_judges(here: Here, attempt: Attempt, verifier: Verifier) -> Verdict:
    """The mean of the judges' scores.

    Raises CallError(`verifier`) where one cannot be read, and BudgetExhausted.
    """
    pair = None
    if verifier.args.get("against") == "baseline":
        pair = _baseline(here, verifier)
        if pair.text == attempt.text:
            return Verdict(0.5, None, "it is the baseline itself")
    asked = _opinions(verifier, both=pair is not None)
    return _joined(
        await at_once([partial(_asked, here, attempt, pair, verifier, one) for one in asked])
    )


async def at_once(asked: Sequence[Callable[[], Awaitable[Verdict]]]) -> list[Verdict]:
    """What each says, in their order. Raises the first error in this order, once all are done."""
    said: dict[int, Verdict] = {}
    errors: dict[int, CallError | BudgetExhausted] = {}

    async def one(number: int) -> None:
        try:
            said[number] = await asked[number]()
        except (CallError, BudgetExhausted) as error:
            errors[number] = error

    async with anyio.create_task_group() as tasks:
        for number in range(len(asked)):
            tasks.start_soon(one, number)
    if errors:
        raise errors[min(errors)]
    return [said[number] for number in range(len(asked))]


def _opinions(verifier: Verifier, *, both: bool) -> list[_Opinion]:
    numbered = enumerate(verifier.judges, 1)
    if not both:
        return [_Opinion(f"j{i}", role, False) for i, role in numbered]
    return [
        _Opinion(f"j{i}{'b' if flipped else 'a'}", role, flipped)
        for i, role in numbered
        for flipped in (False, True)
    ]


def _baseline(here: Here, verifier: Verifier) -> Attempt:
    text = here.task.baseline
    if text is None:
        raise CallError("verifier", f"{verifier.name} compares with a baseline, and there is none")
    return Attempt(text, text, "")


async def _asked(
    here: Here, attempt: Attempt, pair: Attempt | None, verifier: Verifier, opinion: _Opinion
) -> Verdict:
    name = here.walk.called(verifier, here.task)
    place = replace(here, address=f"{attempt.address}/v.{name}/{opinion.mark}")
    both = () if pair is None else (pair, attempt) if opinion.flipped else (attempt, pair)
    view = {
        **view_of(place, opinion.role, Many(both), None),
        "attempt": attempt_view(attempt, scored=False),
        "attempts": [attempt_view(one, scored=False) for one in both],
    }
    turn, messages = turn_of(place, opinion.role), messages_of(opinion.role, view)
    try:
        made = await act(partial(_ask, place), opinion.role, messages, turn)
    except CallError as error:
        raise CallError(
            "verifier", f"{opinion.role.name} gave no verdict: {error.message}"
        ) from error
    return _read(made.answer, opinion)


async def _ask(place: Here, call: ModelCall) -> ModelReply:
    return await ask_model(place, replace(call, judges=True))


def _read(answer: Json, opinion: _Opinion) -> Verdict:
    fields = mapping(answer)
    why = str(fields.get("why") or "")
    better, score, passed = fields.get("better"), fields.get("score"), fields.get("passed")
    if isinstance(better, str) and better in _WORTH:
        worth = _WORTH[better]
        return Verdict(1 - worth if opinion.flipped else worth, None, why)
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise CallError("verifier", f"{opinion.role.name} gave no score")
    return Verdict(float(score), passed if isinstance(passed, bool) else None, why)


def _joined(said: list[Verdict]) -> Verdict:
    scores = [one.score for one in said if one.score is not None]
    passed = [one.passed for one in said if one.passed is not None]
    most = sum(passed) * 2 > len(passed) if len(passed) == len(said) else None
    evidence = "\n".join(dict.fromkeys(one.evidence for one in said if one.evidence))
    return Verdict(fmean(scores), most, evidence)
