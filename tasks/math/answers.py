"""Reading answers: boxes, numbers, and whether two of them are the same. Pure; nothing is evaluated.

A number is written out: an integer, a decimal, a fraction of two, or a mixed number. `17*23` is none.
"""

import re
from fractions import Fraction

# Longer answers than this are no answers, and cost time.
LONGEST = 500
_SPACES = re.compile(r"\\[,;:! ]|\\quad|\\qquad|~|\s+")
_WRAPS = re.compile(r"^\$+|\$+$|^\\\(|\\\)$|\\left|\\right|\\displaystyle")
_UNIT = re.compile(r"\\(?:text|mbox|mathrm)\{[^{}]*\}$|\^\{?\\circ\}?$|\\?%$|^\\\$")
_INTEGER = r"[-+]?\d+"
_GROUPED = re.compile(r"[-+]?\d{1,3}(?:(?:,|\{,\})\d{3})+(?:\.\d+)?")
_PLAIN = re.compile(rf"{_INTEGER}|[-+]?\d*\.\d+")
_RATIO = re.compile(
    r"([-+]?)(?:(\d+)(?=\\))?(?:\\[dt]?frac\{([-+]?\d+)\}\{(\d+)\}|\\[dt]?frac(\d)(\d))"
)
_SLASH = re.compile(r"([-+]?\d+)/(\d+)")
_ASSIGNED = re.compile(r"^[A-Za-z]=")


def boxes(text: str) -> list[str]:
    r"""What stands in each `\boxed{…}` or `\fbox{…}` of text, in order; one that is never closed is none."""
    found: list[str] = []
    for start in re.finditer(r"\\(?:boxed|fbox)\s*\{", text):
        end = _closing(text, start.end())
        if end is not None:
            found.append(text[start.end() : end].strip())
    return found


def _closing(text: str, at: int) -> int | None:
    depth = 1
    for i in range(at, min(len(text), at + 4 * LONGEST)):
        depth += (text[i] == "{") - (text[i] == "}")
        if not depth:
            return i
    return None


def plain(text: str) -> str:
    """text without spaces, dollars, sizes of brackets, and a unit at its end."""
    bare = _SPACES.sub("", _WRAPS.sub("", text.strip())).rstrip(".")
    return _UNIT.sub("", bare)


def value_of(text: str) -> Fraction | None:
    """The number that text is; None where it is none that is written out."""
    if len(text) > LONGEST:
        return None
    bare = plain(text).replace("\u2212", "-")
    if _GROUPED.fullmatch(bare):
        bare = bare.replace("{,}", "").replace(",", "")
    if _PLAIN.fullmatch(bare):
        return Fraction(bare)
    if ratio := _RATIO.fullmatch(bare):
        return _mixed(ratio)
    if slash := _SLASH.fullmatch(bare):
        return Fraction(int(slash[1]), int(slash[2])) if int(slash[2]) else None
    return None


def _mixed(found: re.Match[str]) -> Fraction | None:
    sign, whole, above, below = found[1], found[2], found[3] or found[5], found[4] or found[6]
    if not int(below):
        return None
    value = Fraction(int(above), int(below)) + int(whole or 0)
    return -value if sign == "-" else value


def same(answer: str, expected: str) -> bool | None:
    """Whether they are the same; None where that takes more than reading.

    Where a number is expected, only a number will do, and exactly that one.
    """
    wanted = value_of(expected)
    if wanted is not None:
        found = value_of(_ASSIGNED.sub("", plain(answer)))
        return found == wanted
    if not plain(answer) or len(answer) > LONGEST:
        return False
    return True if plain(answer) == plain(expected) else None
