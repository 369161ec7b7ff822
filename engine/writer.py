"""The one writer of a store: jobs go in from the event loop, batches of them go to disk in one commit.

With a thread, whatever has queued up while the last commit was running shares the next one (group
commit); without one, the calling task writes. A clock that jumps must not have the thread: it would
jump over the time a commit takes.
"""

import sqlite3
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread

from .database import DiskError, Ending, connect, event_row, write
from .event import Stamped
from .pieces import Row, packed
from .refused import because

# One transaction's worth: larger ones gained nothing and delay the first acknowledgement.
BATCH = 2000


@dataclass(slots=True, eq=False)
class Job:
    """Events of one run and the texts they refer to, written together; they are packed where they are written, and
    must not change until then. then is called with the job in the event loop once they are on disk
    or failed."""

    run: str
    events: Sequence[Stamped]
    texts: Sequence[Row] = ()
    ending: Ending | None = None
    then: "Callable[[Job], None] | None" = None
    done: bool = False
    error: DiskError | None = None


class Writer:
    """Jobs are written in the order of `put`. After a failed write nothing more of that run is written,
    so that a run's numbers never have a gap; `mend` lifts that when the run was read again."""

    def __init__(self, db: sqlite3.Connection, path: Path | None, *, inline: bool) -> None:
        self._db = db
        self._path = path
        self._inline = inline or path is None
        self._queue: SimpleQueue[Job | None] | None = None
        self._kept: list[Job] = []
        self._broken: dict[str, DiskError] = {}
        self._events: dict[Job, anyio.Event] = {}
        self._dead: DiskError | None = None

    def put(self, job: Job) -> None:
        """Write job soon: with the thread at once, without it at the next `wait` or `flush`."""
        if self._queue is None:
            self._kept.append(job)
        else:
            self._queue.put(job)

    async def wait(self, job: Job) -> None:
        """Return when job, which was put, is on disk. Raises DiskError. Shielded, bounded by SQLite's
        own time-out for a locked file."""
        if self._queue is None:
            self.flush()
            await anyio.lowlevel.cancel_shielded_checkpoint()
        elif self._dead is not None:
            raise self._dead
        elif not job.done:
            event = self._events[job] = anyio.Event()
            with anyio.CancelScope(shield=True):
                await event.wait()
        if job.error is not None:
            raise job.error

    def flush(self) -> None:
        """Write what was put, here and now, where there is no thread; else nothing."""
        if self._kept:
            batch, self._kept = self._kept, []
            self._write(self._db, batch)
            self._acknowledge(batch)

    def mend(self, run: str) -> None:
        self._broken.pop(run, None)

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
        queue = self._queue = SimpleQueue[Job | None]()
        self._dead = None
        db = connect(self._path, threads=True)
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._host, db, queue)
                try:
                    yield
                finally:
                    self._queue = None
                    queue.put(None)
        finally:
            db.close()

    async def _host(self, db: sqlite3.Connection, queue: "SimpleQueue[Job | None]") -> None:
        # Its own limiter: the thread lives as long as the store and must not take a place from others.
        try:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(
                    self._work, db, queue, limiter=anyio.CapacityLimiter(1)
                )
        finally:
            # Nobody may wait for a thread that is gone, even if it went by a mistake of ours.
            self._dead = DiskError("the writer of the store has stopped")
            for job, event in self._events.items():
                job.error = self._dead
                event.set()

    def _work(self, db: sqlite3.Connection, queue: "SimpleQueue[Job | None]") -> None:
        open_ = True
        while open_:
            batch, open_ = _next_batch(queue)
            self._write(db, batch)
            anyio.from_thread.run_sync(self._acknowledge, batch)

    def _write(self, db: sqlite3.Connection, batch: list[Job]) -> None:
        for job in batch:
            job.error = self._broken.get(job.run)
        sound = [job for job in batch if job.error is None]
        try:
            write(
                db,
                [event_row(job.run, one) for job in sound for one in job.events],
                [packed(text) for job in sound for text in job.texts],
                [(job.run, job.ending) for job in sound if job.ending is not None],
            )
        except (
            sqlite3.Error,
            ValueError,
            TypeError,
            OverflowError,
        ) as error:  # the last three: no form in JSON or SQLite
            failure = DiskError(f"cannot write the store {self._path}: {because(error)}")
            failure.__cause__ = error
            for job in sound:
                job.error = self._broken[job.run] = failure

    def _acknowledge(self, batch: list[Job]) -> None:
        for job in batch:
            job.done = True
            if job.then is not None:
                job.then(job)
            if event := self._events.pop(job, None):
                event.set()


def _next_batch(queue: "SimpleQueue[Job | None]") -> tuple[list[Job], bool]:
    """What waits in queue, at least one job or the end; False with the last batch there is."""
    batch: list[Job] = []
    job = queue.get()
    while job is not None:
        batch.append(job)
        if len(batch) == BATCH:
            return batch, True
        try:
            job = queue.get_nowait()
        except Empty:
            return batch, True
    return batch, False
