"""What is asked of a sandbox and what it tells: `Command`, `Limits`, `Ran`. Pure.

A command is a list of words, never a line for a shell: what a model wrote is a file, an input or one word of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal, Protocol

from ..plain import clean

MIB = 1 << 20

# Where a command starts, and where its files are: its own, empty and gone afterwards, or `Command.folder`.
BOX = "/box"

# What ended a command: itself, or the limit that it reached.
Ended = Literal["exit", "wall", "cpu", "memory", "output", "file", "disk"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one command may take; whole numbers of bytes.

    wall_s: from its start, to the end of its last process. cpu_s: of each process. memory_bytes: of all its
    processes together where the sandbox can count so, else of each. file_bytes: of one file. disk_bytes: of all
    files together; of a kept folder it is looked at now and then, so it may be passed for a moment.
    output_bytes: kept of each of the two outputs, its beginning and its end; sixteen times as much ends it.
    """

    wall_s: float = 10.0
    cpu_s: int = 10
    memory_bytes: int = 512 * MIB
    processes: int = 64
    file_bytes: int = 32 * MIB
    disk_bytes: int = 64 * MIB
    output_bytes: int = MIB // 4


@dataclass(frozen=True, slots=True)
class Command:
    """One program to run. argv[0] is looked up in /usr/bin and /bin; nothing is given to a shell.

    files: by path relative to the start folder, `BOX`; they may be changed there. stdin: all of it, then its end.
    folder: one of this machine in place of an empty `BOX`; what is written there stays, and files must be empty.
    It must be nobody else's at the time: its owner may be changed to whom the sandbox runs as. Afterwards it may
    hold links to anywhere, which must not be followed. shown: folders or files of this machine, by the absolute
    path, none in `BOX`, that they are seen at, read only. environ: added to the little that there is.
    """

    argv: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    stdin: bytes = b""
    folder: Path | None = None
    shown: Mapping[str, Path] = field(default_factory=dict[str, Path])
    environ: Mapping[str, str] = field(default_factory=dict[str, str])
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        """Links that an earlier command left in a kept folder would lead what writes files out of it."""
        if self.folder is not None and self.files:
            raise ValueError("a command in a folder of its own takes no files: write them there")
        if not self.argv or any("\0" in word for word in (*self.argv, *self.files, *self.shown)):
            raise ValueError("a command is one word or more, none of which holds a zero byte")
        for name in self.files:
            inside(name)
        for target in self.shown:
            path = PurePosixPath(target)
            if not path.is_absolute() or path.is_relative_to(BOX) or ".." in path.parts:
                raise ValueError(f"nothing can be shown at {target}")


@dataclass(frozen=True, slots=True)
class Output:
    """What a command wrote, of bounded length: cut bytes are left out after the first `head` of data."""

    data: bytes = b""
    cut: int = 0
    head: int = 0

    @property
    def text(self) -> str:
        """It as text for people and models: no control codes but tab and line end, and what was cut is said."""
        if not self.cut:
            return clean(self.data.decode(errors="replace"))
        parts = self.data[: self.head], self.data[self.head :]
        first, last = (clean(part.decode(errors="replace")) for part in parts)
        return f"{first}\n[{self.cut:,} bytes are left out here]\n{last}"


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended. code: its exit code, 128 + n after signal n; None where a limit ended it.

    ended: `exit`, or which limit it reached. seconds: of wall time.
    """

    code: int | None
    ended: Ended = "exit"
    out: Output = Output()
    err: Output = Output()
    seconds: float = 0.0

    @property
    def fine(self) -> bool:
        """Whether it ended by itself with code 0."""
        return self.code == 0


class SandboxMissing(Exception):
    """No sandbox works here. The message is for the user: what was tried, and what to install."""


class SandboxFailed(Exception):
    """The sandbox, and not what ran in it, failed: nothing is known of the command, and it may be run again."""


class Sandbox(Protocol):
    """Where model-written code runs. Get one from `find`, or `testing.sandboxes.ScriptedSandbox` in tests.

    name: as it is recorded with what it ran (`bubblewrap`, `none`). isolates: False for `--unsafe-sandbox`.
    """

    @property
    def name(self) -> str: ...

    @property
    def isolates(self) -> bool: ...

    async def run(self, command: Command) -> Ran:
        """Run command to its end or a limit; when it returns, or is cancelled, none of its processes is left.

        Any number at once, each on its own; no thread is taken. Raises SandboxFailed.
        """
        ...


def inside(name: str) -> str:
    """The path in `BOX` that name stands for. Raises ValueError for one outside of it."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name:
        raise ValueError(f"{name!r} is no path inside the work folder")
    return str(BOX / path)
