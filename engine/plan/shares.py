"""Even parts of a budget that are smaller than what a branch takes. Pure."""

from collections.abc import Iterator
from typing import NamedTuple

from podium.dsl.program import Parallel

from .amounts import Amounts
from .caps import Caps
from .nodes import Node


class Small(NamedTuple):
    """A branch of the parallel at address gets part, where it needs about so much, in the ledger's units."""

    address: str
    branch: str
    dimension: str
    part: int
    needs: int


def small(root: Node) -> Iterator[Small]:
    """Of each parallel that splits evenly, the first kind of branch whose part is too small. root: not clipped."""
    for _, node in root.walk():
        if isinstance(node.flow, Parallel) and node.flow.split == "even":
            parts = _parts(node.caps, sum(child.count for child in node.children))
            found = (one for child in node.children for one in _small(node, child, parts))
            yield from [one for one in [next(found, None)] if one is not None]


def _parts(caps: Caps, branches: int) -> dict[str, int]:
    limits = zip(("usd", "tokens", "calls"), caps[:3], strict=True)
    return {name: limit // branches for name, limit in limits if limit is not None}


def _small(node: Node, child: Node, parts: dict[str, int]) -> Iterator[Small]:
    needs = _needs(child.amounts)
    for name, part in parts.items():
        if needs.get(name, 0) > part:
            yield Small(node.address, child.address, name, part, needs[name])


def _needs(amounts: Amounts) -> dict[str, int]:
    """Of a single call the worst, which is held before it is sent; of several what is expected."""
    ranges = {"usd": amounts.usd, "tokens": amounts.tokens, "calls": amounts.calls}
    alone = amounts.calls.most <= 1
    return {
        name: found.most if alone else found.expected
        for name, found in ranges.items()
        if found is not None
    }
