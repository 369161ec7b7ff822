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

    seen: list[Exception] = []
    with anyio.fail_after(5), pytest.raises(ExceptionGroup):
        async with writer.running():
            broken = Job("run", (), then=mistake)
            writer.put(broken)
            with anyio.CancelScope(shield=True):
                for _ in range(2):  # the one in hand, and one that comes later
                    later = Job("run", ())
                    writer.put(later)
                    try:
                        await writer.wait(later)
                    except DiskError as error:
                        seen.append(error)
    assert seen
    assert all("has stopped" in str(error) for error in seen)
