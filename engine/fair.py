"""Fairness by attained service, level by level: of those who share turns, whoever was served least goes first.

Each waiter names its path, the outermost first: the account above the runs, the run, the team, the node.
Turns are shared between the accounts, then between the runs of one, and so on; so an account with one agent
does not wait behind the hundred agents of another. Nobody saves up turns.

A team's turn is all of it that waits: whoever of a round is left behind holds up the whole team at its end, while
teams that take turns call by call come to their last rounds together, and then leave slots idle. What the turn
took counts for the team's service, so the next one is for the team that was served least. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, Generic, Protocol, TypeVar

# Members of a group whose service is remembered though they wait for nothing.
REMEMBERED = 1_000


class Waiter(Protocol):
    """path: who shares turns with whom. team: the name in it of the group whose turn is all of it that waits; "":
    there is none. order: the later it came, the higher; also where it comes back. live: still waits. Those of one
    path are ordered by `<`.

    No path is the beginning of another.
    """

    @property
    def path(self) -> Sequence[str]: ...

    @property
    def team(self) -> str: ...

    @property
    def order(self) -> int: ...

    @property
    def live(self) -> bool: ...

    def __lt__(self, other: Any, /) -> bool: ...


W = TypeVar("W", bound=Waiter)


@dataclass(slots=True, eq=False)
class Group(Generic[W]):
    """Those below one beginning of paths. service: what it was served, beside its siblings.

    entry: the number of its own entry in the heap of the group above; 0: nobody below it waits. heap:
    its members that wait, as (turn, service, number, member), those with an old number are stale. now: the
    service of the member whose turn began last. queue: who waits, where paths end here.

    turn: of a team, how many turns it has had; its last one is for those who came up to the order last. Below it
    the turn in the heap is the one that a member waits for; beside it 0 is a team whose turn it is, 1 all others.
    """

    service: float = 0.0
    entry: int = 0
    now: float = 0.0
    most: int = 2 * REMEMBERED
    members: dict[str, "Group[W]"] = field(default_factory=dict[str, "Group[W]"])
    heap: list[tuple[int, float, int, "Group[W]"]] = field(
        default_factory=list[tuple[int, float, int, "Group[W]"]]
    )
    queue: list[W] = field(default_factory=list[W])
    turn: int = 0
    last: int = -1

    def prune(self) -> None:
        """Forget members that do not wait, the oldest first, as there are too many: they come back level."""
        idle = [name for name, member in self.members.items() if not member.entry]
        for name in idle[:-REMEMBERED]:
            del self.members[name]
        self.most = 2 * max(REMEMBERED, len(self.members))


@dataclass(slots=True, eq=False)
class Turns(Generic[W]):
    """What waits. Every operation costs the depth of the paths and the logarithm of the groups' sizes."""

    root: Group[W] = field(default_factory=Group[W])
    count: int = 0
    newest: int = -1

    def add(self, waiting: W) -> None:
        self.newest = max(self.newest, waiting.order)
        group, turn, late = self.root, 0, True
        for name in waiting.path:
            member = group.members.get(name)
            if member is None:
                member = group.members[name] = Group()  # `Group[W]()` takes four times as long
            if name == waiting.team:
                late = waiting.order > member.last  # else it is back from elsewhere
            if not member.entry:
                # A newcomer starts level with who is served now: no credit for time in which it did not wait.
                member.service = max(member.service, group.now)
            if not member.entry or not late:
                self._enter(group, member, turn + late)
            group, turn = member, member.turn
        heappush(group.queue, waiting)

    def first(self) -> W | None:
        """The next one, left in place."""
        return self._first(self.root)

    def _first(self, group: Group[W]) -> W | None:
        above: list[Group[W]] = []
        while True:
            queue, heap = group.queue, group.heap
            while queue and not queue[0].live:
                heappop(queue)
            if queue:
                return queue[0]
            while heap and heap[0][3].entry != heap[0][2]:
                heappop(heap)
            if heap:
                above.append(group)
                group = heap[0][3]
            elif not above:
                return None
            else:  # nobody below it waits: it is the first in the heap above
                group.entry = 0
                group = above.pop()

    def pop(self) -> None:
        """Take out what `first` gave."""
        way: list[tuple[Group[W], Group[W]]] = []
        group = self.root
        while group.heap:
            turn, service, _, member = group.heap[0]
            if turn:
                group.now = max(group.now, service)
            way.append((group, member))
            group = member
        taken = heappop(group.queue)
        if taken.team:
            team = way[taken.path.index(taken.team)][1]
            if team.last < taken.order:
                team.turn, team.last = team.turn + 1, self.newest
        for above, member in reversed(way):
            if member.queue or member.heap:
                break
            heappop(above.heap)
            member.entry = 0

    def serve(self, path: Sequence[str], tokens: int) -> None:
        """Who is at path was served tokens more; less than 0 where it was promised more than it used."""
        way: list[tuple[Group[W], Group[W], int]] = []
        group, last = self.root, -1
        for name in path:
            member = group.members.get(name)
            if member is None:  # forgotten: it will come back level with the others
                break
            last = max(last, member.last)
            way.append((group, member, last))
            group = member
        for group, member, last in reversed(way):
            member.service += tokens
            if member.entry:
                head = self._first(member) if last >= 0 else None
                late = head is None or head.order > last
                self._enter(group, member, group.turn + late)
            if len(group.members) > group.most:
                group.prune()

    def forget(self, path: Sequence[str]) -> None:
        """Nobody below path comes again."""
        group = self.root
        for name in path[:-1]:
            if name not in group.members:
                return
            group = group.members[name]
        member = group.members.get(path[-1])
        if member is not None and self._first(member) is None:
            member.entry = 0
            del group.members[path[-1]]

    def _enter(self, group: Group[W], member: Group[W], turn: int) -> None:
        self.count += 1
        member.entry = self.count
        heappush(group.heap, (turn, member.service, self.count, member))
