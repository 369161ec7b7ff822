"""A run's topology as nested folds of a page: of each node what it did, what it gave and what it took. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from ..early import is_lost
from ..fold import Fold, Node, Spend
from ..outcome import ended_by_rule
from ..places import is_within
from ..spend import rent_share
from .page import add, tag
from .safe import safe_line
from .summary import dollars
from .units import counted, show_calls, show_tokens, show_usd

MAX_NODES = 12_000  # a page of these is some megabytes, which browsers still open at once
_OPEN_DEPTH = 2
_OPEN_WIDTH = 40  # with more below it a node is closed, so that a page can be looked over
_BAR = 90


@dataclass(slots=True)
class _Drawing:
    """totals, below: of the fold, asked once. ids: the anchors of nodes that have been drawn."""

    folded: Fold
    totals: Mapping[str, Spend]
    below: Mapping[str | None, list[Node]]
    told: Mapping[str, str]
    ids: dict[str, str] = field(default_factory=dict[str, str])


def topology(folded: Fold, transcripts: Mapping[str, str]) -> Element:
    """The nodes, each once, from the top down. transcripts: the anchors of those that are on the page."""
    drawing = _Drawing(folded, folded.totals(), folded.tree(), transcripts)
    tree = tag("div", class_="tree")
    _below(drawing, tree, None, 0)
    return tree


def _below(drawing: _Drawing, element: Element, address: str | None, depth: int) -> None:
    nodes = drawing.below.get(address, [])
    room = max(0, MAX_NODES - len(drawing.ids))
    for node in nodes[:room]:
        if len(drawing.ids) >= MAX_NODES:
            break
        drawing.ids[node.address] = f"n{len(drawing.ids)}"
        add(element, _node(drawing, node, address, depth))
    rest = [node for node in nodes if node.address not in drawing.ids]
    if rest:
        said = f"and {len(rest):,} more here, which this page has no room for"
        add(element, tag("p", said, class_="dim"))


def _node(drawing: _Drawing, node: Node, above: str | None, depth: int) -> Element:
    best = drawing.folded.best
    wins = best is not None and is_within(best.address, node.address)
    below = drawing.below.get(node.address, [])
    id_, mark = drawing.ids[node.address], "best" if wins else ""
    head = _head(drawing, node, above)
    reason = _reason(node)
    if not below:
        return tag("div", *head, *reason, id=id_, class_=f"leaf {mark}".rstrip())
    open_ = (depth < _OPEN_DEPTH or wins) and len(below) <= _OPEN_WIDTH
    fold = tag("details", tag("summary", *head), id=id_, class_=mark or None)
    if open_:
        fold.set("open", "open")
    add(fold, *reason)
    _below(drawing, fold, node.address, depth + 1)
    return fold


def _head(drawing: _Drawing, node: Node, above: str | None) -> list[Element | str]:
    """Name, kind, outcome and score; then what it took, with its share of the run as a bar."""
    spend, whole = drawing.totals[node.address], drawing.folded.total
    name = node.address if above is None else node.address.removeprefix(f"{above}/")
    outcome = node.outcome or "running"
    score = "" if node.score is None else f", score {node.score:.6g}"
    parts: list[Element | str] = [
        tag("b", safe_line(name, 120)),
        tag("span", f" {safe_line(node.kind, 20)} ", class_="kind"),
        tag("span", outcome, class_=outcome),
        f"{score}",
        share(_weight(spend, whole), _weight(whole, whole)),
        tag("span", price(spend, whole), class_="dim"),
    ]
    if (anchor := drawing.told.get(node.address)) is not None:
        parts += [" ", tag("a", "transcript", href=f"#{anchor}")]
    return parts


def price(spend: Spend, whole: Spend) -> str:
    """`$0.12, 3.4k tokens, 12 calls`; with its part of a rent, where one was paid."""
    amount = spend.amount
    shown = f"{dollars(spend)}, {show_tokens(amount.tokens)}, {show_calls(amount.calls)}"
    rent = rent_share(spend, whole)
    return shown if rent is None else f"{shown}, {show_usd(rent)} of the rent"


def share(part: float, of: float) -> Element:
    """A bar that is filled as far as part is of the whole."""
    ratio = min(1.0, part / of) if of else 0.0
    bars = (
        tag("rect", class_="rest", width=_BAR, height=8),
        tag("rect", class_="bar", width=_BAR * ratio, height=8),
    )
    label = tag("title", f"{ratio:.0%}")
    return tag("svg", label, *bars, class_="share", width=_BAR, height=8)


def _weight(spend: Spend, whole: Spend) -> float:
    """In dollars where the run cost any and all are known, else in tokens, or in calls where there were none."""
    if whole.amount.usd and not whole.unpriced:
        return spend.amount.usd
    return spend.amount.tokens if whole.amount.tokens else spend.amount.calls


def _reason(node: Node) -> list[Element]:
    """Why it ended so, where there is anything to say."""
    said: list[str] = []
    if not node.began:
        said.append("never began")
    if is_lost(node):
        said.append("others won the race around it")
    elif node.reason and node.reason != node.outcome:
        rule = "by its rule " if ended_by_rule(node.outcome or "", node.reason) else ""
        said.append(f"{rule}{safe_line(node.reason, 300)}")
    if node.rounds_left:
        said.append(f"{counted(node.rounds_left, 'round')} not begun")
    return [tag("p", "; ".join(said), class_="dim")] if said else []
