"""Simulated servers: latency, throughput, slots, a queue, a prefix cache and the weather, in virtual time.

A `SimulatedFleet` is a Client as the engine's others are, so that nothing else of the engine differs from a
real run. It runs on trio and on asyncio. What it generated, answered or not, is its bill.
"""

import random
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from math import inf

import anyio
import anyio.lowlevel

from podium.dsl.model import Model

from ..call import CallError, Finish, ModelCall, ModelReply, Replica, Usage
from ..clients.gauges import Load
from .agents import Speak
from .faults import (
    BadJson,
    Broken,
    Cut,
    Empty,
    Fault,
    NoUsage,
    Overflow,
    Page,
    Quota,
    Refused,
    Silent,
    Truncated,
)
from .weather import Weather

BYTES_PER_TOKEN = 4
# vLLM's default block: a prefix is shared in whole blocks of so many tokens.
BLOCK = 16
# What a chat template adds, for each message and once.
FRAME, START = 4, 3


@dataclass(frozen=True, slots=True)
class Server:
    """How the servers of a model behave. The default: two of a mid-sized open model on one card each.

    slots: calls that one serves at once; queue: how many more it takes in. latency_s: before anything.
    prefill, decode: tokens a second of one call. jitter: its time is off by up to this share, either way.
    """

    replicas: int = 2
    slots: int = 32
    queue: int = 0
    latency_s: float = 0.1
    prefill: float = 8000.0
    decode: float = 60.0
    jitter: float = 0.2
    context: int = 32_768
    caches: bool = True


@dataclass(slots=True, eq=False)
class SimulatedFleet:
    """speak: what agents say. servers: by the model's name, "" for all others. seed: of the jitter.

    sent: tries that reached a server; flying: those in the air now; bill: what was generated or read,
    by model, also for calls that got no answer. began: the clock when the simulation did.
    """

    speak: Speak
    servers: Mapping[str, Server] = field(default_factory=dict[str, Server])
    weather: Weather = field(default_factory=Weather)
    seed: int = 0
    began: float = 0.0
    sent: int = 0
    flying: set[str] = field(default_factory=set[str])
    bill: dict[str, Usage] = field(default_factory=dict[str, Usage])
    tells_begun: bool = True
    _slots: dict[str, anyio.Semaphore] = field(default_factory=dict[str, anyio.Semaphore])
    _prompts: dict[tuple[str, str], "_Read"] = field(default_factory=dict[tuple[str, str], "_Read"])

    async def probe(self, model: Model) -> tuple[Replica, ...]:
        await anyio.lowlevel.checkpoint()
        if self.weather.down(self._now()):
            raise _down(model.name)
        server = server_of(self.servers, model.name)
        bears = model.limits.inflight or (server.slots + server.queue) * server.replicas
        return tuple(
            Replica(
                f"simulated:{model.name}/{number}",
                model.name,
                model.endpoints[0],
                f"simulated:{model.name}/{number}",
                model.name,
                max(1, bears // server.replicas),
                model.context or server.context,
            )
            for number in range(1, min(server.replicas, bears) + 1)
        )

    def has_health(self, replica: Replica) -> bool:
        """Servers tell it where one of them goes down alone."""
        return self.weather.parts

    async def is_well(self, replica: Replica) -> bool:
        await anyio.lowlevel.checkpoint()
        return not self.weather.down(self._now(), replica.name)

    def has_gauges(self, replica: Replica) -> bool:
        """Servers with a queue tell its length."""
        return server_of(self.servers, replica.model).queue > 0

    async def load(self, replica: Replica) -> Load | None:
        await anyio.lowlevel.checkpoint()
        slots, places = server_of(self.servers, replica.model).slots, self._slots.get(replica.name)
        if places is None:
            return Load(running=0.0, waiting=0.0)
        return Load(slots - places.value, places.statistics().tasks_waiting)

    async def send(self, call: ModelCall, replica: Replica, request_id: str) -> ModelReply:
        self.sent += 1
        self.flying.add(request_id)
        try:
            return await self._served(call, replica, random.Random(f"{self.seed} {request_id}"))
        finally:
            self.flying.discard(request_id)

    async def _served(self, call: ModelCall, replica: Replica, chance: random.Random) -> ModelReply:
        server = server_of(self.servers, replica.model)
        fault = await self._arrives(call, replica, server)
        async with self._slot(replica, server):
            reply = self._reply(call, replica, server, fault)
            fresh = reply.usage.input - reply.usage.cached
            slower = 1 + server.jitter * chance.uniform(-1, 1)
            late = self.weather.delay(call.address, replica.model, self._now(), replica.name)
            first = late + slower * (server.latency_s + fresh / server.prefill)
            took = first + slower * reply.usage.output / server.decode
            if server.caches:
                self._keep(call, replica, _prompt(call), self._now() + first)
            await self._worked(call, replica, reply.usage, took=took, first=first, fault=fault)
        return _untold(reply) if isinstance(fault, NoUsage) else reply

    async def _arrives(self, call: ModelCall, replica: Replica, server: Server) -> Fault | None:
        """The fault that the answer will have; raises where the request is not even taken."""
        now, where = self._now(), replica.name
        if self.weather.down(now, where):
            await anyio.lowlevel.checkpoint()
            raise _down(where)
        busy = self.weather.busy(call.address, replica.model, now, where)
        fault = None if busy else self.weather.strikes(call.address, replica.model, now, where)
        if busy is not None:
            await anyio.sleep(server.latency_s)
            raise CallError("busy", "429: slow down", retry_after_s=busy.retry_after_s)
        if refusal := _refusal(fault):
            await anyio.sleep(server.latency_s)
            raise refusal
        return fault

    def _slot(self, replica: Replica, server: Server) -> AbstractAsyncContextManager[object]:
        """A place on the server, waited for in its queue; with no queue the engine keeps within it."""
        if not server.queue:
            return nullcontext()
        return self._slots.setdefault(replica.name, anyio.Semaphore(server.slots))

    async def _worked(
        self,
        call: ModelCall,
        replica: Replica,
        usage: Usage,
        *,
        took: float,
        first: float,
        fault: Fault | None,
    ) -> None:
        """Let the time of an answer pass, whose first comes after so many seconds, unless something ends it early;
        bill what was generated."""
        start, ends = self._now(), took
        if isinstance(fault, Cut):
            ends = took / 2
        elif isinstance(fault, Silent):
            ends = took + fault.idle_s
        down = self.weather.goes_down(start, start + ends, replica.name) - start
        ends = min(ends, down)
        try:
            if call.begun is not None and first < ends:
                await anyio.sleep(first)
                call.begun()
            await anyio.sleep(max(0.0, start + ends - self._now()))  # below 0 where time is real
        finally:
            self._charge(replica, usage, (self._now() - start) / took)
        if down < inf or isinstance(fault, Cut):
            raise CallError("cut", "the stream ended without a finish reason", maybe_paid=True)
        if isinstance(fault, Silent):
            raise CallError("silent", f"no byte for {fault.idle_s:.0f} s", maybe_paid=True)

    def _charge(self, replica: Replica, usage: Usage, share: float) -> None:
        part = replace(usage, output=round(usage.output * min(1.0, share)), reasoning=0)
        self.bill[replica.model] = self.bill.get(replica.model, Usage()).plus(part)

    def _reply(
        self, call: ModelCall, replica: Replica, server: Server, fault: Fault | None
    ) -> ModelReply:
        prompt = _prompt(call)
        speech = self.speak(call)
        text, finish, reasoning = _shortened(
            _marred(speech.text, fault), speech.reasoning, call.max_output, fault
        )
        calls = () if fault is not None or finish == "length" else speech.calls
        called = sum(_tokens(one.name + one.text) for one in calls)
        if called + _tokens(text) > call.max_output:
            calls, called = (), 0
        reasoning = min(reasoning, call.max_output - called - _tokens(text))
        usage = Usage(
            input=_tokens(prompt) + FRAME * len(call.messages) + START,
            cached=self._cached(call, replica, prompt) if server.caches else 0,
            output=_tokens(text) + called + reasoning,
            reasoning=reasoning,
        )
        return ModelReply(text, finish, usage, replica.served, replica.name, tool_calls=calls)

    def _cached(self, call: ModelCall, replica: Replica, prompt: str) -> int:
        """Tokens of prompt that the replica has read for the group before, in whole blocks."""
        read = self._prompts.get(_cache_of(call, replica), _Read())
        before = read.prompt if read.since <= self._now() else read.before
        return len(_common(before, prompt)) // (BYTES_PER_TOKEN * BLOCK) * BLOCK

    def _keep(self, call: ModelCall, replica: Replica, prompt: str, since: float) -> None:
        """The replica has read prompt from then on."""
        key = _cache_of(call, replica)
        read = self._prompts.get(key, _Read())
        before = read.prompt if read.since <= self._now() else read.before
        self._prompts[key] = _Read(prompt, since, before)

    @property
    def generated(self) -> int:
        """Tokens read and written, answered or not."""
        return sum(used.input + used.output for used in self.bill.values())

    def _now(self) -> float:
        return anyio.current_time() - self.began


@dataclass(frozen=True, slots=True)
class _Read:
    """What a replica last read for a group, since when it has it in its cache, and what it had there before."""

    prompt: str = ""
    since: float = -inf
    before: str = ""


def _cache_of(call: ModelCall, replica: Replica) -> tuple[str, str]:
    return replica.name, call.group or call.address.rpartition("/")[0]


def _prompt(call: ModelCall) -> str:
    return "\n".join(message.content for message in call.messages)


def server_of(servers: Mapping[str, Server], model: str) -> Server:
    """The model's servers, else those of all others."""
    return servers.get(model) or servers.get("") or Server()


def _tokens(text: str) -> int:
    return -(-len(text.encode()) // BYTES_PER_TOKEN)


def _common(one: str, other: str) -> str:
    if other.startswith(one):  # a history that grew: the usual case, and quick
        return one
    low, high = 0, min(len(one), len(other))
    while low < high:  # by halves: comparing slices is quick, comparing letters is not
        middle = (low + high + 1) // 2
        low, high = (middle, high) if other.startswith(one[:middle]) else (low, middle - 1)
    return one[:low]


def _untold(reply: ModelReply) -> ModelReply:
    """The reply of a server that shows its reasoning and no figures."""
    thought = "." * (reply.usage.reasoning * BYTES_PER_TOKEN)
    return replace(reply, usage=Usage(), reasoning=thought)


def _marred(text: str, fault: Fault | None) -> str:
    match fault:
        case Empty():
            return ""
        case BadJson():
            return text[::-1].replace("}", ")").replace('"', "'")
        case Truncated():
            return text[: max(1, len(text) // 2)]
        case _:
            return text


def _shortened(text: str, reasoning: int, cap: int, fault: Fault | None) -> tuple[str, Finish, int]:
    """text within cap tokens, how it ended, and the reasoning that there is room for."""
    if _tokens(text) > cap:
        return text.encode()[: cap * BYTES_PER_TOKEN].decode(errors="ignore"), "length", 0
    finish: Finish = "length" if isinstance(fault, Truncated) else "stop"
    return text, finish, min(reasoning, cap - _tokens(text))


def _refusal(fault: Fault | None) -> CallError | None:
    match fault:
        case Broken():
            return CallError("server", "500: internal error")
        case Page():
            return CallError("protocol", "an HTML page in place of an answer", maybe_paid=True)
        case Refused():
            return CallError("request", "400: this request is refused")
        case Overflow():
            return CallError("overflow", "400: the prompt is longer than the context")
        case Quota():
            return CallError("quota", "429: insufficient_quota")
        case _:
            return None


def _down(name: str) -> CallError:
    return CallError("unreachable", f"{name} cannot be reached")
