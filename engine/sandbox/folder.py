"""A folder that is kept between commands: whose it is, and how much is in it."""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import anyio

from .child import Stopped

# Often enough to stop a program that fills a disk after some hundred megabytes.
LOOK_EVERY_S = 0.25
# A look takes a millisecond for some hundred files, in which nothing else happens; so much of the time at most.
SHARE = 0.1
# Each file and folder counts a block, so that files without content are not free, and few are ever looked at.
ENTRY_BYTES = 4096


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
        began = time.perf_counter()
        if size(folder, most) > most:
            return "disk"
        await anyio.sleep(max(LOOK_EVERY_S, (time.perf_counter() - began) / SHARE))


def size(folder: Path, most: int) -> int:
    """Bytes that the files in folder take, and a block for each entry; counted until they are more than most.

    A file with holes counts what it takes.
    """
    total = 0
    for entry in _entries(folder):
        if total > most:
            break
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
