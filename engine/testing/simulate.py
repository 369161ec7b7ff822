"""`simulate`: a program under a schedule of faults, on virtual time, with every promise looked at.

    simulation = simulate(program, schedule=schedule(7))
    assert not simulation.violations, simulation.told()

A run that was killed, cancelled, or paused by an outage, a full disk or a broken verifier is resumed, as a
person would, until it ends; one whose verifier never gives a verdict stays paused. All follows from the seed.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import cast

import anyio

from podium.dsl.problem import ProgramError
from podium.dsl.program import Program

from ..call import CallError
from ..event import CallAnswered, CallFailed, Ordered, RunEnded, Stamped
from ..fold import fold
from ..functions import Bindings
from ..ledger import NOTHING, Amount
from ..life import Run
from ..orders import TOPUP
from ..outcome import Cancelled, Paused
from ..result import RunResult
from ..run import Engine
from ..store import RunRecord, Store
from ..transcript import transcript_hash
from .agents import Agents, Law, Speak, power_law
from .arm import Arm, Stroke
from .bill import billed, overcharged, paid_once
from .clock import Backend, in_virtual_time
from .disk import Disk, Killed, simulated_disk
from .faults import Cancel, Crash, Placed, Schedule
from .fleet import Server, SimulatedFleet, server_of
from .invariants import Book, Books, Violation, above, books, sum_of, violations
from .judging import SimulatedJudging
from .loop import cancel_natively, uncancel
from .replay import EPOCH, replayed
from .tools import SimulatedTools
from .weather import Weather

DAY_S = 86_400.0
# How long it takes until somebody resumes a run.
AWAY_S = 30.0
# How often a run looks for orders, where there are any.
ORDERS_EVERY_S = 0.5
# Pauses that end by themselves, sooner or later.
PASSING = ("outage", "disk", "verifier")
# A person who resumes a run whose verifier fails looks into it after so many lives without one new answer.
PATIENCE = 3


@dataclass(frozen=True, slots=True)
class Simulation:
    """What happened. events: of all lives, as the store has them. seconds: virtual, pauses included.

    result: of the last life; None where there was none that came to an end. error: what kept the run from
    starting. calls: tries that reached a server. transcript: as `transcript_hash` gives it. steps: of tasks, and
    records: written to the store, in each life.
    """

    program: Program
    schedule: Schedule
    events: tuple[Stamped, ...]
    result: RunResult | None
    seconds: float
    lives: int
    calls: int
    transcript: str
    violations: tuple[Violation, ...]
    error: Exception | None = None
    steps: tuple[int, ...] = ()
    records: tuple[int, ...] = ()

    def told(self) -> str:
        """The broken promises and what breaks them, a line each, for a failing test."""
        lines = [f"seed {self.schedule.seed}", *(str(one) for one in self.schedule.faults)]
        return "\n".join(lines + [str(one) for one in self.violations])


def simulate(
    program: Program,
    *,
    seed: int | None = None,
    schedule: Schedule | None = None,
    servers: Mapping[str, Server] | None = None,
    agents: Speak | None = None,
    law: Law | None = None,
    replies: Mapping[str, str] | None = None,
    bindings: Bindings | None = None,
    horizon_s: float = 7 * DAY_S,
    replay: bool = True,
    strokes: Sequence[Stroke] = (),
    orders: Sequence[tuple[float, Ordered]] = (),
    backend: Backend = "trio",
) -> Simulation:
    """Run program to its end under schedule, outside any event loop.

    seed: in place of the schedule's. servers: by model, "" for all others. agents: what is said, else `Agents`
    under law with fixed replies. horizon_s: a run that takes longer breaks the promise to end.
    replay: also run it again from what it recorded, with another order of tasks. strokes: where the first
    life is struck, the second, and so on. orders: given through the store at their seconds, or in the life that
    follows. backend: asyncio, whose order of tasks has no seed, or trio.
    """
    plan = schedule or Schedule(seed or 0)
    plan = plan if seed is None else replace(plan, seed=seed)
    rule = law or power_law()
    speak = agents or Agents(program, plan.seed, rule, replies or {})
    world = _World(
        program,
        plan,
        rule,
        speak,
        servers or {},
        bindings or {},
        horizon_s,
        strokes,
        orders=list(orders),
        backend=backend,
    )
    simulation = in_virtual_time(world.play, plan.seed, backend=backend, step=world.arm.step)
    if replay and not simulation.violations and _is_whole(simulation.result):
        window = partial(_window, program, servers or {})
        again = replayed(program, simulation.events, seed=plan.seed + 1, window=window)
        return replace(simulation, violations=again)
    return simulation


def _window(program: Program, servers: Mapping[str, Server], name: str) -> int:
    model = program.models[name]
    return model.context or server_of(servers, name).context


def _is_whole(result: RunResult | None) -> bool:
    return result is not None and not isinstance(result.outcome, Paused | Cancelled)


@dataclass(slots=True, eq=False)
class _World:
    """One simulation under way. books: of the last life's end. wrong: what was seen on the way.

    due: the kills and cancellations to come. scope: around the engine of this life. idle: lives running that
    paused for their verifier with no more answers than were heard before.
    """

    program: Program
    schedule: Schedule
    law: Law
    speak: Speak
    servers: Mapping[str, Server]
    bindings: Bindings
    horizon_s: float
    strokes: Sequence[Stroke]
    disk: Disk = field(default_factory=simulated_disk)
    due: list[Placed] = field(default_factory=list[Placed])
    books: Books = field(default_factory=dict[str, Book])
    wrong: list[Violation] = field(default_factory=list[Violation])
    crashes: set[int] = field(default_factory=set[int])
    answers: int = 0
    result: RunResult | None = None
    error: Exception | None = None
    lives: int = 0
    idle: int = 0
    heard: int = 0
    scope: anyio.CancelScope | None = None
    orders: list[tuple[float, Ordered]] = field(default_factory=list[tuple[float, Ordered]])
    backend: Backend = "trio"
    arm: Arm = field(init=False)

    def __post_init__(self) -> None:
        self.arm = Arm(self.strokes, self.disk)

    async def play(self) -> Simulation:
        weather = Weather(self.schedule)
        client = SimulatedFleet(self.speak, self.servers, weather, self.schedule.seed)
        judging = SimulatedJudging(self.law, weather, self.schedule.seed)
        self.disk.full = lambda: weather.disk_is_full(anyio.current_time())
        self.due = weather.life_ends()
        self.crashes = weather.crashes()
        with anyio.move_on_after(self.horizon_s) as scope:
            while await self._life(client, judging):  # noqa: ASYNC110  # somebody's absence, no polling
                await anyio.sleep(AWAY_S)
        if scope.cancelled_caught:
            text = f"the run did not end within {self.horizon_s:.0f} s"
            self.wrong.append(Violation("termination", self.program.name, text))
        return self._told(client)

    async def _life(self, client: SimulatedFleet, judging: SimulatedJudging) -> bool:
        """One life of the run; whether there is to be another."""
        store = Store.memory(_now, self.disk)
        self.result, self.error = None, None
        self.lives += 1
        engine = Engine(
            store,
            client=client,
            environ={},
            inline=True,
            now=_now,
            bindings=self.bindings,
            chance=random.Random(f"{self.schedule.seed} {self.lives}"),
            judging=judging,
            tools=SimulatedTools(self.schedule.seed),
            orders_every_s=ORDERS_EVERY_S if self.orders else None,
        )
        try:
            await self._lived(engine, store)
        except BaseException as problem:
            return self._broke(problem, _record(store))
        finally:
            self.arm.ends()
            self.wrong += [Violation("leftover", a, "in the air") for a in sorted(client.flying)]
        self.wrong += left(engine, store)
        return self._goes_on(_record(store))

    async def _lived(self, engine: Engine, store: Store) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._strike)
            tasks.start_soon(self._order, store)
            with anyio.CancelScope() as scope:
                self.scope = scope
                self.arm.begins(scope.cancel if self.backend == "trio" else cancel_natively())
                async with engine:
                    run = await self._begun(engine, _record(store))
                    run.watchers.append(partial(self._seen, engine))
                    self.result = await run.result()
            tasks.cancel_scope.cancel()

    async def _begun(self, engine: Engine, record: RunRecord | None) -> Run:
        if record is None:
            return await engine.start(self.program, seed=self.schedule.seed)
        return await engine.resume(record.id, program=self.program)

    async def _strike(self) -> None:
        """Bring each kill and each cancellation at its time; each once."""
        while self.due:
            await anyio.sleep(max(0.0, self.due[0].at_s - anyio.current_time()))
            fault = self.due.pop(0).fault
            if isinstance(fault, Crash):
                self.disk.dies_in = fault.commits
            elif isinstance(fault, Cancel) and self.scope is not None:
                self.scope.cancel()

    async def _order(self, store: Store) -> None:
        """Give each order at its time, once there is a run to take it."""
        while self.orders:
            await anyio.sleep(max(ORDERS_EVERY_S, self.orders[0][0] - anyio.current_time()))
            record = _record(store)
            if record is not None:
                store.order(record.id, self.orders.pop(0)[1])

    def _broke(self, problem: BaseException, record: RunRecord | None) -> bool:
        """What ended a life without a result; whether there is to be another one."""
        leaves = list(_leaves(problem))
        if any(isinstance(leaf, Killed) for leaf in leaves):
            self.disk.dies_in = None
            return record is None or record.status != "ended"
        first = leaves[0]
        if self.backend == "asyncio" and isinstance(first, anyio.get_cancelled_exc_class()):
            uncancel()
            return self._goes_on(record)
        if isinstance(first, ProgramError):
            raise first
        if not isinstance(first, Exception):
            raise problem
        self.error = first
        if isinstance(first, CallError):
            return first.kind == "unreachable"
        self.wrong.append(Violation("bug", self.program.name, repr(first)))
        return False

    def _goes_on(self, record: RunRecord | None) -> bool:
        """Whether a run that came to a stop in good order is taken up again."""
        if record is None:  # it was cancelled before it began
            return True
        if self.result is None:
            return record.status != "ended"
        outcome = self.result.outcome
        if isinstance(outcome, Paused):
            if outcome.cause in ("user", "budget"):
                return self._is_helped(outcome.cause)
            return outcome.cause in PASSING and not (outcome.cause == "verifier" and self._idles())
        return isinstance(outcome, Cancelled)

    def _is_helped(self, cause: str) -> bool:
        """Whether somebody takes up a run that an order paused, or one that lacks money and is to get some."""
        return cause == "user" or any(order.verb == TOPUP for _, order in self.orders)

    def _idles(self) -> bool:
        """Whether the verifier has brought nothing new for so long that somebody looks into it."""
        self.idle = self.idle + 1 if self.answers == self.heard else 0
        self.heard = self.answers
        return self.idle >= PATIENCE

    def _seen(self, engine: Engine, stamped: Stamped) -> None:
        """Look at the accounts that an event concerns; keep the books of the last one."""
        accounts = engine.ledger.accounts
        event = stamped.event
        if isinstance(event, RunEnded):
            self.books = books(accounts)
        elif isinstance(event, CallAnswered):
            self.answers += 1
            if self.answers in self.crashes:
                self.disk.dies_in = 1  # this answer is still written
        account = accounts.get(getattr(event, "account", ""))
        for one in () if account is None else account.upwards():
            if text := above(one.limit, one.spent.plus(one.held).minus(one.overrun)):
                self.wrong.append(Violation("cap", one.name, text, stamped.number))

    def _told(self, client: SimulatedFleet) -> Simulation:
        store = Store.memory(_now, self.disk)
        record = _record(store)
        events = () if record is None else tuple(store.events(record.id))
        run = "" if record is None else record.id
        whole = record is not None and record.status == "ended"
        found = violations(events, self.books if whole else {}, run=run)
        self.disk.close()
        return Simulation(
            self.program,
            self.schedule,
            events,
            self.result,
            anyio.current_time(),
            self.lives,
            client.sent,
            transcript_hash(events),
            (
                *self.wrong,
                *found,
                *paid_once(events),
                *overcharged(events, client.generated),
                *billed(_spent(events), client.generated),
            ),
            self.error,
            tuple(self.arm.steps),
            tuple(self.arm.records),
        )


def left(engine: Engine, store: Store) -> Iterator[Violation]:
    """What a life that ended in good order left behind: money held in the books, tries open on disk.

    Where it wrote no end, as it never began or the disk was full, the next life counts those tries as lost.
    """
    for account in engine.ledger.accounts.values():
        if account.held != NOTHING:
            yield Violation("leftover", account.name, f"{account.held} is held after a life")
    for record in store.runs():
        events = list(store.events(record.id))
        folded = fold(events)
        if folded.held and isinstance(events[-1].event, RunEnded):
            yield Violation("leftover", record.id, f"{folded.held} tries have no end after a life")


def _now() -> float:
    return EPOCH + anyio.current_time()


def _record(store: Store) -> RunRecord | None:
    """The one run of the store."""
    return next(iter(store.runs()), None)


def _leaves(problem: BaseException) -> Iterator[BaseException]:
    if isinstance(problem, BaseExceptionGroup):
        # isinstance loses the parameter
        for inner in cast(BaseExceptionGroup[BaseException], problem).exceptions:
            yield from _leaves(inner)
    else:
        yield problem


def _spent(events: tuple[Stamped, ...]) -> Amount:
    settled = (s.event for s in events)
    return sum_of(e.spent for e in settled if isinstance(e, CallAnswered | CallFailed))
