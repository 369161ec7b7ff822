"""The bench of the field cases: a line of the language, a scripted server with a bill of its own, and the
check that every case passes at every event.

    bill <= spent + held <= limit          on every account, the tenant's and the run's included

and at the end: nothing held, spent = bill where the servers told their usage (never below it), one outcome a
node, and nothing left over: no call in the air, no slot taken, nobody in a queue, no task.
"""

import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import cast

import anyio

from podium.dsl.compile import Choice, compile_run
from podium.dsl.library import MemoryLibrary
from podium.dsl.model import Endpoint, Model
from podium.dsl.program import Program
from podium.dsl.source import Source
from podium.engine import Engine, Run
from podium.engine.call import CallError, ModelCall, ModelReply, Replica, Usage
from podium.engine.event import CallFailed, Event, NodeEnded, RunEnded, Stamped
from podium.engine.functions import Bindings
from podium.engine.ledger import NOTHING, Amount
from podium.engine.result import RunResult
from podium.engine.store import Store
from podium.engine.testing import Fail, Say, in_virtual_time, violations
from podium.engine.testing.disk import Killed
from podium.engine.testing.invariants import Books, books
from podium.engine.verify import Judging, judge

# In micro-dollars a token. FLAT: a call's worst case is its cap. REAL: input, cached, cache write, output.
FLAT = "{ output = $1 per 1M tokens }"
REAL = (
    "{ input = $1 per 1M tokens, cached = $0.1 per 1M tokens, cache_write = $1.25 per 1M tokens,"
    " output = $5 per 1M tokens }"
)
# The same, in twentieths of a micro-dollar, so that the bill is in integers and not the engine's arithmetic.
_FLAT, _REAL, _PART = (0, 0, 0, 20), (20, 2, 25, 100), 20

PLENTY = "[$100]"
ENDPOINT = Endpoint("openai", "m", "http://fake")

Script = Callable[[ModelCall, int], Say | Fail]


def team_file(
    flow: str,
    *,
    budget: str = "",
    price: str = FLAT,
    cap: int = 100,
    more: str = "",
    rest: str = "",
    endpoint: str = "http://127.0.0.1:1",
) -> str:
    """A program with one line of interest. more: fields of the model; rest: further declarations."""
    return f"""
model m {{ endpoint = openai("fake", base_url = "{endpoint}")  price = {price}  {more} }}
role one {{ prompt = \"\"\"{{{{ task.statement }}}}\"\"\"  max_output = {cap} tokens }}
role mend {{ prompt = \"\"\"Mend {{{{ attempt.answer }}}}\"\"\"  max_output = {cap} tokens }}
role merge {{ prompt = \"\"\"Merge {{{{ attempts | bullets }}}}\"\"\"  max_output = {cap} tokens }}
task t {{ statement = "Say yes."  verify = contains("yes") }}
{rest}
run main {{ task = t  flow = {flow}  budget = {budget or PLENTY} }}
"""


@dataclass(slots=True, eq=False)
class Till:
    """Servers that answer by a script and write a bill of what they did, for each account that pays for it.

    exact: whether every try so far was told with its usage. A call that is cancelled, or fails without a
    word of its usage, is billed as if it had gone on to its end, where it may have been paid at all.
    """

    script: Script
    inflight: int = 1_000
    context: int = 8192
    price: str = FLAT
    seen: list[ModelCall] = field(default_factory=list[ModelCall])
    starts: list[float] = field(default_factory=list[float])
    flying: dict[int, str] = field(default_factory=dict[int, str])
    most: int = 0
    bill: dict[str, Amount] = field(default_factory=dict[str, Amount])
    exact: bool = True
    above: Callable[[str], Iterable[str]] = lambda account: (account,)

    async def probe(self, model: Model) -> tuple[Replica, ...]:
        await anyio.lowlevel.checkpoint()
        return (
            Replica(
                "till", model.name, model.endpoints[0], "till:", "fake", self.inflight, self.context
            ),
        )

    async def send(self, call: ModelCall, replica: Replica, request_id: str) -> ModelReply:
        number = len(self.seen)
        self.seen.append(call)
        self.starts.append(anyio.current_time())
        self.flying[number] = call.address
        self.most = max(self.most, len(self.flying))
        try:
            return await self._served(call, self.script(call, number))
        finally:
            del self.flying[number]

    async def _served(self, call: ModelCall, answer: Say | Fail) -> ModelReply:
        try:
            await anyio.sleep(answer.delay)
        except BaseException:
            self._write(call, usage_of(call, answer), told=False)
            raise
        if isinstance(answer, Fail):
            error = answer.error
            if error.usage is not None or error.maybe_paid:
                self._write(call, usage_of(call, answer), told=error.usage is not None)
            elif error.kind != "unreachable":
                self._charge(call, Amount(calls=1))
            raise error
        usage = usage_of(call, answer)
        self._write(call, usage, told=answer.usage != Usage())
        said = answer.usage or usage
        return ModelReply(answer.text, answer.finish, said, "fake", "till", tool_calls=answer.calls)

    def _write(self, call: ModelCall, usage: Usage, *, told: bool) -> None:
        self.exact = self.exact and told
        usd = priced(usage, _REAL if self.price == REAL else _FLAT)
        self._charge(call, Amount(usd, usage.input + usage.output, 1))

    def _charge(self, call: ModelCall, amount: Amount) -> None:
        for name in self.above(call.account):
            self.bill[name] = self.bill.get(name, NOTHING).plus(amount)


def priced(usage: Usage, rates: Sequence[int]) -> int:
    """Micro-dollars, rounded up, by rates in twentieths of one: fresh, cached, written, output."""
    fresh = usage.input - usage.cached - usage.cache_write
    parts = (fresh, usage.cached, usage.cache_write, usage.output)
    return -(-sum(part * rate for part, rate in zip(parts, rates, strict=True)) // _PART)


def usage_of(call: ModelCall, answer: Say | Fail) -> Usage:
    """What answering took: as the script tells, else the prompt's quarter and the text's bytes, or all of
    the cap where there is no text."""
    told = answer.error.usage if isinstance(answer, Fail) else answer.usage
    if told is not None and told != Usage():
        return told
    read = sum(len(message.content.encode()) for message in call.messages) // 4
    wrote = call.max_output if isinstance(answer, Fail) else len(answer.text.encode())
    return Usage(input=read, output=min(call.max_output, wrote))


@lru_cache
def compiled(text: str) -> Program:
    """The program of text, compiled once for all seeds."""
    choice = Choice(allow=lambda kind, _: kind == "python")
    return compile_run(Source("case.team", text), MemoryLibrary(), choice)[0]


def cost(output: int, *, delay: float = 1.0, text: str = "yes") -> Say:
    """A reply of so many tokens."""
    return Say(text, delay, usage=Usage(input=5, output=output))


# --- a run under the check --------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Played:
    """What a run came to, in all its lives. result: of the last one."""

    till: Till
    store: Store
    result: RunResult
    events: list[Event]

    @property
    def spent(self) -> Amount:
        return self.result.folded.total.amount

    def ends(self, outcome: str = "") -> dict[str, str]:
        """Outcomes by address, or the reasons of those of one outcome."""
        last = {e.address: e for e in self.events if isinstance(e, NodeEnded)}
        if not outcome:
            return {address: event.outcome for address, event in last.items()}
        return {a: event.reason for a, event in last.items() if event.outcome == outcome}

    def failed(self) -> list[CallFailed]:
        return [event for event in self.events if isinstance(event, CallFailed)]


During = Callable[[Engine, Run], Awaitable[None]]


async def nothing(engine: Engine, run: Run) -> None:
    await anyio.lowlevel.checkpoint()


@dataclass(slots=True, eq=False)
class Check:
    """Looks at all accounts at every event; wrong: what it found. A watcher must not raise."""

    engine: Engine
    till: Till
    last: Books = field(default_factory=dict[str, object])  # type: ignore[assignment]
    wrong: list[str] = field(default_factory=list[str])

    def seen(self, stamped: Stamped) -> None:
        for account in self.engine.ledger.accounts.values():
            taken = account.spent.plus(account.held)
            bill = self.till.bill.get(account.name, NOTHING)
            if any(billed > have for billed, have in zip(bill, taken, strict=True)):
                self.wrong.append(f"{stamped}: {account.name} has {taken}, billed {bill}")
            taken = taken.minus(account.overrun)
            pairs = zip(taken, account.limit, strict=True)
            if any(limit is not None and have > limit for have, limit in pairs):
                self.wrong.append(f"{stamped}: {account.name} has {taken} of {account.limit}")
        if isinstance(stamped.event, RunEnded):
            self.last = books(self.engine.ledger.accounts)


async def play(
    text: str,
    till: Till,
    *,
    store: Store | None = None,
    tenant: str | None = None,
    during: During = nothing,
    bindings: Bindings | None = None,
    judging: Judging = judge,
    chance: int = 0,
    inline: bool = True,
) -> Played:
    """One life of a run of text: its first, or the next one of the run in store. tenant: the limit of an
    account above it. during: what happens beside it."""
    store = store or Store.memory(anyio.current_time)
    before = len(anyio.get_running_tasks())
    engine = Engine(
        store,
        client=till,
        environ={},
        inline=inline,
        now=anyio.current_time,
        chance=random.Random(chance),
        bindings=bindings,
        judging=judging,
    )

    def above(account: str) -> list[str]:
        return [one.name for one in engine.ledger.accounts[account].upwards()]

    till.above = above
    check = Check(engine, till)
    async with engine:
        payer = None if tenant is None else engine.account("tenant", tenant)
        known = store.runs()
        if known:
            run = await engine.resume(known[0].id, program=compiled(text))
        else:
            run = await engine.start(compiled(text), account=payer)
        run.watchers.append(check.seen)
        await during(engine, run)
        result = await run.result()
    assert not check.wrong, "\n".join(check.wrong[:3])
    found = violations(list(store.events(run.id)), check.last, run=run.id)
    assert not found, "\n".join(map(str, found))
    _settled(engine, till, run.id)
    assert len(anyio.get_running_tasks()) == before, "a task is left over"
    return Played(till, store, result, [stamped.event for stamped in store.events(run.id)])


def _settled(engine: Engine, till: Till, run: str) -> None:
    """Nothing is held, the bill is paid, no slot is taken and nobody waits."""
    assert not till.flying
    accounts = engine.ledger.accounts
    assert all(account.held == NOTHING for account in accounts.values())
    bill, spent = till.bill.get(run, NOTHING), accounts[run].spent
    if till.exact:
        assert bill == spent, f"billed {bill}, spent {spent}"
    assert all(billed <= paid for billed, paid in zip(bill, spent, strict=True))
    assert not _busy(engine), "a slot is taken, or somebody waits"


def _busy(engine: Engine) -> list[str]:
    """Who waits, and which slots are taken. The only place that looks behind the engine's door."""
    admission = engine._door.admission  # pyright: ignore[reportPrivateUsage]
    queue = admission._queue  # pyright: ignore[reportPrivateUsage]
    spots = admission.fleet._spots.values()  # pyright: ignore[reportPrivateUsage]
    taken = [spot.replica.name for spot in spots if spot.inflight]
    judged = [name for name, count in queue.judging.items() if count]
    waiting = [name for name, pool in queue.pools.items() if pool.first() is not None]
    return [*taken, *judged, *waiting, *(name for name in queue.lines if queue.first(name))]


def over(seeds: Iterable[int], case: Callable[[int], Awaitable[None]]) -> None:
    """case under each seed, which is also that of the order of its tasks. A failure names its seed."""
    for seed in seeds:
        try:
            in_virtual_time(partial(case, seed), seed)
        except BaseException as problem:
            problem.add_note(f"seed {seed}")
            raise


def failure(kind: str, *, delay: float = 1.0, paid: bool = False, **more: object) -> Fail:
    return Fail(CallError(kind, f"{kind} it is", maybe_paid=paid, **more), delay)  # type: ignore[arg-type]


def is_killed(problem: BaseException) -> bool:
    """Whether problem tells of a process that died."""
    if isinstance(problem, BaseExceptionGroup):
        group = cast(BaseExceptionGroup[BaseException], problem)
        return any(is_killed(inner) for inner in group.exceptions)
    return isinstance(problem, Killed)
