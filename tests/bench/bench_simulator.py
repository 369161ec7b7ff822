"""What the engine costs on simulated servers, on one core: no network, no model, virtual time.

Prints, from one run: calls per minute of CPU and CPU per call, against bare tasks that wait the same times; the
same with 10,000 agents in flight; memory per waiting and per finished agent, and what of the latter the engine
keeps where the store is a file.

The baseline is a task for each call, all started at once as the engine's are: it waits for a slot (a semaphore),
for a checkpoint where the engine commits its intent, for the same simulated server on the same clock, and for a
checkpoint where the engine commits the answer. The server's own work is in both. An engine has the collector of
cyclic garbage look less often; the last ratio is to bare tasks that have it do so too. Run by hand:

    python tests/bench/bench_simulator.py
"""

import gc
import resource
import tempfile
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median

import anyio
import anyio.lowlevel

from podium.dsl.model import Limits
from podium.dsl.program import Program
from podium.engine import Engine
from podium.engine.call import ModelCall
from podium.engine.collector import patient
from podium.engine.store import Store
from podium.engine.testing import (
    Server,
    SimulatedFleet,
    Simulation,
    Speech,
    in_virtual_time,
    simulate,
)
from podium.engine.testing.handmade import agent, parallel, program, reduce_by, team, then


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def speak(call: ModelCall) -> Speech:
    return Speech("score = 0.5", reasoning=100)


def wide(calls: int, at_once: int) -> Program:
    """Calls of one agent each, so many at a time."""
    made = program(then(parallel(calls, agent()), reduce_by("vote")))
    model = replace(made.models["m"], limits=Limits(inflight=at_once))
    return replace(made, models={"m": model}, max_agents=calls)


def servers(at_once: int) -> dict[str, Server]:
    return {"": Server(replicas=1, slots=at_once)}


def simulated(made: Program, at_once: int) -> Simulation:
    found = simulate(made, servers=servers(at_once), agents=speak, replay=False)
    if found.violations:
        raise SystemExit(found.told())
    return found


async def bare(calls: int, at_once: int) -> None:
    """The same awaits without an engine: a slot, a commit's two checkpoints, the server's time."""
    slots = anyio.Semaphore(at_once)
    made = wide(1, at_once)
    fleet = SimulatedFleet(speak, servers(at_once))
    (replica, *_) = await fleet.probe(made.models["m"])

    async def one(number: int) -> None:
        async with slots:
            await anyio.lowlevel.checkpoint()
            call = ModelCall(f"main/{number}.agent/c1", "run", "m", (), 100)
            await fleet.send(call, replica, str(number))
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as tasks:
        for number in range(calls):
            tasks.start_soon(one, number)


async def engine(calls: int, at_once: int) -> None:
    """The run itself, without the checks that a simulation makes of it."""
    made = wide(calls, at_once)
    fleet = SimulatedFleet(speak, servers(at_once))
    async with Engine(Store.memory(), client=fleet, environ={}, inline=True) as opened:
        result = await (await opened.start(made)).result()
    if result.folded.total.amount.calls != calls:
        raise SystemExit(f"{result.folded.total.amount.calls} of {calls} calls were made")


def taken(work: Callable[[], object]) -> float:
    gc.collect()  # what another one left is not its cost
    began = cpu_s()
    work()
    return cpu_s() - began


def pace(calls: int, at_once: int, rounds: int) -> None:
    """The middle of so many rounds, each of which takes all of them in turn."""
    baseline = partial(in_virtual_time, partial(bare, calls, at_once))
    run = partial(in_virtual_time, partial(engine, calls, at_once))
    found: list[tuple[float, float, float, float]] = []
    for _ in range(rounds):
        plain, ours = taken(baseline), taken(run)
        with patient():
            quick = taken(baseline)
        found.append((plain, ours, quick, taken(partial(simulated, wide(calls, at_once), at_once))))
    plain, ours, quick, checked = map(median, zip(*found, strict=True))
    print(
        f"{calls:7} {at_once:8} {plain / calls * 1e6:9.0f} {ours / calls * 1e6:10.0f}"
        f" {checked / calls * 1e6:12.0f} {ours / plain:12.2f} {60 / ours * calls:17.0f}"
        f" {ours / quick:12.2f}"
    )


def resident_kb() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    raise SystemExit("there is no VmRSS here")


def memory(agents: int) -> None:
    """Resident memory with all agents in flight, and with all ended, each above what there was before.

    What they said is in it: the simulated store keeps its pages in memory, as no real one does.
    """
    gc.collect()
    before = resident_kb()
    heard, most = 0, 0

    def counting(call: ModelCall) -> Speech:
        nonlocal heard, most
        heard += 1
        if heard == agents:
            most = resident_kb()
        return speak(call)

    found = simulate(wide(agents, agents), servers=servers(agents), agents=counting, replay=False)
    gc.collect()
    left = resident_kb()
    print(
        f"{agents} in flight: {(most - before) / agents:.1f} kB each;"
        f" ended, with {len(found.events)} events: {(left - before) / agents:.1f} kB each"
    )


async def with_file(path: Path, agents: int) -> None:
    """What Python holds of a run whose agents have all ended: its results, its fold, what a resend needs."""
    made = wide(agents, 100)
    fleet = SimulatedFleet(speak, servers(100))
    store = Store.open(path, inline=True)
    async with Engine(store, client=fleet, environ={}, inline=True) as opened:
        gc.collect()
        tracemalloc.start()
        run = await opened.start(made)
        await run.result()
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    print(f"{agents} ended, with the store in a file: {held / agents / 1024:.1f} kB each kept")


def main() -> None:
    in_virtual_time(partial(bare, 10, 10))
    simulated(wide(10, 10), 10)
    memory(10_000)  # first: later there is room that was left by others
    with tempfile.TemporaryDirectory() as folder:
        in_virtual_time(partial(with_file, Path(folder) / "runs.db", 2_000))
    print(
        "  calls  at once   bare us  engine us  simulate us  engine/bare  engine calls/min  collector too"
    )
    for calls, at_once, rounds in (
        (2_000, 1, 5),
        (2_000, 100, 5),
        (2_500, 2_500, 5),
        (10_000, 100, 1),
        (10_000, 10_000, 1),
    ):
        pace(calls, at_once, rounds)
    began = cpu_s()
    hour = simulated(program(then(parallel(20, team(5, rounds=3)), reduce_by("vote"))), 8)
    print(f"{hour.seconds:.0f} virtual seconds of a hundred agents: {cpu_s() - began:.2f} s of CPU")


if __name__ == "__main__":
    main()
