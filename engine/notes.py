"""Notes on runs: short texts that people write beside them, kept in the store and never changed.

A note may be written while the run is live in another process. A store gets its table with its first note, so
that a store without one is as it was, and an older Podium opens one that has some.
"""

import sqlite3
import time
from dataclasses import dataclass

from .database import refused

MOST = 10_000
"""Characters of a note: it is a remark, and no place for a file."""


@dataclass(frozen=True, slots=True)
class Note:
    """time: when it was written, in seconds since the epoch."""

    run: str
    time: float
    text: str

    @property
    def day(self) -> str:
        return time.strftime("%Y-%m-%d", time.localtime(self.time))


def write_note(db: sqlite3.Connection, note: Note) -> None:
    """On disk on return. Raises StoreError."""
    try:
        db.execute(
            "create table if not exists notes(number integer primary key autoincrement,"
            " run text not null, time real not null, text text not null)"
        )
        row = note.run, note.time, note.text
        db.execute("insert into notes(run, time, text) values (?, ?, ?)", row)
    except sqlite3.Error as error:
        raise refused(f"cannot keep a note on run {note.run}", error) from error


def read_notes(db: sqlite3.Connection, run: str | None = None) -> list[Note]:
    """The notes of run, or of all runs, in the order they were written. Raises StoreError."""
    of, values = ("", ()) if run is None else (" where run = ?", (run,))
    try:
        (tables,) = db.execute("select count(*) from sqlite_master where name = 'notes'").fetchone()
        if not tables:
            return []
        rows = db.execute(f"select run, time, text from notes{of} order by number", values)
        return [Note(*row) for row in rows]
    except sqlite3.Error as error:
        raise refused("cannot read the notes of the store", error) from error
