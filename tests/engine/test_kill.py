"""A run killed at every record, resumed, and its promises counted at the server (field cases 7 and 21)."""

import ast
import os
import sqlite3
import traceback
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import anyio
import pytest
import trio.testing

from podium.engine.event import CallAnswered, CallFailed, CallIntended, Decided
from podium.engine.store import Store

# Two slots: at most so many calls are in flight, and so many may be paid twice.
INFLIGHT = 2


def _load(path: Path) -> ModuleType:
    spec = spec_from_file_location("killed_run", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RUN = _load(Path(__file__).parents[1] / "fixtures" / "killed_run.py")


def life(folder: Path, kills: str, number: int, mode: str) -> int:
    """One life of the run in a process of its own: its exit code, negative for a signal."""
    child = os.fork()
    if child == 0:
        try:
            live = partial(RUN.live, folder / "runs.db", folder / "log", kills, number)
            if mode == "thread":
                anyio.run(live, True)
            else:
                clock = trio.testing.MockClock(autojump_threshold=0)
                anyio.run(live, False, backend="trio", backend_options={"clock": clock})
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def sent(folder: Path) -> list[str]:
    log = folder / "log"
    return [line.split()[1] for line in log.read_text().splitlines()] if log.exists() else []


def answered(folder: Path) -> set[str]:
    if not (folder / "runs.db").exists():
        return set()
    with closing(Store.open(folder / "runs.db")) as store:
        events = [stamped.event for stamped in store.events("r1")]
        return {event.address for event in events if isinstance(event, CallAnswered)}


def decided(folder: Path) -> dict[str, float]:
    with closing(Store.open(folder / "runs.db")) as store:
        events = [stamped.event for stamped in store.events("r1")]
        return {event.address: event.value for event in events if isinstance(event, Decided)}


def points() -> Iterator[tuple[str, int, str]]:
    yield from (("record", number, "inline") for number in range(33))
    yield from (("sent", number, "inline") for number in range(1, 11))
    yield from (("record", number, "thread") for number in range(0, 30, 5))
    yield from (("sent", number, "thread") for number in range(1, 10, 4))


# Every third of them every day, all of them in the long tests.
POINTS = [
    pytest.param(*point, marks=pytest.mark.long if at % 3 else pytest.mark.slow)
    for at, point in enumerate(points())
]


@pytest.mark.parametrize(("kills", "number", "mode"), POINTS)
def test_a_killed_run_loses_nothing_and_pays_no_answer_twice(
    tmp_path: Path, kills: str, number: int, mode: str
) -> None:
    dead = life(tmp_path, kills, number, mode)
    assert dead == -9
    before, kept = sent(tmp_path), answered(tmp_path)
    choices = decided(tmp_path) if before else {}
    assert life(tmp_path, "none", 0, mode) == 0
    done = (tmp_path / "result").read_text()
    again = sent(tmp_path)[len(before) :]
    assert not kept & set(again)
    # 9 calls, one of them refused once; those in flight at the kill once more.
    needed = 9 if mode == "thread" else 10
    assert needed <= len(sent(tmp_path)) <= needed + INFLIGHT
    assert decided(tmp_path).items() >= choices.items()
    with closing(Store.open(tmp_path / "runs.db")) as store:
        stamped = list(store.events("r1"))
    assert [one.number for one in stamped] == list(range(len(stamped)))
    events = [one.event for one in stamped]
    ends = [event for event in events if isinstance(event, CallAnswered | CallFailed)]
    assert sum(isinstance(event, CallIntended) for event in events) == len(ends)
    spent, held, best = ast.literal_eval(done)
    assert spent == tuple(sum(event.spent[i] for event in ends) for i in range(3))
    # What is lost is charged at its hold: never less than the bill, ten a call on arrival.
    assert 10 * (len(sent(tmp_path)) - 1) <= spent[0] <= 90 + 100 * INFLIGHT
    assert held == 0
    # A third life only reads.
    assert life(tmp_path, "none", 0, mode) == 0
    assert (tmp_path / "result").read_text() == done
    assert len(sent(tmp_path)) == len(before) + len(again)
    assert len(best) == 3
    with closing(sqlite3.connect(tmp_path / "runs.db")) as db:
        assert db.execute("pragma integrity_check").fetchone() == ("ok",)
