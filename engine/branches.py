"""Siblings that run at the same time: races, quotas, shares of a budget. Results are in branch order.

A branch's failure never touches the others. In a race, who had ended when it was decided is itself a decision:
a later life of the run starts those branches alone and comes to the same result.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, cast

import anyio
from anyio.abc import TaskGroup

from .event import AccountOpened
from .ledger import Account, Limit
from .outcome import Exhausted, Failed, Outcome, Stopped
from .pool import NO_NEED, Need, Pledge, Pool, covers
from .quick import quick
from .reduce import attempts_of
from .value import Many
from .walk import Body, Ended, Here, Race, ending, may_start, no_more, node, skip


@quick(frozen=True, slots=True)
class Job:
    """One branch: its segment of the address, its form and name, what it does, what its answer takes."""

    segment: str
    kind: str
    label: str
    body: Body
    need: Need = NO_NEED


@dataclass(frozen=True, slots=True)
class Rule:
    """passes: stop once so many passed. need: how many must give an attempt. inflight: at once, at most."""

    passes: int | None = None
    need: int = 1
    inflight: int | None = None
    split: Literal["pooled", "even"] = "pooled"


@dataclass(slots=True, eq=False)
class _Group:
    """The state of one set of siblings; branches are numbered from 1."""

    here: Here
    jobs: Sequence[Job]
    rule: Rule
    kept: frozenset[int] | None
    race: Race = field(default_factory=Race)
    began: set[int] = field(default_factory=set[int])
    running: dict[int, str] = field(default_factory=dict[int, str])
    pledges: dict[int, Pledge] = field(default_factory=dict[int, Pledge])
    pool: Pool = field(default_factory=Pool)
    ended: dict[int, Ended] = field(default_factory=dict[int, Ended])
    passed: int = 0
    _changed: anyio.Event | None = None

    def tell(self) -> None:
        """Something changed that a branch may wait for."""
        if self._changed is not None:
            self._changed.set()
            self._changed = None

    async def change(self) -> None:
        """Wait until something changes."""
        if self._changed is None:
            self._changed = anyio.Event()
        await self._changed.wait()


async def gather(here: Here, jobs: Sequence[Job]) -> list[Ended]:
    """Run all jobs at once, each as a node, and give their ends in order."""
    ends: dict[int, Ended] = {}

    async def one(number: int, job: Job) -> None:
        ends[number] = await node(here.at(job.segment), job.kind, job.label, job.body)

    async with anyio.create_task_group() as tasks:
        for number, job in enumerate(jobs):
            tasks.start_soon(one, number, job)
    return [ends[number] for number in range(len(jobs))]


async def siblings(here: Here, jobs: Sequence[Job], rule: Rule) -> Ended:
    """Run the jobs as branches of the node at here; their attempts, flattened, are its value.

    Branches start in order. Under a pooled budget one starts only while the pool covers, at worst, its own answer
    and what those that run still need for theirs; if none runs it starts anyway and the ledger decides.
    """
    # The numbers of branches, as `_branch` wrote them.
    kept = cast(list[int] | None, here.recorder.recall(here.address, "kept"))
    group = _Group(here, jobs, rule, None if kept is None else frozenset(kept))
    group.pool.account = here.account
    inside = replace(here, causes=(*here.causes, group.race), branches=here.branches + 1)
    async with anyio.create_task_group() as tasks:
        for number, job in enumerate(jobs, 1):
            if group.kept is None or number in group.kept:
                await _room(group, job)
                if group.race.lost or not may_start(here, f"{here.address}/{job.segment}"):
                    break
                _start(group, inside, number, tasks)
    _bury(group)
    return _result(group)


def _start(group: _Group, inside: Here, number: int, tasks: TaskGroup) -> None:
    job = group.jobs[number - 1]
    place = inside.at(job.segment)
    if group.rule.split == "even":
        place = replace(place, account=_share(group, number))
    elif place.world.ledger.is_bounded(place.account):
        place.recorder.decide(place.address, "began", lambda: True)
        pledge = group.pledges[number] = Pledge(job.need, group.tell, group.pool)
        place = replace(place, causes=(*place.causes, pledge))
    group.began.add(number)
    group.running[number] = place.account
    tasks.start_soon(_branch, group, place, number, tasks)


async def _branch(group: _Group, place: Here, number: int, tasks: TaskGroup) -> None:
    job = group.jobs[number - 1]
    try:
        ended = await node(place, job.kind, job.label, job.body)
        if group.race.lost:  # it ended after the race: the record of who was kept is made
            return
        group.ended[number] = ended
        group.passed += any(attempt.passed for attempt in attempts_of(ended.value))
    finally:
        del group.running[number]
        if (pledge := group.pledges.pop(number, None)) is not None:
            pledge.end()
        group.tell()
    if group.kept is None and group.rule.passes is not None and group.passed >= group.rule.passes:
        group.here.recorder.decide(group.here.address, "kept", lambda: sorted(group.ended))
        group.race.lost = Stopped("lost")
        tasks.cancel_scope.cancel()


async def _room(group: _Group, job: Job) -> None:
    """Wait until one more branch may run. On the way to where time ran out before, nothing waits for money; nor
    does a branch that an earlier life began: what it has paid for is there, whatever the pool holds now."""
    while group.running and not group.race.lost:
        full = group.rule.inflight is not None and len(group.running) >= group.rule.inflight
        if not full and (_covers(group, job) or _replays(group.here, job)):
            return
        await group.change()


def _replays(here: Here, job: Job) -> bool:
    if any(guard.cut is not None for guard in here.guards):
        return True
    return here.recorder.recall(f"{here.address}/{job.segment}", "began") is not None


def _covers(group: _Group, job: Job) -> bool:
    if group.rule.split == "even":
        return True
    here = group.here
    return covers(here.world.ledger, group.pool, job.need)


def _share(group: _Group, number: int) -> str:
    """The account of a branch under an even split: its part of what no running branch may still take.

    So what an ended branch left is shared by those that have not begun, and goes back to the pool at last.
    """
    here = group.here
    ledger = here.world.ledger
    name = f"{here.world.account}/{here.address}/{number}"
    if not ledger.is_bounded(here.account):
        return here.account
    waiting = len(group.jobs) - len(group.began)
    limit = here.recorder.decide(
        f"{here.address}/{number}", "share", lambda: list(_free(group, waiting))
    )
    open_account(here, name, Limit(*limit), here.account, None)
    return name


def _free(group: _Group, waiting: int) -> Limit:
    """What is left to each of the branches that wait, once the running ones took all they still may."""
    ledger = group.here.world.ledger
    running = [ledger.accounts[name] for name in group.running.values()]
    free: list[int | None] = []
    for i, room in enumerate(ledger.left(group.here.account)):
        if room is not None:
            room = max(0, room - sum(_room_of(account, i) for account in running))
        free.append(None if room is None else room // waiting)
    return Limit(*free)


def _room_of(account: Account, i: int) -> int:
    limit = account.limit[i]
    return 0 if limit is None else max(0, limit - account.spent[i] - account.held[i])


def open_account(here: Here, name: str, limit: Limit, parent: str, seconds: float | None) -> None:
    """Open the ledger account name, with its event, unless an earlier life of the run has."""
    ledger = here.world.ledger
    if name not in ledger.accounts:
        ledger.open(name, limit, parent)
        here.recorder.emit(AccountOpened(name, parent, *limit, seconds))


def _bury(group: _Group) -> None:
    """End the branches that never began, and forget what lost ones left in the budgets around."""
    here = group.here
    lost = group.race.lost or group.kept is not None
    left: set[str] = set()
    for number, job in enumerate(group.jobs, 1):
        place = here.at(job.segment)
        if number not in group.began:
            skip(place, job.kind, job.label, Stopped("lost") if lost else no_more(here))
        elif number not in group.ended:
            left.add(place.address)
    if left:
        for guard in here.guards:
            guard.forget(left)


def _result(group: _Group) -> Ended:
    ends = [group.ended[number] for number in sorted(group.ended)]
    attempts = tuple(a for ended in ends for a in attempts_of(ended.value))
    failures = tuple(failure for ended in ends for failure in ended.failures)
    gave = sum(bool(attempts_of(ended.value)) for ended in ends)
    if gave >= group.rule.need:
        return ending(Many(attempts), failures)
    return Ended(_too_few(group, ends, gave), None, failures, too_few=group.rule.need > 1)


def _too_few(group: _Group, ends: Sequence[Ended], gave: int) -> Outcome:
    """Why too few branches gave an attempt: the failure of the lowest one, else its budget."""
    for kind in (Failed, Exhausted):
        for ended in ends:
            if isinstance(ended.outcome, kind) and not attempts_of(ended.value):
                return _told(group, ended.outcome, gave)
    need = group.rule.need
    return Failed("need", f"{gave} of {len(group.jobs)} branches gave an attempt; {need} must")


def _told(group: _Group, outcome: Outcome, gave: int) -> Outcome:
    if isinstance(outcome, Failed) and len(group.jobs) > 1:
        count = f"{gave} of {len(group.jobs)} branches gave an attempt"
        return Failed(outcome.kind, f"{outcome.message} ({count}; {group.rule.need} must)")
    return outcome
