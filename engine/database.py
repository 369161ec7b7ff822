"""The store's file: where it may lie, what is in it, and the statements that read and write it.

SQLite in WAL mode with `synchronous=FULL`: a commit that returned survives the loss of power. WAL needs
shared memory between processes, which network file systems do not give, so those are refused.

Of some length, as every statement that the store is asked is here, beside the tables it is asked of.
"""

import fcntl
import os
import sqlite3
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from . import earlier
from .call import Pausing
from .event import KINDS, CallAnswered, CallFailed, Rented, Stamped, body, from_body
from .ledger import NOTHING, Amount
from .lock import is_still
from .records import Entry, RecordRow, events
from .refused import because, is_misnamed

APPLICATION = 0x506F6469  # "Podi", as SQLite's application_id
SCHEMA = 5
BUSY_S = 30.0
# Rows that one statement inserts; SQLite takes 32,766 values in one.
MOST_ROWS = 512
# As in /proc/mounts, with or without `fuse.` before it.
_REMOTE = (
    "nfs nfs4 cifs smb3 smbfs ceph lustre gpfs afs beegfs ncpfs glusterfs sshfs s3fs rclone gcsfuse"
)
NETWORK = frozenset(_REMOTE.split(" "))

# The kinds of events have numbers in the store, so their order stays; a new kind comes last.
CODES = {kind: code for code, kind in enumerate(KINDS)}
_NAMES = tuple(CODES)
_CODE_OF = {kind: CODES[name] for name, kind in KINDS.items()}
_SETTLES = (CallAnswered, CallFailed, Rented)
_NUMBER = (1 << 32) - 1
# An event's id is its run's number, of the upper bits, and its own; a record has its first event's. What was
# settled in it is beside it, so that a long run's cost is a sum. spots: the short texts in records, by their keys.
_RECORDS = """
create table records(
  id integer primary key, usd integer not null, tokens integer not null, calls integer not null,
  body blob not null);
create table spots(
  key blob primary key, record integer not null, place integer not null) without rowid;
"""
_TABLES = f"""
create table runs(
  id text primary key, name text not null, created real not null, key text, account text not null,
  request blob not null, status text not null, outcome blob, spent text, seq integer not null);
create unique index run_key on runs(account, key) where key is not null;
{_RECORDS} {earlier.TEXTS} {earlier.ORDERS}
"""


class StoreError(Exception):
    """The store cannot be opened, read or written; the message says which file and what to do."""


class StoreRefused(StoreError):
    """The disk or the system refuses the store: neither the program nor the command is wrong."""


def refused(what: str, error: Exception) -> StoreError:
    """The error that says what could not be done, and why in words."""
    kind = StoreError if is_misnamed(error) else StoreRefused
    return kind(f"{what}: {because(error)}")


class DiskError(StoreRefused, Pausing):
    """The store takes no more data: nothing more is sent, and the run pauses with cause disk."""

    def __init__(self, detail: str) -> None:
        Pausing.__init__(self, "disk", detail)


@dataclass(frozen=True, slots=True)
class Ending:
    """What to write in the run's own row. outcome: RunEnded's body as JSON. spent: what the run cost."""

    status: str
    outcome: bytes
    spent: Amount


def entry_of(stamped: Stamped) -> Entry:
    """The event as a record has it."""
    event = stamped.event
    spent = event.spent if isinstance(event, _SETTLES) else NOTHING
    return Entry(stamped.time, _CODE_OF[type(event)], body(event), spent)


def connect(path: Path, *, threads: bool = False) -> sqlite3.Connection:
    """A connection to the store at path, made if there is none. threads: another thread will use it.

    Raises StoreError: a network file system, no permission, no store of ours, or a newer schema.
    """
    try:
        _refuse_place(path)
        with _opening(path):
            db = sqlite3.connect(
                path, timeout=BUSY_S, isolation_level=None, check_same_thread=not threads
            )
            try:
                _prepare(db, path)
            except BaseException:
                db.close()
                raise
    except (sqlite3.Error, OSError) as error:
        raise refused(f"cannot open the store {path}", error) from error
    return db


def connect_memory(kind: type[sqlite3.Connection] = sqlite3.Connection) -> sqlite3.Connection:
    """A store that lives as long as its connection. kind: of the connection."""
    db = sqlite3.connect(":memory:", isolation_level=None, factory=kind)
    db.executescript(_TABLES)
    return db


def _refuse_place(path: Path) -> None:
    if path.is_dir():
        raise StoreError(f"the store {path} is a folder; name a file in it")
    if kind := network_kind(path.parent.resolve(), _mounts()):
        raise StoreError(
            f"the store {path} would lie on a network file system ({kind}), where a crash can damage"
            " it; put it on a local disk"
        )


def _mounts() -> str:
    try:
        return Path("/proc/mounts").read_text(errors="replace")
    except OSError:
        return ""


def network_kind(folder: Path, mounts: str) -> str | None:
    """The network file system that folder lies on, None for a local one. mounts: as in /proc/mounts."""
    best, found = -1, ""
    for line in mounts.splitlines():
        fields = line.split()
        if len(fields) < 3:
            continue
        point = Path(fields[1].replace("\\040", " "))
        # Of several mounts on one place the last one counts.
        if folder.is_relative_to(point) and len(point.parts) >= best:
            best, found = len(point.parts), fields[2]
    return found if found.removeprefix("fuse.") in NETWORK else None


@contextmanager
def _opening(path: Path) -> Generator[None, None, None]:
    """One process at a time: switching a file to WAL while another does the same fails at once.

    Where no store comes to be, what was made for it is taken away again.
    """
    lock = locks(path) / ".open"
    folders = [folder for folder in lock.parents if not folder.exists()]
    fd: int | None = None
    try:
        fd = _held(lock)
        with _whole_or_gone(path, lock, folders):
            yield
    finally:
        if fd is not None:
            os.close(fd)
        for folder in folders:  # the deepest first; one that is used is not empty
            with suppress(OSError):
                folder.rmdir()


def _held(lock: Path) -> int:
    """The file lock, made if there is none, locked; one that was taken away while we waited does not count."""
    while True:
        lock.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX)
        if is_still(fd, lock):
            return fd
        os.close(fd)


@contextmanager
def _whole_or_gone(path: Path, lock: Path, folders: Sequence[Path]) -> Generator[None, None, None]:
    """Under the lock, which whoever opens the store takes first: so nobody else has a file that was new."""
    is_new = not path.exists()
    try:
        yield
    except BaseException:
        if is_new:
            for suffix in ("", "-wal", "-shm", "-journal"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
        if lock.parent in folders:
            lock.unlink(missing_ok=True)
        raise


def locks(path: Path) -> Path:
    """The folder of the store's lock files."""
    return path.with_name(path.name + ".locks")


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    (application,) = db.execute("pragma application_id").fetchone()
    (schema,) = db.execute("pragma user_version").fetchone()
    (tables,) = db.execute("select count(*) from sqlite_master").fetchone()
    if application != APPLICATION and tables:
        raise StoreError(f"{path} is a database, but no store of runs; name another file")
    if schema > SCHEMA:
        raise StoreError(
            f"the store {path} was written by a newer version (schema {schema}, this one reads"
            f" {SCHEMA}); use that version, or another store"
        )
    (mode,) = db.execute("pragma journal_mode=wal").fetchone()
    if mode != "wal":
        raise StoreError(f"the store {path} cannot use a write-ahead log here; use a local disk")
    db.execute("pragma synchronous=full")
    if not tables:
        db.executescript(f"begin; {_TABLES} pragma application_id={APPLICATION};")
    elif schema < SCHEMA:
        db.create_function("unpacked", 1, earlier.text_of)
        db.executescript(f"begin immediate; {earlier.upgrade(schema, CODES)} {_RECORDS}")
        insert = "insert into records values (?, ?, ?, ?, ?)"
        db.executemany(insert, earlier.records(db, CODES))
        db.execute("drop table events")
    if db.in_transaction:
        db.execute(f"pragma user_version={SCHEMA}")
        db.execute("commit")


RECORD = "insert or replace into records"


def write(
    db: sqlite3.Connection,
    records: Sequence[RecordRow],
    spots: Sequence[tuple[bytes, int, int]],
    texts: Sequence[tuple[bytes, bytes]],
    endings: Sequence[tuple[str, Ending]],
) -> None:
    """All of it in one transaction, on disk on return; a record takes the place of what there was of it.
    spots: key, record and place of short texts. db: as `connect` makes it, where a statement alone is a
    transaction. Raises sqlite3.Error; then nothing was written."""
    if len(records) == 1 and not (spots or texts or endings):  # most are one statement
        db.execute(f"{RECORD} values (?, ?, ?, ?, ?)", records[0])
        return
    db.execute("begin immediate")
    try:
        _insert(db, RECORD, records)
        _insert(db, "insert or ignore into spots", spots)
        _insert(db, "insert or ignore into texts", texts)
        for run, end in endings:
            spent = orjson.dumps([*end.spent]).decode()
            db.execute(
                "update runs set status = ?, outcome = ?, spent = ? where id = ?",
                (end.status, end.outcome, spent, run),
            )
        db.execute("commit")
    except BaseException:
        if db.in_transaction:
            db.execute("rollback")
        raise


def first_id(db: sqlite3.Connection, run: str) -> int:
    """The lowest id of the run's events. Raises IntegrityError where there is no such run."""
    row = db.execute("select seq from runs where id = ?", (run,)).fetchone()
    if row is None:
        raise sqlite3.IntegrityError(f"there is no run {run} in the store")
    return int(row[0]) << 32


def _ids(db: sqlite3.Connection, run: str) -> tuple[int, int]:
    """The ids of the run's events: the lowest, and the first above them."""
    row = db.execute("select seq from runs where id = ?", (run,)).fetchone()
    return (0, 0) if row is None else (row[0] << 32, row[0] + 1 << 32)


def _insert(db: sqlite3.Connection, into: str, rows: Sequence[tuple[object, ...]]) -> None:
    """Insert rows by few statements, whose texts are few.

    Each statement gives the interpreter's lock up and waits for it again, milliseconds where the event loop is
    busy: a statement for each row made the journal ten times slower with a thousand calls at once.
    """
    at = 0
    while at < len(rows):
        count = min(MOST_ROWS, 1 << (len(rows) - at).bit_length() - 1)
        marks = f"({', '.join('?' * len(rows[at]))})"
        values = [value for row in rows[at : at + count] for value in row]
        db.execute(f"{into} values {', '.join([marks] * count)}", values)
        at += count


def read_events(db: sqlite3.Connection, run: str, after: int, limit: int) -> list[Stamped]:
    """The next events of run with numbers above after, in order: limit of them, or a record's more."""
    found: list[Stamped] = []
    try:
        first, beyond = _ids(db, run)
        low = _holding(db, first, first + after + 1)
        cursor = db.execute(
            "select id, body from records where id >= ? and id < ? order by id", (low, beyond)
        )
        while len(found) < limit and (row := cursor.fetchone()) is not None:
            found += [one for one in _stamped(*row) if one.number > after]
        cursor.close()
    # No record of ours raises the others.
    except (sqlite3.Error, ValueError, LookupError, TypeError) as error:
        raise refused(f"cannot read the events of run {run}", error) from error
    return found


def _holding(db: sqlite3.Connection, first: int, id_: int) -> int:
    """The id of the record that event id_ is in, if it is in one; first: the lowest that it may be."""
    row = db.execute(
        "select id from records where id >= ? and id <= ? order by id desc limit 1", (first, id_)
    ).fetchone()
    return id_ if row is None else int(row[0])


def read_event(db: sqlite3.Connection, run: str, number: int) -> Stamped | None:
    found = read_events(db, run, number - 1, 1)
    return found[0] if found and found[0].number == number else None


def _stamped(id_: int, kept: bytes) -> list[Stamped]:
    number = id_ & _NUMBER
    return [
        Stamped(number + place, time, from_body(_NAMES[code], fields))
        for place, (time, code, fields) in enumerate(events(kept))
    ]


def write_order(db: sqlite3.Connection, run: str, time: float, order: bytes) -> int:
    """Keep an order for run; gives its number, which is higher than those before."""
    try:
        row = db.execute(
            "insert into orders(run, time, body) values (?, ?, ?) returning number",
            (run, time, order),
        ).fetchone()
    except sqlite3.Error as error:
        raise refused(f"cannot write an order for run {run}", error) from error
    return int(row[0])


def read_orders(db: sqlite3.Connection, run: str, after: int) -> list[tuple[int, bytes]]:
    """The orders of run with numbers above after, oldest first."""
    try:
        return db.execute(
            "select number, body from orders where run = ? and number > ? order by number",
            (run, after),
        ).fetchall()
    except sqlite3.Error as error:
        raise refused(f"cannot read the orders of run {run}", error) from error


def kept_secret(db: sqlite3.Connection, new: str) -> str:
    """The store's secret: new, where it had none."""
    try:
        db.execute(
            "create table if not exists secret(one integer primary key, value text not null)"
        )
        while (row := db.execute("select value from secret where one = 1").fetchone()) is None:
            db.execute("insert or ignore into secret values (1, ?)", (new,))
    except sqlite3.Error as error:
        raise refused("cannot keep a secret in the store", error) from error
    return str(row[0])


def read_spent(db: sqlite3.Connection, run: str) -> Amount:
    """What all settled tries of run cost: summed by SQLite, since a long run has many."""
    columns = ", ".join(f"coalesce(sum({name}), 0)" for name in Amount._fields)
    statement = f"select {columns} from records where id >= ? and id < ?"
    try:
        row = db.execute(statement, _ids(db, run)).fetchone()
    except sqlite3.Error as error:
        raise refused(f"cannot read the events of run {run}", error) from error
    return Amount(*row)


def read_ended_spent(db: sqlite3.Connection, account: str) -> Amount:
    """What the account's runs cost that have ended for good: summed from their own rows."""
    columns = ", ".join(f"coalesce(sum(json_extract(spent, '$[{i}]')), 0)" for i in range(3))
    statement = f"select {columns} from runs where account = ? and status = 'ended'"
    try:
        row = db.execute(statement, (account,)).fetchone()
    except sqlite3.Error as error:
        raise refused(f"cannot read what the runs of {account} cost", error) from error
    return Amount(*row)


def read_unfinished(db: sqlite3.Connection, account: str) -> list[tuple[str, str | None]]:
    """The account's other runs, with what they cost; None of one that lives or died."""
    statement = "select id, spent from runs where account = ? and status != 'ended'"
    try:
        return db.execute(statement, (account,)).fetchall()
    except sqlite3.Error as error:
        raise refused(f"cannot read the runs of {account}", error) from error


def read_text(db: sqlite3.Connection, key: bytes) -> bytes | None:
    """The body of the text's row, as `pieces` made it."""
    row = _one(db, "select body from texts where key = ?", key)
    return None if row is None else row[0]


def read_spot(db: sqlite3.Connection, key: bytes) -> tuple[int, int] | None:
    """The record of a short text, and its place there."""
    found: tuple[int, int] | None = _one(db, "select record, place from spots where key = ?", key)
    return found


def read_record(db: sqlite3.Connection, id_: int) -> bytes | None:
    row = _one(db, "select body from records where id = ?", id_)
    return None if row is None else row[0]


def read_earlier_text(db: sqlite3.Connection, name: str) -> str | None:
    """The row of a text that a version before this one wrote, as `earlier` has it."""
    try:
        (tables,) = db.execute("select count(*) from sqlite_master where name = 'blobs'").fetchone()
    except sqlite3.Error as error:
        raise refused(f"cannot read the text {name}", error) from error
    found: str | None = None
    if tables:
        row = _one(db, "select text from blobs where digest = ?", name)
        found = None if row is None else row[0]
    return found


def _one(db: sqlite3.Connection, statement: str, value: str | bytes | int) -> Any:
    try:
        return db.execute(statement, (value,)).fetchone()
    except sqlite3.Error as error:
        raise refused("cannot read a text of the store", error) from error
