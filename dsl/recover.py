"""Why a parse stopped: one finding from the token it stopped at, the one before, and the open brackets.

The rules stand in the order they are tried; the first that knows the mistake speaks.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from lark import Token

from . import expected as words
from .kinds import KINDS
from .lex import begin, end
from .mistake import Finding, place, reserved, unit_apart, wrong_colon
from .names import either
from .problem import Edit, Label, Problem
from .source import Place, Source, Span
from .tree import accepted, keywords

_CLOSER = {"LPAR": ")", "LSQB": "]", "LBRACE": "}"}
_OPENER_OF = {"RPAR": "LPAR", "RSQB": "LSQB", "RBRACE": "LBRACE"}
_STEPS = {"best", "top", "vote", "sample", "score", "merge", "refine", "debate"}
_COUNTED = {"TOKENS", "CALLS"}
_QUANTITIES = {"DURATION": "a duration", "MONEY": "an amount of money", "PERCENT": "a percentage"}


@dataclass(frozen=True)
class Broken:
    """A parse of tokens from entry that stopped at tokens[at], or behind the last one.

    behind: the place of what follows the tokens: the next declaration, or the end of the text.
    """

    source: Source
    tokens: Sequence[Token]
    at: int
    entry: str
    behind: Span

    @property
    def bad(self) -> Token | None:
        return self.before(0)

    def before(self, distance: int) -> Token | None:
        """The token so far before the bad one, or (negative) behind it."""
        at = self.at - distance
        return self.tokens[at] if 0 <= at < len(self.tokens) else None

    def type(self, distance: int) -> str:
        token = self.before(distance)
        return token.type if token is not None else ""

    @cached_property
    def open(self) -> list[Token]:
        """The brackets that are open, the outermost first."""
        found: list[Token] = []
        for token in self.tokens[: self.at]:
            if token.type in _CLOSER:
                found.append(token)
            elif token.type in _OPENER_OF and found:
                found.pop()
        return found

    @cached_property
    def accepts(self) -> frozenset[str]:
        return accepted(self.tokens[: self.at], self.entry)

    def same_line(self, first: Token, second: Token) -> bool:
        return "\n" not in self.source.text[begin(first) : begin(second)]

    def place(self) -> Place:
        """Where the bad token stands, or what comes behind all tokens."""
        return Place(self.source, self.behind) if self.bad is None else place(self.source, self.bad)

    def after(self, token: Token) -> Place:
        """The place just behind a token."""
        return Place(self.source, Span(end(token), end(token) + 1))


def explain(broken: Broken) -> Finding:
    """The likeliest mistake, with edits that may mend it."""
    for rule in _RULES:
        finding = rule(broken)
        if finding is not None:
            return finding
    return _unexpected(broken)


# --- brackets ------------------------------------------------------------------------------------


def _stray_closer(b: Broken) -> Finding | None:
    bad = b.bad
    if bad is None or bad.type not in _OPENER_OF or b.type(1) == "EQUAL":
        return None
    if not b.open:
        problem = Problem("T013", f"`{bad}` closes nothing", b.place(), label="no bracket is open")
        return Finding(problem, ((_remove(bad),),))
    wanted = _OPENER_OF[bad.type]
    if b.open[-1].type == wanted:
        return None
    if wanted in [token.type for token in b.open]:
        return _never_closed(b)
    right = _CLOSER[b.open[-1].type]
    problem = Problem(
        "T013",
        f"`{bad}` cannot close `{b.open[-1]}`",
        b.place(),
        label=f"expected `{right}`",
        secondary=(Label(place(b.source, b.open[-1]), "opened here"),),
    )
    return Finding(problem, ((Edit(problem.place.span, right),), (_remove(bad),)))


def _end_inside(b: Broken) -> Finding | None:
    return _never_closed(b) if b.bad is None and b.open else None


def _field_inside(b: Broken) -> Finding | None:
    """A line starts a field while a bracket other than `{` is open."""
    previous = b.before(1)
    if b.bad is None or previous is None or not b.open or b.open[-1].type == "LBRACE":
        return None
    if b.open[-1].type == "LSQB" and b.type(0) == "EQUAL" and previous.type == "NAME":
        return _field_inside(replace(b, at=b.at - 1)) or _never_closed(replace(b, at=b.at - 1))
    starts = b.bad.type in ("NAME", "STRING") and b.type(-1) == "EQUAL"
    braces = any(token.type == "LBRACE" for token in b.open)
    if not starts or not braces or b.same_line(previous, b.bad) or previous.type == "EQUAL":
        return None
    return _never_closed(b)


def _never_closed(b: Broken) -> Finding:
    opener, previous = b.open[-1], b.tokens[b.at - 1]
    closer = _CLOSER[opener.type]
    problem = Problem(
        "T010",
        f"`{opener}` is never closed",
        b.place(),
        label=f"expected `{closer}` before this",
        secondary=(Label(place(b.source, opener), "opened here"),),
        help=f"close it with `{closer}`",
    )
    closers = "".join(_CLOSER[token.type] for token in reversed(b.open))
    ends = [closers[: n + 1] for n in range(min(len(closers), 3))]
    choices = [(_insert(previous, new),) for new in ends]
    if opener.type == "LBRACE" and not b.same_line(opener, previous):
        choices.insert(0, (_insert(previous, "\n}"),))
    if b.bad is not None:
        choices.append((_insert(previous, ","),))
    return Finding(problem, tuple(choices))


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
        return _side_by_side(b, earlier, name)
    problem = Problem(
        "T011",
        f"field `{name}` has no value",
        place(b.source, name),
        label="expected `=` and a value behind it",
    )
    return Finding(problem, ((_insert(name, " ="),),))


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
    mended = Edit(span, f"{amount[:-1]}M {unit}") if million else _remove(unit)
    return Finding(problem, ((mended,),))


# --- signs and words -----------------------------------------------------------------------------


def _chained(b: Broken) -> Finding | None:
    """`then` or `|` where `->` is meant."""
    bad = b.bad
    if bad is None or bad.type not in ("THEN", "VBAR") or "_ARROW" not in b.accepts:
        return None
    following = b.before(-1)
    pipe = following is not None and following == ">" and begin(following) == end(bad)
    span = Span(begin(bad), end(following) if pipe and following else end(bad))
    sign = b.source.text[span.start : span.end]
    problem = Problem(
        "T022",
        f"steps are chained with `->`, not with `{sign}`",
        Place(b.source, span),
        label="expected `->`",
    )
    return Finding(problem, ((Edit(span, "->"),),))


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
    bad, previous = b.bad, b.before(1)
    if bad is None or previous is None or (previous + bad) != "//":
        return None
    span = Span(begin(previous), end(bad))
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
    unit = unit_apart(b.source, previous, bad) if previous.type == "NUMBER" else None
    return unit or _side_by_side(b, previous, bad)


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
    return Finding(problem, tuple((_insert(first, joint),) for joint in joints))


def _twice(b: Broken, token: Token) -> Finding:
    problem = Problem(
        "T002",
        f"`{words.short(token)}` stands here twice",
        place(b.source, token),
        "the second one",
    )
    return Finding(problem, ((_remove(token),),))


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


def _indented(b: Broken) -> Finding | None:
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
    return Finding(problem, ((_remove(previous),),) if previous.type == "RBRACE" else ())


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
        yield from ((_insert(previous, sign if sign == "," else f" {sign}"),) for sign in signs)
    if bad.type == "COMMA":
        yield (_remove(bad),)


def _insert(token: Token, new: str) -> Edit:
    """Put new behind token."""
    return Edit(Span(end(token), end(token)), new)


def _remove(token: Token) -> Edit:
    return Edit(Span(begin(token), end(token)), "")


_RULES: tuple[Callable[[Broken], Finding | None], ...] = (
    _stray_closer,
    _end_inside,
    _quantity_of_tokens,
    _field_inside,
    _number_of,
    _reserved,
    _no_value,
    _chained,
    _colon,
    _comment,
    _indented,
    _bare_field,
    _adjacent,
    _unfinished,
)
