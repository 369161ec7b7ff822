"""Text to tree, and a problem for each declaration that has none. Nothing here raises on any text.

A word in column 1 starts a declaration, so each is parsed on its own: a mistake in one costs one report
and leaves the others whole.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Literal, NamedTuple

from lark import Token

from . import syntax as s
from .broken import Broken
from .lex import ERROR, MOST_CHARACTERS, MOST_TOKENS, Lexed, begin, end, groups, lex
from .limit import too_deep
from .mistake import (
    Finding,
    is_unindented_field,
    is_unknown_kind,
    misread,
    mistaken,
    misused,
    unknown_kind,
)
from .problem import MOST_REPORTS, Edit, Problem, apply, first, whole
from .prompt import prompt
from .recover import explain, unexplained
from .source import Place, Source, Span
from .tree import Entries, Slot, Stuck, run, with_prompt

Outcome = Entries | Slot | s.Expr | None
EDITION = 2026
_MISSPELT = {"T004", "T006", "T020", "T022", "T030"}
"""Mistakes of one word: its mended form is right whatever follows."""


def parse(source: Source) -> tuple[s.File, list[Problem]]:
    """The declarations of source that could be read, and what is wrong with the rest, in order.

    A declaration of an unknown kind or with a badly laid out prompt is both reported and kept, so that
    its name stays known.
    """
    if len(source.text) > MOST_CHARACTERS:
        return _file((), source), [_too_large(source, f"{MOST_CHARACTERS:,} characters")]
    lexed = lex(source.text)
    if lexed.full:
        return _file((), source), [_too_large(source, f"{MOST_TOKENS:,} words and signs")]
    read = list(_read(source, lexed))
    problems = list(_told(read))
    problems += _editions(source, read)
    more = any(item.untold for item in read)
    return _file(read, source, lexed.comments), first(problems, more=more)


def parse_expression(source: Source) -> tuple[s.Expr | None, list[Problem]]:
    """One expression, such as `parallel(10) of team(10, ceo=adaptive)`; None where it cannot be read."""
    if len(source.text) > MOST_CHARACTERS:
        return None, [_too_large(source, f"{MOST_CHARACTERS:,} characters")]
    piece = _whole(source)
    if len(piece.tokens) >= MOST_TOKENS:
        return None, [_too_large(source, f"{MOST_TOKENS:,} words and signs")]
    result, problem = piece.outcome()
    value = None if isinstance(result, Entries | Slot) else result
    return value, [] if problem is None else [problem]


@dataclass(frozen=True, slots=True)
class _Piece:
    """What is parsed on its own: a declaration of a file, or an expression.

    extent is where it lies, up to the next declaration; behind is that one's first word.
    """

    source: Source
    tokens: list[Token]
    extent: Span
    behind: Span
    entry: Literal["file", "expr"]

    def outcome(self) -> tuple[Outcome, Problem | None]:
        """What was read, and the one problem reported of it."""
        result, finding = self._read()
        return result, None if finding is None else self._tried(finding)

    def silently(self) -> tuple[Outcome, bool]:
        """What was read, and whether something is wrong with it: to say what takes its time."""
        result, finding = self._read(explained=False)
        return result, finding is not None or is_unknown_kind(self.tokens)

    def _read(self, *, explained: bool = True) -> tuple[Outcome, Finding | None]:
        kind = unknown_kind(self.source, self.tokens) if explained else None
        tokens, finding = self._prepared()
        if tokens is None:
            return None, kind or finding
        result = run(tokens, self.entry)
        if isinstance(result, Stuck):
            broken = Broken(self.source, tokens, result.at, self.entry, self.behind)
            return None, kind or (explain(broken) if explained else unexplained(broken))
        wrong = misread(self.source, tokens, result) if isinstance(result, Entries) else None
        return (None if wrong else result), kind or wrong or finding

    def _prepared(self) -> tuple[list[Token] | None, Finding | None]:
        """The tokens as the parser takes them, None if they cannot be; and what is wrong with them."""
        wrong = next((t for t in self.tokens if t.type == ERROR), None)
        if wrong is not None:
            return None, mistaken(self.source, wrong)
        finding = misused(self.source, self.tokens) or too_deep(self.source, self.tokens)
        if finding is not None:
            return None, finding
        tokens: list[Token] = []
        for token in self.tokens:
            if token.type in ("TRIPLE", "RAW"):
                token, found = _prompt(self.source, token)
                finding = finding or found
            tokens.append(token)
        return tokens, finding

    def _tried(self, finding: Finding) -> Problem:
        """The problem with the first choice of edits that was seen to mend the piece."""
        for edits in finding.choices:
            if self._mended(finding.problem, edits):
                return replace(finding.problem, edits=tuple(edits))
        return finding.problem

    def _mended(self, problem: Problem, edits: Sequence[Edit]) -> bool:
        """Whether the edits leave no problem; of a misspelt word, whether the next one stands behind it."""
        text = apply(self.source.text, edits, self.extent)
        source = Source(self.source.name, text)
        pieces = (
            list(_pieces(source, lex(text).tokens)) if self.entry == "file" else [_whole(source)]
        )
        left = next((finding for piece in pieces if (finding := piece._read()[1])), None)
        if left is None or problem.code not in _MISSPELT:
            return left is None
        grown = len(text) - (self.extent.end - self.extent.start)
        behind = problem.place.span.end - self.extent.start + grown
        return left.problem.place.span.start >= behind


def _prompt(source: Source, token: Token) -> tuple[Token, Finding | None]:
    read, findings = prompt(source, token)
    return with_prompt(token, read), findings[0] if findings else None


# --- the file ------------------------------------------------------------------------------------


class _Read(NamedTuple):
    """One declaration. untold: something is wrong with it, and enough was reported before.

    is_field: it is none, but a field that stands in column 1.
    """

    entries: Entries
    problem: Problem | None
    start: int
    lost: str | None
    untold: bool = False
    is_field: bool = False


def _read(source: Source, lexed: Lexed) -> Iterator[_Read]:
    reports = 0
    for piece in _pieces(source, lexed.tokens):
        problem, untold = None, False
        if reports < MOST_REPORTS:
            result, problem = piece.outcome()
        else:
            result, untold = piece.silently()
        reports += problem is not None
        entries = result if isinstance(result, Entries) else Entries(None, (), ())
        lost = None if entries.declarations else _named(piece.tokens)
        cut = is_unindented_field(piece.tokens)
        yield _Read(entries, problem, begin(piece.tokens[0]), lost, untold, cut)


def _named(tokens: Sequence[Token]) -> str | None:
    """The name of a declaration that could not be read, so that what uses it is not blamed."""
    return str(tokens[1]) if [t.type for t in tokens[:2]] == ["KIND", "NAME"] else None


def _told(read: Sequence[_Read]) -> Iterator[Problem]:
    """The problem of each declaration. A field in column 1 cuts its declaration in two: one mistake."""
    for item, after in zip_longest(read, read[1:]):
        problem = item.problem
        cut = problem is not None and problem.code == "T010"
        if problem is not None and not (cut and after is not None and after.is_field):
            yield problem


def _pieces(source: Source, tokens: list[Token]) -> Iterator[_Piece]:
    parts = list(groups(source.text, tokens))
    stop = len(source.text)
    behind = [Span(begin(part[0]), end(part[0])) for part in parts] + [Span(stop, stop + 1)]
    for at, part in enumerate(parts):
        extent = Span(behind[at].start if at else 0, behind[at + 1].start)
        yield _Piece(source, part, extent, behind[at + 1], "file")


def _whole(source: Source) -> _Piece:
    tokens = lex(source.text, columns=False).tokens
    stop = len(source.text)
    return _Piece(source, tokens, Span(0, stop), Span(stop, stop + 1), "expr")


def _file(read: Sequence[_Read], source: Source, comments: Sequence[Token] = ()) -> s.File:
    years = [r.entries.edition for r in read if r.entries.edition is not None]
    documented = _Docs(source.text, comments)
    return s.File(
        edition=int(years[0]) if years else None,
        imports=tuple(i for r in read for i in r.entries.imports),
        declarations=tuple(documented.add(d) for r in read for d in r.entries.declarations),
        span=Span(0, len(source.text)),
        lost=frozenset(r.lost for r in read if r.lost is not None),
    )


class _Docs:
    """The `##` lines of a text, found by what stands below them."""

    def __init__(self, text: str, comments: Sequence[Token]) -> None:
        self._text = text
        self._comments = comments
        self._starts = [begin(comment) for comment in comments]

    def add(self, declaration: s.Declaration) -> s.Declaration:
        """The declaration with the `##` lines directly above it."""
        lines: list[str] = []
        below = declaration.span.start
        at = bisect_left(self._starts, below) - 1
        while at >= 0 and self._is_doc(self._comments[at], below):
            lines.append(self._comments[at][2:].removeprefix(" ").rstrip())
            below = self._starts[at]
            at -= 1
        return replace(declaration, doc="\n".join(reversed(lines))) if lines else declaration

    def _is_doc(self, comment: Token, below: int) -> bool:
        """Whether comment is a `##` alone on the line above the offset below."""
        gap = self._text[end(comment) : below]
        line = self._text[self._text.rfind("\n", 0, begin(comment)) + 1 : begin(comment)]
        return comment.startswith("##") and gap.strip(" \t\r\f") == "\n" and not line.strip()


def _editions(source: Source, read: Sequence[_Read]) -> Iterator[Problem]:
    for at, item in enumerate(read):
        year = item.entries.edition
        place = Place(source, Span(item.start, item.start + len("edition")))
        if year is not None and at:
            yield Problem("T002", "the edition is the first line of a file", place)
        elif year is not None and year != EDITION:
            yield Problem(
                "T009",
                f"there is no edition {year}",
                place,
                help=f"write `edition {EDITION}`",
            )


def _too_large(source: Source, limit: str) -> Problem:
    return Problem(
        "T000",
        f"the text has more than {limit}",
        whole(source),
        help="split it: `import` brings declarations from other files",
    )
