"""The recommended sandbox: bubblewrap, a system-call filter, limits, control groups where there are any.

The order of the words matters: the user is dropped outside, so that no file of root's is ours inside; the limits
are set inside, so that bwrap itself is not under them.
"""

import contextlib
import json
import math
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio

from .child import Child, Gone, at_once, dead, sealed
from .command import BOX, MIB, Command, Ended, Limits, Ran, SandboxFailed, inside
from .folder import give_to, watch_size
from .group import Group, Groups
from .host import Host, own_code, system

SHARED_MEMORY = 16 * MIB
OPEN_FILES = 256
# What nobody ends any more ends itself so much after its time.
ORPHAN_S = 5
# A process that does not end at the signal of its CPU limit is killed this much later.
CPU_GRACE_S = 1
# In sh: join the control groups named before `--`, mount each pair of paths, become the rest.
_LAUNCH = (
    'while [ "$1" != -- ]; do echo $$ >"$1" || exit 125; shift; done; shift; '
    'while [ "$1" != -- ]; do mount --bind "$1" "$2" || exit 125; shift 2; done; shift; exec "$@"'
)


@dataclass(slots=True, eq=False)
class Bubblewrap:
    """See `Sandbox`. bwrap: the program. calls: the system-call filter. groups: None without control groups."""

    bwrap: str
    calls: bytes
    host: Host
    groups: Groups | None
    name: str = "bubblewrap"
    isolates: bool = True
    _room: anyio.Semaphore = field(default_factory=lambda: anyio.Semaphore(at_once()))

    async def run(self, command: Command) -> Ran:
        async with self._room:
            group = None
            try:
                if self.groups is not None:
                    group = self.groups.make(command.limits)
                return await self._run(command, group)
            except OSError as error:  # no descriptor or no space is left, a folder is gone
                raise SandboxFailed(f"the sandbox cannot be set up: {error}") from error
            finally:
                if group is not None:
                    with anyio.CancelScope(shield=True):
                        await group.remove()

    async def _run(self, command: Command, group: Group | None) -> Ran:
        folder, limits = command.folder, command.limits
        if folder is not None and self.host.user is not None:
            give_to(folder, self.host.user)
        with tempfile.TemporaryFile() as status:
            child = self._start(command, group, status.fileno())
            watch = partial(watch_size, folder, limits.disk_bytes) if folder else None
            try:
                gone = await child.finish(limits.wall_s, watch)
            finally:
                status.seek(0)
                told = _told(status.read())
                with anyio.CancelScope(shield=True):
                    await dead(told.get("child-pid"))
        return _ran(gone, told.get("exit-code"), limits, group)

    def _start(self, command: Command, group: Group | None, status: int) -> Child:
        """The descriptors that bwrap reads from are closed here as soon as it has them."""
        with ExitStack() as given:
            words = _Words(given)
            seen = self._staged(command)
            options = [
                *("--seccomp", words.holding(self.calls), "--json-status-fd", str(status)),
                *_world(command, self.host, seen),
                *_work(command, words, seen),
                *("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", BOX),
            ]
            argv = [
                *_launch(group, seen, self.host),
                *(self.bwrap, "--args", words.holding("\0".join(options).encode() + b"\0"), "--"),
                *limited(command.limits, together=group is not None),
                *command.argv,
            ]
            return Child.start(
                argv,
                stdin=command.stdin,
                room=command.limits.output_bytes,
                environ={"PATH": "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"},
                pass_fds=(*words.descriptors, status),
            )

    def _staged(self, command: Command) -> dict[Path, Path]:
        """By path that is to be seen, where bwrap finds it: elsewhere if its user could not get there."""
        wanted = [*command.shown.values(), *([command.folder] if command.folder else [])]
        if self.host.python is not None:
            wanted.append(self.host.python)
        closed = [path for path in dict.fromkeys(wanted) if not self.host.reaches(path)]
        return {path: self.host.stage(number, path) for number, path in enumerate(closed)}


@dataclass(slots=True)
class _Words:
    """Data for bwrap, each behind a descriptor whose number is a word."""

    given: ExitStack
    descriptors: list[int] = field(default_factory=list[int])

    def holding(self, data: bytes) -> str:
        self.descriptors.append(self.given.enter_context(sealed(data)).fileno())
        return str(self.descriptors[-1])


def _launch(group: Group | None, seen: dict[Path, Path], host: Host) -> list[str]:
    """The words before bwrap: groups are joined, paths staged and the user dropped as root."""
    joined = group.joined if group is not None else ()
    argv: list[str] = []
    if joined or seen:
        pairs = [str(path) for pair in seen.items() for path in pair]
        argv = ["sh", "-c", _LAUNCH, "sh", *joined, "--", *pairs, "--"]
        if seen:
            argv = ["unshare", "--mount", "--", *argv]
    if host.user is not None:
        user = str(host.user)
        argv += ["setpriv", "--reuid", user, "--regid", user, "--clear-groups", "--no-new-privs"]
    return argv


def _world(command: Command, host: Host, seen: dict[Path, Path]) -> list[str]:
    """A new root with the programs of this machine in it, and nothing of ours."""
    options = ["--unshare-all", "--unshare-user", "--disable-userns"]
    options += ["--die-with-parent", "--new-session", "--hostname", "sandbox"]
    options += ["--cap-drop", "ALL", "--clearenv"]
    for name, value in _environ(command, host).items():
        options += ["--setenv", name, value]
    options += [*system(), "--proc", "/proc", "--dev", "/dev"]
    programs = [Path("/usr")]
    if host.python is not None:
        programs.append(host.python)
        options += ["--ro-bind", str(seen.get(host.python, host.python)), str(host.python)]
    if any(own_code().is_relative_to(folder) for folder in programs):
        options += ["--tmpfs", str(own_code()), "--remount-ro", str(own_code())]
    options += ["--size", str(SHARED_MEMORY), "--tmpfs", "/dev/shm"]
    return [*options, "--size", str(command.limits.disk_bytes), "--tmpfs", "/tmp"]


def _environ(command: Command, host: Host) -> dict[str, str]:
    path = "/usr/local/bin:/usr/bin:/bin"
    if host.python is not None:
        path = f"{host.python}/bin:{path}"
    fixed = {"PATH": path, "HOME": BOX, "TMPDIR": "/tmp", "LANG": "C.UTF-8", "TZ": "UTC"}
    return fixed | dict(command.environ)


def _work(command: Command, words: _Words, seen: dict[Path, Path]) -> list[str]:
    """The work folder, the files in it, and what else is shown."""
    if command.folder is not None:
        options = ["--bind", str(seen.get(command.folder, command.folder)), BOX]
    else:
        options = ["--size", str(command.limits.disk_bytes), "--tmpfs", BOX]
    for target, path in command.shown.items():
        options += ["--ro-bind", str(seen.get(path, path)), target]
    for name, data in command.files.items():
        options += ["--perms", "0755", "--file", words.holding(data), inside(name)]
    return options


def limited(limits: Limits, *, together: bool) -> Sequence[str]:
    """The words that set the limits of each process. together: memory is counted elsewhere, of all of them; an
    address space, which some runtimes reserve without use, is then not limited.

    Time is kept by us. What is said of it here ends a command whose Podium was killed before bwrap was ready to
    die with it.
    """
    space = () if together else (f"--as={limits.memory_bytes}",)
    return (
        "prlimit",
        f"--nproc={limits.processes}",
        f"--fsize={limits.file_bytes}",
        f"--nofile={OPEN_FILES}",
        f"--cpu={limits.cpu_s}:{limits.cpu_s + CPU_GRACE_S}",
        "--core=0",
        *space,
        "--",
        *("timeout", "-s", "KILL", str(math.ceil(limits.wall_s) + ORPHAN_S)),
    )


def _told(status: bytes) -> dict[str, int]:
    """What bwrap tells: `child-pid` of the first process inside, and `exit-code` once the command has ended."""
    told: dict[str, int] = {}
    for line in status.splitlines():
        with contextlib.suppress(ValueError):  # it was killed as it wrote
            told |= json.loads(line)
    return told


def _ran(gone: Gone, code: int | None, limits: Limits, group: Group | None) -> Ran:
    """How the command ended. Raises SandboxFailed where it never began."""
    ended: Ended = gone.stopped
    if ended == "exit" and code != 0 and group is not None and group.ran_out():
        ended = "memory"
    elif ended == "exit" and code is None:
        why = gone.err.text.strip()[-500:] or f"it ended with code {gone.code}"
        raise SandboxFailed(f"bubblewrap failed: {why}")
    elif ended == "exit":
        ended = reached(code, gone.seconds, limits)
    return Ran(code if ended == "exit" else None, ended, gone.out, gone.err, gone.seconds)


def reached(code: int | None, seconds: float, limits: Limits) -> Ended:
    """Which limit of one process an exit code tells of, after so many seconds."""
    match code:
        case 152:  # 128 + SIGXCPU
            return "cpu"
        case 153:  # 128 + SIGXFSZ
            return "file"
        case 137 if seconds >= limits.cpu_s:  # 128 + SIGKILL, after the grace
            return "cpu"
        case _:
            return "exit"
