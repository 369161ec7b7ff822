"""The files of an answer in a folder of the user's: `--out DIR` has them in `DIR/files`.

The rules this file keeps. Nothing is written outside of that folder, whatever a path says, and no link is
followed there. What is not as Podium left it is the user's: it is never written over. Who looks sees the old
files or the new ones, whole, but for an instant between the two.
"""

import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath

from podium.dsl.draft import tools_of
from podium.dsl.program import Program
from podium.dsl.tools import SANDBOXED

from ..workspace import File, can_be_named, laid_out
from .exits import ShellError
from .texts import write_whole

NAME = "files"
# Beside them: what they were when they were written.
_MARK = ".podium-files"


def is_free(folder: Path) -> bool:
    """Whether files can be written into folder: there are none, or those that were written there before."""
    at = folder / NAME
    if not os.path.lexists(at):
        return True
    with suppress(OSError, ValueError):
        if not at.is_symlink() and at.is_dir():
            found = _mark(dict(_found(at)))
            return not any(at.iterdir()) or (folder / _MARK).read_text("utf-8").strip() == found
    return False


def require_room(program: Program, out: str | None) -> None:
    """Raises ShellError where the files of a run's answer could not be written to out."""
    if out is not None and any(tool.kind in SANDBOXED for tool in tools_of(program.flow)):
        require_free(Path(out))


def require_free(folder: Path) -> None:
    """Raises ShellError where what is in folder's place for files is the user's own."""
    if not is_free(folder):
        raise ShellError(
            f"{folder / NAME} holds files that were not written by Podium, or were changed since: move them away,"
            " or name another folder"
        )


def write_artifacts(folder: Path, files: Mapping[str, File]) -> Path:
    """Put files into folder, in place of those of an earlier answer; gives where they are. Raises ShellError."""
    for path in files:
        if not _is_inside(path):
            raise ShellError(f"a file of the answer has a path that is not written: {path!a}")
    at = folder / NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        require_free(folder)
        new = Path(tempfile.mkdtemp(dir=folder, prefix=f".{NAME}."))
        try:
            laid_out(files, new)
            new.chmod(0o755)
            if at.exists():
                shutil.rmtree(at)
            new.rename(at)
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            raise
        write_whole(folder / _MARK, _mark({path: _print(one) for path, one in files.items()}))
    except OSError as error:
        raise ShellError(f"cannot write {at}: {error.strerror or error}") from error
    return at


def _is_inside(path: str) -> bool:
    pure = PurePosixPath(path)
    plain = not pure.is_absolute() and ".." not in pure.parts and str(pure) == path != "."
    return plain and can_be_named(path) and not (os.name == "nt" and set(path) & set('\\:*?"<>|'))


def _found(folder: Path) -> Iterator[tuple[str, str]]:
    """The files there as `_mark` wants them. Raises ValueError on what is no file."""
    for at in folder.rglob("*"):
        mode = at.lstat().st_mode
        if stat.S_ISREG(mode):
            yield (
                at.relative_to(folder).as_posix(),
                _print(File(at.read_bytes(), bool(mode & 0o100))),
            )
        elif not stat.S_ISDIR(mode):
            raise ValueError(at)


def _print(file: File) -> str:
    return f"{hashlib.sha256(file.data).hexdigest()} {file.starts:d}"


def _mark(prints: Mapping[str, str]) -> str:
    lines = "\n".join(f"{path} {one}" for path, one in sorted(prints.items()))
    return hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()
