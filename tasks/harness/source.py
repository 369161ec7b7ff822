"""A candidate's program in the text of its reply, and what in it looks like a cheat. It is looked at, not run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_FENCE = re.compile(
    r"^(`{3,}|~{3,})[ \t]*([^\n`]*)\n(.*?)(?:^\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)
# Of a program, as JSON: a verifier may ask for two dozen processes at once, each with a copy, in one MiB.
_MOST_CHARACTERS = 30_000

# Words for what each finds. A flag is a suspicion: honest programs may have one, and no score depends on it.
_SUSPECT = {
    "looks at frames": r"_getframe|currentframe|inspect\.stack|\bf_(?:back|locals|globals)\b|\btb_frame\b",
    "overrides comparison": r"\b__(?:eq|ne|lt|le|gt|ge|bool)__\s*(?:=|\()",
    "ends the process": r"\b_exit\b|\bsys\.exit\b|\bSystemExit\b|os\.(?:abort|kill)\b",
    "looks at the process": r"/proc\b|\bgc\.get_|\bctypes\b|\bsettrace\b|\bsetprofile\b",
    "changes modules": r"\bsys\.modules\b|\b__builtins__\b|\bimport\s+builtins\b|__main__['\"]\]",
    "starts processes": r"\bsubprocess\b|\bos\.(?:system|fork|popen|exec|spawn|posix_spawn)|multiprocessing",
    "reads its input": r"\bsys\.stdin\b|\bopen\(\s*0\b|\bos\.(?:read|dup2?)\(",
    "pickles": r"\bpickle\b|__reduce(?:_ex)?__",
    "changes the clock": r"\btime\.(?:time|perf_counter|monotonic)\w*\s*=[^=]",
    "names the harness": r"\btasks\.harness\b|problem\.json|answer\.txt|check\(candidate\)",
}


def blocks(text: str) -> list[tuple[str, str]]:
    """The fenced blocks of text, each with what stands behind its fence."""
    return [(found[2].strip(), found[3]) for found in _FENCE.finditer(text)]


def code(text: str, entry: str = "") -> str:
    """The program in text: its last fenced block, or the last that defines entry; without a block all of it."""
    found = [body for _, body in blocks(text)]
    defining = [body for body in found if entry and defines(body, entry)]
    return _clean((defining or found or [text])[-1])


def _clean(text: str) -> str:
    """text as it can be written to a file."""
    return text.replace("\r\n", "\n").encode("utf-8", "replace").decode()


def too_long(*texts: str) -> str:
    """What to say of texts that are more than may be handed in; empty where they are not."""
    size = sum(len(json.dumps(text)) for text in texts)
    return (
        "" if size <= _MOST_CHARACTERS else f"there are more than {_MOST_CHARACTERS:,} characters"
    )


def defines(program: str, name: str) -> bool:
    """Whether program seems to define name at its top."""
    pattern = rf"^(?:(?:async\s+)?def\s+{name}\b|class\s+{name}\b|{name}\s*(?::[^=\n]*)?=[^=])"
    return re.search(pattern, program, re.MULTILINE) is not None


def files(text: str) -> dict[str, str]:
    """Files by path: of the last JSON object with `files`, else of the fenced blocks behind whose fence a path
    stands (```` ```python shop/cart.py ````); of two with one path the later."""
    for _, body in [*reversed(blocks(text)), ("", text)]:
        found = _object(body)
        if found:
            return found
    named = ((_path(head), body) for head, body in blocks(text))
    return {path: _clean(body) for path, body in named if path}


def _object(text: str) -> dict[str, str]:
    try:
        said: Any = json.loads(text)
        given: list[tuple[str, Any]] = list(said["files"].items())
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return {}
    return {str(path): _clean(body) for path, body in given if isinstance(body, str)}


def _path(head: str) -> str:
    last = head.rpartition(" ")[2].rpartition("=")[2].strip("`\"'")
    return last if re.fullmatch(r"[\w./-]+\.\w+", last) else ""


def flags(program: str, allowed: tuple[str, ...] = ()) -> list[str]:
    """What looks like a cheat in program, but for what is allowed."""
    return [*_found(program, allowed)]


def _found(program: str, allowed: tuple[str, ...]) -> Iterator[str]:
    for words, pattern in _SUSPECT.items():
        if words not in allowed and re.search(pattern, program):
            yield words
