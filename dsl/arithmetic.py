"""Operators on constants: numbers, quantities with their dimensions, and truth."""

from typing import Literal, TypeGuard

from . import syntax
from .context import Context
from .lookup import hyphened
from .reading import show
from .source import Place
from .types import ANY, BOOL, FLOW, RATE, Number, Type, Words, accepts, describe
from .values import BAD, Quantity, Ratio, Row, Scope, Unknown, Value, Word, type_of

COMPARE = ("==", "!=", "<", "<=", ">", ">=")


def binary(context: Context, expr: syntax.Binary, scope: Scope) -> Value:
    """Operators of one precedence chain to the left: walked, not recursed into."""
    if hyphened(context, expr, scope):
        return BAD
    steps: list[syntax.Binary] = []
    first: syntax.Expr = expr
    while isinstance(first, syntax.Binary):
        steps.append(first)
        first = first.left
    value = context.value(first, scope, _compared_with(context, steps[-1], "right", scope))
    for step in reversed(steps):
        right = context.value(step.right, scope, _compared_with(context, step, "left", scope))
        value = _operate(context, step.operator, value, right, scope.place(step.span))
    return value


def _compared_with(
    context: Context, step: syntax.Binary, side: Literal["left", "right"], scope: Scope
) -> Type:
    """What one side of a comparison must be, where the other, at side, is a parameter with choices."""
    if step.operator not in ("==", "!="):
        return ANY
    choices = context.choices(step.left if side == "left" else step.right, scope)
    return Words(choices, quoted=True) if choices else ANY


def unary(context: Context, expr: syntax.Unary, scope: Scope) -> Value:
    """`not` of a truth, `-` of a number or an amount; BAD where it is of anything else, which is reported."""
    if expr.operator == "not":
        value = context.value(expr.operand, scope, BOOL)
        if value is BAD:
            return BAD
        return not value if isinstance(value, bool) else Unknown(BOOL)
    value = context.value(expr.operand, scope, ANY)
    match value:
        case Quantity(dimension=dimension, amount=amount):
            return Quantity(dimension, -amount)
        case int() | float() if not isinstance(value, bool):
            return -value
        case Unknown():
            return value
        case _:
            return _misfit(context, "-", value, value, scope.place(expr.span))


def rate(context: Context, expr: syntax.Rate, scope: Scope) -> Value:
    """`$2 per 1M tokens`."""
    amount = context.value(expr.amount, scope, ANY)
    unit = context.value(expr.unit, scope, ANY)
    match amount, unit:
        case Quantity(), Quantity(amount=count) if count > 0:
            return Ratio(amount, unit)
        case (Unknown(), _) | (_, Unknown()):
            return Unknown(RATE)
        case _:
            context.error(
                "E308",
                f"{show(amount)} per {show(unit)} is no rate",
                scope.place(expr.span),
                help="write, for example, `$2 per 1M tokens` or `500 calls per 1m`",
            )
            return BAD


def _operate(context: Context, operator: str, left: Value, right: Value, place: Place) -> Value:
    left, right = _plain(left), _plain(right)
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return _unknown(context, operator, left, right, place)
    if operator in ("and", "or"):
        if isinstance(left, bool) and isinstance(right, bool):
            return (left and right) if operator == "and" else (left or right)
        return _misfit(context, operator, left, right, place)
    if operator in COMPARE:
        return _compare(context, operator, left, right, place)
    return _reckon(context, operator, left, right, place)


def _plain(value: Value) -> Value:
    match value:
        case Word(name=name):
            return name
        case Row(value=None | bool() | int() | float() | str() as inner):
            return inner
        case _:
            return value


def _unknown(context: Context, operator: str, left: Value, right: Value, place: Place) -> Value:
    if left is BAD or right is BAD:
        return BAD
    if operator in (*COMPARE, "and", "or"):
        if operator in COMPARE and not _comparable(type_of(left), type_of(right)):
            return _misfit(context, operator, left, right, place)
        return Unknown(BOOL)
    known = right if isinstance(left, Unknown) else left
    kinds = {type_of(left), type_of(right)}
    if ANY in kinds:
        return BAD
    if len(kinds) == 1:
        return Unknown(kinds.pop())
    return Unknown(Number(False)) if isinstance(known, int | float) else Unknown(ANY)


def _comparable(left: Type, right: Type) -> bool:
    return accepts(left, right) or accepts(right, left)


def _compare(context: Context, operator: str, left: Value, right: Value, place: Place) -> Value:
    if isinstance(left, Quantity) and isinstance(right, Quantity):
        if left.dimension != right.dimension:
            return _misfit(context, operator, left, right, place)
        return _ordered(operator, left.amount, right.amount)
    if _number(left) and _number(right):
        return _ordered(operator, left, right)
    if operator in ("==", "!=") and type(left) is type(right):
        return (left == right) is (operator == "==")
    if operator in ("==", "!=") and (left is None or right is None):
        return (left is right) is (operator == "==")
    return _misfit(context, operator, left, right, place)


def _number(value: Value) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _ordered(operator: str, left: float, right: float) -> bool:
    match operator:
        case "==":
            return left == right
        case "!=":
            return left != right
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case _:
            return left >= right


def _reckon(context: Context, operator: str, left: Value, right: Value, place: Place) -> Value:
    match left, right:
        case Quantity(dimension=a), Quantity(dimension=b) if a == b:
            result = _result(context, operator, left.amount, right.amount, place)
            if operator in ("+", "-") and result is not None:
                return Quantity(a, result)
            return result if operator == "/" and result is not None else BAD
        case Quantity(dimension=a), (int() | float()) if _number(right) and operator in "*/":
            result = _result(context, operator, left.amount, right, place)
            return BAD if result is None else Quantity(a, _whole(a, result))
        case ((int() | float()), Quantity(dimension=a)) if _number(left) and operator == "*":
            result = _result(context, operator, left, right.amount, place)
            return BAD if result is None else Quantity(a, _whole(a, result))
        case ((int() | float()), (int() | float())) if _number(left) and _number(right):
            result = _result(context, operator, left, right, place)
            return BAD if result is None else result
        case _:
            return _misfit(context, operator, left, right, place)


def _whole(dimension: str, amount: int | float) -> int | float:
    return amount if dimension in ("time", "share") else int(amount)


def _result(
    context: Context, operator: str, left: int | float, right: int | float, place: Place
) -> int | float | None:
    try:
        match operator:
            case "+":
                result = left + right
            case "-":
                result = left - right
            case "*":
                result = left * right
            case _:
                result = left / right
    except (ZeroDivisionError, OverflowError):
        context.error("E120", f"`{operator}` gives no number here", place)
        return None
    if abs(result) > 10**18:
        context.error("E120", "the result is too large", place)
        return None
    return int(result) if isinstance(result, float) and result.is_integer() else result


def _misfit(context: Context, operator: str, left: Value, right: Value, place: Place) -> Value:
    measured = isinstance(left, Quantity) or isinstance(right, Quantity)
    context.error(
        "E308" if measured else "E120",
        f"`{operator}` does not go with {describe(type_of(left))} and {describe(type_of(right))}",
        place,
        help=_copies(operator, left, right, place),
    )
    return BAD


def _copies(operator: str, left: Value, right: Value, place: Place) -> str:
    """`3 * writer` is written `parallel(3) of writer`."""
    written = place.source.text[place.span.start : place.span.end].split("*")
    if operator != "*" or len(written) != 2:
        return ""
    one, other = (part.strip() for part in written)
    if _number(left) and accepts(FLOW, type_of(right)):
        return f"write `parallel({one}) of {other}`"
    if _number(right) and accepts(FLOW, type_of(left)):
        return f"write `parallel({other}) of {one}`"
    return ""
