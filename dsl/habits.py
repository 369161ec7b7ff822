"""Habits of other languages: signs and words that mean something there, and what they are called here."""

import re

from . import expected as words
from .broken import Broken
from .lex import begin, end
from .mistake import Finding, place
from .problem import Edit, Problem
from .source import Place, Span

_HYPHENED = re.compile(r"[A-Za-z_][0-9A-Za-z_]*(?:-[A-Za-z_][0-9A-Za-z_]*)+")
_COMMENTS = {"//", "/*", "--"}


def comment(b: Broken) -> Finding | None:
    """A comment as other languages write it."""
    pairs = ((b.before(1), b.bad), (b.bad, b.before(-1)))
    slashes = next(
        (
            (p, q)
            for p, q in pairs
            if p is not None and q is not None and p + q in _COMMENTS and end(p) == begin(q)
        ),
        None,
    )
    if slashes is None:
        return None
    span = Span(begin(slashes[0]), end(slashes[1]))
    problem = Problem(
        "T002",
        "comments start with `#`",
        Place(b.source, span),
        help="each line of a comment has its own `#`",
    )
    line = b.source.text[span.end :].split("\n", 1)[0]
    if "".join(slashes) != "/*":
        return Finding(problem, ((Edit(span, "#"),),))
    stop = line.find("*/")
    closing = Span(span.end + stop, span.end + stop + 2)
    one_line = stop >= 0 and not line[stop + 2 :].strip()
    return Finding(problem, ((Edit(span, "#"), Edit(closing, "")),) if one_line else ())


def equality(b: Broken) -> Finding | None:
    """`task == poem`, where `=` gives the value."""
    bad, name = b.bad, b.before(1)
    if bad is None or name is None or bad != "==" or "EQUAL" not in b.accepts:
        return None
    what = "field" if b.open and b.open[-1].type == "LBRACE" else "argument" if b.open else None
    problem = Problem(
        "T023",
        f"{what or b.tokens[0]} `{words.short(name)}` takes its value with `=`",
        b.place(),
        label="`==` compares",
        help=f"write `{words.short(name)} = …`",
    )
    return Finding(problem, ((Edit(problem.place.span, "="),),))


def within(b: Broken) -> Finding | None:
    """`parallel(3) of writer within $5`: a budget is no operator."""
    word = next((t for t in (b.before(1), b.bad) if t is not None and t == "within"), None)
    following = b.bad if word is b.before(1) else b.before(-1)
    if word is None or following is None or not words.starts_budget(following):
        return None
    problem = Problem(
        "T002",
        "there is no `within`: a budget is an argument or a field",
        place(b.source, word),
        help="write `budget = [$5]` in the call that it bounds, `parallel(3, budget = [$5]) of …`, "
        "or as a field of the run",
    )
    return Finding(problem)


def hyphened(b: Broken) -> Finding | None:
    """`role my-writer {`, `max-output = 3k tokens`."""
    first = b.before(1)
    if first is None or b.type(0) != "MINUS" or b.type(1) != "NAME":
        return None
    if b.type(2) != "KIND" and not ("EQUAL" in b.accepts and "MINUS" not in b.accepts):
        return None
    found = _HYPHENED.match(b.source.text, begin(first))
    if found is None:
        return None
    meant = found[0].replace("-", "_")
    problem = Problem(
        "T002",
        f"`{words.short(found[0])}` is no name",
        Place(b.source, Span(found.start(), found.end())),
        label="`-` subtracts",
        help=f"write `{words.short(meant)}`",
    )
    return Finding(problem, ((Edit(problem.place.span, meant),),))


def json_text(b: Broken) -> Finding | None:
    """A file that begins with `{ "role":`."""
    if b.at != 0 or b.entry != "file" or b.type(0) not in ("LBRACE", "LSQB"):
        return None
    named = {"LBRACE": ["STRING", "COLON"], "LSQB": ["LBRACE", "STRING"]}[b.type(0)]
    if [b.type(-1), b.type(-2)] != named:
        return None
    problem = Problem(
        "T002",
        "a program is not JSON",
        b.place(),
        label="expected a declaration",
        help='a declaration is a kind, a name and fields in braces: `role writer { prompt = "Write." }`',
    )
    return Finding(problem)


def edition(b: Broken) -> Finding | None:
    """`edition "2026"`."""
    if b.bad is None or b.type(1) != "EDITION":
        return None
    problem = Problem(
        "T009",
        "an edition is a year",
        b.place(),
        label="expected a number",
        help="write `edition 2026`",
    )
    written = "2026" in b.bad
    return Finding(problem, ((Edit(problem.place.span, "2026"),),) if written else ())
