"""Scripted servers and a run in memory: topologies without a model, in virtual time.

    async def test_three_answers() -> None:
        played = await play(program, ScriptedClient(["one", "two", "three"]))
        assert played.calls == ["main/parallel/1.agent/c1", …]

`Memory` stands in for the journal: give the memory of one run to the next one to take it up or to replay it.
"""

import contextlib
import json
import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import isawaitable
from typing import TypeVar, cast

import anyio

from podium.dsl.model import Model
from podium.dsl.program import Program, Task

from ..call import (
    BudgetExhausted,
    Call,
    CallError,
    Client,
    Finish,
    Interrupted,
    ModelCall,
    ModelReply,
    Replica,
    Reply,
    ToolCall,
    ToolUse,
    Usage,
    VerifierCall,
    VerifierReply,
    request_digest,
)
from ..clients.textual import as_text, calls_in
from ..dispatch import Use
from ..event import Event, NodeEnded
from ..functions import Function
from ..interpret import Result, run
from ..ledger import Hold, Ledger, Limit
from ..scope import World
from ..tokens import spent, worst
from ..toolbox import NO_TOOLS, Toolbox
from ..value import Json
from ..verify import judge

T = TypeVar("T")
_ACCOUNT = "run"


@dataclass(frozen=True, slots=True)
class Say:
    """A scripted reply. delay in virtual seconds; usage None counts bytes / 4, and one token at least."""

    text: str
    delay: float = 0.0
    finish: Finish = "stop"
    usage: Usage | None = None
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Fail:
    """A scripted failure after delay; the error is raised as it is."""

    error: CallError
    delay: float = 0.0


Answer = str | Say | Fail
Script = (
    Sequence[Answer]
    | Mapping[str, Answer]
    | Callable[[ModelCall], Answer]
    | Callable[[ModelCall], Awaitable[Answer]]
)


@dataclass(slots=True, eq=False)
class ScriptedClient:
    """A Client that answers from a list (in order of arrival), by address, or with a function of the call.

    A mapping may give an address or any end of one (`m2/c1`); "" answers the rest. seen: every call sent, in
    order; flying: addresses in the air now; most: how many were at once; ended: those that were answered.
    text_tools: calls are sent, and tools called, in words, as to a server that does not know tools.
    """

    script: Script
    context: int | None = 8192
    inflight: int = 1_000
    text_tools: bool = False
    seen: list[ModelCall] = field(default_factory=list[ModelCall])
    flying: set[str] = field(default_factory=set[str])
    most: int = 0
    ended: list[str] = field(default_factory=list[str])

    async def probe(self, model: Model) -> tuple[Replica, ...]:
        endpoint = model.endpoints[0]
        return (
            Replica(
                f"scripted:{model.name}",
                model.name,
                endpoint,
                "scripted:",
                endpoint.name,
                self.inflight,
                self.context if model.context is None else model.context,
            ),
        )

    async def send(self, call: ModelCall, replica: Replica, request_id: str) -> ModelReply:
        number = len(self.seen)
        call = as_text(call) if self.text_tools else call
        self.seen.append(call)
        self.flying.add(call.address)
        self.most = max(self.most, len(self.flying))
        try:
            reply = await self._reply(call, number)
        finally:
            self.flying.discard(call.address)
        self.ended.append(call.address)
        reply = calls_in(reply) if self.text_tools else reply
        return replace(reply, served=replica.served, replica=replica.name)

    async def _reply(self, call: ModelCall, number: int) -> ModelReply:
        answer = await self._answer(call, number)
        if isinstance(answer, str):
            answer = Say(answer)
        await anyio.sleep(answer.delay)
        if isinstance(answer, Fail):
            raise answer.error
        into = sum(len(message.content.encode()) for message in call.messages) // 4
        said = answer.text + "".join(call.name + call.text for call in answer.calls)
        out = max(len(said.encode()) // 4, int(bool(said)))
        usage = answer.usage or Usage(input=into, output=out)
        return ModelReply(answer.text, answer.finish, usage, tool_calls=answer.calls)

    async def _answer(self, call: ModelCall, number: int) -> Answer:
        script = self.script
        if callable(script):
            given = script(call)
            return await given if isawaitable(given) else given
        if isinstance(script, Mapping):
            return _by_address(script, call.address)
        if number >= len(script):
            raise AssertionError(
                f"the script has {len(script)} replies; {call.address} is one more"
            )
        return script[number]


def _by_address(script: Mapping[str, Answer], address: str) -> Answer:
    ends = [key for key in script if address == key or address.endswith("/" + key) or not key]
    if not ends:
        raise AssertionError(f"the script has no reply for {address}")
    return script[max(ends, key=len)]


@dataclass(slots=True, eq=False)
class Memory:
    """A journal in memory: events, decisions, answered calls by address with the digest of what was asked.

    fresh: model and verifier calls that this memory had no answer for, in the order they were made.
    """

    events: list[Event] = field(default_factory=list[Event])
    decisions: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    answers: dict[str, tuple[str, Reply]] = field(default_factory=dict[str, tuple[str, Reply]])
    verdicts: dict[str, Reply] = field(default_factory=dict[str, Reply])
    fresh: list[str] = field(default_factory=list[str])

    def emit(self, event: Event) -> None:
        self.events.append(event)

    def decide(self, address: str, name: str, take: Callable[[], T]) -> T:
        if (address, name) not in self.decisions:
            self.decisions[address, name] = json.dumps(take())
        return cast(T, json.loads(self.decisions[address, name]))  # what take gave, as JSON

    def recall(self, address: str, name: str) -> Json:
        found = self.decisions.get((address, name))
        return None if found is None else cast(Json, json.loads(found))

    def told(self, address: str) -> Reply | None:
        answer = self.answers.get(address)
        return None if answer is None else answer[1]

    def known(self, call: Call) -> Reply | None:
        if isinstance(call, VerifierCall):
            # A verdict is known by its content, whoever asked for it.
            return self.verdicts.get(request_digest(call))
        if call.address not in self.answers:
            return None
        asked, reply = self.answers[call.address]
        if asked != request_digest(call):
            raise AssertionError(f"{call.address} was asked something else in an earlier life")
        return reply

    def next_life(self) -> "Memory":
        """The memory with which the run is taken up: no events of its own yet."""
        return Memory(
            decisions=dict(self.decisions),
            answers=dict(self.answers),
            verdicts=dict(self.verdicts),
        )

    def outcomes(self) -> dict[str, str]:
        """The outcome of each node by address; fails if a node ended twice."""
        ends = [event for event in self.events if isinstance(event, NodeEnded)]
        found = {event.address: event.outcome for event in ends}
        assert len(found) == len(ends), "a node ended twice"
        return found


@dataclass(frozen=True, slots=True)
class Played:
    """A run that was played: its result, the memory it left, its ledger, the addresses sent in order."""

    result: Result
    memory: Memory
    ledger: Ledger
    calls: list[str]


@dataclass(slots=True, eq=False)
class _Desk:
    """Answers calls under the ledger: waits while a hold could fit later, refuses when it never will."""

    program: Program
    client: Client
    memory: Memory
    ledger: Ledger
    bindings: Mapping[str, Function]
    replicas: dict[str, Replica]
    use: Use
    interrupted: bool = False
    changed: anyio.Event = field(default_factory=anyio.Event)

    async def call(self, call: Call) -> Reply:
        known = self.memory.known(call)
        if known is not None:
            await anyio.lowlevel.checkpoint()
            return known
        if self.interrupted:
            raise Interrupted
        self.memory.fresh.append(call.address)
        if isinstance(call, VerifierCall):
            reply: Reply = VerifierReply(await judge(call, self.bindings, inline=True))
            self.memory.verdicts[request_digest(call)] = reply
        elif isinstance(call, ToolUse):
            reply = await self.use(call)
        else:
            reply = await self._model(call)
        self.memory.answers[call.address] = (request_digest(call), reply)
        return reply

    async def _model(self, call: ModelCall) -> ModelReply:
        price = self.program.models[call.model].price
        hold = await self._hold(call)
        actual = hold.amount
        try:
            reply = await self.client.send(call, self.replicas[call.model], call.address)
            actual = spent(reply.usage, price)
            return reply
        except CallError as error:
            actual = spent(error.usage or Usage(), price)
            raise
        finally:
            self.ledger.settle(hold, actual)
            self.tell()

    async def _hold(self, call: ModelCall) -> Hold:
        amount = worst(call, self.program.models[call.model].price)
        while True:
            hold = self.ledger.hold(call.account, amount)
            if isinstance(hold, Hold):
                return hold
            if hold.final:
                raise BudgetExhausted(hold.account, hold.dimension)
            await self.changed.wait()
            if self.interrupted:
                raise Interrupted

    def interrupt(self, cause: str) -> None:
        self.interrupted = True
        self.tell()

    def tell(self) -> None:
        self.changed.set()
        self.changed = anyio.Event()


@contextlib.asynccontextmanager
async def scripted_world(
    program: Program,
    client: Client,
    *,
    memory: Memory | None = None,
    ledger: Ledger | None = None,
    bindings: Mapping[str, Function] | None = None,
    by: float = math.inf,
    tools: Toolbox | None = None,
) -> AsyncGenerator[World]:
    """A World over client, in memory. The ledger has the run's account open under the program's budget.

    by: as in World, on the loop's clock. tools: those outside of the agents; None: there are none.
    """
    memory = Memory() if memory is None else memory
    ledger = Ledger() if ledger is None else ledger
    box = NO_TOOLS if tools is None else tools
    ledger.open(_ACCOUNT, Limit.of(program.budget))
    found = {name: (await client.probe(model))[0] for name, model in program.models.items()}
    desk = _Desk(program, client, memory, ledger, bindings or {}, found, box.use)
    windows = {name: one.context for name, one in found.items() if one.context is not None}
    yield World(
        program,
        desk.call,
        ledger,
        memory,
        _ACCOUNT,
        windows,
        desk.interrupt,
        by=by,
        known=memory.answers.__contains__,
        offers=box.offers,
        told=memory.told,
    )


async def play(
    program: Program,
    client: ScriptedClient,
    *,
    task: Task | None = None,
    memory: Memory | None = None,
    ledger: Ledger | None = None,
    bindings: Mapping[str, Function] | None = None,
    by: float = math.inf,
    tools: Toolbox | None = None,
) -> Played:
    """Run program once on client and check what holds for every run: nothing held, nothing in the air."""
    memory = Memory() if memory is None else memory
    ledger = Ledger() if ledger is None else ledger
    before = len(client.seen)
    task = task if task is not None else next(iter(program.tasks), None)
    async with scripted_world(
        program, client, memory=memory, ledger=ledger, bindings=bindings, by=by, tools=tools
    ) as world:
        result = await run(world, task)
    assert not client.flying, f"left in the air: {sorted(client.flying)}"
    assert all(not any(account.held) for account in ledger.accounts.values()), "money is held"
    return Played(result, memory, ledger, [call.address for call in client.seen[before:]])
