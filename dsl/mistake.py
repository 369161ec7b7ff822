"""Mistakes that show in single tokens or in a declaration as a whole; `recover` explains where a parse stops."""

from typing import NamedTuple
from lark import Token
from .problem import Edit, Problem
from .source import Place, Source, Span
from .tree import Entries
from .lex import begin, end


class Finding(NamedTuple):
    problem: Problem
    choices: tuple[tuple[Edit, ...], ...] = ()


def unknown_kind(source: Source, tokens: list[Token]) -> Finding | None:
    return None


def misread(source: Source, entries: Entries) -> Finding | None:
    return None


def misused(source: Source, tokens: list[Token]) -> Finding | None:
    return None


def mistaken(source: Source, token: Token) -> Finding:
    return Finding(
        Problem(
            "T001", f"unexpected {str(token)[:20]!r}", Place(source, Span(begin(token), end(token)))
        )
    )
