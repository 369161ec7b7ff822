"""The one writer of a store: who shares a commit, and what happens when its thread dies."""

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from threading import Event, Thread
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from podium.engine import writer as module
from podium.engine.database import DiskError, connect, connect_memory, write
from podium.engine.event import CallWaits, Decided, Scored
from podium.engine.journal import Journal
from podium.engine.store import RunRecord, Store
from podium.engine.testing.loop import cancel_natively, uncancel
from podium.engine.writer import Job, Writer

# Many times what it takes; a waiter that nobody wakes is shielded, so that only another thread can give up on it.
BOUND_S = 20.0


def test_nobody_waits_for_a_thread_that_died(tmp_path: Path) -> None:
    seen: list[str] = []
    thread = Thread(target=lambda: anyio.run(waited, tmp_path / "runs.db", seen), daemon=True)
    thread.start()
    thread.join(BOUND_S)
    assert seen[-1:] == ["the writer of the store has stopped"]
    assert not thread.is_alive()


async def waited(path: Path, seen: list[str]) -> None:
    """Fill seen with what those are told who wait for a thread that died."""
    writer = Writer(connect(path), path, inline=False)

    def mistake(_: Job) -> None:
        raise ZeroDivisionError

    async def use() -> None:
        async with writer.running():
            writer.put(Job("run", [], then=mistake))
            with anyio.CancelScope(shield=True):
                for _ in range(2):  # one in the thread's hands, and one that comes later
                    later = Job("run", [])
                    writer.put(later)
                    try:
                        await writer.wait(later)
                    except DiskError as error:
                        seen.append(str(error))

    with pytest.raises(ExceptionGroup):
        await use()


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
@pytest.mark.parametrize("inline", [False, True])
async def test_what_tasks_put_in_one_turn_of_the_loop_is_one_commit(
    anyio_backend: str, *, inline: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits: list[int] = []

    def counted(*of: Any) -> None:
        commits.append(len(of[1]))
        write(*of)

    monkeypatch.setattr(module, "write", counted)
    with closing(Store.open(tmp_path / "runs.db", inline=inline)) as store:
        async with store.writing():
            journal = store.create(RunRecord("r1", "main", 0.0, "run"))
            async with anyio.create_task_group() as tasks:
                for number in range(20):
                    tasks.start_soon(journal.commit, [CallWaits(f"main/{number}", "slot")])
            assert commits == [1]
            assert len(list(store.events("r1"))) == 20
            await journal.close()


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_a_commit_that_is_broken_off_is_taken_for_written_by_nobody(
    anyio_backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise KeyboardInterrupt

    ends: list[str] = []

    async def waits(writer: Writer, job: Job) -> None:
        try:
            await writer.wait(job)
            ends.append("written")
        except (KeyboardInterrupt, DiskError) as error:
            ends.append(type(error).__name__)

    monkeypatch.setattr(module, "write", broken)
    with closing(connect_memory()) as db:
        writer = Writer(db, None, inline=True)
        jobs = [Job("run", []), Job("run", [])]
        for job in jobs:
            writer.put(job)
        async with anyio.create_task_group() as tasks:
            for job in jobs:
                tasks.start_soon(waits, writer, job)
    assert sorted(ends) == ["DiskError", "KeyboardInterrupt"]


def held_up(monkeypatch: pytest.MonkeyPatch) -> tuple[Event, Event]:
    """Whether the thread has come to a write, and what lets it go on."""
    there, go = Event(), Event()

    def slow(*of: Any) -> None:
        there.set()
        go.wait(BOUND_S)
        write(*of)

    monkeypatch.setattr(module, "write", slow)
    return there, go


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_a_commit_that_is_cancelled_returns_once_it_is_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, go = held_up(monkeypatch)
    returned = False

    async def commits(journal: Journal, scope: anyio.CancelScope) -> None:
        nonlocal returned
        with scope:
            await journal.commit([Decided("main", "n", 1)])
            assert len(list(store.events("r1"))) == 1
            returned = True
            await anyio.lowlevel.checkpoint()
            pytest.fail("the scope is cancelled")

    with closing(Store.open(tmp_path / "runs.db")) as store:
        journal, scope = store.create(RunRecord("r1", "main", 0.0, "run")), anyio.CancelScope()
        async with store.writing(), anyio.create_task_group() as tasks:
            tasks.start_soon(commits, journal, scope)
            await anyio.to_thread.run_sync(there.wait, BOUND_S)
            scope.cancel()
            for _ in range(5):
                await anyio.lowlevel.checkpoint()
            assert not returned
            go.set()
        assert returned
        await journal.close()


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("by_scope_too", [False, True])
async def test_a_cancellation_that_is_said_once_is_raised_once_the_commit_is_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_scope_too: bool
) -> None:
    there, go = held_up(monkeypatch)
    cancel: list[Callable[[], None]] = []
    scope = anyio.CancelScope()

    async def commits(journal: Journal) -> None:
        cancel.append(cancel_natively())
        try:
            with scope:
                await journal.commit([Decided("main", "n", 1)])
            pytest.fail("nobody said that it was cancelled")
        except anyio.get_cancelled_exc_class():
            assert len(list(store.events("r1"))) == 1
            uncancel()

    with closing(Store.open(tmp_path / "runs.db")) as store:
        journal = store.create(RunRecord("r1", "main", 0.0, "run"))
        async with store.writing(), anyio.create_task_group() as tasks:
            tasks.start_soon(commits, journal)
            await anyio.to_thread.run_sync(there.wait, BOUND_S)
            cancel[0]()
            for _ in range(5):
                await anyio.lowlevel.checkpoint()
            if by_scope_too:
                scope.cancel()
                await anyio.lowlevel.checkpoint()
            go.set()
        await journal.close()


@pytest.mark.anyio
async def test_a_store_in_memory_has_what_was_acknowledged_whatever_is_refused_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    commits: list[int] = []

    def counted(*of: Any) -> None:
        commits.append(len(of[1]))
        write(*of)

    monkeypatch.setattr(module, "write", counted)
    with closing(Store.memory()) as store:
        journal = store.create(RunRecord("r1", "main", 0.0, "run"))
        for number in range(3):
            await journal.commit([Decided("main", f"n{number}", number)])
        assert not commits  # nobody has looked
        with pytest.raises(DiskError):
            await journal.commit([Scored("main", "tests", 0.5, None, flags=("\ud800",))])
        kept = [one.event for one in store.events("r1")]
        assert kept == [Decided("main", f"n{number}", number) for number in range(3)]
        assert commits == [1]
        with pytest.raises(DiskError):
            await journal.commit([Decided("main", "late", 0)])
        await journal.close()


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["memory", "file", "thread"])
async def test_a_run_that_is_refused_takes_no_other_run_of_its_commit_with_it(
    tmp_path: Path, kind: str
) -> None:
    store = (
        Store.memory() if kind == "memory" else Store.open(tmp_path / "s.db", inline=kind == "file")
    )
    told: dict[str, bool] = {}

    async def one(journal: Journal, events: Sequence[Decided | Scored]) -> None:
        try:
            await journal.commit(events)
            told[journal.run] = True
        except DiskError:
            told[journal.run] = False

    good, bad = Decided("main", "n", 1), Scored("main", "tests", 0.5, None, flags=("\ud800",))
    asked: dict[str, list[Decided | Scored]] = {"r1": [good], "r2": [good, bad], "r3": [good]}
    with closing(store):
        journals = [store.create(RunRecord(run, "main", 0.0, "run")) for run in asked]
        async with store.writing(), anyio.create_task_group() as tasks:
            for journal in journals:
                tasks.start_soon(one, journal, asked[journal.run])
        for journal in journals:
            await journal.close()
        kept = {run: [stamped.event for stamped in store.events(run)] for run in asked}
    assert told == {"r1": True, "r2": False, "r3": True}
    assert kept == {"r1": [good], "r2": [], "r3": [good]}
