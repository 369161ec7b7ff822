"""Why a parse stopped: one finding from the token it stopped at, the one before, and the open brackets.

The rules stand in the order they are tried; the first that knows the mistake speaks. Long because it is that list.
"""

from collections.abc import Callable, Iterator

from lark import Token

from . import expected as words
from .beside import adjacent, apart, twice
from .broken import OPENER_OF, Broken, insert, remove
from .extent import end_inside, field_inside, indented, stray_closer
from .habits import (
    braced,
    comment,
    comparison,
    edition,
    equality,
    hyphened,
    json_text,
    listed_value,
    misplaced,
    quoted,
    within,
)
from .kinds import KINDS
from .lex import begin, end, starts_line
from .mistake import Finding, place, reserved, wrong_colon
from .names import counted
from .problem import Edit, Label, Problem
from .source import Place, Span
from .tree import keywords
from .unclosed import never_closed

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
        return None if words.joins(b.type(0)) else _missing_value(b, 1, None)
    name, before = b.before(1), b.before(2)
    if name is None or before is None or name.type not in ("NAME", "STRING"):
        return None
    if b.same_line(before, name) or b.type(0) not in ("EQUAL", "COLON"):
        return None
    if before.type == "EQUAL":
        return _missing_value(b, 2, name)
    return _nothing_behind(b, before, name) if words.joins(before.type) else None


def _nothing_behind(b: Broken, sign: Token, following: Token) -> Finding:
    """`flow = parallel(3) of` and then the next field."""
    problem = Problem(
        "T002",
        f"nothing stands behind `{sign}`",
        b.after(sign),
        label="expected a value here",
        secondary=(_next_field(b, following),),
    )
    return Finding(problem)


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
        return apart(b, earlier, name)
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
    meant = f" ({counted(int(amount[:-1]), 'minute')})" if million else ""
    span = Span(begin(amount), end(unit))
    problem = Problem(
        "T020",
        f"`{amount}` is {_QUANTITIES[amount.type]}{meant}, not a number of {unit}",
        Place(b.source, span),
        label="million is a capital M" if million else "",
        help=f"did you mean `{amount[:-1]}M {unit}`?" if million else f"leave out `{unit}`",
    )
    mended = Edit(span, f"{amount[:-1]}M {unit}" if million else str(amount))
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
    if following in KINDS and starts_line(b.source.text, bad):
        return None  # `| role writer {`
    if following is not None and following.type == "_ARROW":
        return None  # `top(2 |` and on the next line `-> best`
    if bad.type == "VBAR" and _is_opener(b):
        return _opens(b, bad)
    if bad.type == "VBAR" and "COMMA" in b.accepts and b.type(-2) in ("EQUAL", "COLON"):
        return _separated(b, bad)
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


def _is_opener(b: Broken) -> bool:
    """Whether behind the bad token more `)` follow than are opened: it stands in the place of a `(`."""
    depth = sum(token.type == "LPAR" for token in b.open)
    for token in b.tokens[b.at :]:
        depth += (token.type == "LPAR") - (token.type == "RPAR")
        if depth < 0:
            return True
    return False


def _opens(b: Broken, bad: Token) -> Finding:
    """`team | 3, rounds = 2)`."""
    problem = Problem(
        "T002", f"unexpected `{bad}`", b.place(), label="expected `(`, as a `)` follows"
    )
    return Finding(problem, ((Edit(problem.place.span, "("),),))


def _separated(b: Broken, bad: Token) -> Finding:
    """`(3 | seed = 2)`."""
    problem = Problem(
        "T021",
        f"a comma separates what stands side by side, not `{bad}`",
        b.place(),
        label="expected `,`",
    )
    return Finding(problem, ((Edit(problem.place.span, ","),),))


def _colon(b: Broken) -> Finding | None:
    """`name: 3`, where a field or an argument takes `=`."""
    distance = 0 if b.type(0) == "COLON" else 1 if b.type(1) == "COLON" else None
    if distance is None or not b.open:
        return None
    colon, name = b.before(distance), b.before(distance + 1)
    if colon is None or name is None or name.type not in ("NAME", "STRING"):
        return None
    if b.type(distance + 2) == "EQUAL":
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


def _nameless(b: Broken) -> Finding | None:
    """`task {`, and `= (10, ceo = adaptive)`: what is declared or called has no name."""
    bad, opener = b.bad, b.open[-1] if b.open else None
    if bad is not None and b.at == 1 and b.type(1) == "KIND":
        message, kind = f"this {b.tokens[0]} has no name", KINDS.get(b.tokens[0])
        form = f"{b.tokens[0]} NAME {'{ … }' if kind is not None and kind.fields else '= …'}"
        at = b.place()
        return Finding(
            Problem("T002", message, at, "expected a name before this", help=f"write `{form}`")
        )
    given = b.type(0) == "EQUAL" and b.type(1) == "NAME" and b.before(2) is opener
    if opener is None or opener.type != "LPAR" or not (given or b.type(0) == "COMMA"):
        return None
    if b.type(0) == "COMMA" and not (b.at and words.ends_value(b.tokens[b.at - 1])):
        return None
    problem = Problem(
        "T002",
        "a name is missing before `(`",
        place(b.source, opener),
        label="expected what these arguments are for, such as `team`, before this",
    )
    return Finding(problem)


def _rounded(b: Broken) -> Finding | None:
    """`role writer (` and then fields, where `{` belongs."""
    kind, opener = b.tokens[:1], b.tokens[2:3]
    if [t.type for t in b.tokens[:5]] != ["KIND", "NAME", "LPAR", "NAME", "EQUAL"]:
        return None
    if kind[0] == "flow" or kind[0] not in KINDS or opener[0] not in b.open:
        return None
    problem = Problem(
        "T013",
        f"the fields of a {kind[0]} stand in braces",
        place(b.source, opener[0]),
        label="expected `{`",
    )
    return Finding(problem, ((Edit(problem.place.span, "{"),),))


def _open_before(b: Broken) -> Finding | None:
    """`best_of(3` and then `else` or `of`, which could stand behind the `)`."""
    if not b.open or b.open[-1] is b.before(1) or not words.joins(b.type(0)):
        return None
    closer = next(kind for kind, opener in OPENER_OF.items() if opener == b.open[-1].type)
    return never_closed(b) if closer in b.accepts and b.type(0) in b.behind_closed(closer) else None


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
        return twice(b, bad)
    if previous is None or b.same_line(previous, bad):
        return Finding(Problem("T002", f"unexpected {found}", b.place(), expected), choices)
    message = f"something is missing before {found}"
    if words.joins(bad.type) and not words.ends_value(previous):
        return Finding(Problem("T002", message, b.place(), f"{expected} before this"), choices)
    label = Label(place(b.source, bad), f"found {found} instead")
    problem = Problem("T002", message, b.after(previous), expected, secondary=(label,))
    return Finding(problem, choices)


def _is_no_field(b: Broken, name: Token | None) -> bool:
    """Whether name stands where a field of a declaration does, and its kind has none of that name."""
    kind = KINDS.get(str(b.tokens[0])) if b.tokens else None
    outermost = len(b.open) == 1 and b.open[0].type == "LBRACE"
    if kind is None or not kind.fields or not outermost or name is None:
        return False
    return name.type == "NAME" and all(spec.name != name for spec in kind.fields)


def _guesses(b: Broken, previous: Token | None, bad: Token) -> Iterator[tuple[Edit, ...]]:
    """Put in the one sign that fits, or leave out a comma."""
    signs = sorted(words.signs(b.accepts) - ({"="} if _is_no_field(b, previous) else set[str]()))
    if previous is not None and len(signs) <= 3:
        yield from ((insert(previous, sign if sign == "," else f" {sign}"),) for sign in signs)
    if bad.type == "COMMA":
        yield (remove(bad),)


_RULES: tuple[Callable[[Broken], Finding | None], ...] = (
    json_text,
    edition,
    quoted,
    braced,
    _rounded,
    hyphened,
    stray_closer,
    end_inside,
    within,
    misplaced,
    listed_value,
    comparison,
    equality,
    _quantity_of_tokens,
    _bare_multiple,
    field_inside,
    _number_of,
    _reserved,
    _no_value,
    _chained,
    _colon,
    comment,
    indented,
    _bare_field,
    adjacent,
    _nameless,
    _open_before,
    _unfinished,
)
