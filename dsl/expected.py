"""What may come next, in words, from the terminals a parser accepts."""

from collections.abc import Collection
from functools import cache

from lark import Token
from lark.lexer import PatternStr

from .names import either
from .tree import END, grammar

_LITERALS = {
    *("NAME", "NUMBER", "MONEY", "DURATION", "PERCENT", "STRING", "TRIPLE", "RAW"),
    *("TRUE", "FALSE", "NONE", "CLOCK"),
}
_OPERANDS = _LITERALS | {"LBRACE", "LSQB", "LPAR", "DATE"}
_STARTS = _OPERANDS | {"MINUS", "NOT", "IF"}
_ENDS = _LITERALS | {"RBRACE", "RSQB", "RPAR", "TOKENS", "CALLS"}
_OPERATORS = {
    *("OR", "AND", "COMPARE", "PLUS", "MINUS", "STAR", "SLASH", "PER", "DOT", "WITH"),
    *("TOKENS", "CALLS"),
}
_JOINTS = _OPERATORS - {"WITH", "TOKENS", "CALLS"} | {"OF", "_ARROW", "COMMA", "AS", "THEN", "ELSE"}
_NEXT = {"KIND", "IMPORT", "FROM", END}
_INCLUDED = {"an operator": _OPERATORS, "a value": _STARTS}
_NAMED = {
    "NAME": "a name",
    "STRING": "a string",
    "NUMBER": "a number",
    "COMPARE": "a comparison",
    "KIND": "a declaration",
    "TRIPLE": "a prompt",
    "RAW": "a prompt",
    "MONEY": "money",
    "DURATION": "a duration",
    "PERCENT": "a percentage",
    "CLOCK": "a time of day",
    "DATE": "a date",
}
_LONGEST = 40


def phrase(accepts: Collection[str]) -> str:
    """`,`, `]` or an operator: sorted, so that it never changes between runs."""
    rest = set(accepts) - {"EDITION"}
    found: list[str] = []
    for group, name in (
        (_STARTS, "a value"),
        (_OPERANDS, "a value"),
        (_NEXT, "the end of the declaration"),
        (_OPERATORS - {"TOKENS", "CALLS"}, "an operator"),
    ):
        if group <= rest:
            rest -= group | _INCLUDED.get(name, set())
            found.append(name)
    if END in rest:
        found.append("the end")
    texts = {_NAMED.get(name) or f"`{_text(name)}`" for name in rest - {END}}
    return either(sorted(texts) + found) if texts or found else "something else"


def starts(token: Token) -> bool:
    """Whether a value can start with token."""
    return token.type in _STARTS


def is_quantity(token: Token) -> bool:
    """Whether token is (the end of) an amount that a rate could give."""
    return token.type in {"MONEY", "NUMBER", "DURATION", "TOKENS", "CALLS"}


def starts_budget(token: Token) -> bool:
    """Whether a budget can start with token."""
    return token.type in {"MONEY", "NUMBER", "DURATION", "PERCENT", "LSQB"}


def ends_value(token: Token) -> bool:
    """Whether a value can end with token."""
    return token.type in _ENDS


def joins(kind: str) -> bool:
    """Whether terminal kind stands between two values or names."""
    return kind in _JOINTS


def signs(accepts: Collection[str]) -> set[str]:
    """The brackets, signs and words among accepts, as written, operators left out."""
    left_out = _OPERATORS | _NEXT | {"NOT", "IF", "TRUE", "FALSE", "NONE"}
    return {_text(name) for name in accepts if name not in left_out and _is_fixed(name)}


def short(text: str) -> str:
    """A token as it may stand in a message: its first line, not too long."""
    line = text.split("\n")[0]
    return text if len(text) <= _LONGEST and line == text else f"{line[:_LONGEST]}…"


@cache
def _fixed() -> dict[str, str]:
    found = grammar().terminals
    return {t.name: t.pattern.value for t in found if isinstance(t.pattern, PatternStr)}


def _is_fixed(name: str) -> bool:
    return name in _fixed()


def _text(name: str) -> str:
    return _fixed().get(name, name.lower())
