"""Two values side by side, and what may be missing between them."""

from collections.abc import Iterator

from lark import Token

from . import expected as words
from .broken import Broken, insert, remove
from .kinds import RECORDS
from .lex import begin
from .mistake import Finding, place, unit_apart
from .names import either
from .problem import Edit, Problem
from .source import Span

_STEPS = {"best", "top", "vote", "sample", "score", "merge", "refine", "debate"}


def adjacent(b: Broken) -> Finding | None:
    """Two values with nothing between them."""
    previous, bad = b.before(1), b.bad
    if previous is None or bad is None or not words.starts(bad) or not words.ends_value(previous):
        return None
    if "_ARROW" not in b.accepts:
        return None
    return apart(b, previous, bad)


def apart(b: Broken, first: Token, second: Token) -> Finding:
    counted = first.type == "NUMBER" and b.same_line(first, second)
    unit = unit_apart(b.source, first, second) if counted else None
    return unit or _side_by_side(b, first, second)


def _side_by_side(b: Broken, first: Token, second: Token) -> Finding:
    if first == second:
        return twice(b, second)
    joints = list(_joints(b, first, second))
    listed = either([f"`{joint.strip()}`" for joint in joints])
    trails = joints[0] == "," and not b.same_line(first, second)
    problem = Problem(
        "T021",
        "two expressions stand side by side",
        b.after(first) if trails else place(b.source, second),
        label=f"expected {listed} here" if trails else f"expected {listed} before this",
        help="" if joints == [","] else "`of` wraps what follows, `->` is the next step",
    )
    return Finding(problem, tuple((_joined(b, first, second, joint),) for joint in joints))


def _joined(b: Broken, first: Token, second: Token, joint: str) -> Edit:
    """joint between two values: a comma ends its line, any other starts one."""
    if joint == "," or b.same_line(first, second):
        return insert(first, joint)
    return Edit(Span(begin(second), begin(second)), f"{joint.strip()} ")


def twice(b: Broken, token: Token) -> Finding:
    problem = Problem(
        "T002",
        f"`{words.short(token)}` stands here twice",
        place(b.source, token),
        "the second one",
    )
    return Finding(problem, ((remove(token),),))


_RATES = {"rate", "rent", *(spec.name for spec in RECORDS["price"])}


def _is_budget(b: Broken) -> bool:
    """Whether the innermost bracket holds amounts of a budget: it is a list, and not of rates."""
    if not b.open or b.open[-1].type != "LSQB":
        return False
    at = next(n for n in reversed(range(b.at)) if b.tokens[n] is b.open[-1])
    owner = b.tokens[at - 2] if at > 1 and b.tokens[at - 1].type == "EQUAL" else None
    return owner is not None and owner not in _RATES


def _joints(b: Broken, first: Token, second: Token) -> Iterator[str]:
    """What may be missing between two values, the likeliest first."""
    rated = words.is_quantity(first) and second.type in ("NUMBER", "DURATION")
    if rated and _is_budget(b):
        yield ","
        return
    if rated and b.same_line(first, second):
        yield " per"
    yield from (f" {word}" for word in ("then", "else") if word.upper() in b.accepts)
    in_list = bool(b.open) and b.open[-1].type in ("LSQB", "LPAR") and "COMMA" in b.accepts
    if in_list and b.type(-1) == "EQUAL":
        yield ","
        return
    counted = first.type == "NUMBER" and in_list and b.open[-1].type == "LSQB"
    if in_list and not counted:
        yield ","
    steps = second in _STEPS
    yield from (" ->", " of") if steps else (" of", " ->")
    if counted:
        yield ","
