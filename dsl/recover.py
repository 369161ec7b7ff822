"""Why a parse stopped: one finding from the token it stopped at, the one before, and the open brackets.

The rules stand in the order they are tried; the first that knows the mistake speaks.
"""

from collections.abc import Callable, Iterator

from lark import Token

from . import expected as words
from .broken import Broken, insert, remove
from .extent import end_inside, field_inside, indented, stray_closer
from .lex import begin, end
from .mistake import Finding, place, reserved, unit_apart, wrong_colon
from .names import either
from .problem import Edit, Label, Problem
from .source import Place, Span
from .tree import keywords

_STEPS = {"best", "top", "vote", "sample", "score", "merge", "refine", "debate"}
_COUNTED = {"TOKENS", "CALLS"}
_QUANTITIES = {"DURATION": "a duration", "MONEY": "an amount of money", "PERCENT": "a percentage"}


def explain(broken: Broken) -> Finding:
    """The likeliest mistake, with edits that may mend it."""
    for rule in _RULES:
        finding = rule(broken)
        if finding is not None:
            return finding
    return _unexpected(broken)


def unexplained(broken: Broken) -> Finding:
    """That something is wrong, where saying what would take too long."""
    return Finding(Problem("T002", "this cannot be read", broken.place()))


# --- values --------------------------------------------------------------------------------------


def _no_value(b: Broken) -> Finding | None:
    """`endpoint =` with nothing behind it; the next field's name may have been read as its value."""
    if b.type(1) == "EQUAL":
        return _missing_value(b, 1, None)
    name, equal = b.before(1), b.before(2)
    if b.type(0) in ("EQUAL", "COLON") and name is not None and equal is not None:
        between = equal.type == "EQUAL" and name.type in ("NAME", "STRING")
        if between and not b.same_line(equal, name):
            return _missing_value(b, 2, name)
    return None


def _missing_value(b: Broken, distance: int, following: Token | None) -> Finding:
    equal, owner = b.before(distance), b.before(distance + 1)
    assert equal is not None  # the rule found it
    what = "argument" if b.open and b.open[-1].type == "LPAR" else "field"
    if not b.open or owner is None:
        what, owner = str(b.tokens[0]), b.tokens[min(1, b.at - 1)]
    label = () if following is None else (_next_field(b, following),)
    problem = Problem(
        "T011",
        f"{what} `{words.short(owner)}` has no value",
        place(b.source, equal),
        label="expected a value",
        secondary=label,
    )
    return Finding(problem)


def _next_field(b: Broken, token: Token) -> Label:
    return Label(place(b.source, token), "the next field starts here")


def _bare_field(b: Broken) -> Finding | None:
    """`{ a }` or `{ a = 1 b }`: a name in braces without `=`."""
    name = b.before(1)
    inside = bool(b.open) and b.open[-1].type == "LBRACE"
    if name is None or not inside or name.type not in ("NAME", "STRING"):
        return None
    if "EQUAL" not in b.accepts or "COMMA" in b.accepts:
        return None
    if b.type(0) not in ("RBRACE", "NAME", "COMMA"):
        return None
    earlier = b.before(2)
    if earlier is not None and words.ends_value(earlier) and b.same_line(earlier, name):
        return _apart(b, earlier, name)
    problem = Problem(
        "T011",
        f"field `{name}` has no value",
        place(b.source, name),
        label="expected `=` and a value behind it",
    )
    return Finding(problem, ((insert(name, " ="),),))


def _quantity_of_tokens(b: Broken) -> Finding | None:
    """`2m tokens`: a quantity that has its unit already."""
    amount, unit = b.before(1), b.bad
    if amount is None or unit is None or unit.type not in _COUNTED:
        return None
    if amount.type not in _QUANTITIES:
        return None
    million = amount.type == "DURATION" and amount.endswith("m") and amount[:-1].isdigit()
    meant = f" ({amount[:-1]} minutes)" if million else ""
    span = Span(begin(amount), end(unit))
    problem = Problem(
        "T020",
        f"`{amount}` is {_QUANTITIES[amount.type]}{meant}, not a number of {unit}",
        Place(b.source, span),
        label="million is a capital M" if million else "",
        help=f"did you mean `{amount[:-1]}M {unit}`?" if million else f"leave out `{unit}`",
    )
    mended = Edit(span, f"{amount[:-1]}M {unit}") if million else remove(unit)
    return Finding(problem, ((mended,),))


def _bare_multiple(b: Broken) -> Finding | None:
    """`per M tokens`: a multiple without a number."""
    multiple, unit = b.before(1), b.bad
    if multiple not in ("k", "M", "B") or unit is None or unit.type not in _COUNTED:
        return None
    mended = f"1{multiple} {unit}"
    span = Span(begin(multiple), end(unit))
    problem = Problem(
        "T006",
        f"`{multiple} {unit}` is no quantity",
        Place(b.source, span),
        help=f"write `{'per ' if b.type(2) == 'PER' else ''}{mended}`",
    )
    return Finding(problem, ((Edit(span, mended),),))


# --- signs and words -----------------------------------------------------------------------------


def _chained(b: Broken) -> Finding | None:
    """`then` or `|` where `->` is meant."""
    bad = b.bad
    if bad is None or bad.type not in ("THEN", "VBAR", "EQUAL") or "_ARROW" not in b.accepts:
        return None
    following = b.before(-1)
    if bad.type == "EQUAL" and following != ">":
        return None
    pipe = following is not None and following == ">" and begin(following) == end(bad)
    span = Span(begin(bad), end(following) if pipe and following else end(bad))
    sign = b.source.text[span.start : span.end]
    problem = Problem(
        "T022",
        f"steps are chained with `->`, not with `{sign}`",
        Place(b.source, span),
        label="expected `->`",
    )
    lacks_if = bad.type == "THEN" and any(t.type == "ELSE" for t in b.tokens[b.at :])
    return Finding(problem, () if lacks_if else ((Edit(span, "->"),),))


def _colon(b: Broken) -> Finding | None:
    """`name: 3`, where a field or an argument takes `=`."""
    distance = 0 if b.type(0) == "COLON" else 1 if b.type(1) == "COLON" else None
    if distance is None or not b.open:
        return None
    colon, name = b.before(distance), b.before(distance + 1)
    if colon is None or name is None or name.type not in ("NAME", "STRING"):
        return None
    what = "argument" if b.open[-1].type == "LPAR" else "field"
    problem = wrong_colon(b.source, Span(begin(colon), end(colon)), what, str(name))
    following = b.before(distance - 1)
    stop = begin(following) if following is not None else end(colon)
    return Finding(problem, ((Edit(Span(end(name), stop), " = "),),))


def _reserved(b: Broken) -> Finding | None:
    """A word of the language as a name."""
    bad, previous = b.bad, b.before(1)
    braces = bool(b.open) and b.open[-1].type == "LBRACE"
    if bad is not None and bad in keywords() and "NAME" in b.accepts:
        valued = b.type(-1) in ("EQUAL", "COLON")
        if valued or b.type(1) in ("KIND", "AS"):
            return reserved(b.source, bad, quoted=braces and valued)
    if previous is None or b.type(0) not in ("EQUAL", "COLON") or words.ends_value(previous):
        return None
    return reserved(b.source, previous, quoted=braces) if previous in keywords() else None


def _comment(b: Broken) -> Finding | None:
    pairs = ((b.before(1), b.bad), (b.bad, b.before(-1)))
    slashes = next(
        ((p, q) for p, q in pairs if p is not None and q is not None and p + q == "//"), None
    )
    if slashes is None:
        return None
    span = Span(begin(slashes[0]), end(slashes[1]))
    problem = Problem("T002", "comments start with `#`", Place(b.source, span))
    return Finding(problem, ((Edit(span, "#"),),))


# --- two values ----------------------------------------------------------------------------------


def _adjacent(b: Broken) -> Finding | None:
    """Two values with nothing between them."""
    previous, bad = b.before(1), b.bad
    if previous is None or bad is None or not words.starts(bad) or not words.ends_value(previous):
        return None
    if "_ARROW" not in b.accepts:
        return None
    return _apart(b, previous, bad)


def _apart(b: Broken, first: Token, second: Token) -> Finding:
    unit = unit_apart(b.source, first, second) if first.type == "NUMBER" else None
    return unit or _side_by_side(b, first, second)


def _side_by_side(b: Broken, first: Token, second: Token) -> Finding:
    if first == second:
        return _twice(b, second)
    joints = list(_joints(b, first, second))
    listed = either([f"`{joint.strip()}`" for joint in joints])
    near = b.same_line(first, second)
    found = place(b.source, second) if near else b.after(first)
    problem = Problem(
        "T021",
        "two expressions stand side by side",
        found,
        label=f"expected {listed} before this" if near else f"expected {listed} here",
        help="`of` wraps what follows, `->` is the next step",
    )
    return Finding(problem, tuple((insert(first, joint),) for joint in joints))


def _twice(b: Broken, token: Token) -> Finding:
    problem = Problem(
        "T002",
        f"`{words.short(token)}` stands here twice",
        place(b.source, token),
        "the second one",
    )
    return Finding(problem, ((remove(token),),))


def _joints(b: Broken, first: Token, second: Token) -> Iterator[str]:
    """What may be missing between two values, the likeliest first."""
    if words.is_quantity(first) and second.type in ("NUMBER", "DURATION"):
        yield " per"
    in_list = bool(b.open) and b.open[-1].type in ("LSQB", "LPAR") and "COMMA" in b.accepts
    counted = first.type == "NUMBER" and in_list and b.open[-1].type == "LSQB"
    if in_list and not counted:
        yield ","
    steps = second in _STEPS
    yield from (" ->", " of") if steps else (" of", " ->")
    if counted:
        yield ","


# --- all the rest --------------------------------------------------------------------------------


def _unfinished(b: Broken) -> Finding | None:
    if b.bad is not None:
        return None
    last = b.before(1)
    if last is None:
        problem = Problem(
            "T012", "there is no expression here", b.place(), label="expected a value"
        )
        return Finding(problem)
    what = "declaration" if b.entry == "file" else "expression"
    problem = Problem(
        "T012",
        f"the {what} is not finished",
        b.after(last),
        label=f"expected {words.phrase(b.accepts)}",
    )
    return Finding(problem)


def _number_of(b: Broken) -> Finding | None:
    """`tokens` or `calls` without a number."""
    if b.bad is None or b.bad.type not in _COUNTED or "NUMBER" not in b.accepts:
        return None
    problem = Problem(
        "T002",
        f"a number is missing before `{b.bad}`",
        b.place(),
        label="expected a number before this",
        help=f"write how many, such as `400k {b.bad}`",
    )
    return Finding(problem)


def _unexpected(b: Broken) -> Finding:
    """T002, with what was expected."""
    bad, previous = b.bad, b.before(1)
    assert bad is not None  # the end is explained by a rule
    found = f"`{words.short(bad)}`"
    choices = tuple(_guesses(b, previous, bad))
    expected = f"expected {words.phrase(b.accepts)}"
    if bad.type == "EQUAL" and {"NAME", "STRING"} <= b.accepts:
        return Finding(Problem("T002", "a name is missing before `=`", b.place(), expected))
    if previous is not None and previous == bad:
        return _twice(b, bad)
    if previous is None or b.same_line(previous, bad):
        return Finding(Problem("T002", f"unexpected {found}", b.place(), expected), choices)
    label = Label(place(b.source, bad), f"found {found} instead")
    message = f"something is missing before {found}"
    problem = Problem("T002", message, b.after(previous), expected, secondary=(label,))
    return Finding(problem, choices)


def _guesses(b: Broken, previous: Token | None, bad: Token) -> Iterator[tuple[Edit, ...]]:
    """Put in the one sign that fits, or leave out a comma."""
    signs = sorted(words.signs(b.accepts))
    if previous is not None and len(signs) <= 3:
        yield from ((insert(previous, sign if sign == "," else f" {sign}"),) for sign in signs)
    if bad.type == "COMMA":
        yield (remove(bad),)


_RULES: tuple[Callable[[Broken], Finding | None], ...] = (
    stray_closer,
    end_inside,
    _quantity_of_tokens,
    _bare_multiple,
    field_inside,
    _number_of,
    _reserved,
    _no_value,
    _chained,
    _colon,
    _comment,
    indented,
    _bare_field,
    _adjacent,
    _unfinished,
)
