"""One run, live: what it is given to reach the world, its walk, its end.

The rule this file keeps: a life that began ends with its holds settled and, while the disk takes it,
with a `RunEnded`, whoever cancels it and whatever fails in it.

Of some length, as what a life is given, does and leaves is one order of steps, and that order is the rule.
"""

import math
import os
import random
import socket
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from pathlib import Path

import anyio
import anyio.lowlevel
import orjson

from podium.dsl.program import Budget, Program

from .admit import Admission
from .baseline import score_baselines
from .call import Client
from .caps import budget_of
from .clock import first_of
from .dispatch import CallPath, Gate, Pace, Verify, handler
from .event import (
    AccountOpened,
    Ordered,
    RunEnded,
    RunStarted,
    Stamped,
)
from .fold import Fold
from .folders import kept
from .interpret import run as walk
from .journal import Journal
from .ledger import Ledger, Limit
from .lives import lived
from .orders import DRAIN, UNDRAIN, Reins, drained, last_taken, topped, topup
from .outcome import (
    Cancelled,
    Failed,
    Named,
    Outcome,
    Paused,
    outcome_of,
)
from .rent import Rental, rate
from .result import Recorded, RunResult, end_of
from .retry import LATER
from .reuse import Reuse
from .rows import named_tasks, walk_rows
from .scope import World
from .store import DiskError, Store, StoreError
from .toolbox import Toolbox
from .value import Attempt, Json, Verdict
from .version import VERSION


@dataclass(frozen=True, slots=True)
class Access:
    """A client with the door its calls pass: shared by the runs that use the same keys.

    pools: for each of the run's models, the name under which the fleet knows its replicas.
    salt: as ModelCall's, of the run's account.
    """

    client: Client
    admission: Admission
    windows: Mapping[str, int]
    pools: Mapping[str, str]
    salt: str = ""


# Events that are folded at one go, at most: one by one, among all else that a call does, they take longer; but
# each that waits has its reply with it.
FOLDED = 256


@dataclass(slots=True, eq=False)
class Run:
    """A run of this process, in its engine's task group: it goes on whoever watches it.

    id: its name in the store. program: what it runs. account: the ledger account above it, or None.
    journal: None for a run that ended before; then only `past`, `events` and `result` say anything.
    sandbox: as in RunStarted, of this life.
    """

    id: str
    program: Program
    store: Store
    path: Path
    journal: Journal | None = None
    watchers: list[Callable[[Stamped], None]] = field(
        default_factory=list[Callable[[Stamped], None]]
    )
    account: str | None = None
    sandbox: str = ""
    gate: Gate = field(default_factory=Gate)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    _folded: Fold = field(default_factory=Fold)
    reins: Reins | None = None
    reuse: Reuse | None = None
    pace: Pace = anyio.lowlevel.checkpoint
    rental: Rental | None = None
    _unfolded: list[Stamped] = field(default_factory=list[Stamped])
    _ended: anyio.Event = field(default_factory=anyio.Event)
    _result: RunResult | None = None
    _error: Exception | None = None

    @property
    def named(self) -> Named:
        return Named(self.id, self.program.name)

    @property
    def folded(self) -> Fold:
        """The fold of all events so far; they wait until somebody looks."""
        self._fold()
        return self._folded

    def _fold(self) -> None:
        for stamped in self._unfolded:
            self._folded.add(stamped)
        self._unfolded.clear()

    def past(self) -> Iterable[Stamped]:
        """The events on disk now."""
        return self.store.events(self.id)

    async def written(self) -> None:
        """Return when `past` has all that happened so far, or as much of it as the disk took."""
        if self.journal is not None:
            with suppress(DiskError):
                await self.journal.written()

    def events(self, after: int = -1) -> AsyncIterator[Stamped]:
        """Every event with a number above after, until the run ends. A reader may leave halfway.

        A slow one holds nobody up, and nothing is kept for it: it reads page by page from the store.
        """
        if self.journal is None:
            return Recorded(iter(self.store.events(self.id, after)))
        return self.journal.events(after)

    def seen(self, stamped: Stamped) -> None:
        """Tell the watchers: called with each event, in the event loop, as it happens; they must not raise."""
        self._unfolded.append(stamped)
        if len(self._unfolded) >= FOLDED:
            self._fold()
        for watcher in self.watchers:
            watcher(stamped)

    def pause(self, cause: str = "user") -> None:
        """Start no new work; what is in flight ends and is kept. The run can be resumed."""
        self.gate.interrupt(cause)

    def stop(self) -> None:
        """End the run for good with its best so far, once what is in flight has ended. Journaled."""
        self._order(Ordered("stop"))

    def top_up(self, more: str | Budget) -> None:
        """Add to the bounds of the run's budget, in the dimensions that it has. Journaled."""
        self._order(topup(budget_of(more)))

    def drain(self, replica: str) -> None:
        """Send nothing more to the replica (its name, or its server's) until `undrain`; calls there end. It holds
        for all runs of the engine, and for later lives of this one. Journaled."""
        self._order(Ordered(DRAIN, replica=replica))

    def undrain(self, replica: str) -> None:
        """Use the replica again. Journaled."""
        self._order(Ordered(UNDRAIN, replica=replica))

    def _order(self, order: Ordered) -> None:
        if self.reins is None:
            raise RuntimeError(f"run {self.id} is not live: it takes no orders")
        self.reins.obey(order)

    def abort(self) -> None:
        """Cancel what is in flight too: it is charged at its hold. The run can be resumed."""
        self.gate.interrupt("user")
        self.scope.cancel()

    async def result(self) -> RunResult:
        """The run's end, waited for. Raises the error that broke the run where that was no outcome."""
        await self._ended.wait()
        if self._error is not None:
            raise self._error
        assert self._result is not None, "a run that ended without an error has a result"
        return self._result

    def recorded(self) -> None:
        """Take the result from the store, of a run that ended before."""
        for stamped in self.past():
            self.folded.add(stamped)
        end = self.folded.ended
        assert end is not None, "the store says that it ended"
        outcome = outcome_of(end.outcome, end.reason, self.named)
        answers = end.answer if len(self.program.tasks) > 1 else [end.answer]
        verdict = Verdict(end.score, end.passed)
        trees = end.trees or [""] * len(answers)
        attempts = tuple(
            None if answer is None else Attempt(answer, _text(answer), "", verdict, tree=tree)
            for answer, tree in zip(answers, trees, strict=True)
        )
        self.finish(End(outcome, attempts), end)

    def finish(self, end: "End", event: RunEnded) -> None:
        """Let those who wait for the result have it. event: what was recorded of the end."""
        self._result = RunResult(
            self.id,
            end.outcome,
            event.resumable,
            end.attempts,
            event.seconds,
            self.path,
            self.folded,
            self.store.blob,
        )
        self._error = end.error
        self._ended.set()


def _text(answer: Json) -> str:
    return answer if isinstance(answer, str) else orjson.dumps(answer).decode()


@dataclass(frozen=True, slots=True)
class End:
    """How a life ended. error: what broke it, where that is no outcome of the run's own. reason: in place of
    the outcome's own, where it is not empty."""

    outcome: Outcome
    attempts: tuple[Attempt | None, ...] = ()
    error: Exception | None = None
    reason: str = ""


async def live(
    run: Run,
    journal: Journal,
    access: Access,
    ledger: Ledger,
    *,
    verify: Verify,
    tools: Toolbox,
    now: Callable[[], float],
) -> None:
    """One life of run. Cancelled, it ends as cancelled, which is raised on once everything is settled."""
    before = run.folded.seconds
    began = now()
    end = End(Cancelled())
    try:
        _begin(run, journal, ledger, access.windows)
        world = replace(
            _world(run, journal, access, ledger, verify=verify, tools=tools),
            by=_ends_by(run.program, journal, now),
            folders=await kept(journal, run.program),
        )
        rental = _rental(run, journal, ledger, world, access.admission.poke)
        if rental is not None:
            run.rental = rental
            rental.begin()
        run.reins = _reins(run, journal, ledger, world, access.admission)
        with run.scope:
            end = await _walked(world)
    except Exception as error:  # a life ends whatever broke it; the error is in its result
        end = End(_broken(journal, error), error=None if journal.broken else error)
    finally:
        run.reins = None
        if run.rental is not None:
            run.rental.close()
        with anyio.CancelScope(shield=True):
            await _close(run, journal, end, before + now() - began)


def _begin(run: Run, journal: Journal, ledger: Ledger, windows: Mapping[str, int]) -> None:
    """The first events of a life; the ledger as the journal has it."""
    journal.restore(ledger)
    owner = os.getpid(), socket.gethostname()
    journal.emit(RunStarted(journal.life + 1, *owner, VERSION, dict(windows), run.sandbox))
    pending = run.store.orders(run.id, last_taken(journal))
    for order in pending:  # a pause or a stop among them was for an earlier life
        journal.emit(order)
    budget = reduce(topped, journal.orders, run.program.budget)
    run.program = replace(run.program, budget=budget)
    limit = Limit(budget.usd, budget.tokens, budget.calls)
    if run.id not in ledger.accounts:
        ledger.open(run.id, limit, run.account)
        journal.emit(AccountOpened(run.id, run.account or "", *limit, budget.seconds))
    ledger.accounts[run.id].limit = limit


def _reins(run: Run, journal: Journal, ledger: Ledger, world: World, admission: Admission) -> Reins:
    """What carries out orders in this life; replicas that an earlier one drained are drained."""
    for replica in drained(journal.orders):
        admission.drain(replica, drained=True)
    return Reins(
        journal,
        ledger,
        run.id,
        run.gate.interrupt,
        admission.poke,
        world.longer,
        world.pausing,
        admission.drain,
    )


def _rental(
    run: Run, journal: Journal, ledger: Ledger, world: World, poke: Callable[[], None]
) -> Rental | None:
    """The rent of this life, where a model has one."""
    per_s, now = rate(run.program.models), anyio.current_time()
    if not per_s:
        return None
    seconds = run.program.budget.seconds
    ends = math.inf if seconds is None else now + seconds - world.lived.get(run.id, 0.0)
    hold = ledger.last(run.id)
    rental = Rental(journal, ledger, hold, per_s, world.lease, min(ends, world.by), poke, since=now)
    world.longer.append(rental.lengthen)
    return rental


async def pay(run: Run, scope: anyio.CancelScope) -> None:
    """Settle the rent of run as time goes by, until scope is cancelled."""
    if run.rental is not None:
        await run.rental.pay(scope)


def _broken(journal: Journal, error: Exception) -> Outcome:
    if journal.broken is not None:
        return Paused("disk", str(journal.broken))
    kind = "store" if isinstance(error, StoreError | DiskError) else "bug"
    return Failed(kind, str(error) or type(error).__name__)


def _world(
    run: Run, journal: Journal, access: Access, ledger: Ledger, *, verify: Verify, tools: Toolbox
) -> World:
    program = run.program
    path = CallPath(
        journal=journal,
        admission=access.admission,
        client=access.client,
        models=program.models,
        verify=verify,
        chance=random.Random(f"{program.seed} {run.id}"),
        gate=run.gate,
        pools=access.pools,
        reuse=run.reuse,
        pace=run.pace,
        salt=access.salt,
        use=tools.use,
    )
    return World(
        program,
        handler(path),
        ledger,
        journal,
        run.id,
        access.windows,
        run.gate.interrupt,
        lived(run.id, run.past()),
        known=journal.has_answer,
        orders=journal.orders,
        offers=tools.offers,
        told=journal.told,
        kept=run.store.blob,
        keep=partial(journal.commit, ()),
    )


def _ends_by(program: Program, journal: Journal, now: Callable[[], float]) -> float:
    """When the run ends by the clock, on the clock of the loop. The moment is fixed in the run's first life."""
    if not program.by:
        return math.inf
    moment = journal.decide(program.name, "by", lambda: first_of(program.by, now()))
    return anyio.current_time() + moment - now()


async def _walked(world: World) -> End:
    program = world.program
    began = anyio.current_time()
    if (stopped := await score_baselines(world, named_tasks(program))) is not None:
        return End(stopped)
    used = world.lived.get(world.account, 0.0) + anyio.current_time() - began
    world = replace(world, lived={**world.lived, world.account: used})  # time runs from the start
    if len(program.tasks) > 1:
        ends = await walk_rows(world)
        return End(ends.outcome, ends.attempts, reason=ends.reason)
    result = await walk(world, program.tasks[0] if program.tasks else None)
    return End(result.outcome, (result.value,), reason=result.reason)


async def _close(run: Run, journal: Journal, end: End, seconds: float) -> None:
    """Write the end down and let go of the run. A disk that refuses leaves it as if it had been killed."""
    with suppress(StoreError):  # it is in `broken`
        await journal.written()
    if journal.broken is not None:
        end = replace(end, outcome=Paused("disk", str(journal.broken)), reason="")
    event = _last_event(run, end, seconds, resumable=_is_resumable(journal, end))
    try:
        await journal.end(event)
    except StoreError as error:  # the store shows a run without an end, which can be resumed
        end = replace(end, outcome=Paused("disk", str(error)), reason="")
        event = _last_event(run, end, seconds, resumable=True)
    finally:
        await journal.close()
        run.finish(end, event)


def _is_resumable(journal: Journal, end: End) -> bool:
    """Paused and cancelled runs can be taken up, broken ones, and those that failed for want of a server."""
    match end.outcome:
        case Paused() | Cancelled():
            return True
        case Failed(kind=kind):
            return end.error is not None or (kind in LATER and journal.failed_last)
        case _:
            return end.error is not None


def _last_event(run: Run, end: End, seconds: float, *, resumable: bool) -> RunEnded:
    return end_of(
        run.program,
        run.named,
        end.outcome,
        end.attempts,
        seconds=seconds,
        resumable=resumable,
        said=end.reason,
    )
