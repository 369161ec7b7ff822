"""The files that tasks begin with: read from the disk as a program is compiled, kept in the store as a run begins.

A folder is read whole or refused: a file left out in silence would make another task of it. Links are no files,
as they may lead anywhere; what tools keep beside the files (LEFT_OUT) is no part of them.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from podium.dsl.library import LibraryError
from podium.dsl.program import Program

from . import workspace
from .call import CallError
from .journal import Journal
from .workspace import File, TooLarge

LEFT_OUT = frozenset({".git", ".podium", "__pycache__"})


def gathered(path: Path, given: str) -> str:
    """The files in the folder at path, or the file there, as a tree's text. Raises LibraryError, OSError.

    given: the path as the program has it, for messages.
    """
    top = path if path.is_dir() else path.parent
    tree: dict[str, File] = {}
    size = 0
    for at, info in _within(path, top, given):
        size += info.st_size
        if size > workspace.MOST_BYTES or len(tree) >= workspace.MOST_FILES:
            most = f"{workspace.MOST_FILES:,} files and {workspace.MOST_BYTES >> 20} MiB"
            raise LibraryError(f'"{given}" is more than an agent\'s folder holds: {most}')
        name = at.relative_to(top).as_posix()
        if not workspace.can_be_named(name):
            raise LibraryError(f'"{given}" has a file whose name cannot be used: {name!a}')
        tree[name] = File(at.read_bytes(), bool(info.st_mode & stat.S_IXUSR))
    if not tree:
        raise LibraryError(f'"{given}" is a folder without files')
    return workspace.written(tree)


def _within(path: Path, top: Path, given: str) -> Iterator[tuple[Path, os.stat_result]]:
    info = path.lstat()
    if stat.S_ISDIR(info.st_mode):
        for at in sorted(path.iterdir()):
            if at.name not in LEFT_OUT:
                yield from _within(at, top, given)
    elif stat.S_ISREG(info.st_mode):
        yield path, info
    else:
        what = "a link" if stat.S_ISLNK(info.st_mode) else "no file"
        name = path.relative_to(top).as_posix()
        raise LibraryError(
            f'"{given}" has {name!a}, which is {what}: files and folders alone can be given'
        )


def begun(program: Program) -> dict[tuple[str, ...], str]:
    """By what its tasks give, the text of the tree that agents on them begin with. Raises CallError("tool") where
    the files of one task are more, together, than a folder holds."""
    texts = {source.name: source.text for source in program.sources}
    found: dict[tuple[str, ...], str] = {}
    for task in program.tasks:
        if task.files and task.files not in found:
            tree: dict[str, File] = {}
            for name in task.files:
                tree |= workspace.read(texts[name])
            try:
                found[task.files] = workspace.written(tree)
            except TooLarge as error:
                raise CallError("tool", f"`files` of task {task.name}: {error}") from error
    return found


async def kept(journal: Journal, program: Program) -> Mapping[tuple[str, ...], str]:
    """As `begun`, with the names of the trees, whose texts are in the store on return. Raises DiskError."""
    texts = begun(program)
    names = {files: workspace.name_of(text) for files, text in texts.items()}
    if names:
        await journal.commit([], [(names[files], text) for files, text in texts.items()])
    return names
