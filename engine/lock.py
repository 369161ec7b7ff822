"""Who owns a run: one process, for as long as it lives. The kernel drops the lock with the process."""

import fcntl
import os
import socket
import time
from dataclasses import dataclass
from pathlib import Path

import orjson

# A process that only asks who owns a run holds the lock for microseconds: it is not an owner.
_ATTEMPTS = 5
_PAUSE_S = 0.01


class RunOwned(Exception):
    """Another process runs this run, or this process does already. pid 0: it was just starting."""

    def __init__(self, run: str, pid: int, host: str) -> None:
        super().__init__(f"run {run} is being run by process {pid} on {host or 'this host'}")
        self.run = run
        self.pid = pid
        self.host = host


@dataclass(frozen=True, slots=True)
class Owner:
    pid: int
    host: str


class RunLock:
    """The ownership of one run; `release` gives it up, and may be called again."""

    def __init__(self, path: Path, fd: int) -> None:
        self._path = path
        self._fd: int | None = fd

    def release(self) -> None:
        if self._fd is not None:
            # While the lock is still held, so that nobody locks a name that is about to go.
            self._path.unlink(missing_ok=True)
            os.close(self._fd)
            self._fd = None


def own(folder: Path, run: str) -> RunLock:
    """The lock of run in folder. Raises RunOwned."""
    path = folder / run
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE_S)  # at most 40 ms, while someone only looks at the lock
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        if _locked(fd, fcntl.LOCK_EX) and is_still(fd, path):
            held = RunLock(path, fd)
            try:
                os.ftruncate(fd, 0)
                os.pwrite(fd, orjson.dumps({"pid": os.getpid(), "host": socket.gethostname()}), 0)
            except OSError:  # a full disk: nobody owns the run
                held.release()
                raise
            return held
        os.close(fd)
    owner = _read(path)
    raise RunOwned(run, owner.pid, owner.host)


def owner_of(folder: Path, run: str) -> Owner | None:
    """Who runs run now, None where nobody does."""
    path = folder / run
    try:
        fd = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        return None if _locked(fd, fcntl.LOCK_SH) else _read(path)
    finally:
        os.close(fd)


def _locked(fd: int, how: int) -> bool:
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_still(fd: int, path: Path) -> bool:
    """Whether path is still the file that was opened: its owner may have removed it meanwhile."""
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except FileNotFoundError:
        return False


def _read(path: Path) -> Owner:
    try:
        found = orjson.loads(path.read_bytes())
        return Owner(int(found["pid"]), str(found["host"]))
    except (OSError, ValueError, KeyError):
        return Owner(0, "")
