"""A store's file that fills up, or whose process dies: in memory, by the same statements as on a disk."""

import sqlite3
from collections.abc import Callable
from typing import Any, Literal

from ..database import RECORD, connect_memory

Moment = Literal["before", "torn", "written"]
"""Where a kill meets a record: before it, in its middle, or on disk and told to nobody."""


class Killed(BaseException):
    """The process of a run died: nothing it does from here on leaves a trace."""


class Disk(sqlite3.Connection):
    """The connection of a simulated store. full: whether a transaction fails now.

    dies_in: so many transactions are made before each further one raises Killed; None: they all are made.
    dies_at: at which record, from 0, Killed is raised, and where in it. A record is a transaction, or a
    statement that writes outside of one. records: how many there were since the process began; dead: whether
    it died of dies_at.
    """

    full: Callable[[], bool] = staticmethod(lambda: False)
    dies_in: int | None = None
    dies_at: tuple[int, Moment] | None = None
    dead: bool = False
    commits: int = 0
    records: int = 0

    def begin_life(self, dies_at: tuple[int, Moment] | None) -> None:
        """A new process has the store; it is to die at that record, if at one."""
        self.dies_at, self.dead, self.records = dies_at, False, 0

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        if sql.startswith("begin"):
            self._begins()
        elif sql == "commit":
            self._meets("torn")
            done = super().execute(sql, parameters)
            self._is_written()
            return done
        elif sql.startswith(("insert", "update")) and not self.in_transaction:
            if sql.startswith(RECORD):  # a commit of the journal, as one statement
                self._begins()
            else:
                self._meets("before")
            self._meets("torn")  # of one statement nothing is left
            done = super().execute(sql, parameters)
            self._is_written()
            return done
        return super().execute(sql, parameters)

    def _begins(self) -> None:
        self._meets("before")
        if self.dies_in is not None:
            if self.dies_in <= 0:
                raise Killed
            self.dies_in -= 1
        if self.full():
            raise sqlite3.OperationalError("database or disk is full")
        self.commits += 1

    def _is_written(self) -> None:
        self._meets("written")
        self.records += 1

    def _meets(self, moment: Moment) -> None:
        if self.dies_at == (self.records, moment):
            self.dead = True
        if self.dead:
            raise Killed


def simulated_disk() -> Disk:
    """An empty store in memory."""
    db = connect_memory(Disk)
    assert isinstance(db, Disk)
    return db
