"""A flow under a budget of its own: its account, its deadline, and what there is when either runs out."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import cast

import anyio

from podium.dsl.program import Budget, OnExhausted, Verifier

from .ballots import vote
from .branches import open_account
from .guard import Guard, TimeUp
from .ledger import Limit
from .orders import topped
from .outcome import Exhausted, Failed, Outcome, Passed, Stopped
from .reduce import best, order
from .value import Attempt, Value
from .verdicts import judge_all
from .walk import Body, Ended, Here, budget_mark, paused_by, settle


async def limited(
    here: Here,
    body: Body,
    budget: Budget,
    policy: OnExhausted,
    *,
    account: str | None = None,
) -> Ended:
    """body under budget. Where it ran out, the value is body's own, else what policy makes of what there is.

    account: an account that is open already; else one named after the address is opened under here's. After the
    deadline only verifiers are still asked. The outcome is Exhausted unless what is returned passed.
    """
    name = account or _account(here)
    if account is None and policy == "pause":  # a topup is for every budget that pauses
        budget = reduce(topped, here.world.orders, budget)
    seconds = _seconds(here, name, budget)
    if account is None:
        limit = limit_of(here, budget)
        open_account(here, name, limit, here.account, seconds)
        if policy == "pause":  # it may have been opened before a topup
            here.world.ledger.accounts[name].limit = limit
    guard = _guard(here, name, policy, seconds)
    if account is not None:
        here.walk.own = guard
        here.world.longer.append(guard.lengthen)
        here.world.lease.guards.append(guard)
    elif policy == "pause":
        here.world.pausing[name] = guard.lengthen
    ended: Ended | None = None
    try:
        with guard.scope:
            guard.check()
            ended = await settle(_inside(here, name, guard), body)
    finally:
        here.world.pausing.pop(name, None)
    if ended is None or guard.ended is not None:
        ended = await _cancelled(here, guard)
    return await _closed(here, guard, ended)


def _inside(here: Here, account: str, guard: Guard) -> Here:
    causes, guards = (*here.causes, guard), (*here.guards, guard)
    return replace(here, account=account, causes=causes, guards=guards)


def _guard(here: Here, account: str, policy: OnExhausted, seconds: float | None) -> Guard:
    """The guard of the budget with this account, as the earlier lives of the run left it."""
    of_run = account == here.world.account
    failed = _earlier(here, account, "failed") if policy == "fail" else None
    stopped = _earlier(here, account, "stopped") if of_run else None
    cut = failed or stopped or _earlier(here, account, "time_up")
    ends = _deadline(here, account, seconds, cut)
    by = here.world.by if of_run and cut is None else math.inf
    paid = here.world.lease.paid if of_run and cut is None else math.inf
    guard = Guard(account, here.address, policy, anyio.CancelScope(), seconds, cut, ends, by, paid)
    guard.shown = here.world.named.shown(account)
    if failed is not None:
        guard.fails = Failed("budget", failed.dimension)
    elif stopped is not None:
        guard.fails = Stopped("user")
    now = anyio.current_time()
    guard.scope.deadline = guard.due
    if guard.due <= now:
        guard.allow(now)
    return guard


def _earlier(here: Here, account: str, what: str) -> TimeUp | None:
    """Where time ran out, the budget failed or the run was stopped in an earlier life of it, if it was."""
    mark = budget_mark(here, what, account, here.address)
    # What `Guard.now` or `ask` wrote.
    cut = cast(list[list[str]] | None, here.recorder.recall(here.address, mark))
    if cut is None:
        return None
    earliest: list[list[str]] = [[], [], ["time"], []]  # the first stores had two of the four
    open_, attempts, struck, judged = (*cut, *earliest[len(cut) :])
    return TimeUp(frozenset(open_), frozenset(attempts), struck[0], frozenset(judged))


def _deadline(here: Here, account: str, seconds: float | None, cut: TimeUp | None) -> float:
    """What is left of the time; all of it for a replay, which ends by itself where it ended before."""
    if seconds is None:
        return math.inf
    lived = here.world.lived.get(account, 0.0) if cut is None else 0.0
    return anyio.current_time() + max(0.0, seconds - lived)


def _account(here: Here) -> str:
    """The account's name; two budgets around the same node are told apart by a mark."""
    name = f"{here.world.account}/{here.address}"
    taken = {guard.account for guard in here.guards}
    while name in taken:
        name += "'"
    return name


def limit_of(here: Here, budget: Budget) -> Limit:
    """The budget's bounds, with its share of the nearest bound of each dimension around it."""
    own = Limit.of(budget)
    if budget.share is None:
        return own
    bounds: list[int | None] = list(own)
    for i in range(len(own)):
        chain = here.world.ledger.accounts[here.account].upwards()
        around = next((a.limit[i] for a in chain if a.limit[i] is not None), None)
        if around is not None:
            part = int(around * budget.share)
            have = bounds[i]
            bounds[i] = part if have is None else min(have, part)
    return Limit(*bounds)


def _seconds(here: Here, name: str, budget: Budget) -> float | None:
    """The time of the account name: the budget's, or its share of the nearest time around it as that was when
    it was opened, whichever is less."""
    around = next((g.seconds for g in reversed(here.guards) if g.seconds is not None), None)
    if budget.share is None or around is None:
        return budget.seconds
    mark = budget_mark(here, "seconds", name, here.address)
    share = budget.share
    part = here.recorder.decide(here.address, mark, lambda: around * share)
    return part if budget.seconds is None else min(part, budget.seconds)


async def _cancelled(here: Here, guard: Guard) -> Ended:
    """The end of a budget that cancelled what was inside: time ran out, or the policy is to fail."""
    if isinstance(guard.ended, Stopped):
        _keep_to(here, guard)
        mark = budget_mark(here, "stopped", guard.account, here.address)
        here.recorder.decide(here.address, mark, guard.now)
        return Ended(guard.ended)
    if guard.ended is not None:
        for around in here.guards:
            around.forget({here.address})
        guard.attempts.clear()
        return Ended(guard.ended)
    if guard.policy == "pause" and guard.dimension != "by":  # a moment that has passed stays so
        await here.walk.pause("budget", paused_by(here, guard.account, guard.dimension))
    _keep_to(here, guard)
    mark = budget_mark(here, "time_up", guard.account, here.address)
    here.recorder.decide(here.address, mark, guard.now)
    up = guard.time_up
    fails = isinstance(up, Failed)
    for around in here.guards:
        around.forget({here.address}, attempts=fails)
    if fails:
        guard.attempts.clear()
        guard.ended = up
    return Ended(up)


def _keep_to(here: Here, guard: Guard) -> None:
    """Keep the attempts that there were where an earlier life was cut, if one was."""
    if guard.cut is not None:
        for one in (guard, *here.guards):
            one.only(here.address, guard.cut.attempts)


async def _closed(here: Here, guard: Guard, ended: Ended) -> Ended:
    ran_out = _ran_out(guard, ended)
    if ran_out is None:
        return ended
    value = ended.value
    if value is None:
        value = await salvage(here, tuple(guard.attempts.values()), guard.policy)
    return _exhausted(value, ran_out, ended)


def _ran_out(guard: Guard, ended: Ended) -> Exhausted | None:
    """The exhaustion that this budget answers for: its own refusal, or its own time."""
    if isinstance(ended.outcome, Passed) or guard.ended is not None:
        return None
    match ended.outcome:
        case Exhausted(account=account) as own if account == guard.account:
            return guard.refused or own
        case _:
            return guard.refused


def _exhausted(value: Value | None, ran_out: Exhausted, ended: Ended) -> Ended:
    passed = isinstance(value, Attempt) and value.passed and not ended.too_few
    outcome: Outcome = Passed() if passed else ran_out
    return replace(ended, outcome=outcome, value=value)


async def salvage(here: Here, attempts: Sequence[Attempt], policy: OnExhausted) -> Attempt | None:
    """What to return when a budget ran out: the vote, else the best by the task's verifier, else the latest."""
    if policy == "vote" or here.task.verify is None:
        return unjudged(attempts, policy, here.task.verify)
    ordered = sorted(attempts, key=lambda attempt: order(attempt.address))
    if not ordered:
        return None
    judged, _ = await judge_all(here, ordered)
    return best(judged, here.task.better)


def unjudged(
    attempts: Sequence[Attempt], policy: OnExhausted, verifier: Verifier | None
) -> Attempt | None:
    """What to return of attempts where no verifier is asked: the vote, or the latest that was not cut. verifier:
    the task's."""
    ordered = sorted(attempts, key=lambda attempt: order(attempt.address))
    if not ordered:
        return None
    if policy == "vote":
        return vote(ordered, verifier)
    return next((a for a in reversed(ordered) if not a.cut), ordered[-1])
