"""A store that an earlier version wrote still opens, lists, shows and resumes."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from podium.engine import Engine
from podium.engine.call import ModelCall
from podium.engine.event import CallAnswered, CallIntended, Ordered, RunEnded
from podium.engine.store import Store
from podium.engine.testing import Say, ScriptedClient

FIXTURES = Path(__file__).parent.parent / "fixtures"
# Written by the engine of schema 3: two branches of three calls each; the prompts after the first are in pieces.
SCRIPT = (FIXTURES / "store_3.sql").read_text("utf-8")
CALLS, EVENTS = 6, 46
# The same run, killed at event 13, taken over and ended by the engine of schema 4; the kill cost a call.
FOURTH = (FIXTURES / "store_4.sql").read_text("utf-8")
FOURTH_EVENTS = 53


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    return written(tmp_path / "runs.db", SCRIPT, 3)


@pytest.fixture
def fourth(tmp_path: Path) -> Path:
    return written(tmp_path / "runs.db", FOURTH, 4)


def written(path: Path, script: str, schema: int) -> Path:
    with closing(sqlite3.connect(path)) as db:
        db.executescript(script)
        db.execute(f"pragma application_id={0x506F6469}")
        db.execute(f"pragma user_version={schema}")
    return path


def cut_off(path: Path, number: int) -> None:
    """As a kill before event number would have left it."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("delete from events where number >= ?", (number,))
        db.execute("update runs set status = 'running', outcome = null, spent = null")
        db.commit()


def as_schema(path: Path, schema: int) -> None:
    with closing(sqlite3.connect(path)) as db:
        if schema < 3:
            db.execute("alter table runs drop column spent")
        if schema < 2:
            db.execute("drop table orders")
        db.execute(f"pragma user_version={schema}")


@pytest.mark.parametrize("schema", [1, 2, 3])
def test_every_schema_takes_orders_and_knows_what_its_runs_cost(earlier: Path, schema: int) -> None:
    as_schema(earlier, schema)
    with closing(Store.open(earlier)) as store:
        (run,) = store.runs()
        given = store.order(run.id, Ordered("topup", calls=3))
        assert store.orders(run.id, 0) == [given]
        assert store.orders(run.id, given.number) == store.orders("r2", 0) == []
        spent, others = store.account_spent(run.account)
        assert (spent, others) == (store.spent(run.id), {})
        assert spent.calls == CALLS
        assert store.create(replace(run, id="another")).run == "another"


def test_its_runs_events_and_texts_are_read(earlier: Path) -> None:
    for _ in range(2):  # the second time it is of this schema
        with closing(Store.open(earlier)) as store:
            (run,) = store.runs()
            events = list(store.events(run.id))
            assert [stamped.number for stamped in events] == list(range(EVENTS))
            assert isinstance(events[-1].event, RunEnded)
            calls = [s.event for s in events if isinstance(s.event, CallIntended)]
            texts = [store.blob(m) for call in calls for m in store.listed(call.messages)]
            assert texts.count("You are a careful problem solver.") == CALLS
            assert sum("Rule 39: say each letter" in text for text in texts) == CALLS - 2
            assert store.spent(run.id).calls == CALLS
            assert store.account_spent(run.account)[0].calls == CALLS


def test_the_events_of_schema_4_and_their_texts_are_read(fourth: Path) -> None:
    for _ in range(2):
        with closing(Store.open(fourth)) as store:
            (run,) = store.runs()
            events = list(store.events(run.id))
            assert [stamped.number for stamped in events] == list(range(FOURTH_EVENTS))
            assert store.event(run.id, 7) == events[7]
            calls = [s.event for s in events if isinstance(s.event, CallIntended)]
            texts = [store.blob(m) for call in calls for m in store.listed(call.messages)]
            assert texts.count("You are a careful problem solver.") == CALLS + 1
            assert store.spent(run.id) == store.account_spent(run.account)[0]
            assert store.spent(run.id).calls == CALLS + 1


@pytest.mark.anyio
async def test_a_run_of_schema_4_asks_nothing_again_that_was_answered(fourth: Path) -> None:
    cut_off(fourth, FOURTH_EVENTS - 1)
    client = ScriptedClient(lambda _: Say("abcd", 0.0))
    async with Engine(fourth, client=client, environ={}) as engine:
        result = await (await engine.resume()).result()
    assert not client.seen
    assert result.folded.total.amount.calls == CALLS + 1


@pytest.mark.anyio
@pytest.mark.parametrize("number", [3, 11, 13, 20, 28, 38, 45])
async def test_its_run_is_taken_up_where_it_was_killed(earlier: Path, number: int) -> None:
    def reply(call: ModelCall) -> Say:
        return Say("abcd", 0.0)

    cut_off(earlier, number)
    with closing(Store.open(earlier)) as store:
        run = store.runs()[0].id
        before = list(store.events(run))
    paid = [s for s in before if isinstance(s.event, CallAnswered) and "text" in s.event.reply]
    client = ScriptedClient(reply)
    async with Engine(earlier, client=client, environ={}) as engine:
        result = await (await engine.resume(run)).result()
    assert len(client.seen) == CALLS - len(paid)
    assert result.outcome is not None
    with closing(Store.open(earlier)) as store:
        after = list(store.events(run))
        assert after[: len(before)] == before
        assert store.runs()[0].status == "ended"
