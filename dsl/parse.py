"""Text to tree, and a problem for each mistake of form. Nothing here raises on any text.

A word in column 1 starts a declaration, so each is parsed on its own, and a mistake in one leaves the
others whole; `piece` says what it leaves of its own.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile, zip_longest
from typing import NamedTuple

from lark import Token

from . import syntax as s
from .broken import OPENER_OF
from .kinds import KINDS
from .lex import MOST_CHARACTERS, MOST_SLOTS, MOST_TOKENS, STARTERS, Lexed, begin, end, lex
from .mistake import is_unindented_field, is_unknown_kind, unindented
from .names import near
from .piece import expression, pieces
from .problem import MOST_REPORTS, Problem, first, whole
from .source import Place, Source, Span
from .tree import Entries, Slot

EDITION = 2026
_IN_NAMES = {"MINUS", "DOT", "SLASH", "NAME", "NUMBER", "ERROR"}
"""What stands behind the first word of a name that has several."""
NOTHING = Entries(None, (), ())
_DECLARED = re.compile(rf"^(?:{'|'.join(KINDS)})\s+([A-Za-z_][A-Za-z_0-9]*)", re.MULTILINE)


def parse(source: Source) -> tuple[s.File, list[Problem]]:
    """The declarations of source that could be read, and what is wrong with the rest, in order.

    A declaration of an unknown kind, with a badly laid out prompt, or with fields that could not be read
    is both reported and kept, so that its name stays known.
    """
    if limit := _passed(source.text):
        return _file((), source), [_too_large(source, limit)]
    lexed = lex(source.text)
    if lexed.full:
        return _file((), source), [_too_large(source, f"{MOST_TOKENS:,} words and signs")]
    read = list(_mended(list(_read(source, lexed))))
    problems = list(_once(problem for item in read for problem in item.problems))
    problems += _editions(source, read)
    more = sum(item.more for item in read)
    return _file(read, source, lexed.comments), first(problems, more=more)


def parse_expression(source: Source) -> tuple[s.Expr | None, list[Problem]]:
    """One expression, such as `parallel(10) of team(10, ceo=adaptive)`; None where it cannot be read."""
    if limit := _passed(source.text):
        return None, [_too_large(source, limit)]
    piece = expression(source)
    if len(piece.tokens) >= MOST_TOKENS:
        return None, [_too_large(source, f"{MOST_TOKENS:,} words and signs")]
    result, problems, _ = piece.told()
    return None if isinstance(result, Entries | Slot) else result, problems


# --- the file ------------------------------------------------------------------------------------


class _Read(NamedTuple):
    """One declaration. more: how many more mistakes it has, at least, where enough was reported before."""

    tokens: list[Token]
    entries: Entries
    problems: list[Problem]
    more: int

    @property
    def is_field(self) -> bool:
        """Whether it is none, but a field that stands in column 1."""
        return is_unindented_field(self.tokens)

    @property
    def is_torn(self) -> bool:
        """Whether a word in column 1 has cut it off from the declaration above: a field, or what holds its `}`."""
        told = any(p.code == "T030" for p in self.problems[:1])
        holds = any(t.type == "RBRACE" for t in self.tokens)
        closes = len(self.tokens) == 1 or self.tokens[1].type in OPENER_OF
        return self.is_field or (told and (holds or closes))

    @property
    def is_closing(self) -> bool:
        """Whether it holds, behind its first word, a bracket of the declaration above."""
        starts = [begin(token) for token in self.tokens[:2]]
        return any(p.code == "T013" and p.place.span.start in starts for p in self.problems[:1])

    @property
    def _is_damaged(self) -> bool:
        return bool(self.problems) or self.entries is NOTHING

    @property
    def lost(self) -> Iterator[str]:
        """Names of declarations that could not be read, so that what uses one is not blamed."""
        if not (self.entries.declarations or self.entries.imports):
            imports = self.tokens[0].type != "KIND"
            named = self.tokens if imports else self.tokens[1:2]
            yield from (str(token) for token in named if token.type == "NAME")
        if self._is_damaged:
            yield from self._swallowed()
            if self._is_import:
                yield from ("", "*")  # any name may have been meant
            if self.tokens[0].type == "STRING" and self.tokens[0].strip('"') in KINDS:
                yield from (str(token) for token in self.tokens[1:2])
        if (
            self._is_damaged
            and self.tokens[0].type == "KIND"
            and not ((self.is_field and is_unknown_kind(self.tokens)) or self._is_named)
        ):
            yield ""
            head = takewhile(lambda t: t.type not in ("EQUAL", "LBRACE"), self.tokens[1:])
            words = (*self.tokens[1:3], *head)
            yield from (str(token) for token in words if token.type == "NAME")
        for problem in self.problems:
            if problem.code == "T030" and any(t in KINDS for t in self.tokens[1:2]):
                yield str(self.tokens[0])  # `sum task {`
            if problem.code == "T002":  # a kind is missing, or stands there twice
                yield from self._around(problem)

    def _swallowed(self) -> Iterator[str]:
        """Names of declarations that a mistake has made a part of this one, or of a prompt in it."""
        for before, word, behind in zip(
            self.tokens, self.tokens[1:], self.tokens[2:], strict=False
        ):
            head = (
                behind.type in ("LBRACE", "LPAR", "EQUAL", "COLON") and before.strip('"') in KINDS
            )
            if word.type == "NAME" and (
                head or (behind.type == "LBRACE" and before.type != "EQUAL")
            ):
                yield str(word)
        for token in self.tokens:
            if token.type in ("TRIPLE", "RAW", "ERROR"):
                yield from _DECLARED.findall(token)

    @property
    def _is_import(self) -> bool:
        first = self.tokens[0]
        meant = first.type == "NAME" and near(first, ("from", "import"))
        return bool(meant) or first.type in ("IMPORT", "FROM")

    @property
    def _is_named(self) -> bool:
        """Whether a name stands behind the kind, and is whole: that of `role my-writer {` is not."""
        named, behind = self.tokens[1:2], self.tokens[2:3]
        if [t.type for t in named] != ["NAME"] or any(t.type in _IN_NAMES for t in behind):
            return False
        if self.tokens[0] == "flow" and any(t.type == "COLON" for t in behind):
            return False  # `flow fn: int) = …` may be `flow f(n: int) = …`
        at = begin(named[0])
        return all(p.code != "T024" or p.place.span.start != at for p in self.problems)

    def _around(self, problem: Problem) -> Iterator[str]:
        """The words at the places of a problem, and of a kind the name behind it; empty of what is no name."""
        starts = {problem.place.span.start, *(lb.place.span.start for lb in problem.secondary)}
        for word, following in zip_longest(self.tokens, self.tokens[1:]):
            if begin(word) not in starts:
                continue
            if word.type == "STRING":
                yield from ("", word.strip('"'))
            if word in KINDS and following is not None and following.type == "NAME":
                yield str(following)
            if word.isidentifier():
                yield str(word)


def _read(source: Source, lexed: Lexed) -> Iterator[_Read]:
    room = MOST_REPORTS
    for piece in pieces(source, lexed.tokens):
        outcome, problems, more = piece.told(room)
        room -= len(problems)
        entries = outcome if isinstance(outcome, Entries) else NOTHING
        yield _Read(piece.tokens, entries, problems, more)


def _mended(read: Sequence[_Read]) -> Iterator[_Read]:
    """A field in column 1 cuts its declaration in two: one mistake, told of the field."""
    torn = closed = False
    for item, after in zip_longest(read, read[1:]):
        if torn and item.problems:
            told = unindented(item.problems[0].place.source, item.tokens[0])
            item = item._replace(problems=[told, *item.problems[1:]])
        if closed:
            item = item._replace(problems=item.problems[1:])
        cut = bool(item.problems) and item.problems[-1].code == "T010"
        closed = cut and after is not None and after.is_closing
        torn = cut and after is not None and after.is_torn
        if torn:
            item = item._replace(entries=NOTHING, problems=item.problems[:-1])
        yield item


def _file(read: Sequence[_Read], source: Source, comments: Sequence[Token] = ()) -> s.File:
    years = [r.entries.edition for r in read if r.entries.edition is not None]
    documented = _Docs(source.text, comments)
    return s.File(
        edition=int(years[0]) if years else None,
        imports=tuple(i for r in read for i in r.entries.imports),
        declarations=tuple(documented.add(d) for r in read for d in r.entries.declarations),
        span=Span(0, len(source.text)),
        lost=frozenset(name for r in read for name in r.lost),
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


def _once(problems: Iterable[Problem]) -> Iterator[Problem]:
    """Without what is told again of a reserved word: it is wrong once, where it was chosen for a name."""
    told = set[str]()
    for problem in problems:
        if problem.code != "T024" or problem.message not in told:
            yield problem
        if problem.code == "T024":
            told.add(problem.message)


def _editions(source: Source, read: Sequence[_Read]) -> Iterator[Problem]:
    starts = False  # whether anything above is more than a line that cannot be read
    for at, item in enumerate(read):
        year, start = item.entries.edition, begin(item.tokens[0])
        place = Place(source, Span(start, start + len("edition")))
        starts = starts or (at > 0 and read[at - 1].tokens[0].type in STARTERS)
        if year is not None and starts:
            yield Problem("T002", "the edition is the first line of a file", place)
        elif year is not None and year != EDITION:
            yield Problem(
                "T009",
                f"there is no edition {year}",
                place,
                help=f"write `edition {EDITION}`",
            )


def _passed(text: str) -> str:
    """The limit that text passes, before any of it is read; empty where it passes none."""
    if len(text) > MOST_CHARACTERS:
        return f"{MOST_CHARACTERS:,} characters"
    return f"{MOST_SLOTS:,} slots (`{{{{`)" if text.count("{{") > MOST_SLOTS else ""


def _too_large(source: Source, limit: str) -> Problem:
    return Problem(
        "T000",
        f"the text has more than {limit}",
        whole(source),
        help="split it: `import` brings declarations from other files",
    )
