"""A bracket that is never closed: which one it is, and where its partner belongs, by layout.

What a bracket holds stands further in than the line it was opened on; the first line that does not ends it.
A bracket at the end of its line has its partner on a line of its own.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lark import Token

from .broken import CLOSERS, OPENER_OF, Broken, insert
from .lex import ERROR, begin, end, scan
from .mistake import Finding, place
from .problem import Edit, Label, Problem
from .source import Place, Span


class _Laid(NamedTuple):
    """A token. indent: of its line; starts: whether it is the first there."""

    token: Token
    indent: int
    starts: bool


class _Open(NamedTuple):
    """A bracket without its partner: opener and first are numbers of tokens, first of what lies outside."""

    opener: int
    first: int


def never_closed(b: Broken) -> Finding:
    """T010, of the innermost open bracket of b, or of the one that took the partner of another."""
    laid = list(_laid(b))
    found = _taken(laid[: b.at]) or _innermost(b)
    found = found._replace(first=_end(laid, found))
    opener = b.tokens[found.opener]
    closer = CLOSERS[opener.type]
    at, label, edits = _hanging(b, laid, found) if _hangs(laid, found) else _in_line(b, found)
    problem = Problem(
        "T010",
        f"`{opener}` is never closed",
        at,
        label=label.format(closer),
        secondary=(Label(place(b.source, opener), "opened here"),),
        help=f"close it with `{closer}`",
    )
    return Finding(problem, edits)


def lies_inside(b: Broken) -> bool:
    """Whether by layout the bad token still belongs into the innermost open bracket."""
    laid = list(_laid(b))
    found = _innermost(b)
    outer = laid[found.opener].indent
    return _taken(laid[: b.at]) is None and _end(laid, found) == b.at and outer < laid[b.at].indent


# --- which one -----------------------------------------------------------------------------------


def _laid(b: Broken) -> Iterator[_Laid]:
    stop = indent = 0
    for number, token in enumerate(b.tokens):
        gap = b.source.text[stop : begin(token)] if number else ""
        starts = not number or "\n" in gap
        if starts:
            indent = len(gap) - gap.rfind("\n") - 1 if number else 0
        yield _Laid(token, indent, starts)
        stop = end(token)


def _taken(laid: Sequence[_Laid]) -> _Open | None:
    """The first bracket whose partner starts a line further out than it: that is another's partner."""
    stack: list[int] = []
    for number, (token, indent, starts) in enumerate(laid):
        if token.type in CLOSERS:
            stack.append(number)
        elif token.type in OPENER_OF and stack:
            opener = stack.pop()
            if starts and indent < laid[opener].indent:
                return _Open(opener, number)
    return None


def _innermost(b: Broken) -> _Open:
    opener = b.open[-1]
    return _Open(next(n for n in reversed(range(b.at)) if b.tokens[n] is opener), b.at)


# --- where it ends -------------------------------------------------------------------------------


def _end(laid: Sequence[_Laid], found: _Open) -> int:
    """The first token behind the bracket that starts a line no further in than the bracket's own."""
    depth = 0
    for number in range(found.opener + 1, found.first):
        token, indent, starts = laid[number]
        closes = token.type in OPENER_OF
        if starts and depth == 0 and not closes and indent <= laid[found.opener].indent:
            return number
        depth += (token.type in CLOSERS) - closes
    return found.first


def _hangs(laid: Sequence[_Laid], found: _Open) -> bool:
    return found.opener + 1 < min(found.first, len(laid)) and laid[found.opener + 1].starts


_Ending = tuple[Place, str, tuple[tuple[Edit, ...], ...]]


def _in_line(b: Broken, found: _Open) -> _Ending:
    """Behind the last token inside, and before a comma there."""
    last = b.tokens[found.first - 1]
    if last.type == "COMMA" and found.first - 2 > found.opener:
        last = b.tokens[found.first - 2]
    return b.after(last), "no `{}` up to here", tuple(_closings(b, found, last))


def _closings(b: Broken, found: _Open, last: Token) -> Iterator[tuple[Edit, ...]]:
    if _swallows(b, last):
        return
    yield (insert(last, CLOSERS[b.tokens[found.opener].type]),)
    closers = "".join(CLOSERS[token.type] for token in reversed(b.open))
    yield from (
        (insert(b.tokens[b.at - 1], closers[: n + 1]),) for n in range(min(len(closers), 3))
    )
    if b.bad is not None:
        yield (insert(b.tokens[b.at - 1], ","),)


def _swallows(b: Broken, last: Token) -> bool:
    """Whether last holds a text without its end, a part of which anything put behind it would be."""
    written = scan(b.source.text, begin(last), end(last), columns=False)
    return any(t.type == ERROR and t.startswith('"') for t in written)


def _hanging(b: Broken, laid: Sequence[_Laid], found: _Open) -> _Ending:
    """On the first empty line behind what is inside, else before the line that follows."""
    last = b.tokens[found.first - 1]
    outside = b.tokens[found.first] if found.first < len(b.tokens) else None
    behind = b.behind if outside is None else Span(begin(outside), end(outside))
    text = b.source.text
    closer = " " * laid[found.opener].indent + CLOSERS[b.tokens[found.opener].type]
    line_end = _line_end(text, end(last))
    choices = tuple(_closings(b, found, last))
    below = (Edit(Span(line_end, line_end), f"\n{closer}"),)
    empty = _empty_line(text, line_end, behind.start)
    if empty is None:
        return Place(b.source, behind), "expected `{}` before this", (below, *choices)
    at = Place(b.source, Span(empty.start, empty.start + 1))
    return at, "expected `{}` here", ((Edit(empty, closer),), *choices)


def _empty_line(text: str, start: int, stop: int) -> Span | None:
    """The first line without anything between two offsets; what stands there are comments."""
    while start < stop:
        line, start = start + 1, _line_end(text, start + 1)
        if start <= stop and not text[line:start].strip():
            return Span(line, start)
    return None


def _line_end(text: str, start: int) -> int:
    found = text.find("\n", start)
    return len(text) if found < 0 else found
