"""The files of a task: what each agent's folder begins with, read as the run is compiled."""

import json
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from .context import Context
from .fields import Got
from .reading import items


def given_files(context: Context, got: Got) -> tuple[str, ...]:
    """The names of the texts that have them, in order. A file in the place of another one is reported."""
    names: list[str] = []
    files, folders = dict[str, str](), dict[str, str]()
    for path in items(got.value("files")):
        if not isinstance(path, str):
            continue  # a parameter without a value
        found = context.tree(path, got.at("files"))
        if found is None or not found.text or found.name in names:
            continue
        within: dict[str, object] = json.loads(found.text)
        for clash, other in _clashes(within, files, folders):
            context.error(
                "E120",
                f'"{other}" and "{path}" both have `{clash}`',
                got.at("files"),
                help="an agent has one folder for them all: give one of the two another name",
            )
            return ()
        names.append(found.name)
        files |= dict.fromkeys(within, path)
        folders |= {above: path for one in within for above in _above(one)}
    return tuple(names)


def _clashes(
    within: Mapping[str, object], files: Mapping[str, str], folders: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Paths of within that another one's files have, or that are a folder here and a file there."""
    for one in within:
        if one in files or one in folders:
            yield one, files.get(one) or folders[one]
        yield from ((above, files[above]) for above in _above(one) if above in files)


def _above(path: str) -> list[str]:
    return [str(above) for above in PurePosixPath(path).parents][:-1]
