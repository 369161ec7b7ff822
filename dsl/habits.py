"""Habits of other languages: signs and words that mean something there, and what they are called here."""

import re

from . import expected as words
from .broken import Broken, remove
from .kinds import KINDS
from .lex import begin, end, in_column_1
from .mistake import Finding, place, wrong_colon
from .problem import Edit, Problem
from .source import Place, Span
from .units import is_misplaced

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


_COMPARED = {"score", "round", "spent", "held", "elapsed", "outcome"}


def comparison(b: Broken) -> Finding | None:
    """`outcome = finished` as a condition, and `score => 2`, `score =< 2`."""
    bad, name, following = b.bad, b.before(1), b.before(-1)
    if bad is None or name is None or bad != "=":
        return None
    turned = following in ("<", ">") and end(bad) == begin(following) if following else False
    before = b.before(2)
    if name not in _COMPARED or before is None or not b.same_line(before, name):
        return None
    stop = end(following) if turned and following else end(bad)
    meant = f"{following}=" if turned else "=="
    at = Place(b.source, Span(begin(bad), stop))
    problem = Problem(
        "T022",
        f"`{name}` is compared with `{meant}`, not with `{b.source.text[begin(bad) : stop]}`",
        at,
        label=f"expected `{meant}`",
    )
    return Finding(problem, ((Edit(at.span, meant),),))


def braced(b: Broken) -> Finding | None:
    """`flow f(n: int) { team(n) }`: what is no block of fields, in braces."""
    opener = next((t for t in b.open if t.type == "LBRACE"), None)
    if opener is None or opener is not b.open[0]:
        return None
    kind = b.tokens[0]
    if kind not in ("flow", "param"):
        return None
    at = next(n for n, token in enumerate(b.tokens) if token is opener)
    if b.tokens[at - 1].type in ("EQUAL", "OF", "WITH"):
        return None
    problem = Problem(
        "T002",
        f"a {kind} is no block of fields",
        place(b.source, opener),
        label="expected `=`" if kind == "flow" else "no braces belong here",
        help=f"write `{kind} NAME = …`",
    )
    closer = [remove(b.tokens[-1])] if b.tokens[-1].type == "RBRACE" else []
    return Finding(problem, ((Edit(problem.place.span, "=" if kind == "flow" else ""), *closer),))


def listed_value(b: Broken) -> Finding | None:
    """`budget: [$5, 1m]`, where the list is read as a type."""
    if b.bad is None or len(b.open) != 2 or [t.type for t in b.open] != ["LBRACE", "LSQB"]:
        return None
    at = next(n for n, token in enumerate(b.tokens) if token is b.open[1])
    name, colon = b.tokens[at - 2], b.tokens[at - 1]
    if colon.type != "COLON" or name.type not in ("NAME", "STRING"):
        return None
    sign = Span(begin(colon), end(colon))
    finding = wrong_colon(b.source, sign, "field", str(name))
    return Finding(finding, ((Edit(Span(end(name), begin(b.open[1])), " = "),),))


def misplaced(b: Broken) -> Finding | None:
    """`context restart =`, with the sign behind the value."""
    name, bad, sign = b.before(1), b.bad, b.before(-1)
    if not b.open or name is None or bad is None or sign is None:
        return None
    if not is_misplaced(b.source.text, b.tokens, b.at + 1):
        return None
    problem = Problem(
        "T002",
        f"`=` stands behind `{words.short(bad)}`",
        place(b.source, sign),
        label="it gives no value here",
        help=f"write `{words.short(name)} = {words.short(bad)}`",
    )
    edits = (Edit(Span(end(name), begin(bad)), " = "), Edit(problem.place.span, ""))
    return Finding(problem, (edits,))


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


def quoted(b: Broken) -> Finding | None:
    """`"flow" a = agent`."""
    bad = b.bad
    kind = bad.strip('"') if bad is not None and bad.type == "STRING" else ""
    if bad is None or kind not in KINDS or b.type(-1) != "NAME":
        return None
    if b.open or not in_column_1(b.source.text, bad):
        return None
    problem = Problem(
        "T002",
        f"`{bad}` is a text, and a declaration begins with a word",
        b.place(),
        help=f"write `{kind}` without quotes",
    )
    return Finding(problem, ((Edit(problem.place.span, kind),),))


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
