"""The tokens of a declaration as a formatter sees them: nested in brackets, with their comments.

Brackets are all the structure that layout needs, so it works on tokens and brackets; the tree says only
what two brackets look alike for (`Shape`). No token is reordered; only commas are added or dropped.

A comment alone on its line belongs to the token behind it (commas do not count: they move to the end of
a line), any other to the token before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from lark import Token

from . import syntax as s
from .expected import ends_value
from .lex import begin, end

WIDTH = 100

_CLOSERS = {"LPAR": ")", "LSQB": "]", "LBRACE": "}"}
_TIGHT_BEFORE = {"COMMA", "RPAR", "RSQB", "DOT", "COLON"}
_TIGHT_BEHIND = {"LPAR", "LSQB", "DOT"}


class Shape(NamedTuple):
    """What the tree knows of brackets and fields, by the offset where each starts."""

    fields: frozenset[int]
    single: frozenset[int]
    """Brackets around one thing, which take no comma: `(expression)` and `[type]`."""


class Comment(NamedTuple):
    text: str
    blank: bool
    """Whether a blank line stands above."""


@dataclass(slots=True)
class Tok:
    """A token as it will be written, with its comments."""

    token: Token
    lead: list[Comment]
    trail: list[str]
    blank: bool
    """Whether a blank line stands above."""
    is_sign: bool = False
    """Whether it is the minus of a negative value."""

    @property
    def text(self) -> str:
        return str(self.token)

    @property
    def type(self) -> str:
        return str(self.token.type)


@dataclass(slots=True)
class Item:
    """What stands between two commas (or fields) of a bracket, with its comma."""

    elements: "list[Tok | Bracket]"
    comma: Tok | None = None
    flat: str | None = None


@dataclass(slots=True)
class Bracket:
    open: Tok
    items: list[Item]
    close: Tok
    takes_comma: bool
    flat: str | None = field(default=None)

    @property
    def is_record(self) -> bool:
        return self.open.type == "LBRACE"


Element = Tok | Bracket


# --- reading -------------------------------------------------------------------------------------


def attached(text: str, tokens: Sequence[Token], comments: Sequence[Token]) -> list[Tok]:
    """The tokens with their comments. A last, empty token carries what follows all others."""
    stop = Token("$END", "", start_pos=len(text), end_pos=len(text))
    found: list[Tok] = []
    lead: list[Comment] = []
    last = 0
    for piece in sorted([*tokens, *comments, stop], key=lambda t: (begin(t), end(t))):
        gap = text[last : begin(piece)]
        last = end(piece)
        blank = gap.count("\n") > 1
        if piece.type != "COMMENT":
            negative = piece.type == "MINUS" and not (found and ends_value(found[-1].token))
            own = [] if piece.type == "COMMA" else lead
            found.append(Tok(piece, own, [], blank, negative))
            lead = lead if piece.type == "COMMA" else []
        elif found and not lead and "\n" not in gap and not _has_comment(found):
            found[-1].trail.append(piece.rstrip())
        else:
            lead.append(Comment(piece.rstrip(), blank))
    return found


def _has_comment(toks: Sequence[Tok]) -> bool:
    """Whether the last token is a comma, with a comment in front of it already."""
    return len(toks) > 1 and toks[-1].type == "COMMA" and bool(toks[-2].trail)


def nested(text: str, toks: Sequence[Tok], shape: Shape) -> list[Element]:
    """The elements of a declaration, brackets with what they hold."""
    stack: list[tuple[Tok | None, list[Item]]] = [(None, [Item([])])]
    for tok in toks:
        opener, items = stack[-1]
        if tok.type in _CLOSERS:
            stack.append((tok, [Item([])]))
        elif opener is not None and tok.type == "COMMA":
            items[-1].comma = tok
            items.append(Item([]))
        elif opener is not None and tok.text == _CLOSERS[opener.type]:
            stack.pop()
            stack[-1][1][-1].elements.append(_bracket(text, opener, items, tok, shape))
        else:
            if begin(tok.token) in shape.fields and items[-1].elements:
                items.append(Item([]))
            items[-1].elements.append(tok)
    return stack[0][1][0].elements


def _bracket(text: str, opener: Tok, items: list[Item], close: Tok, shape: Shape) -> Bracket:
    kept = [item for item in items if item.elements]
    single = begin(opener.token) in shape.single
    found = Bracket(opener, kept, close, opener.type != "LBRACE" and not single)
    for item in kept:
        item.flat = flat(item.elements)
    found.flat = _flat_bracket(text, found)
    return found


def _flat_bracket(text: str, bracket: Bracket) -> str | None:
    """The bracket on one line; None where it cannot or, for a record, where the author broke it."""
    if bracket.open.trail or bracket.close.lead:
        return None
    parts: list[str] = []
    for at, item in enumerate(bracket.items):
        comma = item.comma
        last = at == len(bracket.items) - 1
        inner = first_of(item.elements[0]).lead or last_of(item.elements[-1]).trail
        if item.flat is None or inner or (comma and comma.trail):
            return None
        parts.append(item.flat if last else f"{item.flat}, ")
    body = "".join(parts)
    if len(body) > WIDTH:
        return None
    if not bracket.is_record:
        return f"{bracket.open.text}{body}{bracket.close.text}"
    first = first_of(bracket.items[0].elements[0]) if bracket.items else bracket.close
    broken = "\n" in text[end(bracket.open.token) : begin(first.token)]
    if broken and bracket.items:
        return None
    return f"{{ {body} }}" if body else "{}"


def flat(elements: Sequence[Element], before: Tok | None = None) -> str | None:
    """The elements on one line, None where comments or prompts forbid it or they are too long.

    Comments in front of the first and behind the last token do not count. before: what stands in front.
    """
    parts: list[str] = []
    previous = before
    size = 0
    for at, element in enumerate(elements):
        text = element.flat if isinstance(element, Bracket) else element.text
        first, last = first_of(element), last_of(element)
        if text is None or "\n" in text or (at and first.lead):
            return None
        if at < len(elements) - 1 and last.trail:
            return None
        parts.append(gap(previous, first) + text)
        size += len(parts[-1])
        if size > WIDTH:
            return None
        previous = last
    return "".join(parts)


def gap(previous: Tok | None, tok: Tok) -> str:
    """The blank, or none, between two tokens on a line."""
    if previous is None or previous.is_sign:
        return ""
    if tok.type in _TIGHT_BEFORE or previous.type in _TIGHT_BEHIND:
        return ""
    return "" if tok.type == "LPAR" and ends_value(previous.token) else " "


def first_of(element: Element) -> Tok:
    return element.open if isinstance(element, Bracket) else element


def last_of(element: Element) -> Tok:
    return element.close if isinstance(element, Bracket) else element


def shape_of(file: s.File) -> Shape:
    """What layout asks the tree."""
    fields: set[int] = set()
    single: set[int] = set()
    todo: list[s.Node] = [file]
    while todo:
        node = todo.pop()
        if isinstance(node, s.Field):
            fields.add(node.span.start)
        elif isinstance(node, s.Paren | s.TypeList):
            single.add(node.span.start)
        todo.extend(s.children(node))
    return Shape(frozenset(fields), frozenset(single))
