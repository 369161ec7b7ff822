"""One big team, lone agents, or teams side by side, at equal dollars; what the team machine and a CEO cost.

First: simulated agents whose scores follow a known law of the size of their team. Each way to spend the same
dollars is run many times; beside the mean of its best score stands what the law says, mu(m) + s(m) * e_k for k
teams of m. The order must be that of the law, also where the law is against teams. Then: CPU per message of a team
that grows its board over its rounds, against a bare loop that asks as many agents in as many rounds. Then: calls
and tokens that a CEO adds to a round. Run by hand:

    python tests/bench/bench_teams.py
"""

import random
import resource
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import log
from pathlib import Path
from statistics import mean, stdev

import anyio
import trio.testing

from podium.dsl.model import Limits, Price
from podium.dsl.program import Ceo, Flow, Program, Repeat, Task, Verifier
from podium.engine import Engine
from podium.engine.ledger import Amount
from podium.engine.testing import ScriptedClient, Server, Simulation, simulate
from podium.engine.testing.agents import Law
from podium.engine.testing.handmade import (
    HERE,
    agent,
    parallel,
    program,
    reduce_by,
    role,
    team,
    then,
)

PRICE = Price(input=300_000, cached=30_000, output=1_200_000)
SCORED = Verifier("scored", "python", {"ref": "podium.engine.testing:scored"})
TASK = Task("t", "Find the best value that you can.", SCORED)
RUNS = 12


@dataclass(frozen=True)
class Shape:
    """k teams of m; a team of one is a lone agent."""

    m: int

    def flow(self, k: int) -> Flow:
        one = agent() if self.m == 1 else replace(team(self.m), rounds=1)
        return then(parallel(k, one), reduce_by("best"))


LAWS: dict[str, tuple[Callable[[int], float], Callable[[int], float]]] = {
    "2.5 (1 - m^-0.5), 1": (lambda m: 2.5 * (1 - m**-0.5), lambda _: 1.0),
    "0, 1": (lambda _: 0.0, lambda _: 1.0),
    "1.2 ln m, m^-0.2": (lambda m: 1.2 * log(m), lambda m: m**-0.2),
}


def largest(k: int, draws: int = 20_000) -> float:
    """The expected largest of k standard normals, by draws."""
    chance = random.Random(k)
    return mean(max(chance.gauss(0, 1) for _ in range(k)) for _ in range(max(50, draws // k)))


def made(flow: Flow) -> Program:
    whole = program(flow, TASK, price=PRICE)
    model = replace(whole.models["m"], context=128_000, limits=Limits(inflight=128))
    return replace(whole, models={"m": model}, max_agents=100_000)


def run(flow: Flow, seed: int, law: Law) -> Simulation:
    fleet = {"": Server(replicas=1, slots=128)}
    found = simulate(made(flow), seed=seed, law=law, servers=fleet, replay=False)
    if found.violations or found.result is None:
        raise SystemExit(found.told())
    return found


def dollars(found: Simulation) -> float:
    assert found.result is not None
    return found.result.folded.total.amount.usd / 1e6


def score(found: Simulation) -> float:
    assert found.result is not None
    ended = found.result.folded.ended
    assert ended is not None
    assert ended.score is not None
    return ended.score


def three_ways() -> None:
    flat = Law(lambda _: 0.0, lambda _: 1.0, lambda _: 0.0)
    shapes = [Shape(1), Shape(10), Shape(100)]
    prices = [dollars(run(shape.flow(1), 1, flat)) for shape in shapes]
    whole = prices[-1]
    counts = [max(1, round(whole / price)) for price in prices]
    print(
        f"${whole:.3f} buys "
        + ", ".join(f"{k} x {s.m}" for k, s in zip(counts, shapes, strict=True))
    )
    for name, (mu, s) in LAWS.items():
        law = Law(mu, s, lambda _: 0.0, passes=1e9)
        print(f"mu(m), s(m) = {name}")
        said, seen = list[float](), list[float]()
        for shape, k in zip(shapes, counts, strict=True):
            scores = [score(run(shape.flow(k), seed, law)) for seed in range(RUNS)]
            said.append(mu(shape.m) + s(shape.m) * largest(k))
            seen.append(mean(scores))
            error = stdev(scores) / RUNS**0.5
            print(
                f"  {k:4} x team of {shape.m:3}: {seen[-1]:.2f} +- {error:.2f}, the law says {said[-1]:.2f}"
            )
        if order(said) != order(seen):
            raise SystemExit(f"the law orders {order(said)}, the runs {order(seen)}")


def order(values: list[float]) -> list[int]:
    return sorted(range(len(values)), key=values.__getitem__)


# --- the machine ---------------------------------------------------------------------------------


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def _played(whole: Program, folder: Path) -> int:
    client = ScriptedClient({"": "a reply of some words, as members give it"})
    engine = Engine(folder / "runs.db", client=client, environ={}, inline=True)
    async with engine:
        run_ = await engine.start(whole)
        await run_.result()
    return len(client.seen)


def per_message(flow: Flow) -> tuple[float, int]:
    """Milliseconds of CPU a message, and how many there were; the least of three."""
    whole = program(flow, price=Price())
    whole = replace(whole, models={"m": replace(whole.models["m"], context=128_000)})
    best, count = 1e9, 0
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            clock = trio.testing.MockClock(autojump_threshold=0)
            before = cpu_s()
            count = anyio.run(
                partial(_played, whole, Path(folder)),
                backend="trio",
                backend_options={"clock": clock},
            )
            best = min(best, cpu_s() - before)
    return 1000 * best / count, count


def machine() -> None:
    rounds, size = 20, 10
    again = agent(role("again", "Again: ", "{attempt.answer}"))
    turn = then(parallel(size + 1, again), reduce_by("vote"))
    loop = then(agent(), Repeat("repeat", HERE, rounds, turn))
    ours, theirs = per_message(team(size, rounds=rounds)), per_message(loop)
    print(f"a team of {size} in {rounds} rounds: {ours[0]:.2f} ms of CPU a message ({ours[1]})")
    print(
        f"a bare loop of as many agents:  {theirs[0]:.2f} ms ({theirs[1]}); ratio {ours[0] / theirs[0]:.2f}"
    )


def chief() -> None:
    law = Law(lambda _: 0.0, lambda _: 1.0, lambda _: 0.0, passes=1e9)
    keep = frozenset({"direction"})  # neither size nor stop, so that the rounds stay the same
    for rounds in (2, 4, 8):
        plain = team(8, rounds=rounds)
        led = replace(plain, ceo=Ceo("adaptive", role("ceo", "Lead."), keep))
        totals = list[Amount]()
        for flow in (plain, led):
            found = run(flow, 1, law).result
            assert found is not None
            totals.append(found.folded.total.amount)
        calls = (totals[1].calls - totals[0].calls) / rounds
        tokens = (totals[1].tokens - totals[0].tokens) / rounds
        share = totals[1].usd / totals[0].usd - 1
        more = f"{calls:.1f} calls and {tokens:,.0f} tokens a round, {share:.0%} of the dollars"
        print(f"a CEO of 8 in {rounds} rounds: {more}")


if __name__ == "__main__":
    three_ways()
    machine()
    chief()
