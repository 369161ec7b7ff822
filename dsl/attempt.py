"""Tokens against the grammar: what they are read as, and the mistakes of form in them.

Behind a mistake whose mending is sure, reading goes on in the mended tokens. Behind any other it goes on
only to look for a mistake on a later line, and what was read is not kept.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from lark import Token

from .broken import Broken
from .lex import ERROR, begin, end, scan
from .limit import too_deep
from .mistake import Finding, misread, mistaken, misused
from .problem import Edit, apply
from .prompt import prompt
from .recover import explain, unexplained
from .source import Source, Span
from .tree import Entries, Parsed, Stuck, hole, run, with_prompt

SURE = {"T004", "T006", "T020", "T022", "T030", "T032"}
"""Mistakes of one word or sign: the mended form is right whatever follows."""
_BRACKETS = {"T010", "T013"}
_MOST = 8
"""Mistakes looked for in one field or expression: each costs a reading of it."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Where tokens stand: what comes before them, what closes them, and what is written behind them.

    behind: the place of what follows all tokens: the next declaration, or the end of the text.
    """

    source: Source
    entry: Literal["file", "expr"]
    behind: Span
    lead: Sequence[Token] = ()
    close: Sequence[Token] = ()
    ahead: Sequence[Token] = ()


class Attempt(NamedTuple):
    """inner: mistakes inside of prompts, which stop nothing. stops: why there was no result at first."""

    tokens: Sequence[Token]
    result: Parsed | None
    inner: tuple[Finding, ...] = ()
    stops: tuple[Finding, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        return (*self.inner, *self.stops)


def attempt(frame: Frame, tokens: Sequence[Token], *, explained: bool = True) -> Attempt:
    """Read tokens in their frame, up to the first mistake. explained: whether to say which it is."""
    found = _lexical(frame.source, tokens)
    if found is not None:
        return Attempt(tokens, None, (), (found,))
    ready, inner = _prepared(frame.source, tokens)
    whole = [*frame.lead, *ready, *frame.close]
    result = run(whole, frame.entry)
    wrong: Finding | None = None
    if isinstance(result, Stuck):
        wrong = _explained(frame, ready, result, explained=explained)
    elif isinstance(result, Entries):
        wrong = misread(frame.source, whole, result)
    return Attempt(ready, result, inner) if wrong is None else Attempt(ready, None, inner, (wrong,))


def onward(frame: Frame, tokens: Sequence[Token]) -> Attempt:
    """Like attempt, and on behind each mistake that can be told apart from what follows it.

    The result is that of the tokens as they were mended, where all mending was sure.
    """
    first = found = attempt(frame, tokens)
    stops, sure, proven = list(first.stops), True, 1
    while found.result is None and len(stops) < _MOST:
        following = _following(frame, found)
        if following is None:
            break
        sure = sure and is_sure(found.stops[0])
        found = following
        stops += found.stops
        proven = len(stops) if sure or found.result is not None else proven
    result = found.result if sure else None
    return Attempt(found.tokens, result, first.inner or found.inner, tuple(stops[:proven]))


def is_sure(finding: Finding) -> bool:
    """Whether there is no doubt how to mend it: one word or sign is wrong, or nothing but a comma fits."""
    only = finding.choices[0] if len(finding.choices) == 1 else ()
    comma = finding.problem.code == "T021" and [edit.new for edit in only] == [","]
    return comma or finding.problem.code in SURE or _is_hyphen(finding)


def _is_hyphen(finding: Finding) -> bool:
    """Whether nothing is wrong but the sign in a name of several words: `max-output`."""
    place = finding.problem.place
    old = place.source.text[place.span.start : place.span.end]
    return [[edit.new for edit in edits] for edits in finding.choices] == [[old.replace("-", "_")]]


def _following(frame: Frame, stopped: Attempt) -> Attempt | None:
    """What is read behind the mistake that stopped an attempt, unless it may be a part of that mistake."""
    finding = stopped.stops[0]
    if finding.problem.code in _BRACKETS:
        return None
    sure = is_sure(finding)
    for tokens in _mendings(frame.source, stopped.tokens, finding):
        again = attempt(frame, tokens)
        if again.result is not None:
            return again
        if _is_apart(frame.source, tokens, finding, again.stops[0], sure=sure):
            return again
        if sure:
            return None
    return None


def _mendings(
    source: Source, tokens: Sequence[Token], finding: Finding
) -> Iterator[Sequence[Token]]:
    yield from (mended(source.text, tokens, edits) for edits in finding.choices)
    if finding.problem.code == "T006" and not finding.choices:
        span = finding.problem.place.span
        yield [hole([t], span.start) if begin(t) == span.start else t for t in tokens]


def _is_apart(
    source: Source, tokens: Sequence[Token], first: Finding, second: Finding, *, sure: bool
) -> bool:
    """Whether second is a mistake of its own, not what a wrong mending of first has left."""
    places = [first.problem.place, *(label.place for label in first.problem.secondary)]
    start = second.problem.place.span.start
    behind = max(place.span.end for place in places)
    ahead = bool(tokens) and start > end(tokens[-1])  # what follows is read by itself
    if start <= behind or ahead or second.problem.code in _BRACKETS:
        return False
    if sure:
        return is_sure(second) or bool(source.text[behind:start].strip(" \t)]},"))
    wrong = next((begin(t) for t in tokens if begin(t) >= behind - 1), behind)
    return "\n" in source.text[wrong:start]


# --- one reading ---------------------------------------------------------------------------------


def _lexical(source: Source, tokens: Sequence[Token]) -> Finding | None:
    wrong = next((t for t in tokens if t.type == ERROR), None)
    if wrong is not None:
        return mistaken(source, wrong)
    return misused(source, tokens) or too_deep(source, tokens)


def _prepared(source: Source, tokens: Sequence[Token]) -> tuple[list[Token], tuple[Finding, ...]]:
    """The tokens with their prompts read, and what is wrong inside of those."""
    ready: list[Token] = []
    findings: list[Finding] = []
    for token in tokens:
        if token.type in ("TRIPLE", "RAW"):
            read, found = prompt(source, token)
            findings += found
            whole = all(finding.problem.code != "T010" for finding in found)
            ready.append(with_prompt(token, read) if whole else hole([token], begin(token)))
        else:
            ready.append(token)
    return ready, tuple(findings)


def _explained(frame: Frame, tokens: list[Token], stuck: Stuck, *, explained: bool) -> Finding:
    """Why reading stopped, seen with what is written behind the tokens and not with what closes them."""
    whole = [*frame.lead, *tokens, *frame.ahead]
    result = run(whole, frame.entry) if frame.close else stuck
    at = result.at if isinstance(result, Stuck) else min(stuck.at, len(whole))
    broken = Broken(frame.source, whole, at, frame.entry, frame.behind)
    return explain(broken) if explained else unexplained(broken)


# --- edits on tokens -----------------------------------------------------------------------------


def mended(text: str, tokens: Sequence[Token], edits: Sequence[Edit]) -> list[Token]:
    """tokens of text after edits. Positions stay those of text: what an edit puts in stands at its end."""
    old = Span(min(e.span.start for e in edits), max(e.span.end for e in edits))
    touched = [t for t in tokens if begin(t) <= old.end and end(t) >= old.start]
    start = min([begin(t) for t in touched] + [old.start])
    stop = max([end(t) for t in touched] + [old.end])
    new = apply(text, edits, Span(start, stop))
    grown = len(new) - (stop - start)

    def placed(at: int) -> int:
        """The offset in text of an offset in new."""
        return start + at if start + at <= old.start else max(old.end, start + at - grown)

    fresh = [
        Token(t.type, str(t), start_pos=placed(begin(t)), end_pos=placed(end(t)))
        for t in scan(new, 0, len(new), columns=any(t.type == "KIND" for t in touched))
        if t.type not in ("WS", "COMMENT")
    ]
    before = [t for t in tokens if end(t) < old.start]
    return [*before, *fresh, *(t for t in tokens if begin(t) > old.end)]
