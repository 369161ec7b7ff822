"""Statements out of a Metamath database of the user's: what of its text is to be proved, and what comes before it.

A statement inside blocks is asked for in blocks of its own, with their hypotheses and without what else they say.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile

from .metamath import Database

# Of what stands before a statement: it is part of the prompt.
MOST_BEFORE = 100_000
# Of all problems of a file together, as each has all that stands before it.
MOST_TOGETHER = 20_000_000
_AGAIN = "-again"


@dataclass(frozen=True, slots=True)
class Statement:
    """theory: all before it. wanted: it, with `?` in place of its proof. is_open: in the file too."""

    label: str
    theory: str
    wanted: str
    is_open: bool


@dataclass(slots=True)
class _Block:
    """kept: its statements but theorems and axioms, each with its label or "". asserts: it has one of those."""

    start: int
    kept: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    asserts: bool = False


def statements(text: str) -> list[Statement]:
    """The theorems of a database, in their order; those that have a proof are checked. Raises Wrong."""
    Database().read(text, check=True)
    blocks: list[_Block] = []
    found: list[Statement] = []
    for keyword, label, body, start in _parts(text):
        if keyword == "${":
            blocks.append(_Block(start))
        elif keyword == "$}":
            blocks.pop()
        elif keyword in ("$a", "$p"):
            if keyword == "$p":
                found.append(_stated(text, label, body, start, blocks))
            for block in blocks:
                block.asserts = True
        elif blocks:
            blocks[-1].kept.append((label, f"{keyword} {' '.join(body)} $."))
    return found


def _stated(text: str, label: str, body: list[str], start: int, blocks: list[_Block]) -> Statement:
    at = body.index("$=")
    says, proof = body[:at], body[at + 1 :]
    # Where the blocks have said something already, that may be used: they are closed, and begun again.
    anew = bool(blocks) and blocks[0].asserts
    lines: list[str] = []
    for block in blocks:
        named = ((f"{name}{_AGAIN}" if name and anew else name, rest) for name, rest in block.kept)
        lines += ["${", *(f"{name} {rest}".strip() for name, rest in named)]
    lines += [f"{label} $p {' '.join(says)} $= ? $.", *["$}"] * len(blocks)]
    before = text[: blocks[0].start if blocks and not anew else start].rstrip()
    theory = before + "\n$}" * (len(blocks) if anew else 0)
    return Statement(label, theory, "\n".join(lines), "?" in proof)


def _parts(text: str) -> Iterator[tuple[str, str, list[str], int]]:
    """Of a text that has been read: keyword, label or "", what stands up to its end, and where it begins."""
    words = _placed(text)
    for word, start in words:
        label, keyword = ("", word) if word.startswith("$") else (word, next(words)[0])
        body: list[str] = []
        if keyword not in ("${", "$}"):
            body = [*takewhile(lambda one: one != "$.", (one for one, _ in words))]
        yield keyword, label, body, start


def _placed(text: str) -> Iterator[tuple[str, int]]:
    """The words of text, but of comments, and where each begins."""
    inside = False
    for found in re.finditer(r"\S+", text):
        if inside or found[0] == "$(":
            inside = found[0] != "$)"
        else:
            yield found[0], found.start()


def fitting(found: list[Statement]) -> str:
    """What to say of statements that are more, or come later, than can be asked; empty where they do not."""
    for one in found:
        if len(one.theory) > MOST_BEFORE:
            return (
                f"{len(one.theory):,} characters stand before {one.label}, and {MOST_BEFORE:,} can; the program "
                f"metamath takes out what it needs: `write source part.mm /extract {one.label}`"
            )
    size = sum(len(one.theory) for one in found)
    if size > MOST_TOGETHER:
        return (
            f"{len(found):,} statements are {size:,} characters with all before each, and {MOST_TOGETHER:,} can "
            "be: pick one by `problem`, or leave `?` in the proofs of those that you want"
        )
    return ""
