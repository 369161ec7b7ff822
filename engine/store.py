"""Runs in one SQLite file: started, listed, taken up again. Others may read while one process writes.

store = Store.open(Path(".podium/runs.db"))
async with store.writing():
    journal = store.create(RunRecord(id=run_id(time.time(), random), name="main", …))
"""

import random
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Literal

import orjson

from . import earlier
from .database import DiskError as DiskError
from .database import StoreError as StoreError
from .database import StoreRefused as StoreRefused
from .database import (
    connect,
    connect_memory,
    kept_secret,
    locks,
    read_earlier_text,
    read_ended_spent,
    read_event,
    read_events,
    read_orders,
    read_record,
    read_spent,
    read_spot,
    read_text,
    read_unfinished,
    refused,
    write_order,
)
from .event import Ordered, Stamped, body
from .journal import LIST, Journal
from .ledger import Amount
from .lock import Owner, RunLock, own, owner_of
from .lock import RunOwned as RunOwned
from .notes import Note, read_notes, write_note
from .pieces import Circular, Kept, Ref, kept_of, key_of, whole
from .records import text
from .value import Json
from .writer import Writer

Status = Literal["running", "ended", "paused", "interrupted"]
PAGE = 1000


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run as the store lists it. created: seconds since the epoch.

    request: all that is needed to compile and run it again; the store does not look into it.
    status: as last written; a run that died is still "running", with no owner (`Store.owner`).
    key: of an idempotent start, unique in its account. outcome: RunEnded's fields, once it ended.
    """

    id: str
    name: str
    created: float
    account: str
    request: Mapping[str, Json] = field(default_factory=dict[str, Json])
    key: str | None = None
    status: Status = "running"
    outcome: Mapping[str, Json] | None = None

    @property
    def failure(self) -> str:
        """Why it failed, of a run that can be taken up once that is mended; empty of any other."""
        end = self.outcome or {}
        failed = self.status == "interrupted" and end.get("outcome") == "failed"
        return str(end.get("reason") or "it did not say why") if failed else ""


class RunExists(Exception):
    """A run with this id, or with this key in this account, is in the store already. run: its id."""

    def __init__(self, run: str) -> None:
        super().__init__(f"the store already has run {run}")
        self.run = run


def run_id(now: float, chance: random.Random) -> str:
    """A new run's name, such as 2026-11-30-0c1b7a1b3: the UTC day, the second of it, and chance.

    Later runs sort behind earlier ones, to the second.
    """
    at = datetime.fromtimestamp(now, UTC)
    second = at.hour * 3600 + at.minute * 60 + at.second
    return f"{at:%Y-%m-%d}-{second:05x}{chance.getrandbits(16):04x}"


def _ignore(_: Stamped) -> None:
    pass


class Store:
    """Use one per process and file, from one thread. Every method may raise StoreError."""

    def __init__(
        self,
        db: sqlite3.Connection,
        path: Path | None,
        *,
        inline: bool,
        clock: Callable[[], float],
        late: bool = False,
    ) -> None:
        """late: as the Writer's."""
        self._path = path
        self._clock = clock
        self._writer = Writer(db, path, inline=inline, late=late)

    @property
    def _db(self) -> sqlite3.Connection:
        return self._writer.reading()

    @classmethod
    def open(
        cls, path: Path, *, inline: bool = False, clock: Callable[[], float] = time.time
    ) -> "Store":
        """The store at path, made with its folder if there is none.

        inline: no thread, commits are made in the calling task (needed under a clock that jumps).
        clock: seconds since the epoch, for the events' times.
        Raises StoreError: a network file system, no permission, no store of ours, a newer schema.
        """
        return cls(connect(path), path, inline=inline, clock=clock)

    @classmethod
    def memory(
        cls, clock: Callable[[], float] = time.time, db: sqlite3.Connection | None = None
    ) -> "Store":
        """A store of this process alone, gone when it is closed; inline. db: as `connect_memory` makes it."""
        return cls(db or connect_memory(), None, inline=True, clock=clock, late=db is None)

    @property
    def name(self) -> str:
        """Its file, as people know it."""
        return ":memory:" if self._path is None else str(self._path)

    def writing(self) -> AbstractAsyncContextManager[None]:
        """Inside, commits of all runs share one writer thread; outside they are made one by one."""
        return self._writer.running()

    def secret(self) -> str:
        """A random text that this store keeps for itself, the same as long as it lasts."""
        return kept_secret(self._db, token_hex(32))

    def close(self) -> None:
        self._writer.flush()
        self._db.close()

    # --- runs ---

    def create(self, run: RunRecord) -> Journal:
        """Write run down as running and own it. Raises RunExists."""
        held = self._lock(run.id)
        try:
            self._insert(run)
        except BaseException:
            _release(held)
            raise
        return self._journal(run.id, held)

    def take(self, run: str, told: Callable[[Stamped], None] = _ignore) -> Journal:
        """Own a run that is in the store, to resume it: tries that were in flight are ended as lost.

        told: of each event of the earlier lives, these ends included, which are not on disk yet.

        Raises RunOwned where a process, this one too, has it already; KeyError on an unknown run.
        """
        self.run(run)
        held = self._lock(run)
        try:
            journal = self._journal(run, held)
            journal.take_up(told)
            self._write("update runs set status = 'running', spent = null where id = ?", (run,))
        except BaseException:
            _release(held)
            raise
        return journal

    def owner(self, run: str) -> Owner | None:
        """The process that runs it now; None where nobody does."""
        return None if self._path is None else owner_of(locks(self._path), run)

    def run(self, run: str) -> RunRecord:
        """Raises KeyError where there is none of that id."""
        for record in self._select("where id = ?", run):
            return record
        raise KeyError(run)

    def runs(self) -> list[RunRecord]:
        """All runs, the newest first."""
        return self._select("order by created desc, id desc")

    def find(self, key: str, account: str) -> RunRecord | None:
        """The run that was started with this key by this account."""
        found = self._select("where key = ? and account = ?", key, account)
        return found[0] if found else None

    def latest_unfinished(self) -> RunRecord | None:
        """The newest run that has not ended and that nobody runs; one that failed where there is no other."""
        unfinished = self._select("where status != 'ended' order by created desc, id desc")
        unfinished.sort(key=lambda run: bool(run.failure))
        return next((run for run in unfinished if self.owner(run.id) is None), None)

    # --- orders ---

    def order(self, run: str, order: Ordered) -> Ordered:
        """Give run an order from any process: its owner takes it within a second, or its next life does."""
        values = orjson.dumps({k: v for k, v in body(order).items() if k != "number"})
        return replace(order, number=write_order(self._db, run, self._clock(), values))

    def orders(self, run: str, after: int) -> list[Ordered]:
        """The orders of run with numbers above after, oldest first."""
        rows = read_orders(self._db, run, after)
        return [Ordered(number=number, **orjson.loads(values)) for number, values in rows]

    # --- notes ---

    def note(self, run: str, text: str) -> None:
        """Keep a note on run, from any process, whether the run is live or not."""
        write_note(self._db, Note(run, self._clock(), text))

    def notes(self, run: str | None = None) -> list[Note]:
        """The notes on run, or on all runs, in the order they were written."""
        return read_notes(self._db, run)

    # --- reading ---

    def events(self, run: str, after: int = -1) -> Iterator[Stamped]:
        """The events of run on disk with numbers above after, in order."""
        while page := read_events(self._db, run, after, PAGE):
            yield from page
            after = page[-1].number

    def event(self, run: str, number: int) -> Stamped | None:
        """The event of run with that number, if it is on disk."""
        return read_event(self._db, run, number)

    def spent(self, run: str) -> Amount:
        """What the tries of run that are settled on disk cost."""
        return read_spent(self._db, run)

    def account_spent(self, account: str) -> tuple[Amount, dict[str, Amount]]:
        """What the account's runs cost: those that ended, together; each of the others, by its id."""
        others = {
            run: self.spent(run) if told is None else Amount(*orjson.loads(told))
            for run, told in read_unfinished(self._db, account)
        }
        return read_ended_spent(self._db, account), others

    def blob(self, digest: str) -> str:
        """The text kept under digest. Raises KeyError where there is none."""
        try:
            return self._whole(key_of(digest))
        except KeyError:
            return earlier.whole(self._earlier_row(digest), self._earlier_row)
        except ValueError as error:
            raise refused(f"cannot read the text {digest}", error) from error

    def listed(self, names: Sequence[str]) -> list[str]:
        """The names of a call's messages, from what its intent says of them."""
        found: list[str] = []
        for name in names:
            found += self.blob(name).split("\n") if name.startswith(LIST) else [name]
        return found

    def _whole(self, key: bytes) -> str:
        """Two runs may have kept a text each in its own way, as grown out of another or not: what is in no record
        is the way that needs the other text less."""
        try:
            return whole(key, self._row)
        except Circular:
            return whole(key, self._row_of_texts)

    def _row(self, ref: Ref) -> Kept:
        spot = read_spot(self._db, ref) if isinstance(ref, bytes) else ref
        if isinstance(ref, bytes) and spot is None:
            body = read_text(self._db, ref)
        else:
            body = None if spot is None else read_record(self._db, spot[0])
        if body is None:
            raise KeyError(ref)
        return kept_of(body) if spot is None else text(spot[0], body, spot[1])

    def _row_of_texts(self, ref: Ref) -> Kept:
        body = read_text(self._db, ref) if isinstance(ref, bytes) else None
        return self._row(ref) if body is None else kept_of(body)

    def _earlier_row(self, name: str) -> str:
        row = read_earlier_text(self._db, name)
        if row is None:
            raise KeyError(name)
        return row

    def _select(self, condition: str, *values: str) -> list[RunRecord]:
        columns = "id, name, created, key, account, request, status, outcome"
        try:
            rows = self._db.execute(f"select {columns} from runs {condition}", values)
            return [_record(*row) for row in rows]
        except sqlite3.Error as error:
            raise refused(f"cannot read the store {self._path}", error) from error

    def _insert(self, run: RunRecord) -> None:
        values = (run.id, run.name, run.created, run.key, run.account, orjson.dumps(run.request))
        try:
            self._db.execute(
                "insert into runs(id, name, created, key, account, request, status, seq) select"
                " ?, ?, ?, ?, ?, ?, 'running', coalesce(max(seq), 0) + 1 from runs",
                values,
            )
        except sqlite3.IntegrityError as error:
            has_key = self.find(run.key, run.account) if run.key is not None else None
            raise RunExists(has_key.id if has_key else run.id) from error
        except sqlite3.Error as error:
            raise refused(f"cannot write the store {self._path}", error) from error

    def _write(self, statement: str, values: tuple[str, ...]) -> None:
        try:
            self._db.execute(statement, values)
        except sqlite3.Error as error:
            raise refused(f"cannot write the store {self._path}", error) from error

    def _lock(self, run: str) -> RunLock | None:
        if self._path is None:
            return None
        try:
            return own(locks(self._path), run)
        except OSError as error:
            raise refused(f"cannot lock run {run} of the store {self._path}", error) from error

    def _journal(self, run: str, held: RunLock | None) -> Journal:
        return Journal(run, writer=self._writer, lock=held, clock=self._clock)


def _release(held: RunLock | None) -> None:
    if held is not None:
        held.release()


def _record(
    id_: str,
    name: str,
    created: float,
    key: str | None,
    account: str,
    request: bytes,
    status: Status,
    outcome: bytes | None,
) -> RunRecord:
    ended = None if outcome is None else orjson.loads(outcome)
    return RunRecord(id_, name, created, account, orjson.loads(request), key, status, ended)
