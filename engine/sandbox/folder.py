"""A folder that is kept between commands: whose it is, and how much is in it."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import anyio

from .child import Stopped

# Often enough to stop a program that fills a disk after some hundred megabytes; a look costs 1 ms for 1,000 files.
LOOK_EVERY_S = 0.25
# Of files without content, which the bytes do not count: what each takes of a disk's tables.
ENTRY_BYTES = 256


def give_to(folder: Path, user: int) -> None:
    """Make folder and all in it user's. Links are not followed."""
    if folder.lstat().st_uid != user:
        os.lchown(folder, user, user)
    for entry in _entries(folder):
        if entry.stat(follow_symlinks=False).st_uid != user:
            os.lchown(entry.path, user, user)


async def watch_size(folder: Path, most: int) -> Stopped:
    """Wait until there are more than most bytes in folder."""
    while True:
        if size(folder) > most:
            return "disk"
        await anyio.sleep(LOOK_EVERY_S)


def size(folder: Path) -> int:
    """Bytes that the files in folder take, a little for each entry; a file with holes counts what it takes."""
    total = 0
    for entry in _entries(folder):
        with contextlib.suppress(OSError):  # gone meanwhile
            total += ENTRY_BYTES + entry.stat(follow_symlinks=False).st_blocks * 512
    return total


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    """All below folder; what cannot be listed, or is gone meanwhile, is left out."""
    waiting = [str(folder)]
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as found:
            for entry in found:
                yield entry
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
