"""The one writer of a store, when its thread dies."""

from pathlib import Path
from threading import Thread

import anyio
import pytest

from podium.engine.database import DiskError, connect
from podium.engine.writer import Job, Writer

# Many times what it takes; a waiter that nobody wakes is shielded, so that only another thread can give up on it.
BOUND_S = 20.0


def test_nobody_waits_for_a_thread_that_died(tmp_path: Path) -> None:
    seen: list[str] = []
    thread = Thread(target=lambda: anyio.run(waited, tmp_path / "runs.db", seen), daemon=True)
    thread.start()
    thread.join(BOUND_S)
    assert seen[-1:] == ["the writer of the store has stopped"]
    assert not thread.is_alive()


async def waited(path: Path, seen: list[str]) -> None:
    """Fill seen with what those are told who wait for a thread that died."""
    writer = Writer(connect(path), path, inline=False)

    def mistake(_: Job) -> None:
        raise ZeroDivisionError

    async def use() -> None:
        async with writer.running():
            writer.put(Job("run", (), then=mistake))
            with anyio.CancelScope(shield=True):
                for _ in range(2):  # one in the thread's hands, and one that comes later
                    later = Job("run", ())
                    writer.put(later)
                    try:
                        await writer.wait(later)
                    except DiskError as error:
                        seen.append(str(error))

    with pytest.raises(ExceptionGroup):
        await use()
