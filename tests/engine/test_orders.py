"""Orders to a run from another process, through its store; on trio's jumping clock."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
import trio.testing

from podium.dsl.program import Budget
from podium.engine import Engine, Run
from podium.engine.event import Ordered
from podium.engine.orders import topped, topup, unbounded
from podium.engine.outcome import Exhausted, Finished, Passed, Paused, Stopped
from podium.engine.result import RunResult
from podium.engine.shell.summary import headline
from podium.engine.store import Store
from podium.engine.testing import Say, ScriptedClient

PROGRAM = """
model paid {
  endpoint = openai("paid", base_url = "http://127.0.0.1:1")
  price    = none
}
role writer {
  prompt     = \"\"\"{{ task.statement }}\"\"\"
  max_output = 100 tokens
}
role mender {
  prompt     = \"\"\"Mend {{ attempt.answer }}\"\"\"
  max_output = 100 tokens
}
task hello {
  statement = "Say yes."
  verify    = contains("yes")
}
run main {
  task         = hello
  flow         = writer -> repeat(20, until = passed) of mender
  budget       = [4 calls, 10m]
  on_exhausted = pause
}
"""
SLOW = PROGRAM.replace(
    "writer -> repeat(20, until = passed) of mender", "parallel(4, inflight = 1) of writer"
)


@pytest.fixture
def anyio_backend() -> Any:
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


pytestmark = pytest.mark.anyio


def engine(store: Path, client: ScriptedClient) -> Engine:
    return Engine(
        store,
        client=client,
        environ={},
        inline=True,
        now=anyio.current_time,
        orders_every_s=0.5,
    )


async def ordered(
    path: Path, text: str, order: Ordered, client: ScriptedClient, *, after: float = 90
) -> RunResult:
    """The result of a run of text which gets order from elsewhere after so many seconds."""
    async with engine(path, client) as opened:
        run = await opened.start(text)
        await anyio.sleep(after)
        with_other(path, lambda store: store.order(run.id, order))
        return await run.result()


def with_other(path: Path, act: Callable[[Store], object]) -> None:
    """What a second process does with the store."""
    store = Store.open(path, inline=True)
    act(store)
    store.close()


def minute_each() -> ScriptedClient:
    return ScriptedClient(lambda call: Say("no", delay=60))


def orders_of(result: RunResult, path: Path) -> list[Ordered]:
    store = Store.open(path, inline=True)
    events = [s.event for s in store.events(result.run)]
    store.close()
    return [event for event in events if isinstance(event, Ordered)]


async def test_a_pause_from_elsewhere_lets_what_is_in_flight_end_and_is_journaled(
    tmp_path: Path,
) -> None:
    client = minute_each()
    path = tmp_path / "runs.db"
    result = await ordered(path, SLOW, Ordered("pause"), client)
    assert result.outcome == Paused("user")
    assert result.resumable
    assert len(client.seen) == 2
    assert [order.verb for order in orders_of(result, path)] == ["pause"]


async def test_a_paused_run_that_is_resumed_does_not_take_its_old_pause_again(
    tmp_path: Path,
) -> None:
    client = minute_each()
    path = tmp_path / "runs.db"
    await ordered(path, SLOW, Ordered("pause"), client)
    async with engine(path, client) as opened:
        result = await (await opened.resume()).result()
    assert result.outcome == Finished()
    assert len(client.seen) == 4


async def test_a_pause_that_came_too_late_does_not_pause_the_next_life(tmp_path: Path) -> None:
    client = minute_each()
    path = tmp_path / "runs.db"
    first = await ordered(path, SLOW, Ordered("pause"), client)
    with_other(path, lambda store: store.order(first.run, Ordered("pause")))
    async with engine(path, client) as opened:
        result = await (await opened.resume()).result()
    assert result.outcome == Finished()


@pytest.mark.parametrize(
    "flow", ["parallel(4, inflight = 1) of writer", "writer -> repeat(40) of mender"]
)
async def test_a_stopped_run_whose_answer_passes_says_that_it_was_stopped(
    tmp_path: Path, flow: str
) -> None:
    text = PROGRAM.replace("writer -> repeat(20, until = passed) of mender", flow)
    text = text.replace("[4 calls, 10m]", "[50 calls, 2h]")
    client = ScriptedClient(lambda call: Say("yes", delay=60))
    result = await ordered(tmp_path / "runs.db", text, Ordered("stop"), client)
    end = result.folded.ended
    assert end is not None
    assert (result.outcome, end.reason) == (Passed(), "stopped by the user")
    assert "Passed (stopped by the user)" in headline(result.folded)
    assert not result.resumable


async def test_stopped_rows_that_all_pass_say_so_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "set.jsonl").write_text('{"ask": "Say yes."}\n{"ask": "Say yes!"}\n')
    task = 'task hello {\n  statement = "Say yes."\n  verify    = contains("yes")\n}'
    rows = 'task hello = rows("set.jsonl") with { statement = row.ask, verify = contains("yes") }'
    text = SLOW.replace(task, rows).replace("[4 calls, 10m]", "[50 calls, 2h]")
    client = ScriptedClient(lambda call: Say("yes", delay=60))
    path = tmp_path / "runs.db"
    async with engine(path, client) as opened:
        run = await opened.start(text, allow=["file:set.jsonl"])
        await anyio.sleep(90)
        run.stop()
        result = await run.result()
    assert result.folded.ended is not None
    assert (result.outcome, result.folded.ended.reason) == (Passed(), "stopped by the user")


async def test_a_run_that_ended_by_itself_was_not_stopped(tmp_path: Path) -> None:
    client = ScriptedClient(lambda call: Say("yes", delay=60))
    text = SLOW.replace("parallel(4, inflight = 1)", "parallel(2)")
    result = await ordered(tmp_path / "runs.db", text, Ordered("stop"), client, after=30)
    assert result.folded.ended is not None
    assert (result.outcome, result.folded.ended.reason) == (Passed(), "")


async def test_a_stopped_run_ends_for_good_with_its_best_so_far(tmp_path: Path) -> None:
    client = minute_each()
    result = await ordered(tmp_path / "runs.db", SLOW, Ordered("stop"), client)
    assert result.outcome == Stopped("user")
    assert not result.resumable
    assert result.attempt is not None
    assert result.attempt.answer == "no"
    assert result.folded.held == 0


async def test_a_topup_of_a_running_run_lets_it_make_more_calls(tmp_path: Path) -> None:
    client = minute_each()
    more = topup(Budget(calls=2))
    result = await ordered(tmp_path / "runs.db", PROGRAM, more, client)
    assert result.outcome == Paused("budget")
    assert len(client.seen) == 6
    assert result.folded.budget is not None
    assert result.folded.budget.calls == 6


async def test_a_topup_of_a_paused_run_counts_when_it_is_resumed(tmp_path: Path) -> None:
    client = ScriptedClient(lambda call: Say("yes" if len(client.seen) == 6 else "no", delay=1))
    path = tmp_path / "runs.db"
    async with engine(path, client) as opened:
        first = await (await opened.start(PROGRAM)).result()
    assert first.outcome == Paused("budget")
    with_other(path, lambda store: store.order(first.run, topup(Budget(calls=5))))
    async with engine(path, client) as opened:
        result = await (await opened.resume()).result()
    assert result.outcome == Passed()
    assert len(client.seen) == 6
    assert result.folded.budget is not None
    assert result.folded.budget.calls == 9


async def test_a_topup_is_counted_once_in_however_many_lives(tmp_path: Path) -> None:
    client = minute_each()
    path = tmp_path / "runs.db"
    await ordered(path, PROGRAM, topup(Budget(calls=1)), client)
    for _ in range(2):
        async with engine(path, client) as opened:
            result = await (await opened.resume()).result()
        assert result.outcome == Paused("budget")
    assert len(client.seen) == 5


async def test_a_topup_of_time_moves_the_deadline_of_a_running_run(tmp_path: Path) -> None:
    text = PROGRAM.replace("4 calls", "40 calls").replace("= pause", "= best")
    client = minute_each()
    result = await ordered(tmp_path / "runs.db", text, topup(Budget(seconds=300)), client)
    assert isinstance(result.outcome, Exhausted)
    assert result.outcome.dimension == "time"
    assert result.folded.seconds == pytest.approx(900, abs=5)


async def test_orders_of_this_process_do_the_same(tmp_path: Path) -> None:
    client = minute_each()
    async with engine(tmp_path / "runs.db", client) as opened:
        run = await opened.start(PROGRAM)
        await anyio.sleep(90)
        run.top_up("[3 calls]")
        await anyio.sleep(200)
        run.stop()
        result = await run.result()
    assert result.outcome == Stopped("user")
    assert len(client.seen) == 5


async def test_a_run_that_has_ended_takes_no_orders(tmp_path: Path) -> None:
    async with engine(tmp_path / "runs.db", ScriptedClient(lambda call: Say("yes"))) as opened:
        run: Run = await opened.start(PROGRAM)
        await run.result()
        with pytest.raises(RuntimeError, match="not live"):
            run.stop()


def test_a_topup_of_what_has_no_bound_changes_nothing_and_is_named() -> None:
    budget = Budget(usd=5, seconds=60.0)
    more = Budget(tokens=10, seconds=30.0)
    assert topped(budget, topup(more)) == Budget(usd=5, seconds=90.0)
    assert unbounded(budget, more) == ("tokens",)


async def test_branches_that_began_before_a_pause_all_go_on_at_once_after_it(
    tmp_path: Path,
) -> None:
    text = PROGRAM.replace(
        "writer -> repeat(20, until = passed) of mender", "parallel(3) of (writer -> mender)"
    ).replace("4 calls", "6 calls")
    client = minute_each()
    path = tmp_path / "runs.db"
    async with engine(path, client) as opened:
        run = await opened.start(text)
        await anyio.sleep(30)
        run.pause()
        assert (await run.result()).folded.total.amount.calls == 3
    async with engine(path, client) as opened:
        began = anyio.current_time()
        result = await (await opened.resume()).result()
    assert result.folded.total.amount.calls == 6
    assert anyio.current_time() - began == pytest.approx(60, abs=1)


INNER = PROGRAM.replace(
    "writer -> repeat(20, until = passed) of mender",
    "parallel(2) of team(1, members = [1 of writer], rounds = 4, budget = [2 calls], on_exhausted = pause)",
).replace("4 calls", "100 calls")


async def test_a_topup_is_for_a_budget_inside_that_paused_the_run_too(tmp_path: Path) -> None:
    client = ScriptedClient(lambda call: Say("no", delay=1))
    path = tmp_path / "runs.db"
    async with engine(path, client) as opened:
        first = await (await opened.start(INNER)).result()
    assert isinstance(first.outcome, Paused)
    assert first.outcome.cause == "budget"
    assert "calls budget of main/" in first.outcome.message.replace("call ", "calls ")
    asked = len(client.seen)
    with_other(path, lambda store: store.order(first.run, topup(Budget(calls=10))))
    async with engine(path, client) as opened:
        result = await (await opened.resume()).result()
    assert result.outcome == Finished()
    assert len(client.seen) > asked


async def test_a_topup_while_the_run_lives_reaches_the_budgets_inside_that_pause(
    tmp_path: Path,
) -> None:
    client = minute_each()
    result = await ordered(tmp_path / "runs.db", INNER, topup(Budget(calls=10)), client, after=30)
    assert result.outcome == Finished()
