"""Why a parse stopped."""

from dataclasses import dataclass
from lark import Token
from .problem import Problem
from .source import Place, Source, Span
from .lex import begin, end
from .mistake import Finding


@dataclass(frozen=True, slots=True)
class Broken:
    source: Source
    tokens: list[Token]
    at: int
    entry: str
    behind: Span


def explain(broken: Broken) -> Finding:
    if broken.at < len(broken.tokens):
        token = broken.tokens[broken.at]
        return Finding(
            Problem(
                "T002",
                f"unexpected `{token}`",
                Place(broken.source, Span(begin(token), end(token))),
            )
        )
    return Finding(
        Problem("T012", "the declaration is not finished", Place(broken.source, broken.behind))
    )
