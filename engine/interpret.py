"""Walking a Program: each form of a flow is ordinary structured concurrency over calls."""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import assert_never

import anyio
from anyio.abc import TaskGroup

from podium.dsl.program import (
    Agent,
    Budget,
    Fallback,
    Flow,
    ForEach,
    Lift,
    Limited,
    Parallel,
    Reduce,
    Repeat,
    Route,
    Same,
    Task,
    Team,
    Then,
)

from .agent import seed_of
from .ballots import vote
from .branches import Job, Rule, siblings
from .exchange import Exchange, Port
from .forms import gives_many, kind_of, segment
from .guard import Guard
from .ledger import Limit
from .limit import limited, salvage, unjudged
from .outcome import BY_USER, STOP, Exhausted, Failed, Outcome, Passed, Paused, Stopped
from .pool import Need
from .reduce import attempts_of, best, sample, top
from .rounds import fallback, repeat
from .scope import World
from .solo import act_alone, many_of, need_of
from .split import part_tasks, route_key
from .team import drive
from .value import Attempt, Many, Value
from .verdicts import finalists, judge_all, submitted
from .walk import Ended, Failure, Here, Walk, ending, node

_NO_TASK = Task("none", "")


@dataclass(frozen=True, slots=True)
class Result:
    """How a run ended: its answer, where there is one, and the failures below it, lowest address first.

    reason: as Ended's.
    """

    outcome: Outcome
    value: Attempt | None
    failures: tuple[Failure, ...] = ()
    reason: str = ""


async def run(world: World, task: Task | None, share: Budget | None = None) -> Result:
    """Walk the program's flow for task. Opens the run's account if it is not open yet.

    share: of one task of several, what of the run's budget is its own.

    A flow that gives Many is reduced: by the task's verifier, else by vote. The answer is verified at the end.
    Cancelling the caller's scope ends every node and goes on outwards; nothing is left running.
    """
    walk = Walk(world)
    result: Result | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_watch, walk, tasks)
        result = await _run(walk, task or _NO_TASK, share)
        tasks.cancel_scope.cancel()
    if walk.paused is not None or result is None:
        return Result(Paused(walk.paused or "user", walk.told), walk.best or _given(walk))
    return result


def _given(walk: Walk) -> Attempt | None:
    """An answer of a run that pauses before any had its verdict: what was paid for is shown. No call is made."""
    given = () if walk.own is None else tuple(walk.own.attempts.values())
    program = walk.world.program
    verifier = program.tasks[0].verify if program.tasks else None
    return unjudged(given, program.on_exhausted, verifier)


async def _watch(walk: Walk, tasks: TaskGroup) -> None:
    await walk.drained()
    if walk.paused == STOP and walk.own is not None:
        walk.paused = None
        walk.own.stop()
    else:
        tasks.cancel_scope.cancel()


async def _run(walk: Walk, task: Task, share: Budget | None) -> Result:
    program = walk.world.program
    budget = program.budget
    walk.world.ledger.open(walk.world.account, Limit.of(budget))
    # A split of the run's budget is one between its tasks, where there are several, and not once more below.
    around = 1 if share is not None else 0
    here = Here(walk, program.name, walk.world.account, task, branches=around)
    guards: list[Guard] = []

    async def shared(inside: Here) -> Ended:
        if share is None:
            return await body(inside)
        return await limited(inside, body, share, "best")

    async def body(inside: Here) -> Ended:
        guards.extend(inside.guards)
        ended = await walk_flow(program.flow, task, inside.at(segment(program.flow)))
        return await _single(inside, ended)

    ended = await limited(here, shared, budget, program.on_exhausted, account=walk.world.account)
    if ended.value is None:  # what was paid for is not thrown away with a step that failed later
        kept = await salvage(here, tuple(guards[0].attempts.values()), "best")
        ended = replace(ended, value=kept)
    stopped = ended.outcome == Stopped("user")
    ended = await submitted(here, ended)
    reason = BY_USER if stopped and isinstance(ended.outcome, Passed) else ""
    return Result(ended.outcome, next(iter(attempts_of(ended.value)), None), ended.failures, reason)


async def _single(here: Here, ended: Ended) -> Ended:
    """ended with one attempt: the best of several by the task's verifier, else their vote."""
    if not isinstance(ended.value, Many):
        return ended
    attempts = ended.value.attempts
    if here.task.verify is None:
        one = vote(attempts)
    else:
        judged, _ = await judge_all(here, attempts)
        one = best(await finalists(here, judged), here.task.better)
    whole = ending(one, ended.failures)
    short = ended.too_few or (isinstance(ended.outcome, Exhausted) and not one.passed)
    return replace(whole, outcome=ended.outcome, too_few=ended.too_few) if short else whole


# --- forms ---------------------------------------------------------------------------------------


async def walk_flow(flow: Flow, value: Value, here: Here) -> Ended:
    """The end of flow as the node at here. Only cancellation and mistakes of ours are raised."""
    return await node(here, kind_of(flow), flow.label, partial(_form, flow, value))


def _form(flow: Flow, value: Value, here: Here) -> Awaitable[Ended]:
    # No coroutine of its own: each one below an agent costs memory while the agent waits.
    match flow:
        case Agent():
            return _agent(flow, value, here)
        case Team():
            return drive(flow, value, here)
        case Parallel():
            return _parallel(flow, value, here)
        case Then():
            return _then(flow, value, here)
        case Lift():
            return _lift(flow, value, here)
        case Fallback():
            return fallback(flow, value, here, walk_flow)
        case Repeat():
            return repeat(flow, value, here, walk_flow)
        case Same():
            return _same(value)
        case Reduce():
            return _reduce(flow, value, here)
        case Route():
            return _route(flow, value, here)
        case ForEach():
            return _for_each(flow, value, here)
        case Limited():
            return _limited(flow, value, here)
        case _:
            assert_never(flow)


async def _same(value: Value) -> Ended:
    return ending(value)


async def _limited(flow: Limited, value: Value, here: Here) -> Ended:
    body = partial(_form, flow.flow, value)
    ended = await limited(here, body, flow.budget, flow.on_exhausted or "best")
    if gives_many(flow) and isinstance(ended.value, Attempt):
        return replace(ended, value=Many((ended.value,)))
    return ended


def _agent(flow: Agent, value: Value, here: Here) -> Awaitable[Ended]:
    role = flow.role
    if not (isinstance(value, Many) and "attempt" in role.takes):
        return act_alone(here, role, value)

    async def each(attempt: Attempt, place: Here) -> Ended:
        return await act_alone(place, role, value, attempt)

    jobs = [
        Job(str(i), "agent", role.name, partial(each, attempt))
        for i, attempt in enumerate(value.attempts, 1)
    ]
    return siblings(here, jobs, Rule())


async def _then(flow: Then, value: Value, here: Here) -> Ended:
    failures: tuple[Failure, ...] = ()
    ended = ending(value)
    for number, step in enumerate(flow.steps, 1):
        ended = await walk_flow(step, value, here.at(f"{number}.{step.label}"))
        failures += ended.failures
        if ended.value is None:
            break
        value = ended.value
    return replace(ended, failures=failures)


async def _parallel(flow: Parallel, value: Value, here: Here) -> Ended:
    judged = flow.passes is not None
    width = sum(branch.count for branch in flow.branches)
    exchange = Exchange(flow.migrate, width) if flow.migrate is not None and width > 1 else None
    kinds = [(branch, need_of(here, branch.flow, value)) for branch in flow.branches]
    each = [(branch.flow, need) for branch, need in kinds for _ in range(branch.count)]
    jobs = [
        _job(number, inner, value, need, judged=judged, exchange=exchange)
        for number, (inner, need) in enumerate(each, 1)
    ]
    even = flow.split == "even" or (here.world.program.split == "even" and not here.branches)
    rule = Rule(flow.passes, flow.need, flow.inflight, "even" if even else "pooled")
    return await siblings(here, jobs, rule)


def _job(
    number: int,
    flow: Flow,
    value: Value,
    need: Need,
    *,
    judged: bool = False,
    exchange: Exchange | None = None,
) -> Job:
    port = None if exchange is None else Port(exchange, number)

    async def port_and_verdict(place: Here) -> Ended:
        place = replace(place, port=port)
        ended = await _form(flow, value, place)
        return await submitted(place, ended) if judged else ended

    body = port_and_verdict if judged or port else partial(_form, flow, value)

    return Job(f"{number}.{flow.label}", kind_of(flow), flow.label, body, need)


async def _lift(flow: Lift, value: Value, here: Here) -> Ended:
    jobs = [
        _job(number, flow.flow, attempt, need_of(here, flow.flow, attempt))
        for number, attempt in enumerate(many_of(value).attempts, 1)
    ]
    return await siblings(here, jobs, Rule())


async def _reduce(flow: Reduce, value: Value, here: Here) -> Ended:
    attempts = attempts_of(value)
    if not attempts:
        return Ended(Failed("need", f"there is no attempt for {flow.how}"))
    match flow.how:
        case "vote" if flow.by is None:
            return ending(vote(attempts, here.task.verify))
        case "sample":
            seed = seed_of(here.world.program.seed, here.address)
            return ending(Many(sample(attempts, flow.k, seed)))
        case "best" | "top" | "score" | "vote":
            return await _ranked(flow, value, attempts, here)


async def _ranked(flow: Reduce, value: Value, attempts: Sequence[Attempt], here: Here) -> Ended:
    """best, top, score, a weighted vote. Where one of them but score names a verifier, attempts keep the verdicts
    that they came with."""
    better = here.task.better
    judged, error = await judge_all(here, attempts, flow.by)
    if error is not None and all(attempt.verdict is None for attempt in judged):
        raise error  # nothing can be told apart: the attempts stay with the budgets around
    if flow.how == "score":
        return ending(Many(judged) if isinstance(value, Many) else judged[0])
    if flow.how == "best":
        judged = await finalists(here, judged, flow.by)
    chosen: tuple[Attempt, ...]
    match flow.how:
        case "vote":
            chosen = (vote(judged, here.task.verify, weighted=True),)
        case "best":
            chosen = (best(judged, better),)
        case _:
            chosen = top(judged, flow.k, better)
    if flow.by is not None and flow.by != here.task.verify:
        by_address = {attempt.address: attempt for attempt in attempts}
        chosen = tuple(by_address[attempt.address] for attempt in chosen)
    return ending(Many(chosen) if flow.how == "top" else chosen[0])


async def _route(flow: Route, value: Value, here: Here) -> Ended:
    keys = tuple(key for key, _ in flow.cases)
    key, failed = await route_key(flow.by, keys, value, here.at("by"))
    if key is None:
        return failed
    number = keys.index(key) + 1
    inner = flow.cases[number - 1][1]
    return await walk_flow(inner, value, here.at(f"{number}.{inner.label}"))


async def _for_each(flow: ForEach, value: Value, here: Here) -> Ended:
    tasks, failed = await part_tasks(flow.by, flow.max, value, here.at("by"))
    if not tasks:
        return failed

    async def part(task: Task, place: Here) -> Ended:
        return await _form(flow.flow, task, replace(place, task=task))

    label, kind = flow.flow.label, kind_of(flow.flow)
    jobs = [
        Job(f"{i}.{label}", kind, label, partial(part, task), need_of(here, flow.flow, task))
        for i, task in enumerate(tasks, 1)
    ]
    return await siblings(here, jobs, Rule())
