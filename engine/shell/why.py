"""Why a node ended as it did, why it did not run, why it cost so much: from a run's events, in words. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from podium.dsl.program import Budget

from ..answer import failed
from ..early import early, is_lost
from ..fold import Fold, Node, Spend
from ..outcome import BUDGETS, ended_by_rule
from ..places import is_within
from ..reduce import order
from .early_view import saved_and_wasted
from .safe import safe_line
from .summary import dollars
from .units import counted, plural, show_calls, show_seconds, show_tokens, show_usd

_DEAREST = 3
# Nodes that make no answer: they pass on what others made.
_PASS_ON = ("best", "top", "vote", "sample", "score")
_OF_BUDGET = " budget of "


def why(folded: Fold, address: str, limits: Mapping[str, Budget]) -> tuple[str, ...]:
    """Sentences on the node at address, or on the address of a node that did not run; a line each.

    limits: the budgets of the run by the names that people know them by.
    """
    node = folded.nodes.get(address)
    if node is None:
        return tuple(_did_not_run(folded, address))
    early_end = saved_and_wasted(early(folded, node.address))
    told = [*_ended(folded, node, limits), early_end, *_scored(folded, node), *_cost(folded, node)]
    return tuple(line for line in told if line)


# --- what did not run ----------------------------------------------------------------------------


def _did_not_run(folded: Fold, address: str) -> Iterator[str]:
    """What is known of an address that no event names: what the node around it did instead."""
    above = folded.owner(address)
    if above is None:
        return
    node = folded.nodes[above]
    begun = folded.tree().get(above, [])
    yield f"It did not run: {safe_line(above, 120)} {_instead(node, begun)}."
    for line in _ended(folded, node, {}):
        yield f"{safe_line(above, 120)}: {line[0].lower()}{line[1:]}"


def _instead(node: Node, begun: Sequence[Node]) -> str:
    last = safe_line(begun[-1].address.removeprefix(f"{node.address}/"), 60) if begun else "nothing"
    match node.kind:
        case "fallback":
            return f"took {last} and needed no other option"
        case "route":
            return f"took {last}"
        case "repeat":
            return f"ended after {last}"
        case "then":
            return f"ended with {last}, which gave nothing to go on with"
        case "team":
            return f"ended before that, after {show_calls(node.own.amount.calls) if not begun else last}"
        case _:
            return f"ended as {node.outcome or 'not yet ended'} before that, after {last}"


# --- how it ended --------------------------------------------------------------------------------


def _ended(folded: Fold, node: Node, limits: Mapping[str, Budget]) -> Iterator[str]:
    begun = "" if node.began else "It never began: "
    match node.outcome:
        case None:
            yield (
                "It has not ended." if folded.ended is None else "It was in the midst of its work."
            )
        case "stopped" if is_lost(node):
            yield f"{begun or 'It was stopped: '}{_winners(folded, node)}."
        case "stopped" if not ended_by_rule("stopped", node.reason):
            said = {"enough": "enough had been done", "user": "it was told to stop"}
            yield f"{begun or 'It was stopped: '}{said.get(node.reason, node.reason)}."
        case "exhausted":
            yield f"{begun or 'It was stopped by a budget: '}{_no_room(folded, node.reason, limits)}."
        case "failed":
            yield f"It failed: {safe_line(node.reason, 300)}."
            yield from _causes(folded, node)
        case "cancelled":
            yield "It was cancelled from outside: the run was interrupted, or broke, while it was at work."
        case "paused":
            yield f"It was paused: {safe_line(node.reason, 300)}."
        case _ if node.reason or node.rounds_left:
            rule = f"by its rule `{safe_line(node.reason, 80)}`" if node.reason else ""
            number = node.rounds_left
            left = (
                f"{counted(number, 'round')} {plural(number, 'was', 'were')} not begun"
                if number
                else ""
            )
            yield f"It ended {', '.join(part for part in (rule, left) if part)}."
        case _:
            pass


def _winners(folded: Fold, node: Node) -> str:
    """Who won the race that node lost: the branches beside the outermost lost one that came to their end."""
    loser = node
    while (above := folded.parent(loser.address)) and is_lost(folded.nodes[above]):
        loser = folded.nodes[above]
    above = folded.parent(loser.address)
    beside = folded.tree().get(above, [])
    won = [one for one in beside if one.outcome == "passed"]
    if not won:
        return "others won the race around it"
    names = [f"{_below(one, above)}{_score(one)}" for one in won[:_DEAREST]]
    more = f" and {len(won) - _DEAREST} more" if len(won) > _DEAREST else ""
    mine = "" if loser is node else f" before {_below(loser, above)}, in which it lies"
    return f"{', '.join(names)}{more} passed first{mine}"


def _below(node: Node, above: str | None) -> str:
    return safe_line(node.address.removeprefix(f"{above}/"), 60)


def _score(node: Node) -> str:
    return "" if node.score is None else f" (score {node.score:.6g})"


def _no_room(folded: Fold, reason: str, limits: Mapping[str, Budget]) -> str:
    """Which budget, how large it was, and what had been spent of it."""
    dimension, of, name = reason.partition(_OF_BUDGET)
    if not of:
        return f"the {safe_line(reason, 200)} had come"
    limit, spent = limits.get(name), _spent(folded, name)
    what = BUDGETS.get(dimension, dimension)
    size = "" if limit is None else _bound(limit, dimension)
    said = f"the {what} budget of {safe_line(name, 120)}{size and f', {size},'}"
    if dimension == "time":
        return f"{said} was up"
    used = "" if spent is None else f"; {_used(spent, dimension)} of it had been spent at the end"
    return f"{said} had no room for the worst case of one more call{used}"


def _spent(folded: Fold, name: str) -> Spend | None:
    return folded.total if name.startswith("run ") else folded.totals().get(name)


def _bound(limit: Budget, dimension: str) -> str:
    match dimension:
        case "usd" if limit.usd is not None:
            return show_usd(limit.usd)
        case "tokens" if limit.tokens is not None:
            return show_tokens(limit.tokens)
        case "calls" if limit.calls is not None:
            return show_calls(limit.calls)
        case "time" if limit.seconds is not None:
            return show_seconds(limit.seconds)
        case _:
            return ""


def _used(spend: Spend, dimension: str) -> str:
    match dimension:
        case "usd":
            return dollars(spend)
        case "tokens":
            return show_tokens(spend.amount.tokens)
        case _:
            return show_calls(spend.amount.calls)


def _causes(folded: Fold, node: Node) -> Iterator[str]:
    """The failures below, the lowest address first."""
    below = [one for one in failed(folded) if one.address.startswith(f"{node.address}/")]
    for one in below[:_DEAREST]:
        yield f"  {safe_line(one.address, 120)}: {safe_line(one.reason, 200)}"
    if len(below) > _DEAREST:
        yield f"  and {counted(len(below) - _DEAREST, 'more failure')} below it."


# --- what it was worth, and what it cost ------------------------------------------------------------


def _scored(folded: Fold, node: Node) -> Iterator[str]:
    """How its answer fared against the run's best."""
    best = folded.best
    if best is None or not node.began or node.outcome is None:
        return
    if is_within(best.address, node.address):
        if folded.parent(node.address) is not None:
            yield "The run's best answer came from here."
    elif node.score is not None and best.score is not None and node.score != best.score:
        yield (
            f"Its answer scored {node.score:.6g}; the run's best, {best.score:.6g}, came from "
            f"{safe_line(best.address, 120)}."
        )
    elif node.score is not None and node.score == best.score and node.kind in _PASS_ON:
        yield f"What it passed on scored as well as the run's best, from {safe_line(best.address, 120)}."
    elif node.score is not None and node.score == best.score:
        yield f"Its answer scored as well as the best, which came first: {safe_line(best.address, 120)}."


def _cost(folded: Fold, node: Node) -> Iterator[str]:
    """Its share of the run, and the dearest nodes directly below it."""
    totals = folded.totals()
    spend, whole = totals[node.address], folded.total
    below = sorted(folded.tree().get(node.address, []), key=lambda one: order(one.address))
    below.sort(key=lambda one: _weight(totals[one.address]), reverse=True)
    dear = [one for one in below if any(_weight(totals[one.address]))][:_DEAREST]
    if not any(_weight(spend)):
        return
    share = _share(spend, whole)
    if folded.parent(node.address) is not None:
        yield f"It took {share} of what the run spent."
    if len(below) > 1 and dear:
        names = [
            f"{_below(one, node.address)} {_share(totals[one.address], whole)}" for one in dear
        ]
        own = node.own
        mine = [f"its own calls {_share(own, whole)}"] if any(_weight(own)) else []
        yield f"Dearest below it, as shares of the run: {', '.join([*names, *mine])}."


def _weight(spend: Spend) -> tuple[int, int]:
    return spend.amount.usd, spend.amount.tokens


def _share(spend: Spend, whole: Spend) -> str:
    """In dollars where the run cost any, else in tokens."""
    part, of = (
        (spend.amount.usd, whole.amount.usd)
        if whole.amount.usd and not whole.unpriced
        else (spend.amount.tokens, whole.amount.tokens)
    )
    return f"{part / of:.0%}" if of else "0%"
