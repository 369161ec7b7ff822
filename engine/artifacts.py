"""The files that come with a run's answer, as one folder, and as JSON. Pure.

Of a run of several tasks each answer's files lie in a folder that has the task's number, from 1.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .fold import Fold
from .workspace import File, read


def trees_of(folded: Fold) -> tuple[str, ...]:
    """The trees of a run's answers, one for each task; of one that was killed that of its best so far."""
    if folded.ended is not None:
        return folded.ended.trees
    best = folded.best
    return () if best is None or not best.tree or folded.tasks else (best.tree,)


def artifacts_of(trees: Sequence[str], kept: Callable[[str], str]) -> dict[str, File]:
    """The files of trees, whose texts kept has, by path."""
    if len(trees) == 1:
        return read(kept(trees[0])) if trees[0] else {}
    return {
        f"{number}/{path}": file
        for number, tree in enumerate(trees, 1)
        if tree
        for path, file in read(kept(tree)).items()
    }


def artifacts_json(files: Mapping[str, File]) -> list[dict[str, Any]]:
    """Each file's path and size in bytes, in the order of paths."""
    return [{"path": path, "bytes": len(file.data)} for path, file in sorted(files.items())]
