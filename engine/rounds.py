"""Flows that try again: repeat and fallback."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from podium.dsl.program import Condition, Fallback, Flow, Repeat

from .condition import Facts, fired, holds, needs_spent, needs_verdict
from .later import later_round
from .ledger import NOTHING, Amount
from .outcome import Exhausted, Failed
from .pool import least_calls
from .reduce import Better, Rank, attempts_of, best, rank
from .value import Many, Value
from .verdicts import judge_all
from .walk import Ended, Failure, Here, ending, may_start

WalkFlow = Callable[[Flow, Value, Here], Awaitable[Ended]]


@dataclass(slots=True)
class _Rounds:
    """The values so far, earliest first, and for how many rounds the best verdict has not risen."""

    better: Better
    values: list[Value] = field(default_factory=list[Value])
    ranks: list[Rank] = field(default_factory=list[Rank])
    stale: int = 0

    def add(self, value: Value) -> None:
        place = _rank(value, self.better)
        self.stale = 0 if not self.ranks or place > max(self.ranks) else self.stale + 1
        self.values.append(value)
        self.ranks.append(place)

    def chosen(self) -> Value | None:
        """The best where every round was scored, else the last. Ties go to the earliest."""
        if not self.values:
            return None
        if all(_is_scored(value) for value in self.values):
            return self.values[self.ranks.index(max(self.ranks))]
        return self.values[-1]


async def repeat(flow: Repeat, value: Value, here: Here, walk_flow: WalkFlow) -> Ended:
    """Rounds of flow, each on what the last gave, until its condition holds or one gives nothing."""
    rounds = _Rounds(here.task.better)
    failures: tuple[Failure, ...] = ()
    judged = needs_verdict(flow.until)
    if attempts_of(value):
        value = await _judged(here, value) if judged else value
        rounds.add(value)
    for done in range(flow.max):
        why = _met(here, flow.until, value, done, rounds.stale)
        place = replace(here.at(f"{done + 1}.{flow.flow.label}"), round=done + 1)
        if why is None and not may_start(here, place.address):
            why = "budget"
        if why is not None:
            return replace(_chosen(rounds, value, failures, why), rounds_left=flow.max - done)
        calls = _calls(flow, value) if rounds.values else 0
        async with later_round(here, place.address, calls) as (around, short):
            if short is not None:
                kept = _stopped(rounds, Ended(short), failures)
                return replace(kept, rounds_left=flow.max - done)
            place = replace(place, causes=around.causes)
            ended = await walk_flow(flow.flow, value, place)
        failures += ended.failures
        if ended.value is None:
            return _stopped(rounds, ended, failures)
        value = await _judged(here, ended.value) if judged else ended.value
        rounds.add(value)
    why = _met(here, flow.until, value, flow.max, rounds.stale)
    return _chosen(rounds, value, failures, why or "")


async def fallback(flow: Fallback, value: Value, here: Here, walk_flow: WalkFlow) -> Ended:
    """The first option that is accepted; where none is, the best of what they gave, else the first failure."""
    rounds = _Rounds(here.task.better)
    failures: tuple[Failure, ...] = ()
    first: Ended | None = None
    judged = flow.accept is None or needs_verdict(flow.accept)
    for number, option in enumerate(flow.options, 1):
        place = here.at(f"{number}.{option.label}")
        if first is not None and not may_start(here, place.address):
            break
        ended = await walk_flow(option, value, place)
        failures += ended.failures
        first = first or ended
        if ended.value is None:
            continue
        given = await _judged(here, ended.value) if judged else ended.value
        if _is_accepted(here, flow.accept, given, ended, number):
            return ending(given, failures)
        rounds.add(given)
    chosen = rounds.chosen()
    assert first is not None
    return replace(first, failures=failures) if chosen is None else ending(chosen, failures)


def _met(here: Here, until: Condition | None, value: Value, done: int, stale: int) -> str | None:
    """Which part of until holds after so many rounds; None while it does not."""
    if until is None:
        return None
    facts = _facts(here, until, value, done, stale)
    return fired(until, facts) if holds(until, facts) else None


def _calls(flow: Repeat, value: Value) -> int:
    """How many calls a round makes where every reply can be used; a step that is lifted makes them for each
    attempt."""
    return max(1, least_calls(flow.flow, wide=True)) * max(1, len(attempts_of(value)))


def _chosen(rounds: _Rounds, value: Value, failures: tuple[Failure, ...], why: str) -> Ended:
    return ending(rounds.chosen() or value, failures, why)


def _stopped(rounds: _Rounds, ended: Ended, failures: tuple[Failure, ...]) -> Ended:
    """A round gave nothing: what the rounds before gave is kept."""
    chosen = rounds.chosen()
    if chosen is None:
        return replace(ended, failures=failures)
    kept = ending(chosen, failures)
    if isinstance(ended.outcome, Exhausted) and not any(a.passed for a in attempts_of(chosen)):
        return replace(kept, outcome=ended.outcome)
    return kept


async def _judged(here: Here, value: Value) -> Value:
    """value with verdicts; an attempt whose verifier failed has none, and meets no condition on scores."""
    if here.task.verify is None:
        return value
    judged, _ = await judge_all(here, attempts_of(value))
    return Many(judged) if isinstance(value, Many) else next(iter(judged), value)


def _is_accepted(
    here: Here, accept: Condition | None, value: Value, ended: Ended, number: int
) -> bool:
    """By accept; else passed, where the verdict says; else any attempt that is not a failure."""
    if accept is not None:
        return holds(accept, _facts(here, accept, value, number, 0))
    verdicts = [attempt.verdict for attempt in attempts_of(value)]
    unjudged = here.task.verify is not None and not any(verdicts)
    if unjudged or any(v is not None and v.passed is not None for v in verdicts):
        return any(v is not None and v.passed is True for v in verdicts)
    return not isinstance(ended.outcome, Failed)


def _facts(here: Here, condition: Condition, value: Value, number: int, stale: int) -> Facts:
    attempts = attempts_of(value)
    top = best(attempts, here.task.better) if attempts else None
    return Facts(
        score=None if top is None else top.score,
        passed=any(attempt.passed for attempt in attempts),
        round=number,
        stale=stale,
        spent=spent(here, number) if needs_spent(condition) else NOTHING,
    )


def spent(here: Here, at: int | str) -> Amount:
    """What the enclosing account has settled by now, at the end of round or cycle at: a decision, since siblings
    spend from it too."""
    account = here.world.ledger.accounts[here.account]
    return Amount(*here.recorder.decide(here.address, f"spent.{at}", lambda: list(account.spent)))


def _rank(value: Value, better: Better) -> Rank:
    return max((rank(a.verdict, better) for a in attempts_of(value)), default=rank(None, better))


def _is_scored(value: Value) -> bool:
    return any(attempt.verdict is not None for attempt in attempts_of(value))
