"""The plainer expressions: constants, lists, records, and `if`."""

from collections.abc import Iterator

from . import syntax
from .budgets import budget
from .context import Context
from .declared_types import schema
from .fields import free_record, record_of
from .kinds import CONDITION_NAMES
from .lookup import astray
from .program import Clock
from .shapes import stand_in
from .types import (
    ANY,
    BOOL,
    BUDGET,
    CASES,
    FLOW,
    RECORD,
    SCHEMA,
    ListOf,
    Number,
    RecordOf,
    Type,
    describe,
    options,
)
from .values import BAD, Counted, Items, Quantity, Scope, Unknown, Value, is_flow, type_of


def choice(context: Context, expr: syntax.IfExpr, scope: Scope, want: Type) -> Value:
    """The branch taken. While checking both are looked at; where neither is known, what they share."""
    chosen = _before_the_run(context, expr.condition, scope)
    if context.reading and isinstance(chosen, bool):
        return context.value(expr.then if chosen else expr.otherwise, scope, want)
    then = context.value(expr.then, scope, want)
    otherwise = context.value(expr.otherwise, scope, want)
    if isinstance(chosen, bool):
        return then if chosen else otherwise
    if is_flow(then) and is_flow(otherwise):
        alike = context.shapes.of(then) == context.shapes.of(otherwise)
        return then if alike else stand_in("if", scope.place(expr.span))
    alike = type_of(then) == type_of(otherwise)
    return Unknown(type_of(then)) if alike else BAD


def _before_the_run(context: Context, expr: syntax.Expr, scope: Scope) -> Value:
    """The condition of an `if`, which is decided on parameters."""
    own = {*scope.locals, *scope.module.declared, *scope.module.imported}
    for name in _names(expr):
        if name.name in CONDITION_NAMES and name.name not in own:
            context.error(
                "E105",
                f"`{name.name}` is known only while a run goes on, and `if` is decided before it",
                scope.place(name.span),
                help="an `if` asks about parameters; `repeat`, `fallback` and `route` decide later",
            )
            return BAD
    return context.value(expr, scope, BOOL)


def _names(expr: syntax.Node) -> Iterator[syntax.Name]:
    waiting = [expr]
    while waiting:
        here = waiting.pop()
        if isinstance(here, syntax.Name):
            yield here
        waiting.extend(reversed([*syntax.children(here)]))


def listed(context: Context, expr: syntax.ListExpr, scope: Scope, want: Type) -> Value:
    """A list as wanted: of the first kind of list that want has, or a budget. Anywhere else it is empty."""
    if BUDGET in options(want):
        return budget(context, expr, scope)
    if want != ANY and not any(isinstance(o, ListOf) for o in options(want)):
        for item in expr.items:
            astray(context, item, scope)
        return Items(())
    listed = next((o for o in options(want) if isinstance(o, ListOf)), ListOf(ANY))
    return Items(tuple(_items(context, expr, scope, listed)))


def _items(context: Context, expr: syntax.ListExpr, scope: Scope, want: ListOf) -> Iterator[Value]:
    """Each item; behind a wrong one, what stands in parentheses may be its arguments: `[crash, (3 calls)]`."""
    blamed = False
    for item in expr.items:
        if blamed and isinstance(item, syntax.Paren):
            astray(context, item, scope)
            yield BAD
            continue
        before = context.errors
        yield _item(context, item, scope, want)
        blamed = context.errors > before


def _item(context: Context, expr: syntax.Expr, scope: Scope, want: ListOf) -> Value:
    if want.counted and isinstance(expr, syntax.Then) and _starts_counted(expr):
        context.error(
            "E208",
            "does the number count the first step or the whole chain?",
            scope.place(expr.span),
            help="write `3 of (f -> g)` or `(3 of f) -> g`"
            if want.item != FLOW
            else "put parentheses around what is counted: `3 of (f -> g)`",
        )
        return BAD
    if want.counted and isinstance(expr, syntax.Of) and _may_count(expr.wrapper):
        count = context.raw(expr.wrapper, scope, ANY)
        kind = count.type if isinstance(count, Unknown) else type_of(count)
        if isinstance(kind, Number) or isinstance(count, Unknown):
            fitted = context.fit(count, Number(True, 0), scope.place(expr.wrapper.span))
            inner = context.value(expr.inner, scope, want.item)
            return Counted(fitted if isinstance(fitted, int) else None, inner)
    return context.value(expr, scope, want.item)


def record(context: Context, expr: syntax.Record, scope: Scope, want: Type) -> Value:
    """A record as wanted: of the first kind of record that want has."""
    for option in options(want):
        match option:
            case RecordOf(name=name):
                return record_of(context, name, expr, scope)
            case _ if option == SCHEMA:
                return schema(context, expr, scope)
            case _ if option == CASES:
                return free_record(context, expr, scope, FLOW)
            case _ if option in (RECORD, ANY):
                return free_record(context, expr, scope, ANY)
            case _:
                continue
    context.error("E120", f"{describe(want)} is wanted here, not a record", scope.place(expr.span))
    return BAD


def literal(expr: syntax.Expr) -> Value:
    """What a literal stands for; None where expr is none."""
    match expr:
        case syntax.Number(value=value) | syntax.Bool(value=value) | syntax.String(value=value):
            return value
        case syntax.Money(micro=micro):
            return Quantity("usd", micro)
        case syntax.TokenCount(count=count):
            return Quantity("tokens", count)
        case syntax.CallCount(count=count):
            return Quantity("calls", count)
        case syntax.Duration(seconds=seconds):
            return Quantity("time", seconds)
        case syntax.Clock(hour=hour, minute=minute, day=day):
            return Clock(hour, minute, day)
        case syntax.Percent(fraction=fraction):
            return Quantity("share", fraction)
        case syntax.Bad():
            return BAD
        case _:
            return None


def _may_count(expr: syntax.Expr) -> bool:
    """Whether what stands left of `of` can be a multiplicity; a call is a wrapper."""
    while isinstance(expr, syntax.Paren):
        expr = expr.inner
    return not isinstance(expr, syntax.Call | syntax.With)


def _starts_counted(expr: syntax.Expr) -> bool:
    while isinstance(expr, syntax.Then):
        expr = expr.first
    return isinstance(expr, syntax.Of) and isinstance(expr.wrapper, syntax.Number)
