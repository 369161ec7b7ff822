"""Faults, conditions and figures as a user writes them in a `test`. Pure."""

from typing import assert_never

from podium.dsl.faults import FAULTS
from podium.dsl.kinds import Spec
from podium.dsl.program import AllOf, AnyOf, Compare, Condition, Flag, Not, Plateau
from podium.dsl.syntax import Call, Duration, Expr, Money, TokenCount
from podium.dsl.tried import Fault
from podium.dsl.types import CALLS, TIME

from .trees import NOWHERE, call, calls, percent, text


def tree_of(fault: Fault) -> Call:
    """fault as an item of `given`; what is as its default is left out."""
    named: dict[str, Expr] = {}
    first: list[Expr] = []
    for number, spec in enumerate(FAULTS[fault.name].params):
        value = fault.args[spec.name]
        if spec.required or value != spec.default:
            quantity = _quantity(spec, value)
            if number == 0:
                first.append(quantity)
            else:
                named[spec.name] = quantity
    return call(fault.name, *first, **named)


def told_fault(fault: Fault) -> str:
    """`outage(30s, after = 5s)`; without empty brackets."""
    return text(tree_of(fault)).removesuffix("()")


def _quantity(spec: Spec, value: float) -> Expr:
    if spec.type == TIME:
        return Duration(float(value), NOWHERE)
    if spec.type == CALLS or isinstance(value, int):
        return calls(int(value))
    return percent(round(value * 100))


def told_number(name: str, value: float | None) -> str:
    """A figure that a condition names: `spent_usd`, `held_calls`, `elapsed`, `score`."""
    dimension = name.rpartition("_")[2]
    if value is None:
        return "none"
    match dimension:
        case "usd":
            return text(Money(round(value), NOWHERE))
        case "tokens":
            return text(TokenCount(round(value), NOWHERE))
        case "calls":
            return text(calls(round(value)))
        case "elapsed":
            return text(Duration(round(value, 1), NOWHERE)) if value else "0s"
        case _:
            return f"{value:g}"


def told_condition(rule: Condition) -> str:
    """`spent <= $2`, `outcome == failed`, `not (… and …)`."""
    match rule:
        case Compare(name=name, operator=sign, value=value):
            return f"{name.partition('_')[0]} {sign} {told_number(name, value)}"
        case Flag(name=name):
            return f"outcome == {name}"
        case Not(part=Flag(name=name)):
            return f"outcome != {name}"
        case Not(part=part):
            return f"not ({told_condition(part)})"
        case AllOf(parts=parts):
            return " and ".join(_inside(part) for part in parts)
        case AnyOf(parts=parts):
            return " or ".join(_inside(part) for part in parts)
        case Plateau(rounds=rounds):
            return f"plateau({rounds})"
        case _:
            assert_never(rule)


def _inside(rule: Condition) -> str:
    told = told_condition(rule)
    return f"({told})" if isinstance(rule, AllOf | AnyOf) else told
