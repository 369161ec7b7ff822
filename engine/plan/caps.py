"""Where a part of a plan stands, and what the budgets around it allow. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from podium.dsl.program import Budget

from .amounts import Amounts
from .texts import Topic


class Binding(NamedTuple):
    """The budget of the part at address is below what could be spent under it. limit in the ledger's units."""

    address: str
    dimension: str
    limit: int


class Caps(NamedTuple):
    """Bounds: micro-dollars, tokens, calls, seconds. None is no bound."""

    usd: int | None = None
    tokens: int | None = None
    calls: int | None = None
    seconds: float | None = None

    def clip(self, amounts: Amounts) -> Amounts:
        usd, cached = (
            None if amounts.usd is None else amounts.usd.within(self.usd),
            amounts.usd_cached,
        )
        repeats = amounts.repeats.within(self.tokens)
        if usd is not None and cached is not None:
            saved = max(0, usd.expected - cached)
            repeats = repeats._replace(again=repeats.again._replace(usd=saved))
        return Amounts(
            amounts.calls.within(self.calls), amounts.tokens.within(self.tokens), usd, repeats
        )


UNBOUND = Caps()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a part stands. caps: what all budgets around allow; nearest: of each dimension the nearest budget,
    which is what a share is of; own: of the nearest account alone. goes_round: in a repeat, whose rounds
    count. branch: in one of several that share a budget."""

    address: str
    topic: Topic
    caps: Caps = UNBOUND
    nearest: Caps = UNBOUND
    own: Caps = UNBOUND
    goes_round: bool = False
    branch: bool = False

    def at(self, segment: str) -> "Place":
        return replace(self, address=f"{self.address}/{segment}") if segment else self

    def within(self, budget: Budget) -> "Place":
        given = (budget.usd, budget.tokens, budget.calls, budget.seconds)
        share = budget.share
        parts = [None if share is None or n is None else n * share for n in self.nearest]
        own = [_lesser(a, b) for a, b in zip(given, parts, strict=True)]
        nearest = [b if a is None else a for a, b in zip(own, self.nearest, strict=True)]
        caps = [_lesser(a, b) for a, b in zip(own, self.caps, strict=True)]
        return replace(self, caps=_caps(caps), nearest=_caps(nearest), own=_caps(own))


def _lesser(one: float | None, other: float | None) -> float | None:
    return other if one is None else one if other is None else min(one, other)


def _caps(bounds_: Sequence[float | None]) -> Caps:
    usd, tokens, calls = (None if bound is None else int(bound) for bound in bounds_[:3])
    return Caps(usd, tokens, calls, bounds_[3])


def binding(address: str, own: Caps, amounts: Amounts) -> Binding | None:
    """The dimension of a budget that is the furthest below what could be spent under it."""
    found: Binding | None = None
    worst = 1.0
    for name, limit, could in (
        ("usd", own.usd, amounts.usd),
        ("tokens", own.tokens, amounts.tokens),
        ("calls", own.calls, amounts.calls),
    ):
        if limit is not None and could is not None and could.most / max(limit, 1) > worst:
            found, worst = Binding(address, name, limit), could.most / max(limit, 1)
    return found
