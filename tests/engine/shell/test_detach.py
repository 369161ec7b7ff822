"""What a run in the background says of itself, and when."""

import os
from contextlib import closing
from pathlib import Path

import pytest

from podium.engine import Engine
from podium.engine.event import AccountOpened
from podium.engine.shell.detach import TELL_FD, announce
from podium.engine.store import Store
from podium.engine.testing import ScriptedClient

PROGRAM = """
role writer { prompt = \"\"\"{{ task.statement }}\"\"\" }
task hello { statement = "Say yes."  verify = exact("yes") }
run main { task = hello  flow = writer  budget = [5 calls] }
"""


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_whoever_reads_the_id_of_a_run_can_read_its_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    monkeypatch.setenv(TELL_FD, str(writing))
    async with Engine(tmp_path / "runs.db", client=ScriptedClient(["yes"]), environ={}) as engine:
        run = await engine.start(PROGRAM)
        await announce(run)
        with closing(Store.open(tmp_path / "runs.db")) as store:
            begun = [one.event for one in store.events(run.id)]
        assert any(isinstance(event, AccountOpened) and event.calls == 5 for event in begun)
        with os.fdopen(reading) as told:
            assert told.read() == run.id
        await run.result()
