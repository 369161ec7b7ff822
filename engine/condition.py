"""`until`, `accept` and `pass` rules against the facts of the moment. Pure."""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from podium.dsl.program import AllOf, AnyOf, Compare, Condition, Flag, Not, Plateau

from .ledger import NOTHING, Amount

COMPARE: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


@dataclass(frozen=True, slots=True)
class Facts:
    """What a condition may name. score None: nothing was scored. round: how many rounds have ended.

    stale: for how many rounds the best score has not risen. spent: settled on the enclosing account.
    """

    score: float | None = None
    passed: bool = False
    round: int = 0
    stale: int = 0
    spent: Amount = NOTHING
    consensus: bool = False
    accepted: bool = False


def holds(condition: Condition, facts: Facts) -> bool:
    """Whether condition is met. A comparison with a score that is not there is not met, whichever way it goes."""
    match condition:
        case Compare(name=name, operator=sign, value=value):
            have = _number(name, facts)
            return have is not None and COMPARE[sign](have, value)
        case Flag(name=name):
            return {
                "passed": facts.passed,
                "consensus": facts.consensus,
                "accepted": facts.accepted,
            }[name]
        case Plateau(rounds=rounds):
            return facts.stale >= rounds
        case AllOf(parts=parts):
            return all(holds(part, facts) for part in parts)
        case AnyOf(parts=parts):
            return any(holds(part, facts) for part in parts)
        case Not(part=part):
            return not holds(part, facts)
        case _:
            assert_never(condition)


def names(condition: Condition | None) -> frozenset[str]:
    """The facts that condition names: score, passed, round, plateau, spent_usd, consensus, …"""
    match condition:
        case None:
            return frozenset()
        case Compare(name=name) | Flag(name=name):
            return frozenset({name})
        case Plateau():
            return frozenset({"plateau"})
        case AllOf(parts=parts) | AnyOf(parts=parts):
            return frozenset[str]().union(*(names(part) for part in parts))
        case Not(part=part):
            return names(part)


def needs_verdict(condition: Condition | None) -> bool:
    """Whether the condition can only be told from a verdict."""
    return not names(condition).isdisjoint({"score", "passed", "plateau"})


def needs_spent(condition: Condition | None) -> bool:
    return any(name.startswith("spent") for name in names(condition))


def fired(condition: Condition, facts: Facts) -> str:
    """Which part of a condition that holds made it hold: consensus, accepted, plateau, score, passed, …"""
    match condition:
        case AnyOf(parts=parts):
            return next((fired(part, facts) for part in parts if holds(part, facts)), "until")
        case AllOf(parts=parts):
            return " and ".join(dict.fromkeys(fired(part, facts) for part in parts))
        case Compare(name=name) | Flag(name=name):
            return name
        case Plateau():
            return "plateau"
        case Not(part=part):
            return "not " + " or ".join(sorted(names(part)))


def _number(name: str, facts: Facts) -> float | None:
    match name:
        case "score":
            return facts.score
        case "round":
            return facts.round
        case "spent_usd":
            return facts.spent.usd
        case "spent_tokens":
            return facts.spent.tokens
        case "spent_calls":
            return facts.spent.calls
        case _:
            raise ValueError(f"a condition cannot name {name!r}")
