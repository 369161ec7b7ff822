"""Budgets that fit: what is free around a place of a generated program, and what a budget there may be. Pure."""

from dataclasses import dataclass

from podium.dsl import syntax as s

from . import trees as t

# The least budget of each dimension: every one around it is at least as large, so that any may stand anywhere.
FLOOR = {"tokens": 4_000, "calls": 6, "usd": 100_000, "seconds": 300}
_LADDER = {
    "tokens": (4_000, 10_000, 30_000),
    "calls": (6, 12, 30),
    "usd": (100_000, 500_000, 2_000_000),
    "seconds": (300, 1_800),
}
# What a run has: more, for the worst case of its first call must fit.
WHOLE = {
    "tokens": (12_000, 30_000, 200_000),
    "calls": (8, 20, 60),
    "usd": (500_000, 2_000_000, 25_000_000),
    "seconds": (600, 5_400),
}
SHARES = (100, 50, 20)  # in hundredths
MIXES: tuple[tuple[str, ...], ...] = (
    ("tokens",), ("calls",), ("usd",), ("seconds",), ("share",),
    ("usd", "tokens"), ("tokens", "calls", "seconds"), ("calls", "share"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Room:
    """limits: what the budgets around allow, by dimension. share: the largest share that may be promised.

    open: whether a budget may stand here at all; in a declared flow it depends on who calls it.
    """

    limits: tuple[tuple[str, int], ...] = ()
    share: int = 100
    open: bool = True

    def least(self) -> int:
        """How many branches may be promised an even part of it."""
        return min((limit // FLOOR[name] for name, limit in self.limits), default=100)

    def divided(self, branches: int) -> "Room":
        """The part of one of so many branches."""
        limits = tuple((name, limit // branches) for name, limit in self.limits)
        return Room(limits, self.share // branches, self.open)

    def fitting(self, name: str) -> tuple[int, ...]:
        """The budgets of a dimension that may stand here; hundredths where it is a share."""
        around = dict(self.limits)
        if name == "share":
            if not around:
                return ()
            fits = (n for n in SHARES if n <= self.share)
            return tuple(n for n in fits if all(a * n // 100 >= FLOOR[d] for d, a in self.limits))
        top = around.get(name)
        return tuple(n for n in _LADDER[name] if top is None or n <= top)

    def within(self, chosen: dict[str, int]) -> "Room":
        """What is left inside a budget of these."""
        share = chosen.get("share", 100)
        limits = {name: limit * share // 100 for name, limit in self.limits}
        for name, amount in chosen.items():
            if name != "share":
                limits[name] = min(amount, limits.get(name, amount))
        return Room(tuple(limits.items()), 100, self.open)


def budget(chosen: dict[str, int]) -> s.ListExpr:
    """The budget as it is written."""
    return t.listed(*(_amount(name, amount) for name, amount in chosen.items()))


def _amount(name: str, amount: int) -> s.Expr:
    match name:
        case "tokens":
            return t.tokens(amount)
        case "calls":
            return t.calls(amount)
        case "usd":
            return t.money(amount)
        case "seconds":
            return t.time(amount)
        case _:
            return t.percent(amount)
