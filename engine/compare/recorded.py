"""Recorded runs as trials: what ran side by side in a run are its replicates. Pure."""

from collections.abc import Iterable
from dataclasses import replace

from ..event import NodeEnded, NodeStarted, Stamped
from ..fold import Fold, Node
from ..spend import Spend
from .trial import Trial


def replicates(run: str, arm: str, events: Iterable[Stamped], folded: Fold) -> list[Trial]:
    """A trial for each branch of the run's outermost `parallel` that was judged; else one, of the whole run.

    So a run of ten teams says how the best of three would have done, and a run of one agent is one replicate.
    folded: empty, and takes the events in.
    """
    took = _lives(events, folded)
    totals = folded.totals()
    branches = [
        node
        for node in folded.nodes.values()
        if node.line == node.address and node.kind != "baseline" and _is_side_by_side(folded, node)
    ]
    judged = [node for node in branches if _score(folded, node) is not None]
    if not judged:
        return [replace(_whole(run, arm, folded), seconds=folded.seconds)]
    return [
        _trial(run, arm, number, node.outcome or "running", _score(folded, node), totals[node.address],
               clean=None if _flagged(folded, node) else _score(folded, node), task=_row(node.address),
               seconds=took.get(node.address, 0.0))
        for number, node in enumerate(judged)
    ]  # fmt: skip


def _lives(events: Iterable[Stamped], folded: Fold) -> dict[str, float]:
    """How many seconds of the run's live time each node took."""
    began: dict[str, float] = {}
    took: dict[str, float] = {}
    for stamped in events:
        folded.add(stamped)
        match stamped.event:
            case NodeStarted(address=address):
                began.setdefault(address, folded.seconds_at(stamped.time))
            case NodeEnded(address=address) if address in began:
                took[address] = folded.seconds_at(stamped.time) - began[address]
            case _:
                pass
    return took


def _is_side_by_side(folded: Fold, node: Node) -> bool:
    above = folded.parent(node.address)
    return above is not None and folded.nodes[above].kind == "parallel"


def _score(folded: Fold, node: Node) -> float | None:
    """Of the branch: what it ended with, else the best of what was judged in it."""
    branch = folded.branches.get(node.address)
    return branch.score if branch is not None and branch.score is not None else node.score


def _flagged(folded: Fold, node: Node) -> bool:
    return any(at == node.address or at.startswith(node.address + "/") for at in folded.flags)


def _whole(run: str, arm: str, folded: Fold) -> Trial:
    ended = folded.ended
    score = None if ended is None else ended.score
    if score is None and ended is not None and ended.passed is not None:
        score = float(ended.passed)
    word = "running" if ended is None else ended.outcome
    return _trial(run, arm, 0, word, score, folded.total, clean=score, task="")


def _trial(
    run: str,
    arm: str,
    number: int,
    outcome: str,
    score: float | None,
    spend: Spend,
    *,
    clean: float | None,
    task: str,
    seconds: float = 0.0,
) -> Trial:
    amount = spend.amount
    return Trial(
        arm, task, number, run, outcome, score, clean, score is None, spend.usd, amount.tokens, amount.calls,
        seconds,
    )  # fmt: skip


def _row(address: str) -> str:
    """The part of address that says which of several tasks it is of; empty in a run of one."""
    return next((part for part in address.split("/") if part.endswith(".row")), "")
