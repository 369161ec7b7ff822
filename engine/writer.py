"""The one writer of a store: jobs go in from the event loop, batches of them go to disk in one commit.

What tasks put in the same turn of the event loop, and with a thread whatever has come up while the last commit was
running, shares the next one (group commit). The thread has a whole batch at a time: it would else fight with the
event loop for the interpreter at each job. Without a thread, the calling task writes. A clock that jumps must not
have the thread: it would jump over the time a commit takes.

A store that is gone with its process has nothing to lose: there a commit is packed, which is what may be refused,
and its row is written when somebody reads (`reading`), or the record is full.
"""

import math
import sqlite3
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread

from .database import DiskError, Ending, connect, entry_of, first_id, write
from .event import Stamped
from .pieces import Row, packed
from .records import LEVEL, Record, RecordRow
from .refused import because


@dataclass(slots=True, eq=False)
class Job:
    """Events of one run and the texts they refer to, written together; they are packed where they are written, and
    must not change until then. then is called with the job in the event loop once they are on disk
    or failed. written: set then, where the writer has a thread. joins: nobody waits for it, so that it may become
    part of the next one of its run."""

    run: str
    events: list[Stamped]
    texts: Sequence[Row] = ()
    ending: Ending | None = None
    then: "Callable[[Job], None] | None" = None
    done: bool = False
    error: DiskError | None = None
    written: anyio.Event | None = None
    joins: bool = False


# Events of a job that another one joins, at most: a record is not looked at in the middle of a job.
JOINED = 32
Spot = tuple[bytes, int, int]


class Packed:
    """Jobs as rows that are not written yet. level: of the records.

    A run's last record is open: it goes on from one batch to the next.
    """

    def __init__(self, level: int) -> None:
        self._level = level
        self._open: dict[str, Record] = {}
        self._touched: dict[str, Record] = {}
        self._rows: list[RecordRow] = []
        self._spots: list[Spot] = []
        self._texts: dict[bytes, bytes] = {}

    def __bool__(self) -> bool:
        return bool(self._rows or self._touched or self._texts)

    @property
    def is_long(self) -> bool:
        """Whether a record is full, which is not added to any more."""
        return bool(self._rows)

    def add(
        self, db: sqlite3.Connection, run: str, events: Sequence[Stamped], texts: Sequence[Row]
    ) -> None:
        """Raises TypeError or ValueError on what has no form in JSON; then nothing of it was added."""
        record = self._open.get(run)
        if record is None and events:
            id_ = first_id(db, run) | events[0].number
            record = self._open[run] = Record(id_, self._level)
        if record is not None:
            # First, as this is what may be refused: then nothing of it is here.
            record.add([entry_of(one) for one in events])
            self._touched[run] = record
        for text in texts:
            if text.key in self._texts:  # of calls that are sent at once each brings it
                continue
            place = None if record is None else record.keep(text)
            if record is None or place is None:
                key, body = packed(text)
                self._texts[key] = body
            else:
                self._spots.append((text.key, record.id, place))
        if record is not None and record.is_full:
            self._full(run)

    def _full(self, run: str) -> None:
        self._rows.append(self._touched.pop(run).row())
        del self._open[run]

    def taken(self) -> tuple[list[RecordRow], list[Spot], list[tuple[bytes, bytes]]]:
        """The rows, the places of short texts in them, and longer texts; what is taken is no longer here."""
        for run, record in self._touched.items():
            self._rows.append(record.row())
            if record.is_full:
                self._open.pop(run, None)
        found = self._rows, self._spots, [*self._texts.items()]
        self._rows, self._spots, self._texts = [], [], {}
        self._touched.clear()
        return found

    def close(self, run: str) -> None:
        """The run's record is not gone on with."""
        self._open.pop(run, None)


def _parts(jobs: Sequence[Job]) -> Iterator[Sequence[Job]]:
    """The jobs in order; those of one run that are packed together, as they have no texts, are one part."""
    part: list[Job] = []
    size = 0
    for job in jobs:
        size += len(job.events)
        if part and (job.run != part[0].run or job.texts or size > JOINED):
            yield part
            part, size = [], len(job.events)
        part.append(job)
    if part:
        yield part


# What is raised on values without a form in JSON or in SQLite; SQLite's own errors are of a disk, or of no run.
_REFUSALS = (sqlite3.Error, ValueError, TypeError, OverflowError)


class Writer:
    """Jobs are written in the order of `put`. After a failed write nothing more of that run is written,
    so that a run's numbers never have a gap; `mend` lifts that when the run was read again."""

    def __init__(
        self, db: sqlite3.Connection, path: Path | None, *, inline: bool, late: bool = False
    ) -> None:
        """late: rows may wait until somebody reads; of a store in memory that nobody else has."""
        self._db = db
        self._path = path
        self._late = late
        self._inline = inline or path is None
        self._kept: list[Job] = []
        self._written: anyio.Event | None = None  # of those kept, where there is a thread
        self._work = anyio.Event()
        self._closing = False
        self._broken: dict[str, DiskError] = {}
        self._packed = Packed(0 if path is None else LEVEL)
        self._dead: DiskError | None = None

    def put(self, job: Job) -> None:
        """Write job soon: with the thread at once, without it at the next `wait` or `flush`."""
        if (last := self._joined_by(job.run)) is not None:
            job.events = last.events + job.events
            self._kept[-1] = job
        else:
            self._kept.append(job)
        if self._written is not None:
            job.written = self._written
            self._work.set()

    def add(self, run: str, event: Stamped, then: Callable[[Job], None]) -> None:
        """Put an event that nobody waits for."""
        if (last := self._joined_by(run)) is not None:
            last.events.append(event)
        else:
            self.put(Job(run, [event], then=then, joins=True))

    def _joined_by(self, run: str) -> Job | None:
        """The job that what comes next of run becomes part of, if there is one."""
        if not self._kept:
            return None
        last = self._kept[-1]
        joins = last.joins and last.run == run and len(last.events) < JOINED
        return last if joins else None

    async def wait(self, job: Job) -> None:
        """Return when job, which was put, is on disk. Raises DiskError. Shielded, bounded by SQLite's
        own time-out for a locked file."""
        if job.written is None:
            # Whoever is ready shares the commit, and whoever one of those wakes.
            await anyio.lowlevel.cancel_shielded_checkpoint()
            if not (job.done or self._late):
                await anyio.lowlevel.cancel_shielded_checkpoint()
            if not job.done:
                self.flush()
        elif self._dead is not None:
            raise self._dead
        elif not job.done:
            await _through(job.written)
        if job.error is not None:
            raise job.error

    def flush(self) -> None:
        """Write what was put, here and now, where there is no thread; else nothing."""
        if self._written is None and self._kept:
            batch, self._kept = self._kept, []
            try:
                self._write(self._db, batch)
            except BaseException:  # broken off: nobody else who waits may take it for written
                for job in batch:
                    job.error = DiskError("the writer of the store has stopped")
                raise
            self._acknowledge(batch)

    def reading(self) -> sqlite3.Connection:
        """The connection, with all in it that was acknowledged."""
        if self._late and self._packed:
            write(self._db, *self._packed.taken(), ())
        return self._db

    def mend(self, run: str) -> None:
        self.reading()
        self._broken.pop(run, None)
        self._packed.close(run)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None, None]:
        """Have the thread inside, unless the store is inline. All that was put is written on leaving."""
        if self._inline or self._path is None:
            try:
                yield
            finally:
                self.flush()
            return
        self.flush()
        self._written, self._work = anyio.Event(), anyio.Event()
        self._closing, self._dead = False, None
        db = connect(self._path, threads=True)
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._host, db)
                try:
                    yield
                finally:
                    self._closing = True
                    self._work.set()
        finally:
            self._written = None
            db.close()

    async def _host(self, db: sqlite3.Connection) -> None:
        batch: list[Job] = []
        # Its own limiter: the thread must not wait for a place, nor take one from others.
        limiter = anyio.CapacityLimiter(1)
        try:
            with anyio.CancelScope(shield=True):
                while self._kept or not self._closing:
                    await self._work.wait()
                    await anyio.lowlevel.checkpoint()  # whoever is ready shares the commit
                    written, batch = self._next_batch()
                    if batch:
                        await anyio.to_thread.run_sync(self._write, db, batch, limiter=limiter)
                        self._acknowledge(batch)
                    written.set()
        finally:
            # Nobody may wait for a thread that is gone, even if it went by a mistake of ours.
            self._dead = DiskError("the writer of the store has stopped")
            for job in (*batch, *self._kept):
                job.error = job.error if job.done else self._dead
                if job.written is not None:
                    job.written.set()

    def _next_batch(self) -> tuple[anyio.Event, list[Job]]:
        """All that was put and is not written, and what to set when it is."""
        assert self._written is not None, "there is a thread"
        written, batch = self._written, self._kept
        self._written, self._kept = anyio.Event(), []
        self._work = anyio.Event()
        return written, batch

    def _write(self, db: sqlite3.Connection, batch: list[Job]) -> None:
        for part in _parts(batch):
            self._pack(db, part)
        sound = [job for job in batch if job.error is None] if self._broken else batch
        endings = [(job.run, job.ending) for job in sound if job.ending is not None]
        if not self._late or self._packed.is_long or endings:
            try:
                write(db, *self._packed.taken(), endings)
            except _REFUSALS as error:
                for job in sound:
                    self._refuse(job, error)
        for run, _ in endings:
            self._packed.close(run)

    def _pack(self, db: sqlite3.Connection, part: Sequence[Job]) -> None:
        """Pack the jobs, of one run; where that is refused, they and what comes after them of it fail alone."""
        first = part[0]
        events = first.events if len(part) == 1 else [one for job in part for one in job.events]
        refused: Exception | None = self._broken.get(first.run)
        if refused is None:
            try:
                self._packed.add(db, first.run, events, first.texts)
            except _REFUSALS as error:
                refused = error
        if refused is not None:
            for job in part:
                self._refuse(job, refused)

    def _refuse(self, job: Job, error: Exception) -> None:
        """Nothing more of the job's run is written; error: why, if nothing of it failed before."""
        if job.run not in self._broken:
            failure = DiskError(f"cannot write the store {self._path}: {because(error)}")
            failure.__cause__ = error
            self._broken[job.run] = failure
            self._packed.close(job.run)
        job.error = self._broken[job.run]

    def _acknowledge(self, batch: list[Job]) -> None:
        for job in batch:
            job.done = True
            if job.then is not None:
                job.then(job)


async def _through(written: anyio.Event) -> None:
    """Wait for it, cancelled or not. There is a scope only for who is cancelled: one takes as long as a wait."""
    try:
        await written.wait()
    except anyio.get_cancelled_exc_class():
        # By asyncio itself, which says it once; a scope says it again at the next await. One that is cancelled
        # later, while this waits, must not take the other's place.
        natively = anyio.current_effective_deadline() > -math.inf
        with anyio.CancelScope(shield=True):
            await written.wait()
        if natively:
            raise
