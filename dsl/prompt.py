"""Prompt literals as fragments: constant text, dedented, and `{{ value | filter }}` slots parsed in place.

The column of the closing delimiter is removed from every line. Only two things in a prompt are special:
`{{` opens a slot (`\\{{` does not), and three quotes close it (a backslash before them keeps them). Every other
character stands for itself, braces of JSON and backslashes of LaTeX included.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from lark import Token

from . import syntax as s
from .broken import Broken
from .lex import ERROR, begin, end, scan
from .mistake import Finding, mistaken
from .problem import Edit, Problem
from .recover import explain
from .source import Place, Source, Span
from .tree import Slot, Stuck, run

_SPECIAL = re.compile(r'\\(\{\{|"""|[\s\S])|\{\{')
_DEPTH = {"LPAR": 1, "LSQB": 1, "LBRACE": 1, "RPAR": -1, "RSQB": -1, "RBRACE": -1}
_DELIMITER = 3  # characters
_MOST = 8
"""Mistakes looked for in one prompt: each edit is tried on all of it."""


class Block(NamedTuple):
    """The inside of a prompt, text[start:end]; where on_lines, its lines lose indent blanks each."""

    start: int
    end: int
    indent: int
    on_lines: bool


def prompt(source: Source, token: Token) -> tuple[s.Prompt, list[Finding]]:
    """The fragments of a TRIPLE or RAW token; of one with a slot that never closes, those up to it."""
    raw = token.type == "RAW"
    block = inside(source.text, token)
    findings = _layout(source, token, block) if block.on_lines else []
    parts: list[s.PromptText | s.PromptSlot] = []
    start = block.start
    for slot, wrong in () if raw else _slots(source, block):
        findings += [wrong] if wrong is not None else []
        if slot is None or len(findings) >= _MOST:
            break
        parts.extend(_text(source.text, block, Span(start, slot.span.start), raw=raw))
        parts.append(slot)
        start = slot.span.end
    parts.extend(_text(source.text, block, Span(start, block.end), raw=raw))
    return s.Prompt(tuple(parts), raw, Span(begin(token), end(token))), findings


def inside(text: str, token: Token) -> Block:
    """Where the text of a prompt token lies; the line breaks next to its delimiters are not in it."""
    start, stop = begin(token) + token.index('"""') + _DELIMITER, end(token) - _DELIMITER
    first, line_break, _ = text[start:stop].partition("\n")
    if not line_break:
        return Block(start, stop, 0, False)
    last = text[start:stop].rpartition("\n")[2]
    if not first.strip():
        start += len(first) + 1
    if last.strip():
        return Block(start, stop, len(last) - len(last.lstrip()), True)
    stop -= len(last) + 1
    stop -= text[stop - 1] == "\r"
    return Block(start, max(start, stop), len(last), True)


# --- layout --------------------------------------------------------------------------------------


def _layout(source: Source, token: Token, block: Block) -> list[Finding]:
    """T031: text on the lines of the delimiters, or left of the closing one; one report of all."""
    opened, closed = begin(token) + token.index('"""') + _DELIMITER, end(token) - _DELIMITER
    break_line = "\n" + " " * block.indent
    edits = [Edit(Span(opened, opened), break_line)] if block.start == opened else []
    edits += [Edit(Span(at, at), " " * n) for at, n in _short_lines(source.text, block) if n]
    if block.end == closed:
        edits.append(Edit(Span(closed, closed), break_line))
    if not edits:
        return []
    at = edits[0].span.start
    apart = edits[0].new == break_line
    problem = Problem(
        "T031",
        "the quotes of a prompt of several lines stand on lines of their own"
        if apart
        else "this text stands left of the prompt's closing quotes",
        Place(source, Span(at, at + 1)),
        label="break the line here"
        if apart
        else f"the closing quotes stand in column {block.indent + 1}",
        help="the column of the closing quotes is where the lines of a prompt begin",
    )
    return [Finding(problem, (tuple(edits),))]


def _short_lines(text: str, block: Block) -> Iterator[tuple[int, int]]:
    """Of each line of the block that is not blank: where it starts, and how many blanks it lacks.

    Text beside the opening quotes is no line.
    """
    at = block.start
    for line in text[block.start : block.end].split("\n"):
        if line.strip() and text[at - 1] == "\n":
            yield at, max(0, block.indent - _blanks(line))
        at += len(line) + 1


def _blanks(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _text(text: str, block: Block, span: Span, *, raw: bool) -> Iterator[s.PromptText]:
    """The constant text of a span of the block, unless there is none."""
    value = text[span.start : span.end].replace("\r\n", "\n")
    if block.on_lines:
        value = _dedented(value, block, whole=(span.start == block.start, span.end == block.end))
    if not raw:
        value = _SPECIAL.sub(_unescaped, value)
    if value:
        yield s.PromptText(value, span)


def _dedented(value: str, block: Block, *, whole: tuple[bool, bool]) -> str:
    """Without the indentation of each line. whole: whether the first and the last line are in full."""
    first, *rest = value.split("\n")
    starts_line = whole[0]
    lines = [_line(first, block.indent, full=bool(rest) or whole[1]) if starts_line else first]
    lines += [_line(line, block.indent, full=True) for line in rest[:-1]]
    lines += [_line(line, block.indent, full=whole[1]) for line in rest[-1:]]
    return "\n".join(lines)


def _line(line: str, indent: int, *, full: bool) -> str:
    if full and not line.strip():
        return ""
    return line[min(indent, _blanks(line)) :]


def _unescaped(match: re.Match[str]) -> str:
    kept = match.group(1)
    return kept if kept in ("{{", '"""') else match.group()


# --- slots ---------------------------------------------------------------------------------------


def _slots(source: Source, block: Block) -> Iterator[tuple[s.PromptSlot | None, Finding | None]]:
    """The slots of the block in order, with what is wrong; the first that never closes (None) ends it."""
    at = block.start
    while match := _SPECIAL.search(source.text, at, block.end):
        at = match.end()
        if match.group() != "{{":
            continue
        tokens, close = _slot_tokens(source.text, at, block.end)
        if close is None:
            yield None, _unclosed(source, Span(at - 2, at))
            return
        opened, at = at - 2, close
        yield _slot(source, block, tokens, Span(opened, at))


def _slot_tokens(text: str, start: int, stop: int) -> tuple[list[Token], int | None]:
    """The tokens up to the `}}` that closes the slot, and the offset behind it (None: not closed)."""
    tokens: list[Token] = []
    depth = 0
    for token in scan(text, start, stop, columns=False):
        if token.type == "RBRACE" and depth == 0 and text.startswith("}}", begin(token)):
            return tokens, begin(token) + 2
        depth = max(0, depth + _DEPTH.get(token.type, 0))
        if token.type not in ("WS", "COMMENT"):
            tokens.append(token)
    return tokens, None


def _slot(
    source: Source, block: Block, tokens: list[Token], span: Span
) -> tuple[s.PromptSlot, Finding | None]:
    value, filters, wrong = _read(source, tokens, Span(span.end - 2, span.end))
    return s.PromptSlot(value, filters, _column(source, block, span.start), span), wrong


def _read(
    source: Source, tokens: list[Token], closer: Span
) -> tuple[s.Expr, tuple[s.Filter, ...], Finding | None]:
    """What stands in a slot; where it cannot be read, a value about which nothing more is said."""
    if (named := _named(tokens)) is not None:
        return named, (), None
    at = next((i for i, token in enumerate(tokens) if token.type == ERROR), None)
    result = run(tokens, "interp") if at is None else None
    if isinstance(result, Slot):
        return result.value, result.filters, None
    bad = s.Bad(frozenset(), closer)
    if at is not None:
        return bad, (), mistaken(source, tokens[at])
    stop = result.at if isinstance(result, Stuck) else len(tokens)
    return bad, (), explain(Broken(source, tokens, stop, "interp", closer))


def _named(tokens: list[Token]) -> s.Expr | None:
    """`task` or `task.statement`: most slots are no more, and need no parser to be read."""
    if [token.type for token in tokens] not in (["NAME"], ["NAME", "DOT", "NAME"]):
        return None
    root, last = tokens[0], tokens[-1]
    name = s.Name(str(root), Span(begin(root), end(root)))
    if last is root:
        return name
    span = Span(begin(last), end(last))
    return s.Attribute(name, str(last), span, Span(begin(root), end(last)))


def _column(source: Source, block: Block, at: int) -> int:
    """How far a slot stands from the left edge of the prompt's text."""
    if not block.on_lines:
        return at - block.start
    return max(0, source.position(at).column - 1 - block.indent)


def _unclosed(source: Source, span: Span) -> Finding:
    problem = Problem(
        "T010",
        "`{{` is never closed",
        Place(source, span),
        label="opened here",
        help="close the slot with `}}`, or write `\\{{` for two braces as text",
    )
    return Finding(problem)


def relaid(token: Token, indent: int) -> list[str]:
    """The lines of a prompt token of several lines with its text moved to indent; the value stays.

    The first line starts at the opening quotes. The token has no layout mistakes.
    """
    first, *lines = token.replace("\r\n", "\n").split("\n")
    old = len(lines[-1]) - _DELIMITER
    moved = [_line(line, old, full=True) for line in lines]
    return [first.rstrip(), *(" " * indent + line if line else "" for line in moved)]
