"""A run's list: gap-free, durable when acknowledged, stable decisions, readers that hold nobody up."""

import resource
import tracemalloc
from collections.abc import Generator
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path

import anyio
import pytest

from podium.engine.call import Message, ModelReply, Usage, reply_body
from podium.engine.event import (
    AccountOpened,
    CallAnswered,
    CallFailed,
    CallIntended,
    CallWaits,
    RunEnded,
    RunStarted,
    Said,
    Stamped,
)
from podium.engine.journal import PAGE, Diverged, message_texts
from podium.engine.ledger import Amount, Ledger, Limit
from podium.engine.pieces import Shelf, packed
from podium.engine.store import DiskError, RunRecord, Store

pytestmark = pytest.mark.anyio
RUN = RunRecord("r1", "main", 0.0, "run")
END = RunEnded("passed", "", False, None, None, None, 1.0)
REPLY = ModelReply("yes", "stop", Usage(1, output=2), reasoning="since")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[False, True], ids=["thread", "inline"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Store, None, None]:
    with closing(Store.open(tmp_path / "runs.db", inline=request.param)) as made:
        yield made


def intent(address: str, try_: int = 0, request: str = "d") -> CallIntended:
    return CallIntended(address, try_, "run", "model", request, Amount(9, 9, 1))


def answered(address: str, try_: int = 0) -> CallAnswered:
    body = reply_body(REPLY)
    return CallAnswered(address, try_, "run", Amount(2, 3, 1), REPLY.usage, body, 0.5)


def intended(store: Store, run: str) -> set[str]:
    events = [stamped.event for stamped in store.events(run)]
    return {event.address for event in events if isinstance(event, CallIntended)}


async def test_many_tasks_and_runs_share_one_writer_and_leave_no_gap(store: Store) -> None:
    async def calls(run: int, task: int) -> None:
        for i in range(5):
            address = f"{task}/{i}"
            await journals[run].commit([intent(address)])
            assert address in intended(store, f"r{run}")
            journals[run].emit(CallWaits(address, "slot"))
            await journals[run].commit([answered(address)])

    async with store.writing():
        journals = [store.create(RunRecord(f"r{i}", "main", 0.0, "run")) for i in range(3)]
        async with anyio.create_task_group() as group:
            for run in range(3):
                for task in range(4):
                    group.start_soon(calls, run, task)
        for journal in journals:
            await journal.close()
    for run in range(3):
        assert [s.number for s in store.events(f"r{run}")] == list(range(60))


async def test_what_was_emitted_is_on_disk_before_what_is_committed_after_it(store: Store) -> None:
    async with store.writing():
        journal = store.create(RUN)
        for i in range(5):
            journal.emit(CallWaits(f"a/{i}", "slot"))
        await journal.commit([intent("a")])
        assert [s.number for s in store.events("r1")] == list(range(6))


async def test_a_reader_sees_everything_once_and_in_order_and_then_ends(store: Store) -> None:
    seen: dict[int, list[int]] = {0: [], 2: []}

    async def read(after: int, into: list[int], pause: bool) -> None:
        async for stamped in journal.events(after):
            into.append(stamped.number)
            if pause:
                await anyio.lowlevel.checkpoint()

    async with store.writing():
        journal = store.create(RUN)
        async with anyio.create_task_group() as group:
            group.start_soon(read, -1, seen[0], True)
            group.start_soon(read, 99, seen[2], False)
            for i in range(120):
                journal.emit(CallWaits(f"a/{i}", "slot"))
                if i % 20 == 0:
                    await journal.commit([intent(f"b/{i}")])
            await journal.end(END)
            await journal.close()
    assert seen[0] == list(range(127))
    assert seen[2] == list(range(100, 127))


async def test_a_reader_that_is_slow_costs_a_page_and_holds_nobody_up(store: Store) -> None:
    """Three million characters are written while it looks at its first event; it is given all of them then."""
    count, size = 1_500, 2_000
    journal, numbers = store.create(RUN), list[int]()
    async with store.writing():
        journal.emit(CallWaits("main", "slot"))
        await journal.written()
        reader = journal.events()
        numbers.append((await anext(reader)).number)
        tracemalloc.start()
        for first in range(0, count, 100):
            for number in range(first, first + 100):
                journal.emit(Said("main", number, 1, "writer", f"{number} " + "x" * size))
            await journal.written()
        for _ in range(PAGE):
            numbers.append((await anext(reader)).number)
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert held < count * size / 2
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(journal.close)
            numbers += [stamped.number async for stamped in reader]
    assert numbers == list(range(count + 1))


async def test_a_waiting_reader_gets_what_is_only_emitted(store: Store) -> None:
    async with store.writing():
        journal = store.create(RUN)

        async def read() -> None:
            async for stamped in journal.events():
                found.append(stamped.number)
                return

        found: list[int] = []
        async with anyio.create_task_group() as group:
            group.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            journal.emit(CallWaits("a", "slot"))
        assert found == [0]


async def test_a_decision_is_taken_once_for_all_lives(store: Store) -> None:
    def never() -> list[int]:
        raise AssertionError("decided before")

    def fails() -> list[int]:
        raise KeyError("nothing decided")

    async with store.writing():
        journal = store.create(RUN)
        with pytest.raises(KeyError):
            journal.decide("a", "winner", fails)
        first = journal.decide("a", "winner", lambda: [3, 1])
        assert first == [3, 1]
        assert journal.decide("a", "winner", never) == first
        assert journal.decide("a", "loser", lambda: None) is None
        assert journal.decide("b", "pair", lambda: (1, 2.5, "x")) == [1, 2.5, "x"]
        await journal.close()
        for _ in range(2):
            journal = store.take("r1")
            assert journal.decide("a", "winner", never) == first
            assert journal.decide("a", "loser", never) is None
            assert journal.decide("b", "pair", never) == [1, 2.5, "x"]
            await journal.close()


async def test_a_life_finds_the_answers_of_the_last_one(store: Store) -> None:
    async with store.writing():
        journal = store.create(RUN)
        journal.emit(RunStarted(1, 1, "host", "0"))
        await journal.commit([intent("a")])
        journal.emit(CallFailed("a", 0, "run", "cut", "", Amount(9, 9, 1), Usage(), True, 1.0))
        await journal.commit([intent("a", 1)])
        await journal.commit([answered("a", 1)])
        assert journal.answered("a", "d") == REPLY
        await journal.close()
        journal = store.take("r1")
        assert journal.life == 1
        assert journal.answered("a", "d") == REPLY
        assert journal.answered("b", "d") is None
        assert journal.tries("a") == 2
        assert journal.tries("b") == 0
        with pytest.raises(Diverged) as raised:
            journal.answered("a", "other")
        assert (raised.value.recorded, raised.value.asked) == ("d", "other")
        await journal.close()


async def test_who_takes_a_run_up_is_told_its_past_with_the_ends_of_lost_tries(
    store: Store,
) -> None:
    async with store.writing():
        journal = store.create(RUN)
        journal.emit(RunStarted(1, 1, "host", "0"))
        await journal.commit([intent("a"), intent("b")])
        await journal.commit([answered("a")])
        await journal.close()
        told: list[Stamped] = []
        journal = store.take("r1", told.append)
        assert [s.number for s in told] == list(range(5))
        assert isinstance(told[-1].event, CallFailed)
        await journal.close()
    assert told == list(store.events("r1"))


async def test_a_try_that_was_in_flight_is_lost_and_charged_at_its_hold(store: Store) -> None:
    async with store.writing():
        journal = store.create(RUN)
        journal.emit(AccountOpened("run", "", 100, None, None, None))
        await journal.commit([intent("a"), intent("b")])
        await journal.commit([answered("a")])
        await journal.close()
        for _ in range(3):
            journal = store.take("r1")
            ledger = Ledger()
            for _ in range(2):
                journal.restore(ledger)
            assert ledger.accounts["run"].limit == Limit(usd=100)
            assert ledger.accounts["run"].spent == Amount(2 + 9, 3 + 9, 2)
            await journal.close()
    lost = [s.event for s in store.events("r1") if isinstance(s.event, CallFailed)]
    assert [(e.address, e.kind, e.estimated) for e in lost] == [("b", "lost", True)]


async def test_messages_are_kept_once(store: Store) -> None:
    history = [Message("user", "x" * 50_000), Message("assistant", "x" * 50_000)]
    async with store.writing():
        journal = store.create(RUN)
        for i in range(40):
            history.append(Message("user", f"turn {i}"))
            names, blobs = message_texts(history)
            call = CallIntended(f"a/{i}", 0, "run", "model", "d", Amount(), messages=names)
            await journal.commit([call], blobs)
        await journal.close()
    last = list(store.events("r1"))[-1].event
    assert isinstance(last, CallIntended)
    names = store.listed(last.messages)
    assert [store.blob(name) for name in names] == [m.content for m in history]
    assert names[0] != names[1]
    written = sum(len(store.blob(name)) for name in set(names))
    assert written < 101_000


def test_a_log_grows_with_its_text_where_each_call_has_a_message_more() -> None:
    history: list[Message] = []
    shelf, written, unique = Shelf(), 0, 0
    for i in range(400):
        text = f"turn {i} " + "".join(f"{i * k * k:09d} " for k in range(200))
        unique += len(text)
        history.append(Message("user", text))
        names, texts = message_texts(history)
        rows = shelf.missing(texts)
        shelf.wrote(rows)
        written += sum(map(len, chain(*map(packed, rows)))) + len("".join(names))
    assert written < 1.2 * unique


@contextmanager
def full_disk(room: int, path: Path) -> Generator[None, None, None]:
    """No file of this process may grow beyond what the store's log has now, plus room."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    limit = path.with_name(path.name + "-wal").stat().st_size + room
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_full_disk_breaks_the_run_without_a_gap(store: Store, tmp_path: Path) -> None:
    acknowledged: list[str] = []

    async def calls(task: int) -> None:
        for i in range(1000):
            await journal.commit([intent(f"{task}/{i}")], [(f"user:{task}/{i}", "x" * 2000)])
            acknowledged.append(f"{task}/{i}")

    async with store.writing():
        journal = store.create(RUN)
        await journal.commit([intent("first")])
        with full_disk(200_000, tmp_path / "runs.db"):
            failed = 0

            async def until_full(task: int) -> None:
                nonlocal failed
                with pytest.raises(DiskError, match="cannot write the store"):
                    await calls(task)
                failed += 1

            async with anyio.create_task_group() as group:
                for task in range(8):
                    group.start_soon(until_full, task)
        assert failed == 8
        # Room again, but this life has events in hand that were never written: it stays broken.
        with pytest.raises(DiskError) as raised:
            await journal.commit([intent("late")])
        assert raised.value is journal.broken
        assert raised.value.cause == "disk"
        journal.emit(CallWaits("late", "slot"))
        await journal.close()
        stored = list(store.events("r1"))
        assert [s.number for s in stored] == list(range(len(stored)))
        assert intended(store, "r1") >= set(acknowledged)
        assert acknowledged
        # The next life goes on where the store ended.
        journal = store.take("r1")
        await journal.commit([intent("again")])
        await journal.close()
    numbers = [s.number for s in store.events("r1")]
    assert numbers == list(range(len(numbers)))
