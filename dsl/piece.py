"""What is parsed on its own, a declaration of a file or an expression, and all that is wrong with its form.

An edit is offered where it was seen to leave nothing but the other mistakes.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from lark import Token

from . import syntax as s
from .attempt import SURE, Frame, attempt, onward
from .kinds import KINDS
from .lex import begin, end, groups, lex
from .mistake import Finding, unknown_kind
from .parts import Mistake, in_parts
from .problem import MOST_REPORTS, Edit, Problem, apply
from .source import Source, Span
from .tree import Entries, Slot, Stuck
from .units import body

Outcome = Entries | Slot | s.Expr | None
_LARGE = 20_000
"""Tokens; of a larger declaration that cannot be read, the first mistake is told and no edit tried."""


class Told(NamedTuple):
    """more: how many other things are wrong, at least, that nobody looked into."""

    outcome: Outcome
    problems: list[Problem]
    more: int = 0


@dataclass(frozen=True, slots=True)
class Piece:
    """extent is where it lies, up to the next declaration; behind is that one's first word."""

    source: Source
    tokens: list[Token]
    extent: Span
    behind: Span
    entry: Literal["file", "expr"]

    def told(self, room: int = MOST_REPORTS) -> Told:
        """What was read, and at most room problems of it."""
        outcome, mistakes = self.read(room)
        tried = len(self.tokens) <= _LARGE
        shown = mistakes[:room]
        told = [self._tried(m, mistakes) if tried else m.finding.problem for m in shown]
        return Told(outcome, told, max(0, len(mistakes) - room))

    # --- reading ---------------------------------------------------------------------------------

    def read(self, room: int = MOST_REPORTS) -> tuple[Outcome, list[Mistake]]:
        """What was read, and what is wrong; what is beyond room is not explained."""
        outcome, mistakes = self._all(room)
        return outcome, list(_apart(self.source.text, mistakes))

    def _all(self, room: int) -> tuple[Outcome, list[Mistake]]:
        kind = unknown_kind(self.source, self.tokens, explained=room > 0)
        if kind is not None and room <= 0:
            return None, [Mistake(kind)]
        outcome, mistakes = self._known_kind(room)
        if kind is None:
            return outcome, mistakes
        meant = any(edit.new in KINDS for edits in kind.choices[:1] for edit in edits)
        return outcome, [Mistake(kind), *(mistakes if meant else [])]

    def _known_kind(self, room: int) -> tuple[Outcome, list[Mistake]]:
        frame = Frame(self.source, self.entry, self.behind)
        found = attempt(frame, self.tokens, explained=room > 0)
        if found.result is None and len(self.tokens) <= _LARGE:
            cut = body(self.source.text, self.tokens) if self.entry == "file" else None
            if cut is not None:
                return in_parts(self.source, cut, found.stops[0], self.behind, room)
            found = onward(frame, self.tokens) if room > 0 else found
        result = None if isinstance(found.result, Stuck) else found.result
        return result, [Mistake(finding) for finding in found.findings]

    # --- edits -----------------------------------------------------------------------------------

    def _tried(self, mistake: Mistake, mistakes: Sequence[Mistake]) -> Problem:
        """The problem with the first choice of edits that was seen to mend it."""
        problem = mistake.finding.problem
        shown = [m for m in mistakes if m.field == mistake.field or not mistake.alone]
        others = Counter(_key(m.finding) for m in shown) - Counter([_key(mistake.finding)])
        for edits in mistake.finding.choices:
            scene = self._scene(mistake, edits)
            if scene is not None and _mends(problem, scene, others):
                return replace(problem, edits=edits)
        return problem

    def _scene(self, mistake: Mistake, edits: Sequence[Edit]) -> "_Scene | None":
        """What shows whether edits mend the mistake: its field in braces of its own, or all of the piece."""
        problem = mistake.finding.problem
        within = mistake.field if mistake.alone and mistake.field is not None else self.extent
        if not all(within.start <= e.span.start and e.span.end <= within.end for e in edits):
            return None
        text = apply(self.source.text, edits, within)
        grown = len(text) - (within.end - within.start)
        behind = problem.place.span.end - within.start + grown
        if not mistake.alone:
            return _Scene(Source(self.source.name, text), behind, self.entry)
        column = self.source.position(within.start).column
        lead = f"{self.tokens[0]} {self.tokens[1]} {{\n{' ' * (column - 1)}"
        return _Scene(Source(self.source.name, f"{lead}{text}\n}}"), behind + len(lead), "file")


class _Scene(NamedTuple):
    """A mended text. behind: the offset behind the word that was wrong."""

    source: Source
    behind: int
    entry: Literal["file", "expr"]


def _mends(problem: Problem, scene: _Scene, others: Counter[tuple[str, str]]) -> bool:
    """Whether only others are left; of a misspelt word, whether what is left stands behind it."""
    source = scene.source
    file = scene.entry == "file"
    made = list(pieces(source, lex(source.text).tokens)) if file else [expression(source)]
    left = [mistake.finding for piece in made for mistake in piece.read()[1]]
    if not Counter(map(_key, left)) - others:
        return True
    starts = [finding.problem.place.span.start for finding in left]
    return problem.code in SURE and min(starts) >= scene.behind


def _apart(text: str, mistakes: Sequence[Mistake]) -> Iterator[Mistake]:
    """Without what only a stray bracket lies before: in `flow f { = …` the `{` and the `=` are one mistake."""
    last: Span | None = None
    for mistake in mistakes:
        problem = mistake.finding.problem
        opened = [label.place.span for label in problem.secondary if problem.code == "T010"]
        if last is None or not any(
            _only_brackets(text, *sorted((last, span), key=lambda s: s.start))
            for span in (problem.place.span, *opened)
        ):
            yield mistake
        last = problem.place.span


def _only_brackets(text: str, first: Span, second: Span) -> bool:
    """Whether nothing but brackets, and one at least, stands between two places, or is one of them."""
    between = text[first.end : second.start]
    at = text[first.start : first.end] + text[second.start : second.end]
    return not between.strip(" \t\n()[]{}") and any(c in "()[]{}" for c in between + at)


def _key(finding: Finding) -> tuple[str, str]:
    return finding.problem.code, finding.problem.message


# --- cutting -------------------------------------------------------------------------------------


def pieces(source: Source, tokens: list[Token]) -> Iterator[Piece]:
    """The declarations of source, one after the other."""
    parts = list(groups(source.text, tokens))
    stop = len(source.text)
    behind = [Span(begin(part[0]), end(part[0])) for part in parts] + [Span(stop, stop + 1)]
    for at, part in enumerate(parts):
        extent = Span(behind[at].start if at else 0, behind[at + 1].start)
        yield Piece(source, part, extent, behind[at + 1], "file")


def expression(source: Source) -> Piece:
    """All of source as one expression."""
    tokens = lex(source.text, columns=False).tokens
    stop = len(source.text)
    return Piece(source, tokens, Span(0, stop), Span(stop, stop + 1), "expr")
