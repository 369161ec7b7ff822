"""A task's baseline: scored before anything is paid, a yardstick and no answer."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
import trio.testing

from podium.dsl.program import Task
from podium.engine import Engine
from podium.engine.call import ModelCall
from podium.engine.event import CallIntended
from podium.engine.outcome import Failed, Finished, Paused, Stopped
from podium.engine.result import RunResult
from podium.engine.store import Store
from podium.engine.testing import Say, ScriptedClient
from podium.engine.value import Attempt

PROGRAM = """
model m { endpoint = openai("m", base_url = "http://127.0.0.1:1") }
role writer { prompt = \"\"\"{{ task.statement }}\"\"\"  model = m  max_output = 100 tokens }
task hello {
  statement = "Say all five."
  verify    = python("check:judge")
  better    = BETTER
  baseline  = "BASELINE"
}
run main { task = hello  flow = FLOW  budget = [20 calls] }
"""
ROWS = """
model m { endpoint = openai("m", base_url = "http://127.0.0.1:1") }
role writer { prompt = \"\"\"{{ task.statement }}\"\"\"  model = m }
task many = rows("set.jsonl") with {
  statement = row.q
  verify    = python("check:judge")
  baseline  = row.known
}
run main { task = many  flow = writer  budget = [20 calls] }
"""


@pytest.fixture
def anyio_backend() -> Any:
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


pytestmark = pytest.mark.anyio


class Judge:
    """Scores by length; fails on `bad`. seen: what it was asked, in order."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, attempt: Attempt, task: Task) -> float:
        self.seen.append(attempt.text)
        if attempt.text == "bad":
            raise ValueError("no such answer")
        return float(len(attempt.text))


def text(
    baseline: str, *, flow: str = "parallel(2) of writer -> best", better: str = "higher"
) -> str:
    return PROGRAM.replace("BASELINE", baseline).replace("FLOW", flow).replace("BETTER", better)


def engine(folder: Path, client: ScriptedClient, judge: Judge, **more: Any) -> Engine:
    bindings = {"check:judge": judge}
    allow = ("python:*", "file:*", "host:*")
    return Engine(
        folder / "runs.db",
        client=client,
        environ={},
        inline=True,
        bindings=bindings,
        allow=allow,
        **more,
    )


async def to_end(folder: Path, client: ScriptedClient, judge: Judge, program: str) -> RunResult:
    async with engine(folder, client, judge) as opened:
        run = await opened.start(program)
        return await run.result()


def calls(folder: Path, run: str) -> list[tuple[str, str]]:
    store = Store.open(folder / "runs.db")
    try:
        events = [one.event for one in store.events(run)]
    finally:
        store.close()
    return [(one.kind, one.address) for one in events if isinstance(one, CallIntended)]


async def test_a_baseline_is_scored_before_anything_is_sent(tmp_path: Path) -> None:
    judge = Judge()
    result = await to_end(tmp_path, ScriptedClient(["longest", "long"]), judge, text("abc"))
    first, second, *_ = calls(tmp_path, result.run)
    assert first == ("verifier", "main/0.baseline/v.python")
    assert second[0] == "model"
    assert judge.seen[0] == "abc"
    baseline = result.folded.baseline
    assert baseline is not None
    assert (baseline.tasks, baseline.score, baseline.passed) == (1, 3.0, False)
    assert result.folded.nodes["main/0.baseline"].score == 3.0


async def test_a_baseline_that_no_attempt_beats_is_still_not_the_answer(tmp_path: Path) -> None:
    result = await to_end(tmp_path, ScriptedClient(["ab", "abc"]), Judge(), text("a long baseline"))
    assert result.attempt is not None
    assert result.attempt.answer == "abc"
    assert result.folded.best is not None
    assert result.folded.best.answer == "abc"
    assert {score.by for score in result.folded.scores.values()} == {"agent"}
    assert len(result.folded.scores) == 2


async def test_equal_content_is_judged_once_and_is_then_an_attempt(tmp_path: Path) -> None:
    judge = Judge()
    result = await to_end(tmp_path, ScriptedClient(["abc", "ab"]), judge, text("abc"))
    assert judge.seen.count("abc") == 1
    assert result.attempt is not None
    assert result.attempt.answer == "abc"


async def test_a_flow_may_have_the_name_of_the_baseline(tmp_path: Path) -> None:
    program = text("abc", flow="baseline") + "flow baseline = parallel(2) of writer -> best\n"
    result = await to_end(tmp_path, ScriptedClient(["ab", "a"]), Judge(), program)
    assert result.outcome == Finished()
    assert result.folded.baseline is not None
    assert result.folded.baseline.score == 3.0


async def test_a_verifier_that_errs_there_ends_the_run_with_nothing_sent(tmp_path: Path) -> None:
    client = ScriptedClient([])
    result = await to_end(tmp_path, client, Judge(), text("bad"))
    assert isinstance(result.outcome, Failed)
    assert result.outcome.kind == "verifier"
    assert "the baseline of task hello could not be scored: ValueError" in result.outcome.message
    assert result.resumable  # once the verifier is mended
    assert client.seen == []
    assert result.folded.baseline is None


@pytest.fixture
def in_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Writes the rows of the project in whose folder the test then is."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()

    def write(lines: str) -> Path:
        (tmp_path / "set.jsonl").write_text(lines)
        return tmp_path

    return write


async def test_all_baselines_of_rows_come_before_the_first_call(
    in_project: Callable[[str], Path],
) -> None:
    folder = in_project(
        '{"q": "a", "known": "abc"}\n{"q": "b", "known": null}\n{"q": "c", "known": "a"}\n'
    )
    result = await to_end(folder, ScriptedClient(["1", "22", "333"]), Judge(), ROWS)
    made = calls(folder, result.run)
    assert sorted(made[:2]) == [
        ("verifier", "main/1.row/0.baseline/v.python"),
        ("verifier", "main/3.row/0.baseline/v.python"),
    ]
    assert all(kind == "model" for kind, _ in made[2:5])
    baseline = result.folded.baseline
    assert baseline is not None
    assert (baseline.tasks, baseline.score) == (2, 2.0)


async def test_rows_whose_verifier_errs_again_and_again_fail_and_do_not_pause(
    in_project: Callable[[str], Path],
) -> None:
    folder = in_project('{"q": "a", "known": "bad"}\n' * 5)
    client = ScriptedClient([])
    result = await to_end(folder, client, Judge(), ROWS)
    assert isinstance(result.outcome, Failed)
    assert client.seen == []


async def test_a_resumed_run_does_not_score_it_again(tmp_path: Path) -> None:
    judge = Judge()

    def reply(call: ModelCall) -> Say:
        return Say("longest", 0.0 if "1.writer" in call.address else 100.0)

    async with engine(tmp_path, ScriptedClient(reply), judge) as opened:
        run = await opened.start(text("abc"))
        await anyio.sleep(1)
        run.abort()
        await run.result()
    assert judge.seen[0] == "abc"
    again = Judge()
    async with engine(tmp_path, ScriptedClient(["ab"]), again) as opened:
        taken = await opened.resume(run.id)
        result = await taken.result()
    assert "abc" not in again.seen
    assert result.folded.baseline is not None
    assert result.folded.baseline.score == 3.0
    asked = [address for kind, address in calls(tmp_path, run.id) if kind == "verifier"]
    assert asked.count("main/0.baseline/v.python") == 1


async def test_a_slow_baseline_uses_the_time_of_the_run(tmp_path: Path) -> None:
    async def slow(attempt: Attempt, task: Task) -> float:
        await anyio.sleep(8)
        return 1.0

    program = text("abc").replace("[20 calls]", "[20 calls, 10s]")
    client = ScriptedClient(lambda call: Say("x", 5.0))
    async with engine(tmp_path, client, Judge()) as opened:
        run = await opened.start(program, bindings={"check:judge": slow})
        result = await run.result()
    assert result.attempt is None
    assert [node.reason for node in result.folded.nodes.values()][1] == "time budget of run main"


@pytest.mark.parametrize("order", ["pause", "stop"])
async def test_an_order_in_the_midst_of_them_sends_nothing(
    in_project: Callable[[str], Path], order: str
) -> None:
    folder = in_project('{"q": "a", "known": "abc"}\n{"q": "b", "known": "ab"}\n')
    asked: list[str] = []

    async def slow(attempt: Attempt, task: Task) -> float:
        asked.append(attempt.text)
        await anyio.sleep(8)
        return 1.0

    program = ROWS.replace('python("check:judge")', 'python("check:judge", inflight = 1)')
    client = ScriptedClient(["1", "22"])
    async with engine(folder, client, Judge()) as opened:
        run = await opened.start(program, bindings={"check:judge": slow})
        await anyio.sleep(1)
        run.pause() if order == "pause" else run.stop()
        result = await run.result()
        assert client.seen == []
        assert len(asked) == (1 if order == "pause" else 2)  # a stop still has its verifiers
        assert result.outcome == (Paused("user") if order == "pause" else Stopped("user"))
        assert result.resumable == (order == "pause")
        if order == "pause":
            again = await opened.resume(run.id, bindings={"check:judge": slow})
            result = await again.result()
            assert sorted(asked[:2]) == ["ab", "abc"]
            assert sorted(asked[2:]) == ["1", "22"]
            assert len(client.seen) == 2
            assert result.folded.baseline is not None
            assert result.folded.baseline.tasks == 2
