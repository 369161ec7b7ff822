"""Deadlines by the clock: the moment is fixed at the start, and ends the run as its time would."""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from sqlite3 import connect
from typing import Any

import anyio
import pytest
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from podium.dsl.program import Budget, Clock
from podium.engine import Engine
from podium.engine.call import ModelCall
from podium.engine.clock import clock_of, first_of, moment
from podium.engine.database import entry_of, first_id, read_events, write
from podium.engine.event import CallAnswered
from podium.engine.outcome import Exhausted, Named, Outcome, outcome_of, reason
from podium.engine.records import Record
from podium.engine.result import RunResult
from podium.engine.store import Store
from podium.engine.testing import Say, ScriptedClient, play
from podium.engine.testing.handmade import TASK, agent, exact, parallel, program, reduce_by, then

PROGRAM = """
model m { endpoint = openai("m", base_url = "http://127.0.0.1:1"), price = none }
role writer { prompt = \"\"\"{{ task.statement }}\"\"\", max_output = 100 tokens }
role mender { prompt = \"\"\"Mend {{ attempt.answer }}.\"\"\", max_output = 100 tokens }
task hello { statement = "Say all.", verify = contains(["a", "b", "c", "d"]) }
run main { task = hello, flow = FLOW, by = 07:00, on_exhausted = POLICY }
"""
REPEATED = "writer -> repeat(20) of mender"
TEAMS = "parallel(3) of team(2, members = [2 of writer], rounds = 2) -> best"


@pytest.fixture
def anyio_backend() -> Any:
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


def at(text: str) -> float:
    """The local time as a moment: `2026-11-30 06:00`."""
    return datetime.fromisoformat(text).timestamp()


class World:
    """The machine's clock, which goes on with the loop's, and the models: an answer takes half an hour."""

    def __init__(self, folder: Path, start: str) -> None:
        self.store = folder / "runs.db"
        self.zero = at(start) - anyio.current_time()
        self.client = ScriptedClient(self.reply)

    def reply(self, call: ModelCall) -> Say:
        return Say(" ".join("abcd"[: 1 + len(self.client.seen) % 3]), 1800.0)

    def now(self) -> float:
        return self.zero + anyio.current_time()

    def set(self, moment: str) -> None:
        self.zero = at(moment) - anyio.current_time()

    def engine(self, store: Path | None = None) -> Engine:
        return Engine(
            store or self.store, client=self.client, environ={}, inline=True, now=self.now
        )

    async def run(self, flow: str = REPEATED, policy: str = "best", **how: Any) -> RunResult:
        text = PROGRAM.replace("FLOW", flow).replace("POLICY", policy)
        async with self.engine() as engine:
            run = await engine.start(text, allow=["host:*"], **how)
            return await run.result()

    async def resume(self, store: Path | None = None) -> RunResult:
        async with self.engine(store) as engine:
            run = await engine.resume()
            return await run.result()


def is_by(outcome: Outcome) -> bool:
    return isinstance(outcome, Exhausted) and outcome.dimension == "by"


# --- a run -----------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_a_run_ends_at_that_time_with_its_best(tmp_path: Path) -> None:
    world = World(tmp_path, "2026-11-30 05:15")
    result = await world.run()
    assert world.now() == at("2026-11-30 07:00")
    assert is_by(result.outcome)
    assert result.folded.ended is not None
    assert result.folded.ended.reason == "deadline `by` of run main"
    assert len(world.client.seen) == 4
    assert result.attempt is not None
    assert result.attempt.score == 0.75
    assert result.folded.held == 0


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("by", "end"), [("06:00", "2026-11-30 06:00"), ("2027-01-01 00:00", "2026-11-30 07:00")]
)
async def test_a_deadline_from_outside_only_tightens(tmp_path: Path, by: str, end: str) -> None:
    world = World(tmp_path, "2026-11-30 05:15")
    await world.run(by=by)
    assert world.now() == at(end)


@pytest.mark.anyio
async def test_the_time_of_a_budget_may_be_up_before(tmp_path: Path) -> None:
    world = World(tmp_path, "2026-11-30 05:15")
    result = await world.run(budget="[40m]")
    assert isinstance(result.outcome, Exhausted)
    assert result.outcome.dimension == "time"


@pytest.mark.anyio
async def test_more_time_does_not_move_the_clock(tmp_path: Path) -> None:
    world = World(tmp_path, "2026-11-30 05:15")
    text = PROGRAM.replace("FLOW", REPEATED).replace("POLICY", "best")
    async with world.engine() as engine:
        run = await engine.start(text, allow=["host:*"], budget="[1h]")
        await anyio.sleep(600)
        run.top_up("[10h]")
        result = await run.result()
    assert is_by(result.outcome)
    assert world.now() == at("2026-11-30 07:00")


@pytest.mark.anyio
async def test_a_moment_that_has_passed_sends_nothing(tmp_path: Path) -> None:
    world = World(tmp_path, "2026-11-30 05:15")
    result = await world.run(by="2026-11-29 07:00")
    assert is_by(result.outcome)
    assert (result.attempt, world.client.seen) == (None, [])


@pytest.mark.anyio
async def test_pause_is_no_way_out_of_a_moment_that_stays_passed(tmp_path: Path) -> None:
    result = await World(tmp_path, "2026-11-30 05:15").run(policy="pause")
    assert is_by(result.outcome)
    assert not result.resumable
    assert result.attempt is not None


@pytest.mark.anyio
async def test_each_of_several_tasks_ends_by_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    await anyio.Path(tmp_path / ".git").mkdir()
    await anyio.Path(tmp_path / "set.jsonl").write_text('{"q": "x"}\n{"q": "y"}\n')
    rows = 'rows("set.jsonl") with { statement = row.q, verify = contains("z") }'
    text = PROGRAM.replace("FLOW", REPEATED).replace("POLICY", "best")
    text = text.replace("task hello {", "task unused {").replace("task = hello", "task = many")
    world = World(tmp_path, "2026-11-30 05:15")
    async with world.engine() as engine:
        run = await engine.start(text + f"task many = {rows}\n", allow=["host:*", "file:*"])
        result = await run.result()
    assert is_by(result.outcome)
    assert world.now() == at("2026-11-30 07:00")


# --- later lives -----------------------------------------------------------------------------------


async def killed(world: World, seconds: float, flow: str = TEAMS) -> Path:
    """A store as a run leaves it that is killed so long after its start; the run itself is ended."""
    copy = world.store.with_name("killed.db")
    text = PROGRAM.replace("FLOW", flow).replace("POLICY", "best")
    async with world.engine() as engine:
        run = await engine.start(text, allow=["host:*"])
        await anyio.sleep(seconds)
        await run.written()
        with closing(connect(world.store)) as db, closing(connect(copy)) as to:
            db.backup(to)
        run.abort()
        await run.result()
    world.client.seen.clear()
    return copy


@pytest.mark.anyio
async def test_a_later_life_keeps_the_moment_of_the_first(tmp_path: Path) -> None:
    world = World(tmp_path, "2026-11-30 23:00")
    copy = await killed(world, 2000.0)
    world.set("2026-12-01 06:15")
    result = await world.resume(copy)
    assert is_by(result.outcome)
    assert world.now() == at("2026-12-01 07:00")
    assert world.client.seen


@pytest.mark.anyio
@pytest.mark.parametrize("seconds", [100.0, 2000.0, 4000.0])
async def test_a_life_after_the_moment_gives_the_best_so_far_and_sends_nothing(
    tmp_path: Path, seconds: float
) -> None:
    world = World(tmp_path, "2026-11-30 23:00")
    copy = await killed(world, seconds)
    world.set("2026-12-01 07:30")
    result = await world.resume(copy)
    assert world.client.seen == []
    assert is_by(result.outcome)
    assert (result.attempt is not None) == (seconds > 1800)
    assert result.folded.held == 0
    assert not result.resumable


def events_of(path: Path) -> int:
    """How many there are of the one run in the store."""
    with closing(Store.open(path)) as store:
        return len(list(store.events(store.runs()[0].id)))


def cut_off(whole: Path, copy: Path, number: int) -> list[str]:
    """copy: whole as a kill before event number leaves it. Gives the addresses that were answered."""
    with closing(connect(whole)) as db, closing(connect(copy, isolation_level=None)) as to:
        db.backup(to)
        to.execute("update runs set status = 'running', outcome = null")
        (run,) = to.execute("select id from runs").fetchone()
        kept = read_events(to, run, -1, number)[:number]
        record = Record(first_id(to, run))
        record.add([entry_of(one) for one in kept])
        to.executescript("delete from records; delete from spots")
        write(to, [record.row()], [], [], [])
        return [one.event.address for one in kept if isinstance(one.event, CallAnswered)]


@pytest.mark.anyio
async def test_killed_at_every_third_record_and_taken_up_too_late_it_returns_what_was_answered(
    tmp_path: Path,
) -> None:
    world = World(tmp_path, "2026-11-30 00:00")
    await world.run("parallel(2) of writer -> best")
    count = events_of(world.store)
    world.client.seen.clear()
    kept = 0
    for number in range(1, count, 3):
        copy = tmp_path / f"{number}.db"
        answered = [a for a in cut_off(world.store, copy, number) if not a.endswith("contains")]
        world.set("2026-12-01 08:00")
        before = world.now()
        result = await world.resume(copy)
        if number > 2:  # the moment is on disk; before it is, the run begins anew
            assert world.now() - before <= 1
            assert world.client.seen == []
            assert (result.attempt is not None) == bool(answered)
        world.client.seen.clear()
        kept += bool(answered)
    assert kept > 2


@pytest.mark.anyio
async def test_a_replay_of_a_run_that_ended_so_ends_so(tmp_path: Path) -> None:
    world = World(tmp_path, "2026-11-30 05:15")
    first = await world.run(TEAMS)
    count = events_of(world.store)
    copy = tmp_path / "again.db"
    cut_off(world.store, copy, count - 1)
    world.client.seen.clear()
    world.set("2026-11-30 09:00")
    again = await world.resume(copy)
    assert world.client.seen == []
    assert again.outcome == replace_run(first.outcome, again.run)
    assert first.attempt is not None
    assert again.attempt is not None
    assert again.attempt.answer == first.attempt.answer


def replace_run(outcome: Outcome, run: str) -> Outcome:
    assert isinstance(outcome, Exhausted)
    return replace(outcome, account=run)


@pytest.mark.anyio
async def test_a_budget_whose_time_was_up_reads_what_was_answered_too() -> None:
    """The same for live time: taken up when none is left, nothing that was paid is lost."""
    flow = then(parallel(3, agent()), reduce_by("best"))
    whole = replace(
        program(flow, replace(TASK, verify=exact("4"))), budget=Budget(seconds=10), name="main"
    )
    first = await play(whole, ScriptedClient(["1", Say("2", 20), Say("3", 20)]), by=1e9)
    assert first.result.outcome == Exhausted("run", "time")
    memory = first.memory.next_life()
    memory.decisions = {k: v for k, v in memory.decisions.items() if k[1] != "time_up of the run"}
    late = ScriptedClient([])
    again = await play(whole, late, memory=memory, by=anyio.current_time() - 1)
    assert late.seen == []
    assert again.result.outcome == Exhausted("run", "by")
    assert again.result.value is not None
    assert again.result.value.answer == "1"


# --- moments ---------------------------------------------------------------------------------------

CLOCKS = st.builds(Clock, st.integers(0, 23), st.integers(0, 59))
DAYS = st.dates(date(2020, 1, 1), date(2035, 1, 1))


@given(CLOCKS, st.floats(1.6e9, 2.0e9))
def test_the_next_such_time_is_within_a_day_and_never_now(clock: Clock, now: float) -> None:
    found = moment(clock, now)
    assert now < found <= now + 25 * 3600
    assert str(clock) == datetime.fromtimestamp(found).strftime("%H:%M")
    assert moment(clock, found) > found


@given(CLOCKS, DAYS, st.floats(1.6e9, 2.0e9))
def test_a_day_fixes_the_moment_whenever_it_is_asked_for(
    clock: Clock, day: date, now: float
) -> None:
    whole = replace(clock, day=day)
    assert datetime.fromtimestamp(moment(whole, now)).strftime("%Y-%m-%d %H:%M") == str(whole)
    assert clock_of(str(whole)) == whole
    assert first_of((whole, whole), now) == moment(whole, 0.0)


@pytest.mark.parametrize("text", ["", "7:00", "24:00", "07:60", "2026-02-30 07:00", "a b 07:00"])
def test_what_is_no_time_of_day_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no time of day"):
        clock_of(text)


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize(
    ("start", "hours"),
    [
        ("2026-03-28 22:00", 8),  # the clock is put forward at 02:00
        ("2026-10-24 22:00", 10),  # and back at 03:00
        ("2026-07-01 22:00", 9),
    ],
)
def test_a_night_in_which_the_clock_changes_ends_by_the_clock(start: str, hours: int) -> None:
    now = at(start)
    assert moment(Clock(7, 0), now) - now == hours * 3600


def test_the_outcome_is_read_back_from_its_words() -> None:
    run = Named("2026-11-30-0c609ab12", "main")
    outcome = Exhausted(run.id, "by")
    assert outcome_of("exhausted", reason(outcome, run), run) == outcome
