"""Prompt tokens that replicas read again, with placement and leaders on and off.

Simulated servers in virtual time; each replica's cache keeps whole blocks of prompts from the first of the reply
on, and the least recently used ones go. First: attempts of teams at tasks some of which are far more often chosen
than others, by so few teams at once that slots are free, and by twice as many as there are slots. Read again is
what some replica had in its cache, or had read before, and was read all the same; uneven is the busiest replica's
work over the mean. Then: what it takes until replies begin to ten calls that come at once with the same beginning.
Run by hand:

    python tests/bench/bench_placement.py
"""

import random
from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf

import anyio
from bench_prefix import Anywhere

from podium.dsl.model import Endpoint, Model
from podium.engine.admit import Admission
from podium.engine.call import Message, ModelCall, ModelReply, Replica
from podium.engine.fleet import Fleet
from podium.engine.ledger import NOTHING, Amount, Ledger, Limit
from podium.engine.testing import Server, SimulatedFleet, Speech, in_virtual_time
from podium.engine.testing.fleet import BYTES_PER_TOKEN

TASKS, ATTEMPTS, MEMBERS, TURNS = 40, 12, 3, 3
STATEMENT, REPLY = 4000, 200  # tokens
BLOCK, CACHE = 64, 200_000  # tokens
SLOTS, FEW, MANY = 16, 10, 32  # of each replica: slots, and attempts at once
MODEL = Model("m", (Endpoint("openai", "m"),))


@dataclass(slots=True, eq=False)
class Cached(SimulatedFleet):
    """Servers whose caches share blocks between all callers."""

    blocks: dict[str, OrderedDict[int, float]] = field(
        default_factory=dict[str, OrderedDict[int, float]]
    )
    seen: set[int] = field(default_factory=set[int])
    again: int = 0
    work: Counter[str] = field(default_factory=Counter[str])
    took: dict[str, float] = field(default_factory=dict[str, float])

    def _cached(self, call: ModelCall, replica: Replica, prompt: str) -> int:
        cache = self.blocks.setdefault(replica.name, OrderedDict[int, float]())
        hits, whole, now = 0, True, self._now()
        for block in _blocks(prompt):
            whole = whole and cache.get(block, inf) <= now
            hits += whole
            self.again += not whole and block in self.seen
            self.seen.add(block)
        return hits * BLOCK

    def _keep(self, call: ModelCall, replica: Replica, prompt: str, since: float) -> None:
        cache = self.blocks[replica.name]
        for block in _blocks(prompt):
            cache[block] = min(since, cache.get(block, inf))
            cache.move_to_end(block)
        while len(cache) > CACHE // BLOCK:
            cache.popitem(last=False)

    async def send(self, call: ModelCall, replica: Replica, request_id: str) -> ModelReply:
        began = anyio.current_time()
        # The method of the class above, whose slots leave no `super()` of no arguments.
        reply = await SimulatedFleet.send(self, call, replica, request_id)
        took = anyio.current_time() - began
        self.work[replica.name] += round(1000 * took)
        self.took[call.address] = took
        return reply


def _blocks(prompt: str) -> Iterator[int]:
    size, chain = BLOCK * BYTES_PER_TOKEN, 0
    for start in range(0, len(prompt) - size + 1, size):
        chain = hash((chain, prompt[start : start + size]))
        yield chain


def text(name: str, tokens: int) -> str:
    chance = random.Random(name)
    return "".join(chance.choices("abcdefgh ", k=tokens * BYTES_PER_TOKEN))


def chosen() -> list[int]:
    """The tasks in the order in which their attempts begin: the n-th is chosen in proportion to 1/n."""
    weights = [1 / n for n in range(1, TASKS + 1)]
    return random.Random(1).choices(range(TASKS), weights, k=TASKS * ATTEMPTS)


async def attempts(made: Fleet, servers: Cached, at_once: int) -> float:
    ledger = Ledger()
    ledger.open("run", Limit())
    replicas = await servers.probe(MODEL)
    made.add("m", replicas, tells_begun=servers.tells_begun)
    door = Admission(ledger, made)
    begin = anyio.Semaphore(at_once * len(replicas))

    async def turn(call: ModelCall) -> None:
        grant = await door.enter(call, Amount(), lambda why, seconds: None)
        assert grant.replica is not None
        await servers.send(replace(call, begun=grant.begun), grant.replica, call.address)
        grant.begun()
        made.answered(grant.replica, anyio.current_time())
        grant.leave()
        grant.settle(NOTHING)

    async def one(number: int, task: int) -> None:
        at, said = f"run/{number}.team", list[Message]()
        head = (
            Message("system", text("role", 500)),
            Message("user", text(f"task {task}", STATEMENT)),
        )
        async with begin:
            for step in range(MEMBERS * TURNS):
                address = f"{at}/m{step % MEMBERS}/t{step}/c1"
                messages = (*head, *said)
                await turn(ModelCall(address, "run", "m", messages, 2 * REPLY, group=at))
                said.append(Message("user", text(address, REPLY)))

    async with anyio.create_task_group() as tasks:
        for number, task in enumerate(chosen()):
            tasks.start_soon(one, number, task)
    return anyio.current_time()


def placement(replicas: int, at_once: int) -> None:
    found: list[tuple[int, float, float]] = []
    for kind, leads in ((Anywhere, False), (Fleet, False), (Fleet, True)):
        server = Server(replicas=replicas, slots=SLOTS)
        servers = Cached(
            lambda _: Speech("x" * REPLY * BYTES_PER_TOKEN), {"": server}, tells_begun=leads
        )
        took = in_virtual_time(partial(attempts, kind(random.Random(0)), servers, at_once))
        uneven = max(servers.work.values()) * replicas / servers.work.total()
        found.append((servers.again * BLOCK, uneven, took))
    again, uneven, took = zip(*found, strict=True)
    print(
        f"{replicas:8} {at_once:8}  " + " ".join(f"{tokens / 1e6:7.2f}" for tokens in again),
        f" {again[0] / max(1, again[1]):6.1f} {again[0] / max(1, again[2]):6.1f}  ",
        " ".join(f"{one:6.2f}" for one in uneven),
        " ".join(f"{one:7.0f}" for one in took),
    )


async def burst(tokens: int, servers: Cached) -> float:
    """Mean seconds until the replies to ten calls begin that share so many tokens."""
    ledger = Ledger()
    ledger.open("run", Limit())
    made, begun = Fleet(random.Random(0)), list[float]()
    made.add("m", await servers.probe(MODEL), tells_begun=servers.tells_begun)
    door, shared = Admission(ledger, made), text("shared", tokens)

    async def one(number: int) -> None:
        messages = (Message("system", shared), Message("user", text(str(number), 100)))
        call = ModelCall(f"run/{number}.agent/c1", "run", "m", messages, 2 * REPLY)
        grant = await door.enter(call, Amount(), lambda why, seconds: None)
        assert grant.replica is not None

        def noted() -> None:
            begun.append(anyio.current_time())
            grant.begun()

        await servers.send(replace(call, begun=noted), grant.replica, call.address)
        grant.leave()
        grant.settle(NOTHING)

    async with anyio.create_task_group() as tasks:
        for number in range(10):
            tasks.start_soon(one, number)
    return sum(begun) / len(begun)


def leaders(tokens: int) -> None:
    found: list[tuple[int, float]] = []
    for leads in (False, True):
        speak = Speech("x" * REPLY * BYTES_PER_TOKEN)
        servers = Cached(lambda _, said=speak: said, {"": Server(replicas=1)}, tells_begun=leads)
        begun = in_virtual_time(partial(burst, tokens, servers))
        found.append((servers.again * BLOCK, begun))
    (off, off_s), (on, on_s) = found
    print(f"{tokens:8} {off:9} {on:9} {off_s:9.2f} {on_s:9.2f}")


if __name__ == "__main__":
    print("off: the least busy replica; on: placement; led: and leaders first")
    print(
        "replicas  at once     again, M tokens      times fewer          uneven             seconds"
    )
    print(
        "                       off      on     led     on    led       off     on    led     off      on     led"
    )
    for count, each in (*((n, FEW) for n in (1, 2, 4, 8, 16)), *((n, MANY) for n in (2, 4, 8))):
        placement(count, each)
    print("\nten calls at once  again, tokens       seconds until replies begin")
    print("  shared       off       led       off       led")
    for shared in (250, 500, 1000, 2000, 4000, 16_000):
        leaders(shared)
