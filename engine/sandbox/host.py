"""What of this machine a sandbox gets to see, and under which user: read once, when it is found."""

import atexit
import os
import shutil
import stat
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

# Whom a sandbox runs as where Podium runs as root: a number that Debian, Fedora and systemd give to nobody
# (systemd.io/UIDS-AND-GIDS: 65520 to 65533 are unused).
USER = 65520
_LOADER = ("/etc/ld.so.cache", "/etc/alternatives")
# Of a merged /usr these are links into it; on an older system they are folders of their own.
_BESIDE_USR = ("/bin", "/sbin", "/lib", "/lib32", "/lib64")


@dataclass(frozen=True, slots=True)
class Host:
    """user: None where Podium does not run as root, so that there is no one to become. python: the folder of an
    interpreter outside of /usr, if that is where it is."""

    user: int | None
    python: Path | None

    @classmethod
    def here(cls) -> "Host":
        user = USER if os.geteuid() == 0 else None
        has_python = any(Path(p, "python3").exists() for p in ("/usr/bin", "/usr/local/bin"))
        return cls(user, None if has_python else Path(sys.base_prefix))

    def reaches(self, path: Path) -> bool:
        """Whether the sandbox's user can get to path: root, who asks, could get anywhere."""
        if self.user is None:
            return True
        return all(_lets_pass(parent, self.user) for parent in path.resolve().parents)

    def stage(self, number: int, path: Path) -> Path:
        """A path in the staging folder that path can be mounted on, in a view of the file system of its own."""
        target = staging() / f"{number}{'d' if path.is_dir() else 'f'}"
        if path.is_dir():
            target.mkdir(exist_ok=True)
        else:
            target.touch()
        return target

    def copied(self, bwrap: Path) -> Path:
        """A copy of the Python package's program, with the libraries that it looks for beside it."""
        package = bwrap.parents[1]
        for folder in (package, package.with_name(f"{package.name}.libs")):
            if folder.is_dir():
                shutil.copytree(folder, staging() / folder.name, dirs_exist_ok=True)
        return staging() / bwrap.relative_to(package.parent)


@cache
def staging() -> Path:
    """An open folder of this process, for what the sandbox's user could not reach where it is."""
    folder = Path(tempfile.mkdtemp(prefix="podium-sandbox-"))
    folder.chmod(0o755)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def system() -> list[str]:
    """bwrap's options for the programs and libraries of this machine, without its settings."""
    options = ["--ro-bind", "/usr", "/usr"]
    for name in _BESIDE_USR:
        if os.path.islink(name):
            options += ["--symlink", os.readlink(name), name]
        elif os.path.isdir(name):
            options += ["--ro-bind", name, name]
    for name in _LOADER:
        options += ["--ro-bind-try", name, name]
    return options


def own_code() -> Path:
    """The folder of Podium itself, verifiers and hidden tests included."""
    return Path(__file__).resolve().parents[2]


def _lets_pass(folder: Path, user: int) -> bool:
    found = folder.stat()
    return bool(found.st_mode & (stat.S_IXUSR if found.st_uid == user else stat.S_IXOTH))
