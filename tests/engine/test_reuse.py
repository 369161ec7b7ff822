"""A run of a changed text that uses an earlier run's answers again; on trio's jumping clock."""

from pathlib import Path
from typing import Any

import anyio
import pytest
import trio.testing

from podium.engine import Engine
from podium.engine.outcome import Finished, Passed
from podium.engine.result import RunResult
from podium.engine.testing import Say, ScriptedClient

PROGRAM = """
model paid {
  endpoint = openai("paid", base_url = "http://127.0.0.1:1")
  price    = { input = $1 per 1M tokens, output = $1 per 1M tokens }
}
role writer { prompt = \"\"\"{{ task.statement }}\"\"\"  max_output = 100 tokens }
role mender { prompt = \"\"\"Mend {{ attempt.answer }}\"\"\"  max_output = 100 tokens }
task hello { statement = "Say yes."  verify = contains("yes") }
run main { task = hello  flow = parallel(4) of (writer -> mender) -> best  budget = [$1, 20 calls] }
"""
CHANGED = PROGRAM.replace("Mend {{", "Improve {{")


@pytest.fixture
def anyio_backend() -> Any:
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


pytestmark = pytest.mark.anyio


def numbered() -> ScriptedClient:
    client = ScriptedClient(lambda call: Say(f"no {len(client.seen)}"))
    return client


async def forked(path: Path, old: str, new: str, client: ScriptedClient) -> RunResult:
    """The result of new, forked from a run of old that had answers of its own."""
    async with Engine(path, client=numbered(), environ={}, inline=True) as opened:
        first = await (await opened.start(old)).result()
        assert first.outcome == Finished()
    async with Engine(path, client=client, environ={}, inline=True) as opened:
        return await (await opened.start(new, fork=first.run)).result()


async def test_the_same_text_forked_asks_nothing_and_costs_nothing(tmp_path: Path) -> None:
    client = ScriptedClient([])
    result = await forked(tmp_path / "runs.db", PROGRAM, PROGRAM, client)
    assert client.seen == []
    assert result.folded.total.amount == (0, 0, 0)
    assert result.attempt is not None
    assert str(result.attempt.answer).startswith("no ")


async def test_only_what_the_change_reaches_is_asked_again(tmp_path: Path) -> None:
    client = ScriptedClient(lambda call: Say("yes"))
    result = await forked(tmp_path / "runs.db", PROGRAM, CHANGED, client)
    assert result.outcome == Passed()
    assert len(client.seen) == 4
    assert all("Improve no " in call.messages[-1].content for call in client.seen)
    assert result.folded.total.amount.calls == 4


async def test_each_answer_is_used_once(tmp_path: Path) -> None:
    client = ScriptedClient(lambda call: Say("yes"))
    more = PROGRAM.replace("parallel(4)", "parallel(6)")
    result = await forked(tmp_path / "runs.db", PROGRAM, more, client)
    assert result.folded.total.amount.calls == len(client.seen) == 4


async def test_a_fork_that_is_paused_and_resumed_still_uses_them(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    client = ScriptedClient(lambda call: Say("yes", delay=60), inflight=1)
    async with Engine(path, client=numbered(), environ={}, inline=True) as opened:
        first = await (await opened.start(PROGRAM)).result()
    async with Engine(path, client=client, environ={}, inline=True) as opened:
        run = await opened.start(CHANGED, fork=first.run)
        await anyio.sleep(90)
        run.pause()
        assert (await run.result()).resumable
    async with Engine(path, client=client, environ={}, inline=True) as opened:
        result = await (await opened.resume()).result()
    assert result.outcome == Passed()
    assert len(client.seen) == 4


async def test_a_fork_of_a_run_that_is_not_there_is_refused(tmp_path: Path) -> None:
    client = ScriptedClient([])
    async with Engine(tmp_path / "runs.db", client=client, environ={}, inline=True) as opened:
        with pytest.raises(KeyError):
            await opened.start(PROGRAM, fork="nothing")
