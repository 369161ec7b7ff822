"""Fairness by attained service: whoever was served least goes first, and nobody saves up turns. Pure."""

from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, Generic, Protocol, TypeVar

# Nodes whose service is remembered though they wait for nothing.
REMEMBERED = 10_000


class Waiter(Protocol):
    """node: who shares turns with others. live: still waits. Those of a node are ordered by `<`."""

    node: str

    @property
    def live(self) -> bool: ...

    def __lt__(self, other: Any, /) -> bool: ...


W = TypeVar("W", bound=Waiter)


@dataclass(slots=True)
class Turns(Generic[W]):
    """What waits, by node, the least served node first; a node's own in their order.

    heap holds entries of service and first waiter; that in entries is the node's own, others are stale.
    """

    nodes: dict[str, list[W]] = field(default_factory=dict[str, list[W]])
    entries: dict[str, tuple[float, W]] = field(default_factory=dict[str, tuple[float, W]])
    heap: list[tuple[float, W]] = field(default_factory=list[tuple[float, W]])
    service: dict[str, float] = field(default_factory=dict[str, float])
    now: float = 0.0
    most: int = REMEMBERED

    def add(self, waiting: W) -> None:
        node = waiting.node
        heappush(self.nodes.setdefault(node, []), waiting)
        # A newcomer starts level with who is served now: no credit for time in which it did not wait.
        self.service[node] = max(self.service.get(node, 0.0), self.now)
        self._enter(node)

    def first(self) -> W | None:
        """The next one, left in place."""
        while self.heap:
            entry = self.heap[0]
            waiting = entry[1]
            if self.entries.get(waiting.node) is not entry:
                heappop(self.heap)
            elif waiting.live:
                return waiting
            else:
                self._enter(waiting.node)
        return None

    def pop(self) -> None:
        """Take out what `first` gave."""
        service, waiting = heappop(self.heap)
        heappop(self.nodes[waiting.node])
        del self.entries[waiting.node]
        self.now = max(self.now, service)
        self._enter(waiting.node)

    def serve(self, node: str, tokens: int) -> None:
        """node was served tokens more; less than 0 where it was promised more than it used."""
        self.service[node] = self.service.get(node, 0.0) + tokens
        self._enter(node)
        if len(self.service) > self.most:
            kept = {n: s for n, s in self.service.items() if n in self.nodes or s > self.now}
            self.service, self.most = kept, max(REMEMBERED, 2 * len(kept))

    def _enter(self, node: str) -> None:
        """Give node the entry it should have."""
        queue = self.nodes.get(node, [])
        while queue and not queue[0].live:
            heappop(queue)
        if not queue:
            self.nodes.pop(node, None)
            self.entries.pop(node, None)
            return
        entry = (self.service[node], queue[0])
        old = self.entries.get(node)
        if old is None or old[0] != entry[0] or old[1] is not entry[1]:
            self.entries[node] = entry
            heappush(self.heap, entry)
