"""Runs in one file: opened or refused, owned by one process, listed while another writes, torn tails."""

import errno
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from podium.engine.call import ModelReply, Usage, reply_body
from podium.engine.database import network_kind, refused
from podium.engine.event import CallAnswered, CallIntended, RunEnded
from podium.engine.journal import Journal
from podium.engine.ledger import NOTHING, Amount
from podium.engine.store import (
    RunExists,
    RunOwned,
    RunRecord,
    Store,
    StoreError,
    StoreRefused,
    run_id,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "runs.db"


def record(name: str = "r1", key: str | None = None, created: float = 1.0) -> RunRecord:
    return RunRecord(name, "main", created, "run", {"sources": ["x"]}, key)


def intent(address: str) -> CallIntended:
    return CallIntended(address, 0, "run", "model", "d", Amount(1, 1, 1))


def answered(address: str) -> CallAnswered:
    reply = reply_body(ModelReply("yes" * 500, "stop", Usage()))
    return CallAnswered(address, 0, "run", NOTHING, Usage(), reply, 0.5)


async def fill(journal: Journal, count: int) -> None:
    for i in range(count):
        await journal.commit([intent(f"a/{i}")])
        await journal.commit([answered(f"a/{i}")])


# --- opening ------------------------------------------------------------------------------------


def test_a_store_makes_its_folder_and_keeps_what_a_run_was(path: Path) -> None:
    with closing(Store.open(path)) as store:
        store.create(record())
    with closing(Store.open(path)) as store:
        assert store.runs() == [record()]
        assert store.run("r1").request == {"sources": ["x"]}
        with pytest.raises(KeyError):
            store.run("r2")


def test_another_database_is_no_store(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as db:
        db.execute("create table t(x)")
    with pytest.raises(StoreError, match="is a database, but no store of runs"):
        Store.open(other)


def test_a_text_is_no_store(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a database at all, but long enough to be read as one" * 40)
    with pytest.raises(StoreError, match="is not a database; name another one") as raised:
        Store.open(text)
    assert not isinstance(raised.value, StoreRefused)
    assert text.read_text().startswith("not a database")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_newer_schema_is_refused(path: Path) -> None:
    Store.open(path).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("pragma user_version = 99")
    with pytest.raises(StoreError, match="written by a newer version"):
        Store.open(path)


def test_a_folder_that_takes_no_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot"):
        Store.open(Path("/proc/podium/runs.db"))
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"its path is a file|a file is in the way"):
        Store.open(tmp_path / "file" / "runs.db")
    with pytest.raises(StoreError, match="is a folder; name a file in it"):
        Store.open(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@contextmanager
def no_room(bytes_: int = 0) -> Generator[None]:
    """No file of this process may be longer."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("room", [0, 4096, 20_000])
def test_a_store_that_cannot_be_made_is_told_in_words_and_leaves_nothing(
    tmp_path: Path, room: int
) -> None:
    with no_room(room), pytest.raises(StoreRefused) as raised:
        Store.open(tmp_path / "new" / "deep" / "runs.db")
    assert "rrno" not in str(raised.value)
    assert "full" in str(raised.value)
    assert list(tmp_path.iterdir()) == []
    with closing(Store.open(tmp_path / "new" / "deep" / "runs.db")) as store:
        assert store.runs() == []


def test_a_store_that_is_there_is_kept_where_it_cannot_be_opened(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with closing(Store.open(path)) as store:
        store.create(RunRecord("r1", "main", 0.0, ""))
    before = path.read_bytes()
    with no_room(), pytest.raises(StoreError):
        Store.open(path).create(RunRecord("r2", "main", 0.0, ""))
    assert path.read_bytes() == before
    with closing(Store.open(path)) as store:
        assert [run.id for run in store.runs()] == ["r1"]
        assert store.owner("r2") is None


def test_a_run_whose_lock_cannot_be_written_is_owned_by_nobody(tmp_path: Path) -> None:
    with closing(Store.open(tmp_path / "runs.db")) as store:
        with no_room(), pytest.raises(StoreRefused, match="cannot lock run r1"):
            store.create(RunRecord("r1", "main", 0.0, ""))
        assert [path.name for path in (tmp_path / "runs.db.locks").iterdir()] == [".open"]
        store.create(RunRecord("r1", "main", 0.0, ""))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "the disk is full"),
        (PermissionError(errno.EACCES, "Permission denied"), "you may not write there"),
        (OSError(errno.ENXIO, "No such device or address"), "no such device or address"),
        (sqlite3.OperationalError("odd"), "odd"),
    ],
)
def test_why_a_store_was_refused_is_told_without_a_number(error: Exception, words: str) -> None:
    said = str(refused("cannot open the store a.db", error))
    assert said.startswith(f"cannot open the store a.db: {words}")


MOUNTS = """\
/dev/vda / ext4 rw 0 0
server:/home /home nfs4 rw,vers=4.2 0 0
/dev/vdb /home/local ext4 rw 0 0
host:/x /mnt/with\\040space fuse.sshfs rw 0 0
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/", None),
        ("/homely", None),
        ("/home/me", "nfs4"),
        ("/home/local/me", None),
        ("/mnt/with space", "fuse.sshfs"),
    ],
)
def test_a_network_file_system_is_recognised(folder: str, kind: str | None) -> None:
    assert network_kind(Path(folder), MOUNTS) == kind


# --- runs ---------------------------------------------------------------------------------------


def test_run_ids_are_distinct_and_in_order_of_time() -> None:
    chance = random.Random(3)
    start = 1_796_000_000.0
    made = [run_id(start + second, chance) for second in range(0, 400_000, 997)]
    assert made == sorted(made)
    assert run_id(start, chance) != run_id(start, chance)
    assert made[0].startswith("2026-11-30-")


def test_an_idempotent_start_finds_the_first_run(path: Path) -> None:
    with closing(Store.open(path)) as store:
        store.create(record("r1", key="k"))
        with pytest.raises(RunExists) as raised:
            store.create(record("r2", key="k"))
        assert raised.value.run == "r1"
        found = store.find("k", "run")
        assert found is not None
        assert found.id == "r1"
        assert store.find("k", "another account") is None
        with pytest.raises(RunOwned):
            store.create(record("r1"))


async def test_the_latest_unfinished_run_is_one_nobody_runs(path: Path) -> None:
    with closing(Store.open(path)) as store:
        journals = {
            name: store.create(record(name, created=float(i))) for i, name in enumerate("abcd")
        }
        for name, outcome, resumable in (("b", "paused", True), ("c", "passed", False)):
            await journals[name].end(RunEnded(outcome, "", resumable, "x", 1.0, None, 2.0))
        for name in "abc":
            await journals[name].close()
        assert [run.status for run in store.runs()] == ["running", "ended", "paused", "running"]
        latest = store.latest_unfinished()
        assert latest is not None
        assert latest.id == "b"
        assert latest.outcome is not None
        assert latest.outcome["answer"] == "x"
        store.take("b")
        latest = store.latest_unfinished()
        assert latest is not None
        assert latest.id == "a"
        assert store.run("b").status == "running"


HOLDER = """
import sys
from pathlib import Path
from podium.engine.store import Store, RunRecord
store = Store.open(Path(sys.argv[1]))
journal = store.create(RunRecord("r1", "main", 1.0, "run"))
print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def process(script: str, *args: str) -> Generator[subprocess.Popen[str], None, None]:
    child = subprocess.Popen(
        [sys.executable, "-c", script, *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        with child:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            yield child
            child.kill()
    finally:
        child.kill()


@pytest.mark.slow
def test_a_run_has_one_owner_until_its_process_is_gone(path: Path) -> None:
    with process(HOLDER, str(path)) as child, closing(Store.open(path)) as store:
        with pytest.raises(RunOwned) as raised:
            store.take("r1")
        assert raised.value.pid == child.pid
        assert raised.value.host
        owner = store.owner("r1")
        assert owner is not None
        assert owner.pid == child.pid
        assert store.latest_unfinished() is None
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert store.owner("r1") is None
        store.take("r1")


async def test_a_process_cannot_own_a_run_twice_and_can_give_it_up(path: Path) -> None:
    with closing(Store.open(path)) as store, closing(Store.open(path)) as other:
        journal = store.create(record())
        with pytest.raises(RunOwned):
            other.take("r1")
        await journal.close()
        await journal.close()
        second = other.take("r1")
        await journal.close()
        with pytest.raises(RunOwned):
            store.take("r1")
        await second.close()


# --- reading while another writes, torn tails -----------------------------------------------------


async def test_a_store_is_read_while_another_connection_writes(path: Path) -> None:
    with closing(Store.open(path)) as writer, closing(Store.open(path)) as reader:
        async with writer.writing():
            journal = writer.create(record())
            for i in range(20):
                await journal.commit([intent(f"a/{i}")], [(f"user:{i}", f"text {i}")])
                assert [stamped.number for stamped in reader.events("r1")] == list(range(i + 1))
                assert reader.blob(f"user:{i}") == f"text {i}"
            assert [run.id for run in reader.runs()] == ["r1"]
            assert [stamped.number for stamped in reader.events("r1", 17)] == [18, 19]
            with pytest.raises(KeyError):
                reader.blob("user:nobody")


def spoil(path: Path) -> None:
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 4)
        file.write(random.Random(0).randbytes(size // 2))


async def test_a_damaged_file_is_reported_and_never_read_as_something_else(path: Path) -> None:
    with closing(Store.open(path)) as store:
        await fill(store.create(record()), 100)
    spoil(path)
    with closing(Store.open(path)) as store, pytest.raises(StoreError, match="cannot"):
        list(store.events("r1"))


@pytest.mark.parametrize("damage", ["cut", "zeros", "garbage"])
@pytest.mark.parametrize("seed", range(3))
async def test_a_torn_log_opens_to_a_prefix_without_a_gap(
    path: Path, tmp_path: Path, damage: str, seed: int
) -> None:
    store = Store.open(path, inline=True)
    journal = store.create(record())
    await fill(journal, 30)
    log = path.with_name(path.name + "-wal").read_bytes()
    chance = random.Random(seed)
    at = chance.randrange(len(log) // 2, len(log))
    torn = {
        "cut": log[:at],
        "zeros": log[:at] + bytes(4096) + log[at + 4096 :],
        "garbage": log[:at] + chance.randbytes(4096) + log[at + 4096 :],
    }[damage]
    copy = tmp_path / "copy.db"
    shutil.copyfile(path, copy)
    copy.with_name("copy.db-wal").write_bytes(torn)
    with closing(Store.open(copy)) as again:
        numbers = [stamped.number for stamped in again.events("r1")]
        assert numbers == list(range(len(numbers)))
        assert 20 < len(numbers) < 60
        taken = again.take("r1")
        async with again.writing():
            await taken.commit([intent("after")])
        later = list(again.events("r1", len(numbers) - 1))
        assert [stamped.number for stamped in later] == list(
            range(len(numbers), later[-1].number + 1)
        )
        assert later[-1].event == intent("after")
        await taken.close()
    store.close()


@pytest.mark.anyio
async def test_what_a_run_spent_is_summed_by_the_store(path: Path) -> None:
    with closing(Store.open(path)) as store:
        journal = store.create(record())
        assert store.spent("r1") == NOTHING
        for i in range(1, 4):
            await journal.commit([intent(f"a/{i}")])
            await journal.commit([replace(answered(f"a/{i}"), spent=Amount(i, 10 * i, 1))])
        assert store.spent("r1") == Amount(6, 60, 3)
        await journal.close()


async def _spent_run(store: Store, name: str, usd: int, outcome: str, *, resumable: bool) -> None:
    journal = store.create(replace(record(), id=name, account="tenant"))
    await journal.commit([intent("a/1")])
    await journal.commit([replace(answered("a/1"), spent=Amount(usd, 10, 1))])
    await journal.end(RunEnded(outcome, "", resumable, None, None, None, 1.0))
    await journal.close()


@pytest.mark.anyio
async def test_what_an_account_spent_is_known_without_a_look_at_its_events(path: Path) -> None:
    with closing(Store.open(path)) as store:
        await _spent_run(store, "r1", 1, "passed", resumable=False)
        await _spent_run(store, "r2", 2, "finished", resumable=False)
        await _spent_run(store, "r3", 4, "paused", resumable=True)
        statements: list[str] = []
        store._db.set_trace_callback(statements.append)  # pyright: ignore[reportPrivateUsage]  # to count statements
        ended, others = store.account_spent("tenant")
    assert ended == Amount(3, 20, 2)
    assert others == {"r3": Amount(4, 10, 1)}
    assert statements
    assert not [one for one in statements if "events" in one]


@pytest.mark.anyio
async def test_a_run_that_died_is_summed_from_its_events(path: Path) -> None:
    with closing(Store.open(path)) as store:
        await _spent_run(store, "r1", 4, "paused", resumable=True)
        journal = store.take("r1")
        await journal.commit([intent("a/2")])
        await journal.commit([replace(answered("a/2"), spent=Amount(8, 10, 1))])
        await journal.close()
        assert store.account_spent("tenant") == (NOTHING, {"r1": Amount(12, 20, 2)})


async def test_texts_that_runs_kept_as_grown_out_of_each_other_are_all_read(path: Path) -> None:
    short = "".join(f"line {n}\n" for n in range(400))
    texts = {"user:" + "a" * 32: short, "user:" + "b" * 32: f"{short}and one more\n"}
    with closing(Store.open(path, inline=True)) as store:
        for name, order in (("r1", [*texts]), ("r2", [*reversed(texts)])):
            journal = store.create(record(name))
            for key in order:
                await journal.commit([intent(key)], [(key, texts[key])])
            await journal.close()
        assert {key: store.blob(key) for key in texts} == texts


async def test_a_text_that_two_calls_send_at_once_is_read_back(path: Path) -> None:
    key, text = "user:" + "c" * 32, "".join(f"line {n}\n" for n in range(400))
    with closing(Store.open(path)) as store:
        journal = store.create(record())
        async with store.writing(), anyio.create_task_group() as tasks:
            for address in ("a", "b", "c"):
                tasks.start_soon(journal.commit, [intent(address)], [(key, text)])
        await journal.close()
        assert store.blob(key) == text
