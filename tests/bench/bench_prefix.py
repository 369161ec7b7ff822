"""Prompt tokens that a real server read from its cache, with placement on and off: `parallel(8)` of `team(4)`.

On the embedded model's own server, whose slots are replicas with a cache each. Run by hand:

    python tests/bench/bench_prefix.py
"""

import random
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import anyio

from podium.dsl.program import Program
from podium.dsl.source import Source
from podium.engine import Engine, access
from podium.engine.admit import Admission
from podium.engine.fleet import Fleet, Spot, Wish
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


def main() -> None:
    found = anyio.run(both, text("local()", words=150, reply=8, teams=8, size=4, rounds=1))
    print(HEAD)
    for name, measured in found.items():
        print(f"{name:9} {measured.told()}")
    off, on = (one.read - one.cached for one in found.values())
    print(f"read again with placement: {off / max(1, on):.1f} times fewer tokens")


if __name__ == "__main__":
    main()
