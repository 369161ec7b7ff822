"""Unified diffs, applied to texts by path. A hunk goes where its lines are, as near as may be to where it says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

_TARGET = re.compile(r"^\+\+\+ (?:b/)?([^\t\n]+)")
_HUNK = re.compile(r"^@@ -(\d{1,9})")


class Hunk(NamedTuple):
    path: str
    line: int
    before: list[str]
    after: list[str]


class Misfit(Exception):
    """What of a patch does not fit, in words."""


def patched(files: Mapping[str, str], patch: str) -> dict[str, str]:
    """The files that patch changes or makes, as they are then. Raises Misfit."""
    done: dict[str, str] = {}
    for hunk in hunks(patch):
        text = done.get(hunk.path, files.get(hunk.path, ""))
        done[hunk.path] = _applied(text, hunk)
    return done


def hunks(patch: str) -> Iterator[Hunk]:
    """The hunks of patch, in order; lines that belong to none are skipped."""
    path, hunk = "", None
    for line in patch.splitlines():
        target, head = _TARGET.match(line), _HUNK.match(line)
        if (target or head or line.startswith(("--- ", "diff "))) and hunk is not None:
            yield hunk
            hunk = None
        if target:
            path = target[1].strip()
        elif head:
            hunk = Hunk(path, int(head[1]), [], [])
        elif hunk is not None:
            _add(hunk, line)
    if hunk is not None:
        yield hunk


def _add(hunk: Hunk, line: str) -> None:
    if line[:1] in ("-", " ", ""):
        hunk.before.append(line[1:])
    if line[:1] in ("+", " ", ""):
        hunk.after.append(line[1:])


def _applied(text: str, hunk: Hunk) -> str:
    lines = text.splitlines()
    while hunk.before[-1:] == [""] and hunk.after[-1:] == [""]:  # blank lines behind the patch
        hunk.before.pop()
        hunk.after.pop()
    size = len(hunk.before)
    fits = [at for at in range(len(lines) - size + 1) if lines[at : at + size] == hunk.before]
    if not fits or not (size or not lines):
        raise Misfit(f"a hunk for {hunk.path or 'no file'}, line {hunk.line}, does not fit")
    at = min(fits, key=lambda one: abs(one - hunk.line + 1))
    return "\n".join([*lines[:at], *hunk.after, *lines[at + size :]]) + "\n"
