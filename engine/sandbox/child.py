"""One child process: started, read within bounds, ended with all its group. No thread is taken for it.

A pidfd says when it has ended, so that neither asyncio's watcher (a thread for each child) nor its signal handler
is needed. Start it from the thread of the event loop: a sandbox dies with the thread that started it.
"""

import contextlib
import fcntl
import os
import resource
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Literal

import anyio

from .command import Output, SandboxFailed

# A command that writes this many times what is kept of it writes without end.
ENDLESS = 16
# For the kernel to end a process that was killed, and for the last bytes of its pipes to be read.
DYING_S = 5.0
DRAIN_S = 0.5
_CHUNK = 1 << 16
# Of a process's descriptors a child takes two pipes, its pidfd and one for its owner; the rest is for connections.
DESCRIPTORS, RESERVED = 4, 400
MOST_AT_ONCE = 500

Stopped = Literal["exit", "wall", "output", "disk"]
# Waits until the child must be ended, and for what; it is cancelled when the child ends by itself.
Watch = Callable[[], Awaitable[Stopped]]


@dataclass(frozen=True, slots=True)
class Gone:
    """A child that has ended. code: 128 + n after signal n."""

    code: int
    stopped: Stopped
    out: Output
    err: Output
    seconds: float


@dataclass(slots=True)
class Kept:
    """The beginning and the end of a stream, `room` bytes together."""

    room: int
    first: bytearray = field(default_factory=bytearray)
    last: bytearray = field(default_factory=bytearray)
    total: int = 0

    def add(self, chunk: bytes) -> None:
        self.total += len(chunk)
        free = self.room - self.room // 2 - len(self.first)
        self.first += chunk[:free]
        self.last += chunk[free:]
        if len(self.last) > 2 * self.room + _CHUNK:  # now and then, not at each chunk
            self._trim()

    def output(self) -> Output:
        self._trim()
        data = bytes(self.first + self.last)
        return Output(data, self.total - len(data), len(self.first))

    def _trim(self) -> None:
        del self.last[: max(0, len(self.last) - self.room // 2)]


@dataclass(slots=True, eq=False)
class Child:
    """Between `start` and `finish` nothing may be awaited: only finish ends it."""

    process: subprocess.Popen[bytes]
    pidfd: int
    out: Kept
    err: Kept
    began: float

    @classmethod
    def start(
        cls,
        argv: Sequence[str],
        *,
        stdin: bytes,
        room: int,
        environ: Mapping[str, str],
        cwd: Path | None = None,
        pass_fds: Sequence[int] = (),
    ) -> "Child":
        """argv in a process group of its own. room: bytes kept of each output. Raises SandboxFailed.

        Its input is a file: whole before it starts, and nobody has to feed it.
        """
        began = time.monotonic()
        try:
            with sealed(stdin) as given:
                process = subprocess.Popen(
                    argv,
                    stdin=given,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=environ,
                    cwd=cwd,
                    pass_fds=pass_fds,
                    bufsize=0,
                    start_new_session=True,
                )
        except OSError as error:
            raise SandboxFailed(f"{argv[0]} cannot be started: {error}") from error
        try:
            pidfd = os.pidfd_open(process.pid)
        except OSError as error:  # no descriptor is left
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise SandboxFailed(f"{argv[0]} cannot be watched: {error}") from error
        return cls(process, pidfd, Kept(room), Kept(room), began)

    async def finish(self, wall_s: float, watch: Watch | None = None) -> Gone:
        """Wait for its end, or end it after wall_s. On return, also by cancellation, its group is killed and it is
        waited for, and its pipes are closed. Raises SandboxFailed where it does not die."""
        stopped: Stopped = "wall"
        try:
            with anyio.move_on_after(self.began + wall_s - time.monotonic()):
                stopped = await self._ended(watch)
        finally:
            with anyio.CancelScope(shield=True):
                await self._kill()
        seconds = time.monotonic() - self.began
        code = self.process.returncode
        code = code if code >= 0 else 128 - code
        return Gone(code, stopped, self.out.output(), self.err.output(), seconds)

    async def _ended(self, watch: Watch | None) -> Stopped:
        """Read until the child has ended, writes without end, or watch says to end it."""
        stopped: list[Stopped] = []
        async with anyio.create_task_group() as tasks:

            async def stop_by(watching: Awaitable[Stopped]) -> None:
                why = await watching
                if not stopped:  # both may be told of in one turn of the loop
                    stopped.append(why)
                tasks.cancel_scope.cancel()

            for pipe, kept in self._pipes():
                os.set_blocking(pipe, False)
                tasks.start_soon(self._read, pipe, kept, stopped, tasks.cancel_scope)
            if watch is not None:
                tasks.start_soon(stop_by, watch())
            tasks.start_soon(stop_by, self._exited())
        return stopped[0]

    async def _exited(self) -> Stopped:
        await anyio.wait_readable(self.pidfd)
        return "exit"

    async def _read(
        self, pipe: int, kept: Kept, stopped: list[Stopped], scope: anyio.CancelScope
    ) -> None:
        while True:
            await anyio.wait_readable(pipe)
            chunk = os.read(pipe, _CHUNK)
            if not chunk:
                return
            kept.add(chunk)
            if kept.total > ENDLESS * kept.room:
                stopped.append("output")
                scope.cancel()
                return

    async def _kill(self) -> None:
        """End the child and its group, wait for it, read what its pipes still hold, close them."""
        try:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            with anyio.move_on_after(DYING_S):
                await anyio.wait_readable(self.pidfd)
            self._bury()
            with anyio.move_on_after(DRAIN_S):
                await self._drain()
        finally:
            os.close(self.pidfd)
            for pipe in (self.process.stdout, self.process.stderr):
                assert pipe is not None
                pipe.close()

    async def _drain(self) -> None:
        """What a dead child had written. Who outlives it elsewhere and holds the pipe is not waited for long."""
        for pipe, kept in self._pipes():
            while kept.total <= ENDLESS * kept.room:
                await anyio.wait_readable(pipe)
                chunk = os.read(pipe, _CHUNK)
                if not chunk:
                    break
                kept.add(chunk)

    def _bury(self) -> None:
        if self.process.poll() is None:
            raise SandboxFailed(f"process {self.process.pid} does not end, although it was killed")

    def _pipes(self) -> tuple[tuple[int, Kept], tuple[int, Kept]]:
        out, err = self.process.stdout, self.process.stderr
        assert out is not None
        assert err is not None
        return (out.fileno(), self.out), (err.fileno(), self.err)


async def dead(pid: int | None) -> None:
    """Wait, not for ever, until a process that was killed is no more. None: there never was one."""
    if pid is None:
        return
    try:
        pidfd = os.pidfd_open(pid)
    except OSError:
        return
    try:
        with anyio.move_on_after(DYING_S):
            await anyio.wait_readable(pidfd)
    finally:
        os.close(pidfd)


def at_once() -> int:
    """How many children there may be at a time: 156 with the usual limit of 1,024 descriptors."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if soft == resource.RLIM_INFINITY:
        return MOST_AT_ONCE
    return max(10, min(MOST_AT_ONCE, (soft - RESERVED) // DESCRIPTORS))


def sealed(data: bytes) -> IO[bytes]:
    """A file in memory, without a name, that holds data from its start and that nobody can change."""
    flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
    file = os.fdopen(os.memfd_create("podium", flags), "wb", buffering=0)
    file.write(data)
    file.seek(0)
    seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
    fcntl.fcntl(file, fcntl.F_ADD_SEALS, seals)
    return file
