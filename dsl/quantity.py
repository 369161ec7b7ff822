"""Literals of the language as values: numbers, money, durations, percentages, strings.

Each function takes text that its terminal of the grammar matched. The scanner has refused what is too
large to be meant (`fits`), so none of them raises.
"""

import re
from datetime import date
from decimal import Decimal

Scalar = str | int | float | bool | None
"""What a literal gives, and a parameter takes."""

_FACTORS = {"k": 10**3, "M": 10**6, "B": 10**9}
_UNITS = {
    "ms": Decimal("0.001"),
    "s": Decimal(1),
    "m": Decimal(60),
    "h": Decimal(3600),
    "d": Decimal(86400),
}
LONGEST = 40  # characters: no quantity anybody means is longer, and int() of a long one is slow
_LARGEST = 18  # powers of ten: below 2**63, so that every store can hold it
_RICHEST = 12  # the same of dollars, which are kept in millionths
_DIGITS = 4  # of an exponent
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))")
_DURATION_PART = re.compile(r"([0-9][0-9_]*(?:\.[0-9]+)?)(ms|s|m|h|d)")
_CLOCK = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")
_DAY = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
BAD_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\(?![ntr\"\\]|u(?![dD][89a-fA-F])[0-9A-Fa-f]{4})")


def fits(text: str) -> bool:
    """Whether a number or an amount of money is short and small enough to be worked out."""
    if len(text) > LONGEST:
        return False
    mantissa, _, exponent = text.strip("$%").rstrip("kMB").replace("_", "").lower().partition("e")
    if len(exponent) > _DIGITS:
        return False
    zeros = int(exponent or 0) + Decimal(_FACTORS.get(text[-1], 1)).adjusted()
    return Decimal(mantissa).adjusted() + zeros < (_RICHEST if text[0] == "$" else _LARGEST)


def exact(text: str) -> Decimal:
    """`2.5k` as 2500, without rounding."""
    factor = _FACTORS.get(text[-1], 1)
    return Decimal(text.rstrip("kMB").replace("_", "")) * factor


def number(text: str) -> int | float:
    """An integer where the value is one, else a float."""
    value = exact(text)
    return int(value) if value == value.to_integral_value() else float(value)


def micro(text: str) -> int | None:
    """`$2.50` in micro-dollars; None where it is no whole number of them."""
    value = exact(text[1:]) * 10**6
    return int(value) if value == value.to_integral_value() else None


def seconds(text: str) -> float:
    """`1h30m` in seconds."""
    parts = _DURATION_PART.findall(text)
    return float(sum(Decimal(n.replace("_", "")) * _UNITS[unit] for n, unit in parts))


def clock(text: str) -> tuple[int, int] | None:
    """`07:00` as hour and minute; None where it is no time of day of 24 hours."""
    found = _CLOCK.fullmatch(text)
    return (int(found[1]), int(found[2])) if found else None


def day(text: str) -> date | None:
    """`2026-12-01`; None where there is no such day."""
    found = _DAY.fullmatch(text)
    try:
        return date(*map(int, found.groups())) if found else None
    except ValueError:
        return None


def fraction(text: str) -> float:
    """`20%` as 0.2."""
    return float(exact(text[:-1]) / 100)


def unquoted(text: str) -> str:
    """The value of a string with its quotes: `\\n`, `\\t`, `\\r`, `\\"`, `\\\\` and `\\u00e9` resolved."""
    return _ESCAPE.sub(_resolved, text[1:-1])


def _resolved(match: re.Match[str]) -> str:
    code, char = match.groups()
    return chr(int(code, 16)) if code else _SIMPLE.get(char, match.group())
