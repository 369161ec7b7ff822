"""What a run took beside its budgets and its plan, in whole and part by part. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from xml.etree.ElementTree import Element

from podium.dsl.program import Budget

from ..fold import Fold, Spend
from ..plan import Node as Planned
from ..plan import Plan
from ..spend import total_of
from .books import books
from .page import Part, table, tag
from .plan_view import described
from .reading import is_copy
from .run_tree import share
from .safe import safe_line
from .summary import dollars
from .units import counted, show_bound, show_count, show_usd

MAX_BOUNDS = 20
MAX_PARTS = 30


def budgets(folded: Fold, limits: Mapping[str, Budget]) -> Iterator[Element]:
    """Each bound of each budget, with what was used of it, the fullest first. limits: by the names people know."""
    found: list[tuple[float, list[Part]]] = []
    totals = folded.totals()
    for name, budget in limits.items():
        whole = name.startswith("run ")
        spend = folded.total if whole else totals.get(name)
        if spend is None:
            continue
        for dimension, bound, used in _bounds(budget, spend, folded, whole=whole):
            bounds = show_bound(dimension, bound), show_bound(dimension, used)
            found.append(
                (
                    used / bound if bound else 1.0,
                    [safe_line(name, 120), *bounds, share(used, bound)],
                )
            )
    found.sort(key=lambda one: one[0], reverse=True)
    if found:
        yield table(("budget", "bound", "used", ""), [row for _, row in found[:MAX_BOUNDS]])
    if len(found) > MAX_BOUNDS:
        yield tag("p", f"The fullest {MAX_BOUNDS} of {len(found):,} bounds.", class_="dim")
    for words in books(folded.total):
        yield tag("p", words)


def _bounds(
    budget: Budget, spend: Spend, folded: Fold, *, whole: bool
) -> Iterator[tuple[str, float, float]]:
    """What is bounded, by how much, and what of that was used. Time is known of the whole run alone."""
    amount = spend.amount
    if budget.usd is not None and not spend.unpriced:
        yield "usd", budget.usd, amount.usd
    if budget.tokens is not None:
        yield "tokens", budget.tokens, amount.tokens
    if budget.calls is not None:
        yield "calls", budget.calls, amount.calls
    if budget.seconds is not None and whole:
        yield "seconds", budget.seconds, folded.seconds


def planned(folded: Fold, plan: Plan) -> Iterator[Element]:
    """The plan of the whole run beside what it took; then each part's, of one copy on average."""
    total, spend = plan.total, folded.total
    rows: list[list[Part]] = [
        ["calls", *map(show_count, total.calls), show_count(spend.amount.calls)],
        ["tokens", *map(show_count, total.tokens), show_count(spend.amount.tokens)],
    ]
    if total.usd is not None and (any(total.usd) or spend.amount.usd):
        rows.append(["dollars", *map(show_usd, total.usd), dollars(spend)])
    yield table(("", "at least", "expected", "at most", "spent"), rows)
    yield from _parts(folded, plan)


def _parts(folded: Fold, plan: Plan) -> Iterator[Element]:
    ran, totals = by_part(folded, plan.root), folded.totals()
    parts = [(depth, part) for depth, part in plan.root.walk() if ran.get(part.address)]
    heads = (
        "part",
        "ran",
        "calls expected",
        "spent",
        "tokens expected",
        "spent",
        "dollars expected",
        "spent",
    )
    if len(parts) < 2:
        return
    rows: list[list[Part]] = []
    for depth, part in parts[:MAX_PARTS]:
        rows.append(_row(depth, part, [totals[address] for address in ran[part.address]]))
    yield tag("p", "Of one copy of each part, on average of those that ran:", class_="dim")
    yield table(heads, rows)
    if left := len(parts) - len(rows):
        yield tag("p", f"{counted(left, 'more part')} not shown.", class_="dim")


def _row(depth: int, part: Planned, ran: Sequence[Spend]) -> list[Part]:
    whole, plan = total_of(ran), part.amounts
    calls, tokens, usd = (round(one / len(ran)) for one in whole.amount[::-1])
    paid = "unknown" if whole.unpriced else show_usd(usd)
    expected = "unknown" if plan.usd is None else show_usd(plan.usd.expected)
    return [
        "\u2003" * depth + safe_line(described(part), 80), show_count(len(ran)),
        show_count(plan.calls.expected), show_count(calls),
        show_count(plan.tokens.expected), show_count(tokens),
        expected, paid,
    ]  # fmt: skip


def by_part(folded: Fold, root: Planned) -> dict[str, list[str]]:
    """The addresses of the nodes that ran as copies of each part, by the part's address."""
    found: dict[str, list[str]] = {}
    # Of several tasks all rows have the same parts, and what is around the rows is none.
    rows = any(_is_row(segment) for segment in root.address.split("/"))
    for address in folded.nodes:
        segments = address.split("/")
        wanted = [segment for segment in segments if not _is_row(segment)]
        part = _part(root, wanted)
        if part is not None and (not rows or len(wanted) < len(segments)):
            found.setdefault(part.address, []).append(address)
    return found


def _part(root: Planned, wanted: list[str]) -> Planned | None:
    """The part of which the node with these segments is a copy; None of what a team does within itself."""
    part: Planned | None = root if _fits(root, wanted) else None
    while part is not None and len(_segments(part)) < len(wanted):
        part = next((child for child in part.children if _fits(child, wanted)), None)
    return part


def _segments(part: Planned) -> list[str]:
    return [segment for segment in part.address.split("/") if not _is_row(segment)]


def _is_row(segment: str) -> bool:
    return segment.endswith(".row")


def _fits(part: Planned, wanted: list[str]) -> bool:
    own = _segments(part)
    return len(own) <= len(wanted) and all(map(is_copy, own, wanted))
