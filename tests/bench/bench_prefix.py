"""Prompt tokens that a real server read from its cache, with placement on and off.

On the embedded model's own server, whose slots are replicas. First: `parallel(8)` of `team(4)`. Then: attempts of
agents at tasks, some of which are far more often chosen than others, twice as many at once as there are slots;
read again is what was neither in a cache nor new. Run by hand, some minutes:

    python tests/bench/bench_prefix.py
"""

import os
import random
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import anyio

from podium.dsl.model import Endpoint, Model
from podium.dsl.program import Program
from podium.dsl.source import Source
from podium.engine import Engine, access
from podium.engine.admit import Admission
from podium.engine.call import Message, ModelCall, Usage
from podium.engine.clients.http import HttpClient
from podium.engine.fair import Places
from podium.engine.fleet import Fleet, Spot, Wish
from podium.engine.ledger import NOTHING, Amount, Ledger, Limit
from podium.engine.library import DiskLibrary, allowance
from podium.engine.request import Request, compiled

PROGRAM = '''
model m {{ endpoint = [{endpoints}] }}
role writer {{
  system     = """{system}"""
  prompt     = """{{{{ task.statement }}}}"""
  max_output = {reply} tokens
}}
task story {{ statement = "Go on with the story of the ship and the cat, {{number}}."  verify = contains(["e"]) }}
run main {{
  task   = story
  flow   = parallel({teams}) of team({size}, members = [{size} of writer], rounds = {rounds}) -> best
  budget = [20M tokens, 20k calls, 9m]
}}
'''


class Measured(NamedTuple):
    """seconds: the makespan. read: tokens of prompts; cached: of those from a cache; made: tokens of replies."""

    seconds: float
    calls: int
    read: int
    cached: int
    made: int

    def told(self) -> str:
        again = self.read - self.cached
        return (
            f"{self.calls:6} {self.seconds:8.1f} {self.made / self.seconds:9.0f}"
            f" {self.read:9} {self.cached:9} {again:9}"
        )


HEAD = "placement  calls  seconds  tokens/s      read    cached     again"


class Anywhere(Fleet):
    """Placement off: each call goes to the least busy replica."""

    def shares(self, model: str) -> bool:
        return False

    def where(self, wish: Wish, now: float) -> Spot | None:
        return super().where(replace(wish, group="", prefix=0), now)

    def places(self, model: str, now: float) -> Places | None:
        return None


def text(endpoints: str, *, words: int, reply: int, teams: int, size: int, rounds: int = 2) -> str:
    chance = random.Random(1)
    system = " ".join(chance.choices(("sea", "wind", "lamp", "rope", "cat", "ship"), k=words))
    return PROGRAM.format(
        endpoints=endpoints,
        system=system,
        reply=reply,
        teams=teams,
        size=size,
        rounds=rounds,
    ).replace("{number}", str(words))


def program(source: str) -> Program:
    asked = Request(Source("<bench>", source))
    return compiled(asked, DiskLibrary("<bench>"), allowance(["host:127.0.0.1"]))[0]


async def measure(source: str, fleet: type[Fleet]) -> Measured:
    """A run of source behind a door with such a fleet."""
    chance = random.Random(0)
    real = access.door
    # The engine makes its own door; nothing else of it is changed.
    access.door = lambda ledger, _: access.Door(Admission(ledger, fleet(chance)))
    try:
        return await _run(program(source))
    finally:
        access.door = real


async def _run(made: Program) -> Measured:
    with tempfile.TemporaryDirectory() as folder:
        async with Engine(Path(folder) / "runs.db") as engine:
            run = await engine.start(made)
            began = time.monotonic()
            result = await run.result()
            seconds = time.monotonic() - began
    total = result.folded.total
    usage = total.usage
    return Measured(seconds, total.amount.calls, usage.input, usage.cached, usage.output)


async def both(source: str) -> dict[str, Measured]:
    return {
        "off": await measure(source, Anywhere),
        "on": await measure(source, Fleet),
    }


TASKS, ATTEMPTS, TURNS, AT_ONCE = 8, 16, 3, 8


def words(name: str, count: int) -> str:
    return " ".join(random.Random(name).choices(("sea", "wind", "lamp", "rope", "cat"), k=count))


async def skewed(fleet: type[Fleet]) -> str:
    """How many tokens the attempts read, had from a cache, and read again, and the seconds they took."""
    ledger, made, begin = Ledger(), fleet(random.Random(0)), anyio.Semaphore(AT_ONCE)
    ledger.open("run", Limit())
    door = Admission(ledger, made)
    used: dict[int, list[Usage]] = {}
    chosen = random.Random(1).choices(
        range(TASKS), [1 / n for n in range(1, TASKS + 1)], k=ATTEMPTS
    )

    async def attempt(client: HttpClient, number: int, task: int) -> None:
        said = [
            Message("system", words("role", 40)),
            Message("user", words(f"task {task}", 250)),
        ]
        for turn in range(TURNS):
            call = ModelCall(f"run/{number}.agent/t{turn}/c1", "run", "m", tuple(said), 8)
            grant = await door.enter(call, Amount(), lambda why, seconds: None)
            assert grant.replica is not None
            reply = await client.send(call, grant.replica, call.address)
            made.answered(grant.replica, anyio.current_time())
            grant.leave()
            grant.settle(NOTHING)
            used.setdefault(number, []).append(reply.usage)
            # Not what it said: both ways shall read the same.
            said += [Message("assistant", words(call.address, 10)), Message("user", "Go on.")]

    async def in_turn(client: HttpClient, number: int, task: int) -> None:
        async with begin:
            await attempt(client, number, task)

    async with HttpClient(os.environ) as client:
        made.add("m", await client.probe(Model("m", (Endpoint("local", ""),))))
        began = time.monotonic()
        async with anyio.create_task_group() as tasks:
            for number, task in enumerate(chosen):
                tasks.start_soon(in_turn, client, number, task)
        seconds = time.monotonic() - began
    usages = [usage for turns in used.values() for usage in turns]
    read, cached = sum(u.input for u in usages), sum(u.cached for u in usages)
    first = {task: used[number][0].input for number, task in enumerate(chosen)}
    new = sum(first.values()) + sum(turns[-1].input - turns[0].input for turns in used.values())
    return f"{len(usages):6} {seconds:8.1f} {read:9} {cached:9} {read - cached - new:9}"


def main() -> None:
    found = anyio.run(both, text("local()", words=150, reply=8, teams=8, size=4, rounds=1))
    print(HEAD)
    for name, measured in found.items():
        print(f"{name:9} {measured.told()}")
    print("\nskewed     calls  seconds      read    cached     again")
    for name, kind in (("off", Anywhere), ("on", Fleet)):
        print(f"{name:9} {anyio.run(skewed, kind)}", flush=True)


if __name__ == "__main__":
    main()
