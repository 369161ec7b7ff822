"""Which run `podium resume` takes up where none is named, and what it says of one that failed."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from podium.engine.call import CallError
from podium.engine.event import RunEnded
from podium.engine.run import Engine
from podium.engine.shell.cli import main
from podium.engine.shell.doors import Doors
from podium.engine.shell.exits import Exit
from podium.engine.store import RunRecord, Store
from podium.engine.testing.scripted import Fail, Script, ScriptedClient

FILE = """
model m { endpoint = openai("m", base_url = "http://127.0.0.1:9/v1"), price = none }
task sum { statement = "2 + 2?", verify = number(4) }
run main { task = sum, flow = agent, budget = [50k tokens] }
"""
NO_MODEL: Script = {"": Fail(CallError("model", "127.0.0.1:9 has no model m"))}
FOUR: Script = {"": "4"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sum.team").write_text(FILE)
    return tmp_path


def podium(*words: str, script: Script = FOUR) -> Result:
    client = ScriptedClient(script)
    doors = Doors(engine=lambda store: Engine(store, client=client, environ={}), environ={})
    return CliRunner().invoke(main, list(words), obj=doors)


def failed() -> str:
    """The id of a run that failed for want of its model."""
    result = podium("run", "sum.team", "--json", script=NO_MODEL)
    assert result.exit_code == Exit.FAILED, result.stderr
    run: str = json.loads(result.stdout)["run"]
    assert f"Next: mend that, then podium resume {run}" in result.stderr
    return run


def test_a_run_that_failed_says_so_each_time_it_is_taken_up() -> None:
    run = failed()
    for words in (["resume"], ["resume", run]):
        again = podium(*words, script=NO_MODEL)
        assert again.exit_code == Exit.FAILED
        assert "It failed: model: 127.0.0.1:9 has no model m" in again.stderr
        assert "Unless that is mended, it fails again." in again.stderr
        assert f"Next: mend that, then podium resume {run}" in again.stderr
    mended = podium("resume")
    assert (mended.exit_code, mended.stdout) == (Exit.PASSED, "4\n")


@pytest.mark.parametrize("outcome", ["paused", "cancelled", None])
@pytest.mark.anyio
async def test_one_that_was_only_held_up_goes_first(outcome: str | None) -> None:
    store = Store.open(Path("runs.db"), inline=True)
    for created, name in enumerate(("earlier", "held", "failed", "failed too")):
        journal = store.create(RunRecord(name, "main", float(created), ""))
        how = "failed" if name.startswith("failed") else outcome
        if how is not None:
            await journal.end(RunEnded(how, "model: gone", True, None, None, None, 1.0))
        await journal.close()
    found = store.latest_unfinished()
    assert found is not None
    assert (found.id, found.failure) == ("held", "")
    store.close()


@pytest.fixture
def anyio_backend() -> str:
    return "trio"
