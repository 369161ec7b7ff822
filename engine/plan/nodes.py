"""The parts of a plan. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from podium.dsl.program import Flow, Limited

from ..forms import kind_of
from .amounts import Amounts
from .caps import UNBOUND, Binding, Caps
from .texts import Given


@dataclass(frozen=True, slots=True)
class Node:
    """A part of the flow. count: its copies, or how often it runs at most. gives: what comes out of one.

    depth: calls one after another, at most. budgets: on it alone, the outermost first. caps: what the budgets
    on it and around it allow. binding: by its own budget.
    """

    address: str
    flow: Flow
    label: str
    agents: int
    amounts: Amounts
    gives: Given
    children: tuple["Node", ...] = ()
    count: int = 1
    caps: Caps = UNBOUND
    binding: Binding | None = None
    depth: int = 0
    budgets: tuple[Limited, ...] = ()

    @property
    def seconds(self) -> float | None:
        """The time it may take, None where nothing bounds it."""
        return self.caps.seconds

    @property
    def kind(self) -> str:
        return kind_of(self.flow)

    def clipped(self) -> "Node":
        """No amount above what the budgets around allow, here and below."""
        children = tuple(child.clipped() for child in self.children)
        return replace(self, amounts=self.caps.clip(self.amounts), children=children)

    def walk(self, depth: int = 0) -> Iterator[tuple[int, "Node"]]:
        """This part and all below, each with its depth, parents first."""
        yield depth, self
        for child in self.children:
            yield from child.walk(depth + 1)


def merged(one: Node, other: Node) -> Node:
    """The same part with other things given to it: the least and the most of both."""
    children = zip(one.children, other.children, strict=True)
    wider = other if other.gives.width > one.gives.width else one
    return replace(
        wider,
        agents=max(one.agents, other.agents),
        depth=max(one.depth, other.depth),
        amounts=one.amounts.spanning(other.amounts),
        gives=one.gives.join(other.gives),
        children=tuple(merged(a, b) for a, b in children),
        count=max(one.count, other.count),
        binding=one.binding or other.binding,
    )


def numbered(first: int, count: int, flow: Flow) -> str:
    """The segment of siblings: `3.squad`, or `3-12.squad` for ten of them."""
    number = str(first) if count <= 1 else f"{first}-{first + count - 1}"
    return f"{number}.{flow.label}"
