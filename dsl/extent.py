"""Mistakes of extent: brackets that do not pair, and declarations that start or end in the wrong place."""

from dataclasses import replace

from lark import Token

from . import expected as words
from .broken import CLOSERS, OPENER_OF, Broken, insert, remove
from .kinds import KINDS
from .lex import begin, end
from .mistake import Finding, place
from .problem import Edit, Label, Problem
from .source import Span


def stray_closer(b: Broken) -> Finding | None:
    bad = b.bad
    if bad is None or bad.type not in OPENER_OF or b.type(1) == "EQUAL":
        return None
    if not b.open:
        problem = Problem("T013", f"`{bad}` closes nothing", b.place(), label="no bracket is open")
        return Finding(problem, ((remove(bad),),))
    wanted = OPENER_OF[bad.type]
    if b.open[-1].type == wanted:
        return None
    if wanted in [token.type for token in b.open]:
        return _never_closed(b)
    right = CLOSERS[b.open[-1].type]
    problem = Problem(
        "T013",
        f"`{bad}` cannot close `{b.open[-1]}`",
        b.place(),
        label=f"expected `{right}`",
        secondary=(Label(place(b.source, b.open[-1]), "opened here"),),
    )
    return Finding(problem, ((Edit(problem.place.span, right),), (remove(bad),)))


def end_inside(b: Broken) -> Finding | None:
    return _never_closed(b) if b.bad is None and b.open else None


def field_inside(b: Broken) -> Finding | None:
    """A line starts a field while a bracket other than `{` is open."""
    previous = b.before(1)
    if b.bad is None or previous is None or not b.open or b.open[-1].type == "LBRACE":
        return None
    if b.open[-1].type == "LSQB" and b.type(0) == "EQUAL" and previous.type == "NAME":
        return field_inside(replace(b, at=b.at - 1)) or _never_closed(replace(b, at=b.at - 1))
    starts = b.bad.type in ("NAME", "STRING") and b.type(-1) == "EQUAL"
    braces = any(token.type == "LBRACE" for token in b.open)
    if not starts or not braces or b.same_line(previous, b.bad) or previous.type == "EQUAL":
        return None
    return _never_closed(b)


def _never_closed(b: Broken) -> Finding:
    opener, previous = b.open[-1], b.tokens[b.at - 1]
    closer = CLOSERS[opener.type]
    problem = Problem(
        "T010",
        f"`{opener}` is never closed",
        b.place(),
        label=f"expected `{closer}` before this",
        secondary=(Label(place(b.source, opener), "opened here"),),
        help=f"close it with `{closer}`",
    )
    closers = "".join(CLOSERS[token.type] for token in reversed(b.open))
    ends = [closers[: n + 1] for n in range(min(len(closers), 3))]
    choices = [(insert(previous, new),) for new in ends]
    if opener.type == "LBRACE" and not b.same_line(opener, previous):
        choices.insert(0, (insert(previous, "\n}"),))
    if b.bad is not None:
        choices.append((insert(previous, ","),))
    return Finding(problem, tuple(choices))


def indented(b: Broken) -> Finding | None:
    """A declaration that does not start in column 1, or starts without its kind."""
    bad, previous = b.bad, b.before(1)
    if bad is None or b.open or b.entry != "file" or bad.type != "NAME":
        return None
    if previous is not None and b.same_line(previous, bad):
        return _second(b, previous, bad)
    text = b.source.text
    blanks = Edit(Span(text.rfind("\n", 0, begin(bad)) + 1, begin(bad)), "")
    if bad in KINDS and b.type(-1) == "NAME":
        problem = Problem(
            "T002", "a declaration starts in column 1", b.place(), "indented", help="write it there"
        )
        return Finding(problem, ((blanks,),))
    if b.type(-1) == "EQUAL" and previous is not None and "LBRACE" not in b.accepts:
        return _outside(b, previous, bad)
    if b.type(-1) not in ("COLON", "LBRACE"):
        return None
    problem = Problem(
        "T002",
        f"`{words.short(bad)}` has no kind",
        b.place(),
        label="expected a kind such as `flow` in column 1 before this",
        help=f"write `KIND {words.short(bad)} …`, or indent what belongs to the one above",
    )
    return Finding(problem)


def _second(b: Broken, previous: Token, bad: Token) -> Finding | None:
    if bad not in KINDS or b.type(-1) != "NAME" or b.type(-2) not in ("EQUAL", "LBRACE", "LPAR"):
        return None
    problem = Problem(
        "T002", "a second declaration stands on this line", b.place(), "break the line here"
    )
    return Finding(problem, ((Edit(Span(end(previous), begin(bad)), "\n"),),))


def _outside(b: Broken, previous: Token, bad: Token) -> Finding:
    problem = Problem(
        "T002",
        f"`{words.short(bad)}` stands outside of any braces",
        b.place(),
        label="a field belongs into `{ }`",
        secondary=(Label(place(b.source, previous), "the declaration is complete here"),),
    )
    return Finding(problem, ((remove(previous),),) if previous.type == "RBRACE" else ())
