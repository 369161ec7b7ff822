"""Quantities on the command line, in the units people type. Pure."""

import re
from collections.abc import Mapping
from dataclasses import asdict
from decimal import Decimal

from podium.dsl import quantity
from podium.dsl.model import Price
from podium.dsl.program import Budget, Clock

from ..clock import clock_of
from ..spend import MICRO
from .exits import ShellError

_RATES = ("input", "cached", "cache_write", "output")


def usd(text: str) -> int:
    """`5`, `$2.50`, in micro-dollars. Raises ShellError."""
    found = re.fullmatch(r"\$?(\d+(?:\.\d{1,6})?)", text.strip())
    micro = quantity.micro(f"${found[1]}") if found and quantity.fits(found[1]) else None
    if micro is None:
        tiny = re.fullmatch(r"\$?\d+\.\d{7,}", text.strip()) is not None
        hint = "; the smallest amount is 0.000001" if tiny else ""
        raise ShellError(f'"{text}" is no amount of money: write 5 or 2.50 (dollars){hint}')
    return micro


def count(text: str) -> int:
    """`1500`, `400k`, `2M tokens`. Raises ShellError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?[kMB]?)(?:\s*tokens)?", text.strip())
    number = quantity.number(found[1]) if found and quantity.fits(found[1]) else None
    if not isinstance(number, int):
        hint = " (million is a capital M)" if re.search(r"\dm\b", text) else ""
        raise ShellError(f'"{text}" is no number of tokens: write 400k or 2M{hint}')
    return number


def seconds(text: str) -> float:
    """`90s`, `1h30m`, `500ms`, in seconds. Raises ShellError."""
    compact = text.strip().replace(" ", "")
    if len(compact) > 40 or not re.fullmatch(r"(\d+(\.\d+)?(ms|s|m|h|d))+", compact):
        hint = " (minutes are a small m)" if compact.endswith("M") else ""
        raise ShellError(f'"{text}" is no duration: write 90s, 30m or 1h30m{hint}')
    return quantity.seconds(compact)


def clock(text: str) -> Clock:
    """`07:00`, `2026-12-01 07:00`. Raises ShellError."""
    try:
        return clock_of(text)
    except ValueError as error:
        raise ShellError(str(error)) from None


def price(text: str) -> Price:
    """`free`, or `input=0.25,output=2[,cached=…,cache_write=…]` in dollars per million tokens.

    A cached token costs what an input token costs where nothing else is said.
    """
    if text.strip() in ("free", "none"):
        return Price()
    rates = dict(_rate(part) for part in text.split(","))
    if not {"input", "output"} <= rates.keys():
        raise ShellError(
            f'the price "{text}" lacks a rate: write input=0.25,output=2 '
            "(dollars per million tokens), or free"
        )
    whole: Mapping[str, int] = {
        "cached": rates["input"],
        "cache_write": rates["input"],
        **rates,
    }
    return Price(whole["input"], whole["cached"], whole["cache_write"], whole["output"])


def _rate(text: str) -> tuple[str, int]:
    name, equals, amount = text.partition("=")
    if not equals or name.strip() not in _RATES:
        raise ShellError(
            f'"{text.strip()}" is no rate of a price: write one of '
            f"{', '.join(_RATES)} as name=dollars per million tokens"
        )
    return name.strip(), usd(amount)


def show_usd(micro: int) -> str:
    """`$0.00`, `$12.50`; below ten cents with four or six digits, so that a cheap call is not shown as free."""
    dollars = micro / MICRO
    if 0 < dollars < 0.001:
        return f"${dollars:.6f}"
    return f"${dollars:,.4f}" if 0 < dollars < 0.1 else f"${dollars:,.2f}"


def show_count(number: int) -> str:
    """`950`, `40k`, `1.9M`; `1e+34` of what nobody reads digit by digit."""
    if number >= 10**15:
        return f"{Decimal(number):.0e}"
    for size, mark in ((1_000_000_000, "B"), (1_000_000, "M"), (1_000, "k")):
        if number >= 0.9995 * size:  # to three digits it is 1.00 of them
            shown = max(1.0, number / size)
            return f"{shown:.3g}{mark}" if shown < 999.5 else f"{shown:,.0f}{mark}"
    return str(number)


def show_calls(number: int) -> str:
    """`1 call`, `40k calls`."""
    return f"{show_count(number)} {plural(number, 'call')}"


def show_tokens(number: int) -> str:
    """`1 token`, `40k tokens`."""
    return f"{show_count(number)} {plural(number, 'token')}"


def counted(number: int, one: str, several: str = "") -> str:
    """`1 team`, `1,200 teams`; several: of a word that does not add an s."""
    return f"{number:,} {plural(number, one, several)}"


def plural(number: int, one: str, several: str = "") -> str:
    """The word alone."""
    return one if number == 1 else several or f"{one}s"


def show_seconds(span: float) -> str:
    """`12s`, `3m05s`, `1h04m`."""
    whole = max(0, int(span))
    if whole < 60:
        return f"{whole}s"
    if whole < 3_600:
        return f"{whole // 60}m{whole % 60:02}s"
    return f"{whole // 3_600}h{whole % 3_600 // 60:02}m"


def show_bound(dimension: str, bound: float) -> str:
    """A bound as a budget says it: `$5.00`, `2M tokens`, `40 calls`, `30m00s`, `50%`. usd: micro-dollars."""
    match dimension:
        case "usd":
            return show_usd(round(bound))
        case "seconds":
            return show_seconds(bound)
        case "share":
            return f"{bound:.0%}"
        case _:
            return f"{show_count(int(bound))} {dimension}"


def show_budget(budget: Budget) -> str:
    """`$5.00, 2M tokens`; empty without a bound."""
    bounds: Mapping[str, float | None] = asdict(budget)
    return ", ".join(show_bound(name, bound) for name, bound in bounds.items() if bound is not None)
