"""Prompt tokens that replicas read again, with placement on and off, and how near a run comes to its shortest.

Simulated servers in virtual time; each replica's cache keeps whole blocks of prompts, the least recently used
ones go. First: attempts of teams at tasks some of which are far more often chosen than others. Read again is
what some replica had in its cache, or had read before, and was read all the same; uneven is the busiest
replica's work over the mean. Then: `parallel(10)` of `team(10)`, against the larger of its work over the slots
and what it takes where slots are endless. Run by hand:

    python tests/bench/bench_placement.py
"""

import random
from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import anyio

from podium.dsl.program import Endpoint, Model, Program
from podium.engine import Engine
from podium.engine.admit import Admission
from podium.engine.call import Message, ModelCall, ModelReply, Replica
from podium.engine.fleet import Fleet
from podium.engine.ledger import NOTHING, Amount, Ledger, Limit
from podium.engine.store import Store
from podium.engine.testing import Server, SimulatedFleet, Speech, in_virtual_time
from podium.engine.testing.fleet import BYTES_PER_TOKEN
from podium.engine.testing.handmade import parallel, program, reduce_by, team, then

TASKS, ATTEMPTS, MEMBERS, TURNS = 40, 12, 3, 3
STATEMENT, REPLY = 4000, 200  # tokens
BLOCK, CACHE = 64, 200_000  # tokens
SLOTS, TEAMS = 16, 10  # of each replica
MODEL = Model("m", (Endpoint("openai", "m"),))


@dataclass(slots=True, eq=False)
class Cached(SimulatedFleet):
    """Servers whose caches share blocks between all callers."""

    caches: dict[str, OrderedDict[int, None]] = field(
        default_factory=dict[str, OrderedDict[int, None]]
    )
    seen: set[int] = field(default_factory=set[int])
    again: int = 0
    work: Counter[str] = field(default_factory=Counter[str])

    def _cached(self, call: ModelCall, replica: Replica, prompt: str) -> int:
        cache = self.caches.setdefault(replica.name, OrderedDict[int, None]())
        hits, whole = 0, True
        for block in _blocks(prompt):
            whole = whole and block in cache
            hits += whole
            self.again += not whole and block in self.seen
            self.seen.add(block)
            cache[block] = None
            cache.move_to_end(block)
        while len(cache) > CACHE // BLOCK:
            cache.popitem(last=False)
        return hits * BLOCK

    async def send(self, call: ModelCall, replica: Replica, request_id: str) -> ModelReply:
        began = anyio.current_time()
        # The method of the class above, whose slots leave no `super()` of no arguments.
        reply = await SimulatedFleet.send(self, call, replica, request_id)
        self.work[replica.name] += round(1000 * (anyio.current_time() - began))
        return reply


def _blocks(prompt: str) -> Iterator[int]:
    size, chain = BLOCK * BYTES_PER_TOKEN, 0
    for start in range(0, len(prompt) - size + 1, size):
        chain = hash((chain, prompt[start : start + size]))
        yield chain


class Anywhere(Fleet):
    """Placement off: each call goes to the least busy replica."""

    def shares(self, model: str) -> bool:
        return False

    def place(
        self, model: str, group: str, tokens: int, now: float, prefix: int = 0
    ) -> Replica | None:
        return super().place(model, "", tokens, now, 0)


def text(name: str, tokens: int) -> str:
    chance = random.Random(name)
    return "".join(chance.choices("abcdefgh ", k=tokens * BYTES_PER_TOKEN))


def chosen() -> list[int]:
    """The tasks in the order in which their attempts begin: the n-th is chosen in proportion to 1/n."""
    weights = [1 / n for n in range(1, TASKS + 1)]
    return random.Random(1).choices(range(TASKS), weights, k=TASKS * ATTEMPTS)


async def attempts(made: Fleet, servers: Cached) -> float:
    ledger = Ledger()
    ledger.open("run", Limit())
    replicas = await servers.probe(MODEL)
    made.add("m", replicas)
    door = Admission(ledger, made)
    begin = anyio.Semaphore(TEAMS * len(replicas))

    async def turn(call: ModelCall) -> None:
        grant = await door.enter(call, Amount(), lambda why, seconds: None)
        assert grant.replica is not None
        await servers.send(call, grant.replica, call.address)
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


def placement(replicas: int) -> None:
    found: list[tuple[int, float, float]] = []
    for kind in (Anywhere, Fleet):
        server = Server(replicas=replicas, slots=SLOTS)
        servers = Cached(lambda _: Speech("x" * REPLY * BYTES_PER_TOKEN), {"": server})
        took = in_virtual_time(partial(attempts, kind(random.Random(0)), servers))
        uneven = max(servers.work.values()) * replicas / servers.work.total()
        found.append((servers.again * BLOCK, uneven, took))
    (off, off_uneven, off_s), (on, on_uneven, on_s) = found
    print(
        f"{replicas:8} {off / 1e6:9.2f} {on / 1e6:9.2f} {off / max(1, on):7.1f}"
        f" {off_uneven:9.2f} {on_uneven:9.2f} {off_s:9.0f} {on_s:9.0f}"
    )


async def run(made: Program, servers: Cached) -> float:
    async with Engine(Store.memory(), client=servers, environ={}, inline=True) as opened:
        await (await opened.start(made)).result()
    return anyio.current_time()


def makespan(replicas: int, slots: int) -> None:
    made = replace(program(then(parallel(10, team(10)), reduce_by("vote"))), max_agents=200)
    spans: list[tuple[float, float]] = []
    for each in (10_000, slots):
        servers = Cached(
            lambda call: Speech("x" * random.Random(call.address).randrange(200, 2000)),
            {"": Server(replicas=replicas, slots=each)},
        )
        took = in_virtual_time(partial(run, made, servers))
        spans.append((took, servers.work.total() / 1000))
    (endless, _), (took, work) = spans
    least = max(endless, work / (replicas * slots))
    print(f"{replicas:8} {slots:6} {took:9.1f} {least:12.1f} {took / least:6.2f}")


if __name__ == "__main__":
    print("replicas  again, M tokens    times      uneven              seconds")
    print("               off        on   fewer       off        on       off        on")
    for count in (1, 2, 4, 8, 16):
        placement(count)
    print("\nparallel(10) of team(10)\nreplicas  slots   seconds  lower bound  ratio")
    for count, each in ((1, 4), (1, 16), (2, 8), (4, 8), (4, 32)):
        makespan(count, each)
