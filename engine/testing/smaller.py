"""Smaller programs: every tree that one simplification makes of a file, the boldest first. Pure.

What is tried: declarations left out; steps, wrappers, branches, arguments, items and fields left out; counts and
budgets made smaller. What a test expects and what a task, a role or a model says is left as it is.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from podium.dsl import syntax as s

T = TypeVar("T")
_FLOWS = ("flow", "run", "test", "param")
# Fields of a test that say what it expects: rules may go, numbers in them stay.
_EXPECTED = ("always", "never", "at_most")
_KEPT = ("given", "replies", "task")


def smaller(tree: s.File, name: str) -> Iterator[s.File]:
    """name: of the test or run that all is about; it stays. What is left out comes before what is lowered: with
    fewer members there are fewer calls, which may be needed until a CEO is gone."""
    declarations = tree.declarations
    for number, one in enumerate(declarations):
        if one.name != name:
            yield replace(tree, declarations=_without(declarations, number))
    for number in range(len(tree.imports)):
        yield replace(tree, imports=_without(tree.imports, number))
    for step in (_shorter, _lower):
        for number, one in enumerate(declarations):
            if one.kind in _FLOWS:
                for less in _declaration(one, step):
                    yield replace(tree, declarations=_with(declarations, number, less))


Step = Callable[[s.Expr], Iterator[s.Expr]]


def _declaration(one: s.Declaration, step: Step) -> Iterator[s.Declaration]:
    if one.doc and step is _shorter:
        yield replace(one, doc="")
    if one.value is not None:
        inside = _fields if one.kind in ("run", "test") else _expr
        for value in inside(one.value, step):
            yield replace(one, value=value)
    params = one.params or ()
    for number, param in enumerate(params):
        if step is _shorter:
            yield replace(one, params=_without(params, number))
        for default in () if param.default is None else _expr(param.default, step):
            yield replace(one, params=_with(params, number, replace(param, default=default)))


def _fields(value: s.Expr, step: Step) -> Iterator[s.Expr]:
    """Of a run or a test: a record, or `other with` one."""
    match value:
        case s.Record(fields=fields):
            for number, one in enumerate(fields):
                if one.name != "given" and step is _shorter:
                    yield replace(value, fields=_without(fields, number))
                for inner in () if one.value is None else _field(one.name, one.value, step):
                    yield replace(value, fields=_with(fields, number, replace(one, value=inner)))
        case s.With(record=record):
            for less in _fields(record, step):
                if isinstance(less, s.Record):
                    yield replace(value, record=less)
        case _:
            pass


def _field(name: str, value: s.Expr, step: Step) -> Iterator[s.Expr]:
    if name in _KEPT:
        return
    if name not in _EXPECTED:
        yield from _expr(value, step)
    elif isinstance(value, s.ListExpr) and len(value.items) > 1 and step is _shorter:
        yield from _shorter(value)


def _expr(expr: s.Expr, step: Step) -> Iterator[s.Expr]:
    """What step makes of the whole, then the whole with one part smaller."""
    yield from step(expr)
    match expr:
        case s.Then(first=first, second=second):
            yield from (replace(expr, first=less) for less in _operand(first, step))
            yield from (replace(expr, second=less) for less in _operand(second, step))
        case s.Of(wrapper=wrapper, inner=inner):
            yield from (replace(expr, wrapper=less) for less in _expr(wrapper, step))
            yield from (replace(expr, inner=less) for less in _operand(inner, step))
        case s.Paren(inner=inner):
            yield from (replace(expr, inner=less) for less in _expr(inner, step))
        case s.ListExpr(items=items):
            for at, item in enumerate(items):
                for less in _expr(item, step):
                    yield replace(expr, items=_with(items, at, less))
        case s.Record(fields=fields):
            for at, one in enumerate(fields):
                for less in () if one.value is None else _expr(one.value, step):
                    yield replace(expr, fields=_with(fields, at, replace(one, value=less)))
        case s.Call(args=args):
            for at, arg in enumerate(args):
                for less in _expr(arg.value, step):
                    yield replace(expr, args=_with(args, at, replace(arg, value=less)))
        case _:
            pass


def _operand(expr: s.Expr, step: Step) -> Iterator[s.Expr]:
    """Smaller ones that can stand beside `of` or `->`: what is looser keeps its brackets."""
    for less in _expr(expr, step):
        if not isinstance(less, s.Then | s.IfExpr) or isinstance(expr, type(less)):
            yield less


def _shorter(expr: s.Expr) -> Iterator[s.Expr]:
    """A part in the place of the whole, or the whole without a part."""
    match expr:
        case s.Then(first=first, second=second):
            yield from (first, second)
        case s.Of(inner=inner) | s.Paren(inner=inner):
            yield inner
        case s.IfExpr(then=yes, otherwise=no):
            yield from (yes, no)
        case s.ListExpr(items=items):
            yield from (replace(expr, items=_without(items, at)) for at in range(len(items)))
        case s.Record(fields=fields):
            yield from (replace(expr, fields=_without(fields, at)) for at in range(len(fields)))
        case s.Call(args=args):
            # A count left out may stand for more by default: it is lowered instead.
            spare = (
                at for at, a in enumerate(args) if a.name and not isinstance(a.value, s.Number)
            )
            yield from (replace(expr, args=_without(args, at)) for at in spare)
        case _:
            pass


def _lower(expr: s.Expr) -> Iterator[s.Expr]:
    """Smaller counts and amounts."""
    match expr:
        case s.Number(value=int(value)) if value > 1:
            yield from (replace(expr, value=fewer) for fewer in _counts(value))
        case s.TokenCount(count=count):
            yield from (replace(expr, count=fewer) for fewer in _round(count))
        case s.CallCount(count=count):
            yield from (replace(expr, count=fewer) for fewer in _counts(count))
        case s.Money(micro=micro):
            yield from (replace(expr, micro=fewer) for fewer in _round(micro))
        case _:
            pass


def _counts(count: int) -> Iterator[int]:
    """1, 2, the half, one less."""
    yield from (n for n in dict.fromkeys((1, 2, count // 2, count - 1)) if 0 < n < count)


def _round(amount: int) -> Iterator[int]:
    """Smaller amounts of one digit: powers of ten below it, then the half of a round one."""
    power = 10 ** (len(str(amount)) - 1)
    smaller = (power // 10, power, amount // power // 2 * power)
    yield from (n for n in dict.fromkeys(smaller) if 0 < n < amount)


def _without(items: Sequence[T], number: int) -> tuple[T, ...]:
    return (*items[:number], *items[number + 1 :])


def _with(items: Sequence[T], number: int, item: T) -> tuple[T, ...]:
    return (*items[:number], item, *items[number + 1 :])
