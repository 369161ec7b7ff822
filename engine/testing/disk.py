"""A store's file that fills up, or whose process dies: in memory, by the same statements as on a disk."""

import sqlite3
from collections.abc import Callable
from typing import Any

from ..database import connect_memory


class Killed(BaseException):
    """The process of a run died: nothing it does from here on leaves a trace."""


class Disk(sqlite3.Connection):
    """The connection of a simulated store. full: whether a transaction fails now.

    dies_in: so many transactions are made before each further one raises Killed; None: they all are made.
    """

    full: Callable[[], bool] = staticmethod(lambda: False)
    dies_in: int | None = None
    commits: int = 0

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        if sql.startswith("begin"):
            self._begins()
        return super().execute(sql, parameters)

    def _begins(self) -> None:
        if self.dies_in is not None:
            if self.dies_in <= 0:
                raise Killed
            self.dies_in -= 1
        if self.full():
            raise sqlite3.OperationalError("database or disk is full")
        self.commits += 1


def simulated_disk() -> Disk:
    """An empty store in memory."""
    db = connect_memory(Disk)
    assert isinstance(db, Disk)
    return db
