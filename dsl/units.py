"""Where the fields of a declaration start, also in one whose brackets do not pair.

Where they do, depth says it. Else layout does: a field starts a line, no further in than its neighbours.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from lark import Token

from .broken import CLOSERS, OPENER_OF
from .expected import ends_value
from .lex import begin, end, in_column_1

_NAMES = {"NAME", "STRING"}
_GIVES = {"EQUAL", "COLON"}


class Body(NamedTuple):
    """A declaration in parts: up to its `{`, its fields, and from its `}` on (empty: there is none)."""

    head: Sequence[Token]
    fields: tuple[Sequence[Token], ...]
    tail: Sequence[Token]


def body(text: str, tokens: Sequence[Token]) -> Body | None:
    """The parts of a declaration; None of one that has no braces, or no field in them."""
    head = _head(tokens)
    if head is None or head == len(tokens) or tokens[0] == "flow":
        return None
    ends = _ends(tokens, head)
    candidates = list(_candidates(text, tokens, head))
    candidates += _bare(text, tokens, candidates)
    stop = _stop(text, tokens, ends, candidates)
    starts = (
        [c.at for c in candidates if c.depth == 0] if ends.paired else _aligned(candidates, stop)
    )
    cuts = [head, *(at for at in sorted(starts) if head < at < stop)]
    if not ends.paired:
        cuts = list(_joined(tokens, cuts, stop))
    fields = tuple(tokens[a:b] for a, b in pairwise([*cuts, stop]) if a < b)
    return Body(tokens[:head], fields, tokens[stop:]) if fields else None


def _head(tokens: Sequence[Token]) -> int | None:
    """How many tokens there are up to the `{` of the body, with it."""
    if [t.type for t in tokens[:2]] != ["KIND", "NAME"]:
        return None
    depth, valued = 0, False
    for at, token in enumerate(tokens):
        if token.type == "LBRACE" and depth == 0:
            amends = tokens[at - 1].type == "WITH"
            return at + 1 if amends or not valued else None
        depth += (token.type in CLOSERS) - (token.type in OPENER_OF)
        valued = valued or (token.type == "EQUAL" and depth == 0)
    return None


class _Ends(NamedTuple):
    """The `}` that may end a body. torn: those before which brackets were left open."""

    clean: list[int]
    torn: list[int]
    paired: bool


def _ends(tokens: Sequence[Token], head: int) -> _Ends:
    """What may end the body; whether all brackets pair and the last of them does."""
    stack: list[str] = []
    clean: list[int] = []
    torn: list[int] = []
    wrong = False
    for at in range(head, len(tokens)):
        kind = tokens[at].type
        if kind in CLOSERS:
            stack.append(kind)
        elif kind in OPENER_OF:
            if kind == "RBRACE" and "LBRACE" not in stack:
                (torn if stack else clean).append(at)
            wrong = _close(stack, kind) or wrong
    return _Ends(clean, torn, not wrong and not stack and clean == [len(tokens) - 1])


def _close(stack: list[str], kind: str) -> bool:
    """Take from what is open the partner of a closing bracket and all inside; whether it does not fit."""
    opener = OPENER_OF[kind]
    if opener not in stack:
        wrong = bool(stack) or kind != "RBRACE"
        del stack[
            0 if kind == "RBRACE" else -1 :
        ]  # a `}` is the body's own, others stand for the right one
        return wrong
    inner = len(stack) - 1 - stack[::-1].index(opener)
    fits = inner == len(stack) - 1
    del stack[inner:]
    return not fits


class _Candidate(NamedTuple):
    """`name =` that may start a field. column: None where it does not start its line."""

    at: int
    depth: int
    column: int | None


def _candidates(text: str, tokens: Sequence[Token], head: int) -> Iterator[_Candidate]:
    depth = 0
    for at in range(head, len(tokens)):
        token = tokens[at]
        depth += (token.type in CLOSERS) - (token.type in OPENER_OF)
        if token.type in _NAMES and _gives(text, token, tokens[at + 1 : at + 2]):
            first = _hyphened(tokens, at, head)
            column = _column(text, tokens, first)
            if column is None and is_misplaced(text, tokens, at + 1):
                continue
            if column is not None or tokens[first - 1].type not in _GIVES:
                yield _Candidate(first, depth, column)


def is_misplaced(text: str, tokens: Sequence[Token], at: int) -> bool:
    """Whether the `=` at that place gives nothing, and stands behind what it should give: `context restart =`."""
    if at < 2 or [t.type for t in tokens[at - 2 : at + 1]] != ["NAME", "NAME", "EQUAL"]:
        return False
    following = tokens[at + 1] if at + 1 < len(tokens) else None
    if "\n" in text[begin(tokens[at - 2]) : end(tokens[at])]:
        return False
    ends = following is None or "\n" in text[end(tokens[at]) : begin(following)]
    return ends or (
        following is not None and following.type in {"COMMA", "LPAR", "DOT", "COMPARE", *OPENER_OF}
    )


def _hyphened(tokens: Sequence[Token], at: int, head: int) -> int:
    """Where the name starts that ends with tokens[at]: `max-output` is meant for one."""
    while at - 2 >= head and [t.type for t in tokens[at - 2 : at]] == ["NAME", "MINUS"]:
        if end(tokens[at - 2]) != begin(tokens[at - 1]) or end(tokens[at - 1]) != begin(tokens[at]):
            break
        at -= 2
    return at


def _bare(
    text: str, tokens: Sequence[Token], candidates: Sequence[_Candidate]
) -> Iterator[_Candidate]:
    """Names without a sign behind them that start a line where fields do, and go on with nothing."""
    left = min((c.column for c in candidates if c.column is not None), default=None)
    if left is None:
        return
    known = {c.at for c in candidates}
    depth = 0
    for at in range(candidates[0].at, len(tokens)):
        token = tokens[at]
        depth += (token.type in CLOSERS) - (token.type in OPENER_OF)
        lone = token.type == "NAME" and at not in known and _starts_anew(tokens, at)
        if lone and _column(text, tokens, at) == left:
            yield _Candidate(at, depth, left)


def _starts_anew(tokens: Sequence[Token], at: int) -> bool:
    """Whether a name is no part of what stands before it: `max_output =`, and below it `prompt "…"`."""
    behind = tokens[at + 1 : at + 2]
    given = bool(behind) and behind[0].type in ("STRING", "TRIPLE", "RAW")
    return ends_value(tokens[at - 1]) or (tokens[at - 1].type in _GIVES and given)


def _gives(text: str, name: Token, following: Sequence[Token]) -> bool:
    """Whether `=` or `:` follows on the same line, and not `=>`."""
    if not following or following[0].type not in _GIVES:
        return False
    arrow = text.startswith("=>", begin(following[0]))
    return not arrow and "\n" not in text[end(name) : begin(following[0])]


def _column(text: str, tokens: Sequence[Token], at: int) -> int | None:
    """How far in tokens[at] stands, where it is the first on its line; there is one before it."""
    gap = text[end(tokens[at - 1]) : begin(tokens[at])]
    return len(gap) - gap.rfind("\n") - 1 if "\n" in gap else None


def _stop(text: str, tokens: Sequence[Token], ends: _Ends, candidates: list[_Candidate]) -> int:
    """Where the body ends: at a `}` in column 1, else at the first with no field behind it, a clean one if any.

    Behind a clean one there may also be a field that was left outside.
    """
    last = max((c.at for c in candidates), default=0)
    lines = [at for at in ends.clean if _is_head(tokens[at + 1 : at + 4])]
    lines += [at for at, t in enumerate(tokens) if t.type == "RBRACE" and in_column_1(text, t)]
    fitting = lines or [at for at in (*ends.clean, *ends.torn) if at > last] or ends.clean[-1:]
    return fitting[0] if fitting else len(tokens)


def _is_head(tokens: Sequence[Token]) -> bool:
    """Whether tokens read like the start of a declaration, or what one without its kind has left."""
    types = ["NAME" if t.type == "STRING" else t.type for t in tokens if t.type != "LPAR"]
    if len(types) < len(tokens) and types == ["NAME", "NAME"]:
        return True
    return types[:2] == ["NAME", "LBRACE"] or (
        types[:2] == ["NAME", "NAME"] and types[2:] in (["LBRACE"], ["LPAR"], ["EQUAL"])
    )


def _aligned(candidates: list[_Candidate], stop: int) -> list[int]:
    """Whatever starts a line as far left as any field does."""
    columns = [c.column for c in candidates if c.column is not None and c.at < stop]
    left = min(columns, default=None)
    return [c.at for c in candidates if c.column is not None and c.column == left]


def _joined(tokens: Sequence[Token], starts: list[int], stop: int) -> Iterator[int]:
    """Without the starts that lie between an opening bracket and the one that closes it."""
    opened: list[tuple[str, int]] = []  # what is open, and the number of the start it stands behind
    inside = [False] * len(starts)
    cuts = [*starts, stop]
    for number in range(len(starts)):
        for at in range(cuts[number], cuts[number + 1]):
            kind = tokens[at].type
            if kind in CLOSERS:
                opened.append((kind, number))
            elif kind in OPENER_OF and opened and opened[-1][0] == OPENER_OF[kind]:
                first = opened.pop()[1]
                for between in range(number, first, -1):
                    if inside[between]:
                        break
                    inside[between] = True
    yield from (at for number, at in enumerate(starts) if not inside[number])
