"""What a sandboxed `true` and `python3 -c pass` cost beside bare ones: wall time, 1, 10 and 100 at once.

Bare is the same child process without what isolates it. Rounds of both are taken in turn, and the figures are
medians, so that a drift of the machine's speed does not count. Run by hand:

    python tests/bench/bench_sandbox.py
"""

import time
from collections.abc import Callable, Coroutine
from statistics import median

import anyio

from podium.engine.sandbox import Command, Limits, Sandbox, find
from podium.engine.sandbox.child import Child

ROUNDS = 5
EACH = 20  # commands in a round, at the least
COMMANDS = (("true",), ("python3", "-c", "pass"))
LIMITS = Limits(wall_s=60)


async def bare(argv: tuple[str, ...]) -> None:
    """The same child without what isolates it."""
    child = Child.start(argv, stdin=b"", room=1000, environ={"PATH": "/usr/bin:/bin"})
    await child.finish(60)


async def at_once(run: Callable[[], Coroutine[object, object, object]], count: int) -> float:
    """Milliseconds a command, of so many at once."""
    batches = max(1, EACH // count)
    began = time.perf_counter()
    for _ in range(batches):
        async with anyio.create_task_group() as tasks:
            for _ in range(count):
                tasks.start_soon(run)
    return (time.perf_counter() - began) * 1000 / (batches * count)


async def measure(sandbox: Sandbox, argv: tuple[str, ...], count: int) -> tuple[float, float]:
    async def inside() -> None:
        ran = await sandbox.run(Command(argv, limits=LIMITS))
        assert ran.fine, ran

    async def outside() -> None:
        await bare(argv)

    pairs = [(await at_once(outside, count), await at_once(inside, count)) for _ in range(ROUNDS)]
    return median(one for one, _ in pairs), median(one for _, one in pairs)


async def main() -> None:
    sandbox = await find()
    print("ms a command, median; command, at once: bare, sandboxed, ratio")
    for argv in COMMANDS:
        for count in (1, 10, 100):
            outside, inside = await measure(sandbox, argv, count)
            name = " ".join(argv)
            print(f"{name:16} {count:4}  {outside:7.1f} {inside:7.1f} {inside / outside:6.1f}")


if __name__ == "__main__":
    anyio.run(main)
