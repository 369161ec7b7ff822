"""What ending early saved and what it wasted, from what a run's nodes did. Pure.

Nobody knows what would have been spent in what was not begun. What is said of it is what the like of it did
spend in the same run: branches of the same name beside it, rounds of the same team or repeat. Where there is no
like of it, only the number of branches and rounds is told.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .fold import Fold, Node
from .outcome import ended_by_rule
from .spend import NO_SPEND, Spend, total_of

_ROUND = re.compile(r"r?([0-9]+)\.")


@dataclass(frozen=True, slots=True)
class Early:
    """branches, rounds: not begun, because enough was done or a budget had shrunk. unlike: how many of them have
    no like. least, most: the calls that the others would have been, by what their like took.

    losers: branches that had begun when others won their race; wasted: what those spent.
    """

    branches: int = 0
    rounds: int = 0
    unlike: int = 0
    least: int = 0
    most: int = 0
    losers: int = 0
    wasted: Spend = NO_SPEND

    def plus(self, other: "Early") -> "Early":
        return Early(
            self.branches + other.branches,
            self.rounds + other.rounds,
            self.unlike + other.unlike,
            self.least + other.least,
            self.most + other.most,
            self.losers + other.losers,
            self.wasted.plus(other.wasted),
        )

    @property
    def is_nothing(self) -> bool:
        return not (self.branches or self.rounds or self.losers)

    def as_json(self) -> dict[str, Any]:
        """The `early` object of JSON answers; the calls are null where something not begun has no like."""
        known = not self.unlike
        return {
            "branches_not_begun": self.branches,
            "rounds_not_begun": self.rounds,
            "saved_calls": {"at_least": self.least, "at_most": self.most} if known else None,
            "losers": self.losers,
            "wasted": self.wasted.as_json(),
        }


def early(folded: Fold, at: str | None = None) -> Early:
    """What ending early saved and wasted below the node at, or in the whole run."""
    totals, tree = folded.totals(), folded.tree()
    found = Early()
    waiting = list(tree.get(None, [])) if at is None else [folded.nodes[at]]
    waiting = [node for node in waiting if not is_lost(node)]
    while waiting:
        node = waiting.pop()
        below = tree.get(node.address, [])
        found = found.plus(_not_begun(below, totals)).plus(_rounds(node, below, totals))
        lost = [one for one in below if is_lost(one) and one.began]
        found = found.plus(
            Early(losers=len(lost), wasted=total_of(totals[o.address] for o in lost))
        )
        waiting.extend(one for one in below if not is_lost(one))
    return found


def is_lost(node: Node) -> bool:
    """Whether it ended because others won a race around it."""
    return node.outcome == "stopped" and node.reason == "lost"


def _is_whole(node: Node) -> bool:
    """Whether it came to its end and was not cut short by others."""
    by_rule = ended_by_rule(node.outcome or "", node.reason)
    return by_rule or node.outcome in ("passed", "finished")


def _not_begun(below: Sequence[Node], totals: Mapping[str, Spend]) -> Early:
    """The branches among these that never began, by what those of the same name took that came to their end."""
    found = Early()
    took: dict[str, list[int]] = {}
    for node in below:
        if node.began and _is_whole(node):
            took.setdefault(node.label, []).append(totals[node.address].amount.calls)
    for node in below:
        if not node.began:
            like = took.get(node.label)
            bounds = Early(unlike=1) if like is None else Early(least=min(like), most=max(like))
            found = found.plus(bounds).plus(Early(branches=1))
    return found


def _rounds(node: Node, below: Sequence[Node], totals: Mapping[str, Spend]) -> Early:
    """The rounds that node did not begin, by what its others took."""
    left = node.rounds_left
    if not left:
        return Early()
    took: dict[str, int] = {}
    for one in below:
        segment = one.address.removeprefix(f"{node.address}/")
        if (number := _ROUND.match(segment)) is not None:
            calls = totals[one.address].amount.calls
            took[number[1]] = took.get(number[1], 0) + calls
    if not took:
        return Early(rounds=left, unlike=left)
    least, most = min(took.values()), max(took.values())
    return Early(rounds=left, least=left * least, most=left * most)
