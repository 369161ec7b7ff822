"""How deep a declaration may nest: later stages walk the tree by recursion."""

from collections.abc import Sequence
from dataclasses import dataclass

from lark import Token

from .lex import begin, end
from .mistake import Finding
from .problem import Problem
from .source import Place, Source, Span

DEEPEST = 200
"""Brackets within brackets."""
LONGEST = 500
"""Steps of the longest path down the tree: brackets, operators, calls."""

_OPENERS = {"LPAR", "LSQB", "LBRACE"}
_CLOSERS = {"RPAR", "RSQB", "RBRACE"}
_LINKS = {
    *("_ARROW", "OF", "OR", "AND", "NOT", "COMPARE", "PLUS", "MINUS", "STAR", "SLASH", "PER"),
    *("DOT", "WITH", "IF"),
}
_SEPARATORS = {"COMMA", "EQUAL", "COLON"}


@dataclass(slots=True)
class _Level:
    """What is known of an open bracket: steps of its current item, most of any, height of what it holds."""

    links: int = 0
    most: int = 0
    inner: int = 0

    def height(self) -> int:
        """Never less than the true one."""
        return max(self.links, self.most) + self.inner


def too_deep(source: Source, tokens: Sequence[Token]) -> Finding | None:
    """T007 at the first token that nests too deeply."""
    levels = [_Level()]
    for token in tokens:
        level = levels[-1]
        if token.type in _OPENERS:
            level.links += 1
            levels.append(_Level())
        elif token.type in _CLOSERS and len(levels) > 1:
            height = levels.pop().height()
            levels[-1].inner = max(levels[-1].inner, height + 1)
        elif token.type in _LINKS:
            level.links += 1
        elif token.type in _SEPARATORS:
            level.most, level.links = max(level.most, level.links), 0
        if len(levels) > DEEPEST + 1:
            return _problem(source, token, f"more than {DEEPEST} brackets stand in each other")
        if levels[-1].height() > LONGEST:
            return _problem(source, token, f"more than {LONGEST} steps hang on each other")
    return None


def _problem(source: Source, token: Token, message: str) -> Finding:
    problem = Problem(
        "T007",
        message,
        Place(source, Span(begin(token), end(token))),
        label="too deep from here on",
        help="give a part of it a name of its own: `flow part = …`",
    )
    return Finding(problem)
