"""An agent's files, as one text that a store keeps: what a call of a tool left, and what the next one finds. Pure.

Only files count, by path, with their content and whether they may be started: no links, no empty folders, no
times. So a later life of a run has the very files again, and a text that is kept twice is kept once.
"""

import base64
import hashlib
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, cast

import orjson

from .call import DIGEST
from .value import Json

# All files of a workspace, in bytes of its text; and how many there may be.
MOST_BYTES, MOST_FILES = 16 << 20, 5000
EMPTY = ""
_LONGEST_PATH = 300


class File(NamedTuple):
    data: bytes
    starts: bool = False


Tree = Mapping[str, File]


class TooLarge(Exception):
    """The message says what there is too much of."""


def written(tree: Tree) -> str:
    """tree as a text; equal trees have the same. Raises TooLarge."""
    if len(tree) > MOST_FILES:
        raise TooLarge(f"{len(tree):,} files, where {MOST_FILES:,} may be")
    if sum(len(file.data) for file in tree.values()) > MOST_BYTES:
        raise TooLarge(f"more than {MOST_BYTES >> 20} MiB of files")
    return orjson.dumps(as_json(tree), option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2).decode()


def as_json(tree: Tree) -> dict[str, Json]:
    """tree as JSON values: each file's `text`, or its `base64` where it is none, and `starts` of a program."""
    return {path: _written(file) for path, file in tree.items()}


def _written(file: File) -> dict[str, Json]:
    try:
        content: dict[str, Json] = {"text": file.data.decode()}
    except UnicodeDecodeError:
        content = {"base64": base64.b64encode(file.data).decode()}
    return {**content, "starts": True} if file.starts else content


def read(text: str) -> dict[str, File]:
    """The tree that `written` wrote; of an empty text an empty one."""
    found: dict[str, dict[str, str]] = orjson.loads(text) if text else {}
    return {path: File(_data(one), bool(one.get("starts"))) for path, one in found.items()}


def _data(one: Mapping[str, str]) -> bytes:
    return one["text"].encode() if "text" in one else base64.b64decode(one["base64"])


def from_json(values: Mapping[str, Any]) -> dict[str, File]:
    """The tree that anybody sent as `as_json` gives it. Raises ValueError, told to who sent it."""
    tree: dict[str, File] = {}
    for path, one in values.items():
        fields: Mapping[str, object] = {}
        if isinstance(one, dict):
            fields = cast(Mapping[str, object], one)
        content = fields.get("text", fields.get("base64"))
        if path != path_of(path) or not can_be_named(path) or not isinstance(content, str):
            raise ValueError(f"{path[:80]!a} is no path with its `text` or `base64`")
        raw = content.encode() if "text" in fields else base64.b64decode(content, validate=True)
        tree[path] = File(raw, fields.get("starts") is True)
    return tree


def name_of(text: str) -> str:
    """The name under which a tree's text is kept."""
    return f"tree:{hashlib.sha256(text.encode()).hexdigest()[:DIGEST]}"


def path_of(path: str) -> str:
    """path within a workspace, in the one form that trees have. Raises ValueError, worded for a model."""
    pure = PurePosixPath(path.removeprefix("/box/"))
    if pure.is_absolute() or ".." in pure.parts or not pure.parts:
        raise ValueError(f"{path!r} is no path within your folder, such as src/main.py")
    if len(str(pure)) > _LONGEST_PATH or "\0" in path:
        raise ValueError("the path is too long")
    return str(pure)


def can_be_named(path: str) -> bool:
    """Whether a model and a person can say path again."""
    return path.isprintable() and len(path) <= _LONGEST_PATH


# --- on a disk -----------------------------------------------------------------------------------


def laid_out(tree: Tree, folder: Path) -> None:
    """Write tree into folder, which is empty."""
    for path, file in tree.items():
        at = folder / path
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_bytes(file.data)
        if file.starts:
            at.chmod(0o755)


def picked_up(folder: Path) -> dict[str, File]:
    """The files in folder, where nothing runs any more. Links are not followed. Raises TooLarge."""
    tree: dict[str, File] = {}
    size = 0
    for at in _files(folder):
        info = at.lstat()
        size += info.st_size
        if size > MOST_BYTES or len(tree) >= MOST_FILES:
            raise TooLarge(f"more than {MOST_BYTES >> 20} MiB or {MOST_FILES:,} files")
        path = at.relative_to(folder).as_posix()
        if not can_be_named(path):
            continue  # a name that nobody could say again
        tree[path] = File(at.read_bytes(), bool(info.st_mode & stat.S_IXUSR))
    return tree


def _files(folder: Path) -> Iterator[Path]:
    for at in sorted(folder.iterdir()):
        mode = at.lstat().st_mode
        if stat.S_ISDIR(mode):
            yield from _files(at)
        elif stat.S_ISREG(mode):
            yield at
