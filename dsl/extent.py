"""Mistakes of extent: brackets that do not pair, and declarations that start or end in the wrong place."""

from dataclasses import replace
from itertools import takewhile

from lark import Token

from . import expected as words
from .broken import CLOSERS, OPENER_OF, Broken, remove
from .kinds import KINDS
from .lex import begin, end
from .mistake import Finding, place
from .problem import Edit, Label, Problem
from .source import Span
from .tree import END
from .unclosed import lies_inside, never_closed


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
        return never_closed(b)
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
    return never_closed(b) if b.bad is None and b.open else None


def field_inside(b: Broken) -> Finding | None:
    """A line starts a field while a bracket other than `{` is open."""
    previous = b.before(1)
    if b.bad is None or previous is None or not b.open or b.open[-1].type == "LBRACE":
        return None
    if b.open[-1].type == "LSQB" and b.type(0) == "EQUAL" and previous.type == "NAME":
        return field_inside(replace(b, at=b.at - 1)) or never_closed(replace(b, at=b.at - 1))
    starts = b.bad.type in ("NAME", "STRING") and b.type(-1) == "EQUAL"
    braces = any(token.type == "LBRACE" for token in b.open)
    if not starts or not braces or b.same_line(previous, b.bad) or previous.type == "EQUAL":
        return None
    return None if lies_inside(b) else never_closed(b)


def indented(b: Broken) -> Finding | None:
    """A declaration that does not start in column 1, or starts without its kind."""
    bad, previous = b.bad, b.before(1)
    if bad is None or b.open or b.entry != "file" or bad.type not in ("NAME", "STRING"):
        return None
    if previous is not None and b.same_line(previous, bad):
        return _second(b, previous, bad)
    if bad in KINDS and b.type(-1) == "NAME":
        problem = Problem(
            "T002", "a declaration starts in column 1", b.place(), "indented", help="write it there"
        )
        return Finding(problem, (_at_line_start(b, bad, ""),))
    imported = _import(b, bad)
    if imported is not None:
        return imported
    if b.type(-1) == "EQUAL" and previous is not None and "LBRACE" not in b.accepts:
        return _outside(b, previous, bad)
    return _kindless(b, bad) if _is_head(b) or _is_complete(b) else None


def _at_line_start(b: Broken, token: Token, new: str) -> tuple[Edit, ...]:
    start = b.source.text.rfind("\n", 0, begin(token)) + 1
    return (Edit(Span(start, begin(token)), new),)


def _import(b: Broken, bad: Token) -> Finding | None:
    """`std.roles import architect` without its `from`, `std.flows as flows` without its `import`."""
    following = [t.type for t in takewhile(lambda t: b.same_line(bad, t), b.tokens[b.at :])]
    word = "from" if "IMPORT" in following else "import" if "AS" in following else None
    if word is None or END not in b.accepts:
        return None
    problem = Problem(
        "T002",
        f"`{word}` is missing before `{words.short(bad)}`",
        b.place(),
        label=f"expected `{word}` in column 1 before this",
    )
    return Finding(problem, (_at_line_start(b, bad, f"{word} "),))


def _is_head(b: Broken) -> bool:
    """Whether what follows reads like the head of a declaration: `squad(size: int) =`, `fast {`."""
    if b.type(-1) != "LPAR":
        return b.type(-1) in ("COLON", "LBRACE")
    depth = 0
    for at in range(b.at + 1, len(b.tokens)):
        kind = b.tokens[at].type
        depth += (kind in CLOSERS) - (kind in OPENER_OF)
        if depth == 0:
            behind = [t.type for t in b.tokens[at + 1 : at + 4]]
            given = behind[2:] if behind[:1] == ["OF"] else behind
            return given[:1] in (["EQUAL"], ["COLON"])
    return False


def _is_complete(b: Broken) -> bool:
    """Whether nothing can follow what stands above but another declaration."""
    return b.accepts <= {END, "KIND", "IMPORT", "FROM"} or (
        b.type(1) == "RBRACE" and END in b.accepts
    )


def _kindless(b: Broken, bad: Token) -> Finding:
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
