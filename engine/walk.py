"""Where a node stands in a run, and the few things it may do there: ask, judge, keep, decide, end.

Rules this file keeps. A run that is taken up again, or replayed with other latencies, asks the same addresses the
same things: whatever depended on time, chance or money is recorded as a decision and read back.

* A call that got no answer is a decision at its address; the next life is told the same without asking.
* The attempts and open calls of branches that lost a race are forgotten, so nothing later can depend on them.
* A node ends once, with one outcome, under cancellation too; a cancelled one says who cancelled it.
* Where the run is interrupted, tasks that want a new call wait; once nothing is in the air all are cancelled, so
  that no node takes a branch that was held up for one that gave nothing.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

import anyio
import anyio.lowlevel

from podium.dsl.program import Task, Verifier

from .call import (
    BudgetExhausted,
    CallError,
)
from .event import NodeEnded, NodeStarted
from .exchange import Port
from .forms import verifiers_in
from .guard import Guard
from .outcome import (
    BUDGETS,
    Cancelled,
    Exhausted,
    Failed,
    Finished,
    Outcome,
    Passed,
    Stopped,
    reason,
    rule_of,
    word,
)
from .pool import First, Later, Pledge
from .quick import quick
from .reduce import attempts_of, best
from .scope import Recorder, World
from .value import Attempt, Value, Verdict


@quick(frozen=True, slots=True)
class Failure:
    """A node that ended Failed or Exhausted, whatever became of its parent."""

    address: str
    outcome: Outcome


@quick(frozen=True, slots=True)
class Ended:
    """How a node ended and what it gave. reason replaces the outcome's own where it is not empty.

    began, rounds_left: as in NodeEnded; told of the node itself alone. too_few: fewer branches gave an attempt
    than its `need` says, two or more: what is kept of them, should it pass, does not make it passed.
    """

    outcome: Outcome
    value: Value | None = None
    failures: tuple[Failure, ...] = ()
    reason: str = ""
    began: bool = True
    rounds_left: int = 0
    too_few: bool = False


class Cause(Protocol):
    """Something that may cancel the nodes below it."""

    def why(self) -> Outcome | None:
        """How the nodes it cancels end; None while it cancels nothing."""
        ...


@dataclass(slots=True, eq=False)
class Race:
    """Siblings of which the losers are cancelled."""

    lost: Outcome | None = None

    def why(self) -> Outcome | None:
        return self.lost


@dataclass(slots=True, eq=False)
class Walk:
    """What one run shares: its world, the verdicts there are, its best attempt so far.

    paused, told: why the run is being stopped, in a word and in a sentence. in_air: calls given to the world
    and not yet answered.
    unflagged: the best attempt so far that no flag is on. own: the run's own budget.
    """

    world: World
    paused: str | None = None
    told: str = ""
    in_air: int = 0
    changed: anyio.Event = field(default_factory=anyio.Event)
    best: Attempt | None = None
    unflagged: Attempt | None = None
    own: Guard | None = None
    verdicts: dict[str, Verdict] = field(default_factory=dict[str, Verdict])
    judging: dict[str, anyio.Lock] = field(default_factory=dict[str, anyio.Lock])
    scored: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    _verifiers: tuple[Verifier, ...] | None = None

    def called(self, verifier: Verifier, task: Task) -> str:
        """What verifier is called in addresses below an attempt at task: by its name, with a number where another
        one of that name may judge the same attempt, and with how deep a part of the run's task it judged it as."""
        if self._verifiers is None:
            self._verifiers = verifiers_in(self.world.program.flow)
        others = [one for one in self._verifiers if one != task.verify]
        alike = [one for one in (task.verify, *others) if one and one.name == verifier.name]
        place = alike.index(verifier) if verifier in alike else 0
        name = verifier.name if place == 0 else f"{verifier.name}.of{place + 1}"
        depth = self._depth(task)
        return name if depth == 0 else f"{name}.part{depth}"

    def _depth(self, task: Task) -> int:
        """Of a part, as `split.part_tasks` names it, how many times it was divided; 0 of the run's own task."""
        tasks = self.world.program.tasks
        own = tasks[0].name if tasks else ""
        return task.name[len(own) :].count(".") if own and task.name.startswith(own) else 0

    async def pause(self, cause: str, told: str = "") -> None:
        """Stop the whole run and wait for the end; never comes back."""
        if self.paused is None:
            self.paused, self.told = cause, told
            self.world.interrupt(cause)
        self.tell()
        await anyio.sleep_forever()

    async def drained(self) -> None:
        """Comes back once the run is being stopped and no call is in the air."""
        while self.paused is None or self.in_air:
            await self.changed.wait()

    def tell(self) -> None:
        self.changed.set()
        self.changed = anyio.Event()


@quick(frozen=True, slots=True)
class Here:
    """A node's place: address, account, the task at hand, what may cancel it (outermost first).

    branches: how many parallel forms are around it. round: of the nearest repeat or team, 0 outside. port: where
    a team reads what its neighbours found. guards: the budgets among the causes, which each call asks for.
    """

    walk: Walk
    address: str
    account: str
    task: Task
    causes: tuple[Cause, ...] = ()
    branches: int = 0
    round: int = 0
    port: Port | None = None
    guards: tuple[Guard, ...] = ()

    @property
    def world(self) -> World:
        return self.walk.world

    @property
    def recorder(self) -> Recorder:
        return self.walk.world.recorder

    @property
    def files(self) -> str:
        """The tree that agents begin with on the task at hand, as of Attempt."""
        return self.world.folders.get(self.task.files, "")

    @property
    def pledges(self) -> tuple[Pledge, ...]:
        return tuple([cause for cause in self.causes if isinstance(cause, Pledge)])

    @property
    def part(self) -> Later | First | None:
        """The innermost round around it that an answer does not need, else that which gives a team's first one."""
        found: Later | First | None = None
        for cause in reversed(self.causes):
            if isinstance(cause, Later):
                return cause
            if found is None and isinstance(cause, First):
                found = cause
        return found

    def at(self, segment: str) -> "Here":
        """The place below this one; an empty segment is the same place."""
        if not segment:
            return self
        return Here(  # each node has one, and `replace` takes four times as long
            self.walk,
            f"{self.address}/{segment}",
            self.account,
            self.task,
            self.causes,
            self.branches,
            self.round,
            self.port,
            self.guards,
        )


def budget_mark(here: Here, what: str, account: str, address: str) -> str:
    """The name of a decision about a budget at address: budgets around the same node have accounts that
    differ by a mark."""
    if account == here.world.account:
        return f"{what} of the run"
    return what + account.removeprefix(f"{here.world.account}/{address}")


# --- nodes ---------------------------------------------------------------------------------------

Body = Callable[[Here], Awaitable[Ended]]


async def node(here: Here, kind: str, label: str, body: Body) -> Ended:
    """Run body as the node at here: its start and its end are events, its call errors are outcomes."""
    here.recorder.emit(NodeStarted(here.address, kind, label))
    try:
        try:
            # As `settle`, without one more coroutine of each agent that waits.
            ended = await body(here)
        except (CallError, BudgetExhausted) as error:
            ended = _failed(here, error)
        if any(map(_is_over, here.causes)):
            # It came to its end in the instant in which a race was decided without it, or a budget failed that
            # it is inside: this raises.
            await anyio.lowlevel.checkpoint()
    except anyio.get_cancelled_exc_class():
        _end(here, Ended(_why(here)))
        raise
    except BaseException as error:
        # A mistake of ours: the node ends all the same, the error goes on.
        _end(here, Ended(Failed("bug", repr(error))))
        raise
    _end(here, ended)
    return replace(ended, rounds_left=0) if ended.rounds_left else ended


def _is_over(cause: Cause) -> bool:
    if isinstance(cause, Race):
        return cause.lost is not None
    return isinstance(cause, Guard) and isinstance(cause.ended, Failed)


def _why(here: Here) -> Outcome:
    """How a cancelled node ends: the outermost cause that cancels says."""
    return next((why for cause in here.causes if (why := cause.why())), Cancelled())


async def settle(here: Here, body: Body) -> Ended:
    """body's end, or the outcome of the error that it raised."""
    try:
        return await body(here)
    except (CallError, BudgetExhausted) as error:
        return _failed(here, error)


def _failed(here: Here, error: CallError | BudgetExhausted) -> Ended:
    outcome: Outcome
    if isinstance(error, CallError):
        outcome = Failed(error.kind, error.message)
    else:
        outcome = Exhausted(error.account, error.dimension)
    return Ended(outcome, failures=(Failure(here.address, outcome),))


def skip(here: Here, kind: str, label: str, outcome: Outcome) -> None:
    """The events of a node that never began."""
    here.recorder.emit(NodeStarted(here.address, kind, label))
    _end(here, Ended(outcome, began=False))


def _end(here: Here, ended: Ended) -> None:
    attempts = attempts_of(ended.value)
    first = best(attempts, here.task.better) if len(attempts) > 1 else next(iter(attempts), None)
    score = None if first is None else first.score
    why = ended.reason
    if not (why or isinstance(ended.outcome, Passed | Finished)):  # most have none
        why = reason(ended.outcome, here.world.named)
    how = word(ended.outcome), why, score, ended.began, ended.rounds_left
    here.recorder.emit(NodeEnded(here.address, *how))


def ending(value: Value, failures: tuple[Failure, ...] = (), why: str = "") -> Ended:
    """The end of a node that returns value: passed, or finished, or failed where every reply was cut.

    why: the rule that ended it early; a plateau's or a CEO's stop is an outcome of its own.
    """
    attempts = attempts_of(value)
    if any(attempt.passed for attempt in attempts):
        return Ended(Passed(), value, failures, why)
    if attempts and all(attempt.cut for attempt in attempts):
        return Ended(Failed("reply", "the reply was cut by its cap"), value, failures, why)
    rule = rule_of(why)
    return Ended(Finished() if rule is None else Stopped(rule), value, failures, why)


def keep(here: Here, attempt: Attempt) -> None:
    """Hold attempt ready for the budgets around it, should they run out."""
    for guard in here.guards:
        guard.keep(attempt)


def paused_by(here: Here, account: str, dimension: str) -> str:
    """Which budget pauses the run; empty where that is the run's own, which needs no name."""
    if account == here.world.account:
        return ""
    return f"the {BUDGETS.get(dimension, dimension)} budget of {here.world.named.shown(account)}"


def no_room(here: Here, error: BudgetExhausted) -> str:
    """error in words, its budget by the name that people know."""
    of = here.world.named.shown(error.account)
    what = BUDGETS.get(error.dimension, error.dimension)
    return f"the {what} budget of {of} has no room for this call"


def may_start(here: Here, address: str) -> bool:
    """Whether the branch, member or round at address may begin: not after a refusal under `shrink`."""
    shrinking = [guard for guard in here.guards if guard.policy == "shrink"]
    if not shrinking:
        return True
    return here.recorder.decide(address, "starts", lambda: not any(g.shrunk for g in shrinking))


def no_more(here: Here) -> Outcome:
    """How what was not begun at here ends, as a budget around it shrank: the one that refused, innermost first."""

    def refused() -> list[str]:
        why = next((g.refused for g in reversed(here.guards) if g.shrunk and g.refused), None)
        return [] if why is None else [why.account, why.dimension]

    told = here.recorder.decide(here.address, "no_more", refused)
    return Exhausted(*told) if told else Stopped("enough")
