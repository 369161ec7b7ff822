"""The one writer of a store, when its thread dies."""

from pathlib import Path

import anyio
import pytest

from podium.engine.database import DiskError, connect
from podium.engine.writer import Job, Writer


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
async def test_nobody_waits_for_a_thread_that_died(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    writer = Writer(connect(path), path, inline=False)

    def mistake() -> None:
        raise ZeroDivisionError

    seen: list[str] = []

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
    assert seen[-1] == "the writer of the store has stopped"
