"""Files as the command line reads and writes them: whole, bounded, atomically."""

import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from podium.dsl.names import near
from podium.dsl.problem import Problem, ProgramError, whole
from podium.dsl.source import Source

from .exits import ShellError

MAX_BYTES = 1_000_000  # of a program's text; the language refuses longer ones
STDIN = "-"


def read_program(path: str) -> Source:
    """The text at path, or of standard input for `-`.

    Raises ProgramError with one problem (E104) where there is no such text.
    """
    name = "<stdin>" if path == STDIN else path
    raw = _read(path, name)
    if len(raw) > MAX_BYTES:
        raise unreadable(
            name,
            f"{name} is longer than a program may be",
            f"a program has at most {MAX_BYTES // 1_000_000} MB; keep long texts in files of "
            "their own and name them with file(...)",
        )
    try:
        return Source(name, raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise unreadable(
            name,
            f"{name} is not UTF-8 text: byte 0x{raw[error.start]:02x} in line {line}",
            "save the file as UTF-8",
        ) from error


def _read(path: str, name: str) -> bytes:
    """At most one byte more than a program may have, so that what is too long is never held whole."""
    try:
        if path == STDIN:
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        with Path(path).open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except IsADirectoryError as error:
        raise unreadable(name, f"{name} is a folder", "name a .team file in it") from error
    except FileNotFoundError as error:
        help_ = _near(path) or "`podium init` writes one to start from"
        raise unreadable(name, f'there is no file "{name}"', help_) from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise unreadable(name, f"cannot read {name}: {why}", "") from error


def _near(path: str) -> str:
    """`did you mean …?` where a program of nearly this name is in the same folder."""
    folder, name = os.path.split(path)
    with suppress(OSError, ValueError):
        stems = [one[:-5] for one in os.listdir(folder or ".") if one.endswith(".team")]
        stem = name.rpartition(".")[0] or name
        found = [stem] if stem in stems else near(stem, stems, 1)
        return f"did you mean `{os.path.join(folder, found[0])}.team`?" if found else ""
    return ""


def unreadable(name: str, message: str, help_: str) -> ProgramError:
    """The error of a text that cannot be had, as every other problem of a program."""
    return ProgramError((Problem("E104", message, whole(Source(name, "")), help=help_),))


def read_text(path: str, what: str) -> str:
    """The text of a file that is no program. Raises ShellError; what says what it was wanted for."""
    try:
        return sys.stdin.read() if path == STDIN else Path(path).read_text("utf-8")
    except UnicodeDecodeError as error:
        raise ShellError(f"{what} {path} is not UTF-8 text") from error
    except OSError as error:
        raise ShellError(f"cannot read {what} {path}: {error.strerror or error}") from error


def write_whole(path: Path, text: str) -> None:
    """Replace path by text at once: whoever reads it sees the old text or the new one, never a part.

    The file's mode is kept; a link is followed. Raises ShellError.
    """
    path = path.resolve()
    try:
        mode = path.stat().st_mode & 0o7777 if path.exists() else 0o644
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(text.encode("utf-8", "backslashreplace"))
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, mode)
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ShellError(f"cannot write {path}: {error.strerror or error}") from error
