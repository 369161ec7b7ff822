"""What a disk, a system or SQLite says that refuses the store, in words. Pure."""

import errno
import os
import sqlite3

_FULL = "the disk is full; make room there, or name another store"
_CLOSED = "you may not write there; name another store"
_ERRORS = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: "your share of the disk is used up; make room there, or name another store",
    errno.EFBIG: "files may not grow any more here; lift that limit, or name another store",
    errno.EACCES: _CLOSED,
    errno.EPERM: _CLOSED,
    errno.EROFS: "that disk can only be read; name another store",
    errno.EIO: "the disk has a fault; name a store on another one",
    errno.EMFILE: "this process has too many files open",
}
# Of these the name that was given is the cause.
_NAMES = {
    errno.EEXIST: "a file is in the way of its folder; name another store",
    errno.ENOENT: "there is no such folder, and none can be made there; name another store",
    errno.ENOTDIR: "a part of its path is a file and no folder; name another store",
    errno.EISDIR: "it is a folder; name a file in it",
    errno.ENAMETOOLONG: "its name is too long",
}
_SQLITE = {
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_IOERR: "the disk cannot be read or written: it is full, or has a fault",
    sqlite3.SQLITE_READONLY: _CLOSED,
    sqlite3.SQLITE_CANTOPEN: "it cannot be made or opened there: the disk is full, or you may not write there",
    sqlite3.SQLITE_BUSY: "another process has been writing to it for too long; try again",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; name another store",
}
_NO_STORE = {sqlite3.SQLITE_NOTADB: "the file is not a database; name another one"}


def because(error: Exception) -> str:
    """Why the store was refused, and what to do, in a clause."""
    number, known = _number(error)
    if (words := known.get(number)) is not None:
        return words
    return os.strerror(number).lower() if isinstance(error, OSError) and number else str(error)


def is_misnamed(error: Exception) -> bool:
    """Whether another name is what it takes, and nothing in the world need change."""
    number, _ = _number(error)
    return number in (_NAMES if isinstance(error, OSError) else _NO_STORE)


def _number(error: Exception) -> tuple[int, dict[int, str]]:
    """The error's number, and the words of its kind."""
    if isinstance(error, OSError):
        return error.errno or 0, _ERRORS | _NAMES
    code = getattr(error, "sqlite_errorcode", None)  # errors of Python's own module have none
    return (code & 0xFF if isinstance(code, int) else 0), _SQLITE | _NO_STORE
