"""Field cases of resuming, replaying and the log.

Case | where it is looked at
21   | here; by SIGKILL `test_kill`, end to end `test_kill_end_to_end`
22   | here; `test_replay`, and after every simulated run without a violation
23   | here; `test_pieces`; a slow reader `test_journal`
"""

import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from sqlite3 import Connection
from typing import Any

import anyio
import pytest

from podium.engine import Engine, writer
from podium.engine.call import ModelCall
from podium.engine.database import connect_memory, write
from podium.engine.event import CallAnswered
from podium.engine.records import RecordRow, events
from podium.engine.replay import replay
from podium.engine.store import Store
from podium.engine.testing import Fail, Say
from podium.engine.testing.disk import simulated_disk

from .bench import Till, compiled, cost, failure, is_killed, over, play, team_file

# --- case 21 ----------------------------------------------------------------------------------------

FLOWS = (
    "parallel(10) of one",
    "parallel(3) of (one -> mend) -> merge",
    "team(members = [3 of one])",
)


@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize("inflight", [2, 10])
def test_a_run_killed_at_any_commit_sends_again_what_was_in_flight_and_nothing_else(
    flow: str, inflight: int
) -> None:
    text = team_file(flow, budget="[$0.1, 60 calls]")

    async def whole(seed: int) -> None:
        disk = simulated_disk()
        played = await play(text, Till(script), store=Store.memory(anyio.current_time, disk))
        figures.update(calls=played.spent.calls, commits=disk.commits)

    def script(call: ModelCall, number: int) -> Say | Fail:
        return cost(len(call.address), delay=1.0 + random.Random(call.address).random())

    async def case(seed: int) -> None:
        disk = simulated_disk()
        store, till = Store.memory(anyio.current_time, disk), Till(script, inflight=inflight)
        disk.dies_in = seed
        try:
            await play(text, till, store=store)
        except BaseException as problem:
            if not is_killed(problem):
                raise
        disk.dies_in = None
        till.exact = False
        known = store.runs()
        if known and known[0].status == "ended":
            return
        answered = {e.address for e in events(store) if isinstance(e, CallAnswered)}
        before = len(till.seen)
        played = await play(text, till, store=store)
        again = [call.address for call in till.seen[before:]]
        assert not answered & set(again)
        lost = [e for e in played.failed() if e.kind == "lost" and e.spent.calls]  # of models
        assert len(till.seen) <= figures["calls"] + len(lost)
        assert played.spent.calls == figures["calls"] + len(lost)
        assert len(lost) <= inflight

    def events(store: Store) -> list[object]:
        return [s.event for run in store.runs() for s in store.events(run.id)]

    figures: dict[str, int] = {}
    over([0], whole)
    over(range(1, figures["commits"] + 1, 2), case)


# --- case 22 ----------------------------------------------------------------------------------------

RACES = (
    "parallel(3, stop = first_pass) of one",
    "parallel(10, stop = pass(3)) of one",
    "parallel(4, stop = first_pass) of team(members = [2 of one])",
    "parallel(2) of parallel(3, stop = first_pass) of (one -> mend) -> merge",
    "parallel(6, inflight = 2, stop = pass(2), budget = [12s]) of one -> merge",
)


@pytest.mark.parametrize("flow", RACES)
def test_a_race_is_won_by_the_same_branch_whatever_the_latencies_of_its_replay(flow: str) -> None:
    program = compiled(team_file(flow))

    def script(seed: int) -> Callable[[ModelCall, int], Say | Fail]:
        def answer(call: ModelCall, number: int) -> Say | Fail:
            fixed, chance = random.Random(call.address), random.Random(f"{seed} {call.address}")
            delay = chance.choice((1.0, 2.0, chance.uniform(0.1, 9)))
            if chance.random() < 0.15:
                return failure("request", delay=delay)
            return cost(9, delay=delay, text=fixed.choice(("yes", "no", f"yes {call.address}")))

        return answer

    async def case(seed: int) -> None:
        played = await play(team_file(flow), Till(script(seed)))
        stamped = list(played.store.events(played.result.run))
        for other in range(2):
            again = await replay(program, stamped, lambda name: 8192, seed=seed + 100 * other)
            assert again.difference == ""
            assert again.recorded == again.again

    over(range(6), case)


# --- case 23 ----------------------------------------------------------------------------------------


def log_of(flow: str, *, lines: int) -> tuple[int, int]:
    """The bytes that models wrote in a run of flow, and those of its store."""
    found: list[tuple[int, int]] = []

    async def case(seed: int) -> None:
        db, wrote = connect_memory(), 0

        def script(call: ModelCall, number: int) -> Say:
            nonlocal wrote
            chance = random.Random(number)
            text = "\n".join(
                " ".join(chance.choices(WORDS, k=chance.randint(3, 60))) for _ in range(lines)
            )
            wrote += len(text)
            return Say(text, 1.0)

        text = team_file(flow, cap=8000, more="context = 200k tokens", budget="[$10]")
        till = Till(script, context=200_000)
        await play(text, till, store=Store.memory(anyio.current_time, db))
        (size,) = db.execute(
            "select page_count * page_size from pragma_page_count, pragma_page_size"
        ).fetchone()
        found.append((wrote, size))

    over([0], case)
    return found[0]


WORDS = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "epsilon",
    "zeta",
    "eta",
    "theta",
    "iota",
    "kappa",
    "lambda",
    "mu",
]


def test_a_log_grows_with_what_was_written_and_not_with_how_often_it_was_read() -> None:
    """A team whose prompts hold all that was said so far."""
    few, many = (
        log_of(f"team(members = [4 of one], rounds = {rounds})", lines=40) for rounds in (6, 18)
    )
    assert many[1] < 3 * many[0]
    assert many[1] - few[1] < 3 * (many[0] - few[0])


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_slow_disk_makes_the_run_slow_and_its_queue_no_longer(
    anyio_backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has not written does not send: however long the run, only what is in flight waits for the disk."""
    waiting: list[int] = []

    def slowly(db: Connection, records: Sequence[RecordRow], *rest: Any) -> None:
        time.sleep(0.005)  # in the writer's thread
        there = [(row.id & 0xFFFF_FFFF) + len(events(row.body)) for row in records]
        waiting.append(max(there, default=sum(waiting)) - sum(waiting))
        write(db, records, *rest)

    monkeypatch.setattr(writer, "write", slowly)
    till = Till(lambda call, number: cost(5, delay=0.0))
    async with Engine(tmp_path / "runs.db", client=till, environ={}) as engine:
        run = await engine.start(compiled(team_file("parallel(40, inflight = 4) of (one -> mend)")))
        result = await run.result()
    assert result.folded.total.amount.calls == 80
    assert sum(waiting) > 400
    assert max(waiting[:-1]) <= 4 * 12  # what four branches have to tell between two calls
