"""Control groups: limits on all processes of a sandbox together. Version 1 and 2, where we may write."""

import contextlib
import itertools
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import anyio

from .command import Limits

ROOT = Path("/sys/fs/cgroup")
# Between looks whether a group can be removed. Nearly always it can at once.
PATIENCE_S = (0.0, 0.001, 0.004, 0.016, 0.064, 0.256)
_PREFIX = "podium-"


@dataclass(frozen=True, slots=True)
class Group:
    """folders: one, or of version 1 one a controller. joined: the files that a process writes its id to."""

    folders: tuple[Path, ...]

    @property
    def joined(self) -> tuple[str, ...]:
        return tuple(str(folder / "cgroup.procs") for folder in self.folders)

    def ran_out(self) -> bool:
        """Whether one of its processes was killed for want of memory."""
        return any(
            _counted(folder / name) > 0
            for folder in self.folders
            for name in ("memory.events", "memory.oom_control")
        )

    async def remove(self) -> None:
        """The kernel may be at it still; what does not go now goes at the next sweep."""
        for wait_s in PATIENCE_S:
            await anyio.sleep(wait_s)
            if self.gone():
                return

    def gone(self) -> bool:
        """Remove what can be removed; whether that was all."""
        for folder in self.folders:
            with contextlib.suppress(OSError):
                folder.rmdir()
        return not any(folder.exists() for folder in self.folders)


@dataclass(slots=True)
class Groups:
    """parents: our own group, in each hierarchy that is used. mixed: version 1."""

    parents: tuple[Path, ...]
    mixed: bool
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    @classmethod
    def here(cls, root: Path = ROOT, own: Path = Path("/proc/self/cgroup")) -> Self | None:
        """None where there are none, or they are not ours to write."""
        try:
            lines = [line.split(":", 2) for line in own.read_text().splitlines()]
            parents, mixed = _parents(root, {names: path for _, names, path in lines})
            if not parents or not _usable(parents, mixed=mixed):
                return None
        except OSError:
            return None
        groups = cls(parents, mixed)
        groups.sweep()
        return groups

    def make(self, limits: Limits) -> Group:
        """A new group with these limits. Raises OSError."""
        name = f"{_PREFIX}{os.getpid()}-{next(self._numbers)}"
        group = Group(tuple(parent / name for parent in self.parents))
        try:
            for folder in group.folders:
                folder.mkdir()
                for file, value in _settings(limits, mixed=self.mixed):
                    if (folder / file).exists():
                        (folder / file).write_text(str(value))
        except OSError:
            group.gone()
            raise
        return group

    def sweep(self) -> None:
        """Remove what processes that are no more have left."""
        for parent in self.parents:
            for folder in parent.glob(f"{_PREFIX}*-*"):
                owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
                if owner.isdigit() and not Path("/proc", owner).exists():
                    with contextlib.suppress(OSError):
                        folder.rmdir()


def _parents(root: Path, paths: Mapping[str, str]) -> tuple[tuple[Path, ...], bool]:
    """Our own groups that control memory and processes, by the lines of /proc/self/cgroup."""
    for names, path in paths.items():
        if "memory" in names.split(","):
            pids = next((p for n, p in paths.items() if "pids" in n.split(",")), None)
            found = [root / "memory" / path.lstrip("/")]
            return (*found, *([] if pids is None else [root / "pids" / pids.lstrip("/")])), True
    return ((root / paths[""].lstrip("/"),) if "" in paths else ()), False


def _usable(parents: tuple[Path, ...], *, mixed: bool) -> bool:
    """Whether groups can be made there. Of version 2 this asks for the controllers, which the kernel refuses in a
    group that has processes of its own, as ours has unless it is the topmost."""
    if not all(os.access(parent, os.W_OK) for parent in parents):
        return False
    if mixed:
        return True
    given = parents[0] / "cgroup.subtree_control"
    if not {"memory", "pids"} <= set(given.read_text().split()):
        given.write_text("+memory +pids")
    return True


def _settings(limits: Limits, *, mixed: bool) -> tuple[tuple[str, int], ...]:
    """Files and what is written to each; the processes of the sandbox itself are four."""
    tasks = ("pids.max", limits.processes + 4)
    if not mixed:
        return (("memory.max", limits.memory_bytes), ("memory.swap.max", 0), tasks)
    return (
        ("memory.limit_in_bytes", limits.memory_bytes),
        ("memory.memsw.limit_in_bytes", limits.memory_bytes),
        tasks,
    )


def _counted(file: Path) -> int:
    """The number behind `oom_kill` in file; 0 without it."""
    with contextlib.suppress(OSError):
        for line in file.read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0
