"""A parse that stopped, and what its explanations ask of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from lark import Token

from .lex import begin, end
from .mistake import place
from .problem import Edit
from .source import Place, Source, Span
from .tree import accepted

CLOSERS = {"LPAR": ")", "LSQB": "]", "LBRACE": "}"}
OPENER_OF = {"RPAR": "LPAR", "RSQB": "LSQB", "RBRACE": "LBRACE"}


@dataclass(frozen=True)
class Broken:
    """A parse of tokens from entry that stopped at tokens[at], or behind the last one.

    behind: the place of what follows the tokens: the next declaration, or the end of the text.
    """

    source: Source
    tokens: Sequence[Token]
    at: int
    entry: str
    behind: Span

    @property
    def bad(self) -> Token | None:
        return self.before(0)

    def before(self, distance: int) -> Token | None:
        """The token so far before the bad one, or (negative) behind it."""
        at = self.at - distance
        return self.tokens[at] if 0 <= at < len(self.tokens) else None

    def type(self, distance: int) -> str:
        token = self.before(distance)
        return token.type if token is not None else ""

    @cached_property
    def open(self) -> list[Token]:
        """The brackets that are open, the outermost first."""
        found: list[Token] = []
        for token in self.tokens[: self.at]:
            if token.type in CLOSERS:
                found.append(token)
            elif token.type in OPENER_OF and found:
                found.pop()
        return found

    @cached_property
    def accepts(self) -> frozenset[str]:
        return accepted(self.tokens[: self.at], self.entry)

    def behind_closed(self, closer: str) -> frozenset[str]:
        """What could follow if a bracket of type closer, one of what is accepted, stood here."""
        return accepted([*self.tokens[: self.at], Token(closer, "")], self.entry)

    def same_line(self, first: Token, second: Token) -> bool:
        return "\n" not in self.source.text[begin(first) : begin(second)]

    def place(self) -> Place:
        """Where the bad token stands, or what comes behind all tokens."""
        return Place(self.source, self.behind) if self.bad is None else place(self.source, self.bad)

    def after(self, token: Token) -> Place:
        """The place just behind a token."""
        return Place(self.source, Span(end(token), end(token) + 1))


def insert(token: Token, new: str) -> Edit:
    """Put new behind token."""
    return Edit(Span(end(token), end(token)), new)


def remove(token: Token) -> Edit:
    return Edit(Span(begin(token), end(token)), "")
