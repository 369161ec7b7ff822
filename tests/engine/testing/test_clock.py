"""Virtual time in a fixed order."""

import time
from functools import partial

import anyio
import anyio.lowlevel

from podium.engine.testing import in_virtual_time


async def order(count: int) -> list[int]:
    found: list[int] = []

    async def one(number: int) -> None:
        await anyio.lowlevel.checkpoint()
        found.append(number)

    async with anyio.create_task_group() as tasks:
        for number in range(count):
            tasks.start_soon(one, number)
    return found


def test_the_same_seed_gives_the_same_order_of_tasks() -> None:
    runs = [in_virtual_time(partial(order, 20), seed) for seed in (7, 7, 8, 9)]
    assert runs[0] == runs[1]
    assert len({tuple(run) for run in runs}) == 3
    assert all(sorted(run) == list(range(20)) for run in runs)


def test_a_day_passes_at_once_and_the_clock_starts_at_zero() -> None:
    async def day() -> tuple[float, float]:
        start = anyio.current_time()
        await anyio.sleep(86_400)
        return start, anyio.current_time()

    began = time.perf_counter()
    assert in_virtual_time(day) == (0.0, 86_400.0)
    assert time.perf_counter() - began < 2


def test_the_order_of_others_is_left_as_it_was() -> None:
    before = in_virtual_time(partial(order, 20), 3)
    anyio.run(order, 5, backend="trio")
    assert in_virtual_time(partial(order, 20), 3) == before
