"""Budgets: `[$25, 2M tokens, 30m, 500 calls]`, any subset, or a share of what is around them."""

import re
from dataclasses import replace
from itertools import pairwise

from . import syntax
from .context import Context
from .program import Budget, Clock
from .reading import show
from .source import Place, Span
from .types import ANY, BUDGET, CALLS, TIME, TOKENS, Type, describe, options
from .values import BAD, Items, Quantity, Scope, Unknown, Value

_FIELD = {"usd": "usd", "tokens": "tokens", "calls": "calls", "time": "seconds", "share": "share"}
_SAYS = {
    "usd": "dollars",
    "tokens": "tokens",
    "calls": "calls",
    "time": "a time",
    "share": "a share",
}


def budget(context: Context, expr: syntax.ListExpr, scope: Scope) -> Value:
    """The budget that a list in the program is; a mistake in an item is reported at the item."""
    if (comma := _decimal_comma(expr, scope)) is not None:
        text = comma.source.text[comma.span.start : comma.span.end]
        point = text.replace(",", ".")
        said = f"`{text}` are two amounts; cents stand behind a point"
        context.error("E308", said, comma, help=f"write `{point}`", instead=point)
        return BAD
    total: Value = Budget()
    for item in expr.items:
        total = _with(context, total, context.value(item, scope, ANY), scope.place(item.span))
    return total


def _decimal_comma(expr: syntax.ListExpr, scope: Scope) -> Place | None:
    """Where `$0,50` stands, without a space, for fifty cents."""
    for one, other in pairwise(expr.items):
        place = scope.place(Span(one.span.start, other.span.end))
        amounts = isinstance(one, syntax.Money) and isinstance(other, syntax.Number)
        if amounts and _COMMA.fullmatch(place.source.text[place.span.start : place.span.end]):
            return place
    return None


_COMMA = re.compile(r"\$[0-9]+,[0-9]+")


def whole_budget(context: Context, value: Quantity | Items, place: Place) -> Value:
    """A single quantity, or a list that came through a parameter, as a budget."""
    total: Value = Budget()
    for item in value.items if isinstance(value, Items) else (value,):
        total = _with(context, total, item, place)
    return total


def _with(context: Context, total: Value, item: Value, place: Place) -> Value:
    match item:
        case Budget():
            return item
        case Unknown():
            return Unknown(ANY) if not isinstance(total, Budget) else total
        case Quantity() if isinstance(total, Budget):
            return _add(context, total, item, place)
        case Quantity():
            return total
        case _ if minutes_or_millions(context, item, BUDGET, place):
            return total
        case _:
            bare = bare_number(item, place)
            context.error(
                "E308",
                "a budget holds dollars, tokens, calls, a time or a share, not "
                + (f"`{bare}`" if bare else show(item)),
                place,
                help="a deadline by the clock is a field of its own: `by = 07:00`"
                if isinstance(item, Clock)
                else f"say of what: `{bare} tokens`, `{bare} calls` or `${bare}`"
                if bare
                else "write, for example, `[$5, 1M tokens, 30m]`",
            )
            return total


_NUMBER = re.compile(r"[0-9][0-9_.]*[kMB]?")


def bare_number(value: Value, place: Place) -> str:
    """The number at place as it was written, which is value; empty where none stands there."""
    text = place.source.text[place.span.start : place.span.end]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return text if is_number and _NUMBER.fullmatch(text) else ""


_SHORT = re.compile(r"([0-9][0-9_.]*)([mM])")


def minutes_or_millions(context: Context, value: Value, want: Type, place: Place) -> bool:
    """E308 in its own words where `m` stands for millions, or `M` for minutes; whether that was it."""
    found = _SHORT.fullmatch(place.source.text[place.span.start : place.span.end])
    kinds = tuple(options(want))
    if found is None or not isinstance(value, int | float | Quantity):
        return False
    count, unit = found.groups()
    if unit == "m" and (TOKENS in kinds or CALLS in kinds):
        what = "tokens" if TOKENS in kinds else "calls"
        minutes = "1 minute" if count == "1" else f"{count} minutes"
        said, instead = f"`{count}m` is {minutes}", f"{count}M {what}"
        help_ = f"a million is a capital M: did you mean `{instead}`?"
    elif unit == "M" and (TIME in kinds or BUDGET in kinds):
        said, instead = f"`{count}M` is {count} million, of nothing", f"{count}m"
        help_ = f"minutes are a small m: did you mean `{instead}`?"
        if BUDGET in kinds:
            help_, instead = f"write `{count}M tokens`, or `{count}m` for minutes", ""
    else:
        return False
    context.error(
        "E308", f"{said}; {describe(want)} is wanted here", place, help=help_, instead=instead
    )
    return True


def _add(context: Context, total: Budget, item: Quantity, place: Place) -> Value:
    name = _FIELD[item.dimension]
    if getattr(total, name) is not None:
        context.error(
            "E307",
            f"the budget gives {_SAYS[item.dimension]} twice",
            place,
            help="keep the one that is meant",
        )
        return total
    if item.amount <= 0 or (item.dimension == "share" and item.amount > 1):
        context.error(
            "E309",
            f"{show(item)} is no budget",
            place,
            help="a share lies between 0% and 100%"
            if item.dimension == "share"
            else "a budget is more than nothing",
        )
        return BAD
    match item.dimension:
        case "usd":
            return replace(total, usd=int(item.amount))
        case "tokens":
            return replace(total, tokens=int(item.amount))
        case "calls":
            return replace(total, calls=int(item.amount))
        case "time":
            return replace(total, seconds=float(item.amount))
        case "share":
            return replace(total, share=float(item.amount))


def tighter(one: Budget, other: Budget) -> Budget:
    """The budget within both."""

    def least(a: int | None, b: int | None) -> int | None:
        return b if a is None else a if b is None else min(a, b)

    def less(a: float | None, b: float | None) -> float | None:
        return b if a is None else a if b is None else min(a, b)

    return Budget(
        least(one.usd, other.usd),
        least(one.tokens, other.tokens),
        least(one.calls, other.calls),
        less(one.seconds, other.seconds),
        less(one.share, other.share),
    )
