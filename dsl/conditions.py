"""Conditions: `until`, `accept` and pass rules, from expression to `Condition`.

The names in them (score, passed, round, spent) stand for what is known only at run time; each place
has its own (`kinds.CONDITION_NAMES` and its neighbours), checked by `only`.
"""

from collections.abc import Iterator
from typing import Literal

from . import syntax
from .context import Context
from .kinds import OUTCOMES, TEAM_CONDITION_NAMES
from .names import near
from .program import AllOf, AnyOf, Compare, Condition, Flag, Not, Plateau
from .source import Place
from .types import ANY, CONDITION, Words
from .values import BAD, Quantity, Scope, Unknown, Value, Word, is_condition

_Operator = Literal["==", "!=", "<=", ">=", "<", ">"]
_MIRROR: dict[str, _Operator] = {
    "<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="
}  # fmt: skip
_FLAGS = {
    "passed": Flag("passed"),
    "consensus": Flag("consensus"),
    "accepted": Flag("accepted"),
}
_OUTCOMES = {
    "passed": Flag("passed"),
    "finished": Flag("finished"),
    "exhausted": Flag("exhausted"),
    "stopped": Flag("stopped"),
    "failed": Flag("failed"),
    "cancelled": Flag("cancelled"),
    "paused": Flag("paused"),
}
assert tuple(_OUTCOMES) == OUTCOMES
_MEASURED = {
    "spent": ("usd", "tokens", "calls"),
    "held": ("usd", "tokens", "calls"),
    "elapsed": ("time",),
}
_NUMBERS = ("score", "round", *_MEASURED)


def condition(context: Context, expr: syntax.Expr, scope: Scope) -> Value | None:
    """The condition that expr is; None where it has no form of one, and is a value to be looked up."""
    match expr:
        case syntax.Paren(inner=inner):
            return condition(context, inner, scope)
        case syntax.Binary(operator="and" | "or"):
            return _joined(context, expr, scope)
        case syntax.Unary(operator="not", operand=operand):
            part = _part(context, operand, scope)
            return part if isinstance(part, Unknown) else Not(part)
        case syntax.Binary(operator=operator) if operator in _MIRROR:
            return _compared(context, expr, scope)
        case syntax.Name(name=name) if name in TEAM_CONDITION_NAMES and name not in scope.locals:
            return _flag(context, name, scope.place(expr.span))
        case _:
            return None


def _part(context: Context, expr: syntax.Expr, scope: Scope) -> Condition | Unknown:
    value = context.value(expr, scope, CONDITION)
    return value if is_condition(value) else BAD


def _joined(context: Context, expr: syntax.Binary, scope: Scope) -> Value:
    """`a and b and c` as one node; the left spine is walked, not recursed into."""
    rights: list[syntax.Expr] = []
    left: syntax.Expr = expr
    while isinstance(left, syntax.Binary) and left.operator == expr.operator:
        rights.append(left.right)
        left = left.left
    parts = [_part(context, part, scope) for part in (left, *reversed(rights))]
    known = tuple(part for part in parts if not isinstance(part, Unknown))
    if len(known) < len(parts):
        return Unknown(CONDITION)
    return AllOf(known) if expr.operator == "and" else AnyOf(known)


def _flag(context: Context, name: str, place: Place) -> Value:
    if name in _NUMBERS:
        context.error(
            "E120",
            f"`{name}` is a number, not a condition",
            place,
            help=f"compare it: `{name} >= {_example(name)}`",
        )
        return BAD
    return _FLAGS[name]


def _compared(context: Context, expr: syntax.Binary, scope: Scope) -> Value:
    left, right, operator = expr.left, expr.right, _MIRROR[_MIRROR[expr.operator]]
    if isinstance(left, syntax.Name) and left.name == "outcome" and "outcome" not in scope.locals:
        return _ended(context, operator, right, scope)
    if _number_name(right, scope) and not _number_name(left, scope):
        left, right, operator = right, left, _MIRROR[operator]
    name = _number_name(left, scope)
    if name is None:
        return _unknown_number(context, expr, scope)
    value = context.value(right, scope, ANY)
    return _comparison(context, name, operator, value, scope.place(right.span))


def _ended(
    context: Context, operator: _Operator, right: syntax.Expr, scope: Scope
) -> Condition | Unknown:
    """`outcome == failed`: how a run ended."""
    word = context.value(right, scope, Words(tuple(_OUTCOMES)))
    if not isinstance(word, Word):
        return BAD
    flag = _OUTCOMES[word.name]
    if operator in ("==", "!="):
        return flag if operator == "==" else Not(flag)
    context.error(
        "E120",
        f"outcomes have no order, so `{operator}` does not go with them",
        scope.place(right.span),
        help=f"write `outcome == {word.name}` or `outcome != {word.name}`",
    )
    return BAD


def _number_name(expr: syntax.Expr, scope: Scope) -> str | None:
    match expr:
        case syntax.Paren(inner=inner):
            return _number_name(inner, scope)
        case syntax.Name(name=name) if name in _NUMBERS and name not in scope.locals:
            return name
        case _:
            return None


def _unknown_number(context: Context, expr: syntax.Binary, scope: Scope) -> Value:
    left = expr.left
    written = left.name if isinstance(left, syntax.Name | syntax.Attribute) else ""
    named = f"`{left.name}`" if isinstance(left, syntax.Name) else "this"
    guesses = [written] if written in _NUMBERS else near(written, _NUMBERS) if written else []
    context.error(
        "E105" if guesses else "E120",
        f"a condition compares `score`, `round` or `spent`, not {named}",
        scope.place(left.span),
        help=f"did you mean `{guesses[0]}`?" if guesses else "write, for example, `score >= 0.9`",
        instead="".join(guesses[:1]),
    )
    return BAD


def _comparison(
    context: Context, name: str, operator: _Operator, value: Value, place: Place
) -> Value:
    allowed = _MEASURED.get(name, ())
    match value:
        case Unknown():
            return Unknown(CONDITION)
        case Quantity(dimension=dimension, amount=amount) if dimension in allowed:
            of = name if len(allowed) == 1 else f"{name}_{dimension}"
            return Compare(of, operator, float(amount))
        case int() | float() if not allowed and not isinstance(value, bool):
            return Compare(name, operator, float(value))
        case _:
            wanted = (
                {1: "a time", 3: "dollars, tokens or calls"}[len(allowed)]
                if allowed
                else "a number"
            )
            context.error(
                "E308",
                f"`{name}` is compared with {wanted}",
                place,
                help=f"write, for example, `{name} {operator} {_example(name)}`",
            )
            return BAD


def _example(name: str) -> str:
    return {"spent": "$5", "held": "$5", "elapsed": "10m"}.get(name, "1")


def names(rule: Condition) -> Iterator[str]:
    """What rule asks about: score, passed, round, spent, consensus, accepted, plateau, outcome …"""
    match rule:
        case Compare(name=name):
            yield name.partition("_")[0]
        case Flag(name=name):
            yield name if name in _FLAGS else "outcome"
        case Plateau():
            yield "plateau"
        case AllOf(parts=parts) | AnyOf(parts=parts):
            for part in parts:
                yield from names(part)
        case Not(part=part):
            yield from names(part)


def only(
    context: Context, rule: Condition, allowed: tuple[str, ...], where: str, place: Place
) -> None:
    """Report each name in rule that is not known where it stands."""
    for name in dict.fromkeys(names(rule)):
        if name not in allowed:
            context.error(
                "E105",
                f"`{name}` is not known in {where}",
                place,
                help="known here: " + ", ".join(f"`{n}`" for n in allowed),
            )
