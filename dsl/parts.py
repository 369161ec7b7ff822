"""A declaration that does not parse, in parts: each field on its own, so that one mistake hides no other.

A field that cannot be read stays in the tree, with a value about which nothing more is said.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from lark import Token

from .attempt import Attempt, Frame, attempt, onward
from .broken import CLOSERS, OPENER_OF
from .expected import ends_value
from .lex import ERROR, begin, end, starts_line
from .mistake import Finding
from .source import Source, Span
from .tree import Entries, hole, run
from .units import Body


class Mistake(NamedTuple):
    """field: the one it is in; alone: whether it shows without the rest of the declaration."""

    finding: Finding
    field: Span | None = None
    alone: bool = False


@dataclass(frozen=True, slots=True)
class _Part:
    """Its tokens stand in frame. is_field: between the braces."""

    frame: Frame
    tokens: Sequence[Token]
    is_field: bool

    @property
    def span(self) -> Span:
        """From its first token to what follows it."""
        ahead = self.frame.ahead
        stop = begin(ahead[0]) if ahead else self.frame.behind.start
        return Span(begin(self.tokens[0]), stop) if self.tokens else self.frame.behind

    def attempt(self, room: int) -> Attempt:
        if room > 0:
            return onward(self.frame, self.tokens)
        return attempt(self.frame, self.tokens, explained=False)


def in_parts(
    source: Source, cut: Body, first: Finding, behind: Span, room: int
) -> tuple[Entries | None, list[Mistake]]:
    """What the parts of a declaration can be read as together, and what is wrong with them.

    first: the mistake that stopped the whole declaration. Those beyond room are not explained.
    """
    parts = list(_parts(source, cut, behind))
    read: list[Attempt] = []
    for part in parts:
        read.append(part.attempt(room))
        room -= len(read[-1].findings)
    whole = _together(parts, read)
    if not parts[-1].is_field and _is_spent(cut, parts, read):
        read[-1] = read[-1]._replace(stops=())
    failing = [at for at, found in enumerate(read) if found.stops]
    if not failing:
        return None, [Mistake(first)]
    covered = next((at for at in failing if _shows(parts[at], first)), failing[0])
    read[covered] = read[covered]._replace(stops=(first, *read[covered].stops[1:]))
    mistakes = [
        Mistake(finding, part.span, part.is_field and finding is not first)
        for part, found in zip(parts, read, strict=True)
        for finding in found.findings
    ]
    return whole, mistakes


def _is_spent(cut: Body, parts: Sequence[_Part], read: Sequence[Attempt]) -> bool:
    """Whether the declaration lacks its `}` only because a mistake in a field took it, or stands in its place."""
    if cut.tail:
        # Or goes on behind it, because a stray one stands in a field.
        types = [t.type for part in (*cut.fields, cut.tail) for t in part]
        stray = types.count("RBRACE") > types.count("LBRACE") + 1
        return stray and any(found.stops for found in read[:-1])
    last, text = cut.fields[-1][-1], parts[0].frame.source.text
    for part, found in zip(parts[:-1], read[:-1], strict=True):
        depth = sum((t.type == "LBRACE") - (t.type == "RBRACE") for t in part.tokens)
        spans = [span for finding in found.stops for span in _spans(finding)]
        stands_for_it = last.type in {*CLOSERS, *OPENER_OF} or (
            starts_line(text, last) and not ends_value(last)
        )
        in_place = stands_for_it and any(
            span.end > begin(last) and span.start <= end(last) for span in spans
        )
        braces = {begin(t) for t in part.tokens if t.type == "LBRACE"}
        takes = any(span.start in braces for span in spans) or (part.is_field and depth > 0)
        takes = takes or any(f.problem.label == "expected `}`" for f in found.stops)
        if spans and (in_place or takes):
            return True
    return False


def _parts(source: Source, cut: Body, behind: Span) -> Iterator[_Part]:
    """The head, the fields, and the tail unless it is just the `}`."""
    brace = cut.head[-1]
    lead = [*cut.head[:2], brace]
    pieces = [cut.head, *cut.fields, cut.tail]
    last = end(pieces[-2][-1])
    close = [Token("RBRACE", "}", start_pos=last, end_pos=last)]
    frame = Frame(source, "file", behind, lead, close)
    yield _Part(replace(frame, lead=(), ahead=pieces[1][:2]), cut.head, False)
    for own, following in pairwise(pieces[1:]):
        ahead = _start(following) if following is not cut.tail else cut.tail
        yield _Part(replace(frame, ahead=ahead), own, True)
    if [t.type for t in cut.tail] != ["RBRACE"] and not _swallowed(cut.fields[-1][-1]):
        behind_all = [*lead, *_holed(cut.fields[-1])]
        yield _Part(replace(frame, lead=behind_all, close=()), cut.tail, False)


def _start(field: Sequence[Token]) -> Sequence[Token]:
    """The name of a field and its sign, also where it lacks that: seen from the field above, it starts here."""
    types = [t.type for t in field[:2]]
    if types[:1] != ["NAME"] or types[1:] in (["EQUAL"], ["COLON"]):
        return field[:2]
    return [field[0], Token("EQUAL", "=", start_pos=end(field[0]), end_pos=end(field[0]))]


def _swallowed(token: Token) -> bool:
    """Whether token is a text never closed, which took the `}` of its declaration along."""
    return token.type == ERROR and ("}" in token or token.startswith(('"""', 'r"""')))


def _shows(part: _Part, finding: Finding) -> bool:
    """Whether a finding points at part, in whatever way."""
    span = part.span
    return any(span.start <= shown.start < span.end for shown in _spans(finding))


def _spans(finding: Finding) -> list[Span]:
    problem = finding.problem
    return [problem.place.span, *(label.place.span for label in problem.secondary)]


def _together(parts: Sequence[_Part], read: Sequence[Attempt]) -> Entries | None:
    """The declaration of what could be read, with a hole for each value that could not."""
    head, lead = read[0], parts[1].frame.lead
    if head.result is None and parts[0].tokens[-2].type == "WITH":
        return None  # its fields mean nothing without what they amend
    tokens = [*(head.tokens if head.result is not None else lead)]
    for part, found in zip(parts[1:], read[1:], strict=True):
        if part.is_field:
            tokens += found.tokens if found.result is not None else _holed(part.tokens)
        elif found.stops:  # a field may stand outside of the braces
            nameless = _nameless(begin(part.tokens[0]) if part.tokens else part.frame.behind.start)
            tokens += _field(nameless, nameless, part.tokens)
    result = run([*tokens, *parts[1].frame.close], "file")
    return result if isinstance(result, Entries) else None


def _holed(tokens: Sequence[Token]) -> list[Token]:
    """The field with a hole for its value; where a name is missing, another one with an empty name."""
    types = [t.type for t in tokens]
    named = types[:1] in (["NAME"], ["STRING"]) and types[1:2] in (["EQUAL"], ["COLON"])
    nameless = _nameless(begin(tokens[0]))
    if not named:
        return _field(nameless, nameless, tokens)
    field = _field(tokens[0], tokens[1], tokens[2:])
    return [*_field(nameless, nameless, []), *field] if _lacks_name(types[2:]) else field


def _nameless(at: int) -> Token:
    return Token("STRING", '""', start_pos=at, end_pos=at)


def _lacks_name(types: Sequence[str]) -> bool:
    """Whether a value of such tokens goes on with `= …`, which another field has left."""
    depth = 0
    for before, kind in pairwise(["EQUAL", *types]):
        depth += (kind in CLOSERS) - (kind in OPENER_OF)
        if kind == "EQUAL" and before != "EQUAL" and depth == 0:
            return True
    return False


def _field(name: Token, sign: Token, value: Sequence[Token]) -> list[Token]:
    equal = Token("EQUAL", "=", start_pos=sign.start_pos, end_pos=sign.end_pos)
    return [name, equal, hole(value, end(equal))]
