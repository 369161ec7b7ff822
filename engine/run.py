"""`Engine`: starts, resumes and lists runs. What a service embeds, and what the command line uses.

    async with Engine("runs.db") as engine:
        run = await engine.start("…text of a .team file…", task="words", budget="[$5]")
        result = await run.result()

Leaving the block waits for the runs. Cancelling it stops them, settles their calls and leaves nothing held.

Of some length, as one class owns what all runs share: the store, the ledger, the door to the models.
"""

import math
import os
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self, cast

import anyio
import anyio.abc
import anyio.lowlevel

from podium.dsl.program import Budget, Clock, Program
from podium.dsl.source import Source

from .access import check_budget, door
from .call import Client
from .caps import budget_of
from .checker import found_sandbox, sandbox_for
from .clients.address import BASE
from .clients.http import HttpClient
from .clock import clock_of
from .collector import patient
from .dispatch import Pace, Verify
from .event import Stamped
from .fold import Fold, fold_for
from .folders import begun
from .functions import Bindings
from .gauging import listen
from .journal import Journal
from .ledger import Ledger, Limit
from .library import DiskLibrary, StoredLibrary, allowance
from .life import Run, live, pay
from .rent import rate
from .request import Request, compiled, from_json, to_json
from .result import Recorded
from .reuse import Reuse
from .salt import salt
from .sandbox import Sandbox
from .store import RunExists, RunOwned, RunRecord, Store, StoreError, run_id
from .toolbox import Means, Open, Toolbox, needs_sandbox, open_tools
from .value import Json
from .verify import Judging, judge, load_all

Tell = Callable[[str], None]
Parameter = str | int | float | bool


# In a run's request, beside what `to_json` writes: the run whose answers it may use again.
FORK = "fork"
# How soon an order from another process is taken: a person waits for it, and a look costs microseconds.
ORDERS_EVERY_S = 0.5


class NotResumable(Exception):
    """The message says why the run cannot be taken up, and what to do."""


@dataclass(frozen=True, slots=True)
class Account:
    """A ledger account above runs, such as a tenant's. What its earlier runs spent counts."""

    name: str


def _moment(by: str | Clock | None) -> Clock | None:
    return clock_of(by) if isinstance(by, str) else by


def _quiet(_: str) -> None:
    pass


def _alone(error: BaseException) -> BaseException:
    """What groups of one, within groups of one, hold."""
    found: BaseException = error
    while isinstance(found, BaseExceptionGroup):
        group = cast(BaseExceptionGroup[BaseException], found)  # isinstance loses the parameter
        if len(group.exceptions) != 1:
            return group
        found = group.exceptions[0]
    return found


class Engine:
    """Use it as an async context manager, from one event loop, asyncio or (with a client of yours) trio.

    store: the file of its runs, made if there is none, or a Store, which stays open. environ and secrets:
    where keys are looked up by name, secrets first; the default environ is the process's. allow: what
    programs may use beyond themselves (`python:checks.*`, `env:FAST_KEY`, `file:data/*`), for all runs.
    bindings: functions under the names that `python("name")` uses. client: in place of HTTP.
    tell: told, in a sentence, of what takes long. inline: no threads, for a clock that jumps.
    orders_every_s: how often the store is looked at for orders of other processes (`podium pause`, …);
    None is twice a second, and never where inline.
    chance: of run ids and waits. judging: what verifiers say, `verify.judge` unless something stands for it;
    tools: likewise what opens the tools of agents.
    sandbox: where programs are started; None finds one for the runs that need it, or, unsafe_sandbox, none:
    then whatever they start may do what this process may.
    """

    def __init__(
        self,
        store: str | Path | Store = ".podium/runs.db",
        *,
        client: Client | None = None,
        environ: Mapping[str, str] | None = None,
        secrets: Mapping[str, str] | None = None,
        allow: Sequence[str] = (),
        bindings: Bindings | None = None,
        tell: Tell = _quiet,
        inline: bool = False,
        now: Callable[[], float] = time.time,
        chance: random.Random | None = None,
        judging: Judging = judge,
        tools: Open = open_tools,
        orders_every_s: float | None = None,
        sandbox: Sandbox | None = None,
        unsafe_sandbox: bool = False,
    ) -> None:
        self._given = store if isinstance(store, Store) else None
        self._path = Path(store.name if isinstance(store, Store) else store)
        self._client = client
        self._environ = dict(os.environ) if environ is None else environ
        self._secrets = secrets or {}
        self._allow = tuple(allow)
        self._bindings = bindings or {}
        self._tell = tell
        self._inline = inline
        self._now = now
        self._orders_every_s = orders_every_s or (math.inf if inline else ORDERS_EVERY_S)
        self._chance = chance or random.Random()
        self._judging = judging
        self._open_tools = tools
        self._sandbox = sandbox
        self._unsafe = unsafe_sandbox
        self.ledger = Ledger()
        self._live: dict[str, Run] = {}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            stack.enter_context(patient())
            self._store = self._given or self._opened(stack)
            self._secret = self._store.secret()
            await stack.enter_async_context(self._store.writing())
            self._http: HttpClient | None = None
            if self._client is None:
                http = HttpClient(self._environ, self._secrets, tell=self._tell)
                self._http = await stack.enter_async_context(http)
            self._door = door(self.ledger, self._chance)
            self._tasks = await stack.enter_async_context(anyio.create_task_group())
            self._stack = stack.pop_all()
        return self

    def _opened(self, stack: AsyncExitStack) -> Store:
        store = Store.open(self._path, inline=self._inline, clock=self._now)
        stack.callback(store.close)
        return store

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        """Errors of the block go out as they are, not in the group that anyio makes around them."""
        try:
            return await self._stack.__aexit__(kind, error, traceback)
        except BaseExceptionGroup as group:
            if error is not None and _alone(group) is error:
                return False
            raise

    # --- accounts and lists ----------------------------------------------------------------------

    def account(self, name: str, limit: str | Budget | None = None) -> Account:
        """An account above runs. A second call with a lower limit tightens it; none raises it."""
        bounds = Limit.of(budget_of(limit))
        if name not in self.ledger.accounts:
            self.ledger.open(name, Limit())
            self._carry_over(name)
        self.ledger.tighten(name, bounds)
        return Account(name)

    def _carry_over(self, account: str) -> None:
        """Charge what earlier runs of the account spent: of those that may be resumed, each to its own."""
        ended, others = self._store.account_spent(account)
        self.ledger.charge(account, ended)
        for run, spent in others.items():
            self.ledger.open(run, Limit(), account)
            self.ledger.charge(run, spent)

    def runs(self) -> list[RunRecord]:
        """Every run of the store, the newest first."""
        return self._store.runs()

    def run(self, run: str) -> Run | None:
        """The run of that id, while it lives in this engine."""
        return self._live.get(run)

    def events(self, run: str, after: int = -1) -> AsyncIterator[Stamped]:
        """The events of a run with numbers above after: all on disk, and each further one while it lives here.

        Raises KeyError where there is no such run.
        """
        found = self._live.get(self._store.run(run).id)
        return (
            Recorded(iter(self._store.events(run, after))) if found is None else found.events(after)
        )

    # --- starting --------------------------------------------------------------------------------

    async def start(
        self,
        program: str | Source | Program,
        *,
        run: str | None = None,
        expression: str | None = None,
        task: str | None = None,
        params: Mapping[str, Parameter] | None = None,
        budget: str | Budget | None = None,
        by: str | Clock | None = None,
        account: Account | None = None,
        key: str | None = None,
        secrets: Mapping[str, str] | None = None,
        allow: Sequence[str] = (),
        bindings: Bindings | None = None,
        seed: int | None = None,
        request: Mapping[str, Json] | None = None,
        fork: str | None = None,
    ) -> Run:
        """Start a run; it is live, and in the store, on return.

        program: the text of a .team file, or one compiled already: then request is what compiles it again
        (`request.to_json`), and without it the run cannot be resumed. run, expression, task, params, seed: as on
        the command line. budget, by: caps that only tighten. key: a second start with the same key and account
        gives the first one's run. secrets: for this run alone. fork: an earlier run, whose answers to the same
        requests are used again and cost nothing.

        Raises ProgramError (nothing was sent), CallError (an endpoint is down, a key is missing, a function that
        `python("name")` names cannot be loaded: nothing was paid), ValueError (by is no time of day), StoreError,
        RunOwned (another process runs the run of this key), KeyError (no run to fork).
        """
        name = account.name if account else ""
        if key is not None and (found := self._store.find(key, name)) is not None:
            return await self._again(found)
        if not isinstance(program, Program):
            source = program if isinstance(program, Source) else Source("<text>", program)
            values = {n: (value, "params") for n, value in (params or {}).items()}
            asked = Request(source, run, values, expression, task, (), budget_of(budget), seed)
            program, request = self._compiled(replace(asked, by=_moment(by)), allow)
        begin = partial(self._create, program, self._forking(request, fork), name, key)
        return await self._started(program, begin, secrets, bindings)

    def _forking(self, request: Mapping[str, Json] | None, fork: str | None) -> Mapping[str, Json]:
        """request, with the run whose answers are used again; raises KeyError where there is none."""
        if fork is None:
            return request or {}
        return {**(request or {}), FORK: self._store.run(fork).id}

    async def _started(
        self,
        program: Program,
        begin: Callable[[], tuple[Run, Journal]],
        secrets: Mapping[str, str] | None,
        bindings: Bindings | None,
    ) -> Run:
        """The run that begins so; where another start with its key was quicker, that one's."""
        try:
            started: Run = await self._tasks.start(self._carry, program, begin, secrets, bindings)
        except RunExists as error:
            return await self._again(self._store.run(error.run))
        return started

    def _compiled(self, asked: Request, allow: Sequence[str]) -> tuple[Program, Mapping[str, Json]]:
        """What is asked as a program, and what compiles it again."""
        allowed = allowance((*self._allow, *allow))
        library = DiskLibrary(asked.source.name, self._environ.get(BASE))
        program, _ = compiled(asked, library, allowed, default_url=self._environ.get(BASE))
        return program, to_json(replace(asked, texts=program.sources))

    async def _again(self, record: RunRecord) -> Run:
        """The run of an earlier start: live, or ended with its result, or taken up."""
        if record.id in self._live:
            return self._live[record.id]
        if record.status != "ended":
            try:
                return await self.resume(record.id)
            except RunOwned:
                if record.id in self._live:  # another start with this key was quicker
                    return self._live[record.id]
                raise
        program = self._compiled_again(record)
        run = Run(record.id, program, self._store, self._path, _folded=fold_for(program))
        run.recorded()
        return run

    async def resume(
        self,
        run: str | None = None,
        *,
        program: Program | None = None,
        secrets: Mapping[str, str] | None = None,
        bindings: Bindings | None = None,
        pace: Pace = anyio.lowlevel.checkpoint,
    ) -> Run:
        """Take up a run where it stopped: the one named, else the latest that has not ended; of those that
        failed, for want of a server for instance, only where there is no other.

        It runs the texts it began with. program: for a run that was started from a Program object.
        pace: waited for before each recorded answer is given again.
        Raises KeyError on an unknown run, RunOwned where another process has it, NotResumable.
        """
        record = self._record(run)
        if program is None:
            program = self._compiled_again(record)
        begin = partial(self._take, record, program, pace)
        resumed: Run = await self._tasks.start(self._carry, program, begin, secrets, bindings)
        return resumed

    def _compiled_again(self, record: RunRecord) -> Program:
        """The program of an earlier life, from the texts of its first one, which was allowed all it uses."""
        if not record.request:
            raise NotResumable(f"run {record.id} began from a Program object: give it again")
        asked = from_json(record.request)
        program, _ = compiled(asked, StoredLibrary(asked.texts), lambda kind, name: True)
        return program

    def _record(self, run: str | None) -> RunRecord:
        record = self._store.latest_unfinished() if run is None else self._store.run(run)
        if record is None:
            raise NotResumable("every run of this store has ended")
        if record.status == "ended":
            raise NotResumable(f"run {record.id} has ended; there is nothing to resume")
        return record

    # --- the life of a run -----------------------------------------------------------------------

    async def _carry(
        self,
        program: Program,
        begin: Callable[[], tuple[Run, Journal]],
        secrets: Mapping[str, str] | None,
        bindings: Bindings | None,
        *,
        task_status: anyio.abc.TaskStatus[Run],
    ) -> None:
        """Load what judges, open the tools, reach the models, write the run down, live it. What goes wrong before
        it lives is raised to who started it; what goes wrong later is in the run's result and disturbs no other.
        """
        begun(program)
        bound = {**self._bindings, **(bindings or {})}
        sandbox = self._sandbox
        if self._judging is judge:  # what stands for it may call no function of the user's
            load_all(program, bound)
            sandbox = sandbox or await sandbox_for(program, unsafe=self._unsafe)
        if self._open_tools is open_tools and needs_sandbox(program):
            sandbox = sandbox or await found_sandbox("tools of its agents", unsafe=self._unsafe)
        means = Means(bound, self._inline, sandbox, self._store.blob)
        async with self._open_tools(program, means) as tools:
            await self._carried(program, begin, secrets, means, tools, task_status=task_status)

    async def _carried(
        self,
        program: Program,
        begin: Callable[[], tuple[Run, Journal]],
        secrets: Mapping[str, str] | None,
        means: Means,
        tools: Toolbox,
        *,
        task_status: anyio.abc.TaskStatus[Run],
    ) -> None:
        access = await self._door.open(self._way(secrets), program.models, self._tell)
        check_budget(program, access.windows)
        run, journal = begin()
        run.sandbox = "" if means.sandbox is None else means.sandbox.name
        access = replace(access, salt=salt(self._secret, run.account or ""))
        journal.watchers.append(run.seen)
        self._live[run.id] = run
        listening, gauging, renting, missing = (anyio.CancelScope() for _ in range(4))
        try:
            task_status.started(run)
            if self._orders_every_s < math.inf:
                self._tasks.start_soon(self._listen, run, listening)
            pools = tuple(access.pools.values())
            self._tasks.start_soon(listen, access.client, self._door.admission, pools, gauging)
            self._tasks.start_soon(self._door.rejoin, access, program.models, missing)
            if rate(program.models):
                self._tasks.start_soon(pay, run, renting)
            verify = self._verify(means, secrets)
            await live(run, journal, access, self.ledger, verify=verify, tools=tools, now=self._now)
        finally:
            for scope in (listening, gauging, renting, missing):
                scope.cancel()
            del self._live[run.id]
            self._door.admission.forget(run.id)
            self.ledger.close(run.id)

    def _verify(self, means: Means, secrets: Mapping[str, str] | None) -> Verify:
        """What judges in a run, with what it may know of keys."""
        bound, inline = means.bindings, means.inline
        if self._judging is not judge:
            return partial(self._judging, bindings=bound, inline=inline)
        environ = {**self._environ, **self._secrets, **(secrets or {})}
        return partial(
            judge,
            bindings=bound,
            inline=inline,
            environ=environ,
            sandbox=means.sandbox,
            kept=means.kept,
        )

    def _way(self, secrets: Mapping[str, str] | None) -> Client:
        """The client, with the run's own secrets where it has some: the connections are the same."""
        if self._client is not None:
            return self._client
        assert self._http is not None, "it is made where the engine has no client of the user's"
        return self._http.with_secrets(secrets) if secrets else self._http

    async def _listen(self, run: Run, scope: anyio.CancelScope) -> None:
        """Take the orders that other processes leave for run in the store, for as long as it lives."""
        taken = 0
        with scope:
            while True:
                await anyio.sleep(self._orders_every_s)
                try:
                    orders = self._store.orders(run.id, taken)
                except StoreError as error:
                    self._tell(f"run {run.id} no longer takes orders from other processes: {error}")
                    return
                for order in orders:
                    taken = order.number
                    if run.reins is not None:
                        run.reins.obey(order)

    def _create(
        self, program: Program, request: Mapping[str, Json], account: str, key: str | None
    ) -> tuple[Run, Journal]:
        record, journal = self._created(program.name, request, account, key)
        return self._new_run(record, program, journal, fold_for(program)), journal

    def _created(
        self, name: str, request: Mapping[str, Json], account: str, key: str | None
    ) -> tuple[RunRecord, Journal]:
        """A new run in the store. Chance may make an id that is there already: then another one is made."""
        while True:
            record = RunRecord(
                run_id(self._now(), self._chance), name, self._now(), account, request, key
            )
            try:
                return record, self._store.create(record)
            except (RunExists, RunOwned) as error:
                if error.run != record.id:
                    raise

    def _take(self, record: RunRecord, program: Program, pace: Pace) -> tuple[Run, Journal]:
        folded = fold_for(program)
        journal = self._store.take(record.id, folded.add)
        run = self._new_run(record, program, journal, folded)
        run.pace = pace
        return run, journal

    def _new_run(self, record: RunRecord, program: Program, journal: Journal, folded: Fold) -> Run:
        account = record.account or None
        if account is not None and account not in self.ledger.accounts:
            self.account(account)
        fork = record.request.get(FORK)
        return Run(
            record.id,
            program,
            self._store,
            self._path,
            journal,
            account=account,
            _folded=folded,
            reuse=Reuse.of(self._store, fork) if isinstance(fork, str) else None,
        )


__all__ = ["Account", "Engine", "NotResumable"]
