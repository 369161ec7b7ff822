"""A run with its doors, and a scripted fleet behind them, for the tests of the path of a call."""

import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import anyio

from podium.dsl.model import Endpoint, Model, Price
from podium.dsl.program import Task, Verifier
from podium.engine.admit import Admission
from podium.engine.call import (
    BudgetExhausted,
    Call,
    CallError,
    Handler,
    Interrupted,
    Message,
    ModelCall,
    ModelReply,
    Replica,
    Reply,
    Usage,
    VerifierCall,
)
from podium.engine.dispatch import CallPath, Gate, handler
from podium.engine.event import CallAnswered, CallFailed, Event
from podium.engine.fleet import Fleet
from podium.engine.journal import Journal
from podium.engine.ledger import NOTHING, Ledger, Limit
from podium.engine.store import RunRecord, Store
from podium.engine.value import Verdict

ENDPOINT = Endpoint("openai", "m", "http://fake")
# One output token costs a micro-dollar, input is free: a call's worst case is its cap.
MODEL = Model("m", (ENDPOINT,), Price(output=1_000_000))


Script = Callable[[ModelCall, int], Awaitable[ModelReply]]


def answer(output: int, text: str = "yes") -> ModelReply:
    return ModelReply(text, "stop", Usage(input=1, output=output))


@dataclass
class Server:
    """Answers as script says; script gets the call and how many requests came before it."""

    script: Script
    starts: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    ids: list[str] = field(default_factory=list[str])
    running: int = 0
    most: int = 0
    bill: int = 0

    async def probe(self, model: Model) -> tuple[Replica, ...]:
        return ()

    async def send(self, call: ModelCall, replica: Replica, request_id: str) -> ModelReply:
        number = len(self.starts)
        self.starts.append((anyio.current_time(), call.address))
        self.ids.append(request_id)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            reply = await self.script(call, number)
            self.bill += min(reply.usage.output, call.max_output)
            return reply
        finally:
            self.running -= 1


@dataclass
class Bench:
    """A run with its doors. After every event the ledger's rule is checked, against the server's bill."""

    server: Server
    limits: Mapping[str, tuple[str | None, Limit]]
    inflight: int = 100
    model: Model = MODEL
    verify: Callable[[VerifierCall], Awaitable[Verdict]] | None = None
    store: Store = field(default_factory=Store.memory)
    seed: int = 0
    journal: Journal = field(init=False)
    ledger: Ledger = field(init=False)
    fleet: Fleet = field(init=False)
    gate: Gate = field(default_factory=Gate)
    call: Handler = field(init=False)

    def __post_init__(self) -> None:
        if not self.store.runs():
            self.journal = self.store.create(RunRecord("r1", "main", 0.0, "run"))
        else:
            self.journal = self.store.take("r1")
        self.ledger = Ledger()
        for name, (parent, limit) in self.limits.items():
            self.ledger.open(name, limit, parent)
        self.journal.restore(self.ledger)
        self.fleet = Fleet(random.Random(self.seed))
        self.fleet.add("m", [Replica("r", "m", ENDPOINT, "http://fake", "m", self.inflight)])
        self.journal.watchers.append(lambda _: self.check())
        path = CallPath(
            journal=self.journal,
            admission=Admission(self.ledger, self.fleet),
            client=self.server,
            models={"m": self.model},
            verify=self.verify or refuse,
            chance=random.Random(self.seed),
            gate=self.gate,
        )
        self.call = handler(path)

    async def do(self, call: Call) -> None:
        await self.call(call)

    def check(self) -> None:
        run = self.ledger.accounts["run"]
        assert self.server.bill <= run.spent.usd + run.held.usd
        for account in self.ledger.accounts.values():
            taken = account.spent.plus(account.held).minus(account.overrun)
            for have, limit in zip(taken, account.limit, strict=True):
                assert limit is None or have <= limit, account

    def events(self) -> list[Event]:
        return [stamped.event for stamped in self.store.events("r1")]

    async def end(self) -> None:
        await self.journal.close()
        self.check()
        assert all(account.held == NOTHING for account in self.ledger.accounts.values())
        assert self.server.running == 0
        total = NOTHING
        for event in self.events():
            if isinstance(event, CallAnswered | CallFailed):
                total = total.plus(event.spent)
        assert total == self.ledger.accounts["run"].spent


async def refuse(call: VerifierCall) -> Verdict:
    raise AssertionError("nothing is verified here")


def ask(address: str, cap: int, account: str = "run", text: str = "go") -> ModelCall:
    return ModelCall(address, account, "m", (Message("user", text),), cap)


def judge(address: str, text: str = "a", name: str = "v") -> VerifierCall:
    verifier = Verifier(name, "python", {"ref": name})
    return VerifierCall(address, "run", verifier, Task("t", "do it"), text, text)


def run_of(limit: Limit) -> dict[str, tuple[str | None, Limit]]:
    return {"run": (None, limit)}


async def outcomes(bench: Bench, calls: list[ModelCall]) -> dict[str, Reply | Exception]:
    """Make the calls at once, in an order of the bench's seed; what each came to."""
    found: dict[str, Reply | Exception] = {}

    async def one(call: ModelCall) -> None:
        try:
            found[call.address] = await bench.call(call)
        except (CallError, BudgetExhausted, Interrupted) as error:
            found[call.address] = error

    random.Random(bench.seed).shuffle(calls)
    async with anyio.create_task_group() as group:
        for call in calls:
            group.start_soon(one, call)
    return found


async def asked_for_nothing(call: ModelCall, number: int) -> ModelReply:
    raise AssertionError("no model is called here")
