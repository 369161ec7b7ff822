"""Fairness by attained service, level by level: of those who share turns, whoever was served least goes first.

Each waiter names its path, the outermost first: the account above the runs, the run, the team, the node.
Turns are shared between the accounts, then between the runs of one, and so on; so an account with one agent
does not wait behind the hundred agents of another. Nobody saves up turns.

A team's turn is all of it that waits: whoever of a round is left behind holds up the whole team at its end, while
teams that take turns call by call come to their last rounds together, and then leave slots idle. What the turn
took counts for the team's service, so the next one is for the team that was served least.

Within a run a place that is free goes to one who is at home there before one who is at home elsewhere, at a place
that is taken now but not for long: else whoever is next would drive the others out of their caches whenever all
have more to do than they can. Nobody is passed over for long. Pure.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

# Members of a group whose service is remembered though they wait for nothing.
REMEMBERED = 1_000
# How often running one who is at home elsewhere may be passed over: some rounds of all replicas there are.
PASSES = 64


class Waiter(Protocol):
    """path: who shares turns with whom. team: the name in it of the group whose turn is all of it that waits; "":
    there is none. order: the later it came, the higher; also where it comes back. live: still waits. Those of one
    path are ordered by `<`. homes: the places that it, or its team, should rather go to; none: any will do.

    No path is the beginning of another.
    """

    @property
    def path(self) -> Sequence[str]: ...

    @property
    def team(self) -> str: ...

    @property
    def order(self) -> int: ...

    @property
    def homes(self) -> tuple[int, ...]: ...

    @property
    def live(self) -> bool: ...

    def __lt__(self, other: Any, /) -> bool: ...


W = TypeVar("W", bound=Waiter)


class Places(NamedTuple):
    """free: those where one more may go now. open: those where calls go at all."""

    free: Collection[int]
    open: Collection[int]


@dataclass(slots=True, eq=False)
class Group(Generic[W]):
    """Those below one beginning of paths. service: what it was served, beside its siblings.

    entry: the number of its own entry in the heap of the group above; 0: nobody below it waits. heap:
    its members that wait, as (turn, service, number, member), those with an old number are stale. now: the
    service of the member whose turn began last. queue: who waits, where paths end here.

    turn: of a team, how many turns it has had; its last one is for those who came up to the order last. Below it
    the turn in the heap is the one that a member waits for; beside it 0 is a team whose turn it is, 1 all others.

    homes: as of Waiter. at: the heap once more, of those who are at home at a place. passed: how often running
    another one went than the first in the heap.
    """

    service: float = 0.0
    entry: int = 0
    now: float = 0.0
    most: int = 2 * REMEMBERED
    # Plain factories: each agent has a group, and those that name types take ten times as long.
    members: dict[str, "Group[W]"] = field(default_factory=lambda: {})
    heap: "list[Entry[W]]" = field(default_factory=lambda: [])
    queue: list[W] = field(default_factory=lambda: [])
    turn: int = 0
    last: int = -1
    homes: tuple[int, ...] = ()
    at: "dict[int, list[Entry[W]]]" = field(default_factory=lambda: {})
    passed: int = 0

    def prune(self) -> None:
        """Forget members that do not wait, the oldest first, as there are too many: they come back level."""
        idle = [name for name, member in self.members.items() if not member.entry]
        for name in idle[:-REMEMBERED]:
            del self.members[name]
        self.most = 2 * max(REMEMBERED, len(self.members))


Entry = tuple[int, float, int, Group[W]]


@dataclass(slots=True, eq=False)
class Turns(Generic[W]):
    """What waits. Every operation costs the depth of the paths and the logarithm of the groups' sizes."""

    root: Group[W] = field(default_factory=Group[W])
    count: int = 0
    newest: int = -1
    _way: list[tuple[Group[W], Entry[W]]] = field(default_factory=list[tuple[Group[W], Entry[W]]])

    def add(self, waiting: W) -> None:
        self.newest = max(self.newest, waiting.order)
        group, turn, late = self.root, 0, True
        team = waiting.team
        dweller = team or waiting.path[-1]
        for name in waiting.path:
            member = group.members.get(name)
            if member is None:
                member = group.members[name] = Group()  # `Group[W]()` takes four times as long
            if name == team:
                late = waiting.order > member.last  # else it is back from elsewhere
            if not member.entry:
                # A newcomer starts level with who is served now: no credit for time in which it did not wait.
                member.service = max(member.service, group.now)
            if name == dweller:
                member.homes = waiting.homes
            if not member.entry or not late:
                self._enter(group, member, turn + late)
            group, turn = member, member.turn
        heappush(group.queue, waiting)

    def first(self, places: Places | None = None) -> W | None:
        """The next one, left in place. places: where it matters who goes where."""
        self._way.clear()
        return self._first(self.root, places, self._way)

    def _first(
        self, group: Group[W], places: Places | None, way: list[tuple[Group[W], Entry[W]]]
    ) -> W | None:
        """way: has the groups below which it was found, each with the entry of its member."""
        while True:
            queue, heap = group.queue, group.heap
            while queue and not queue[0].live:
                heappop(queue)
            if queue:
                return queue[0]
            while heap and heap[0][3].entry != heap[0][2]:
                heappop(heap)
            if heap:
                entry = heap[0]
                if places is not None and group.at:
                    entry = _near(group, entry, places)
                way.append((group, entry))
                group = entry[3]
            elif not way:
                return None
            else:  # nobody below it waits: it is out of the heap above
                group.entry = 0
                group = way.pop()[0]

    def pop(self) -> None:
        """Take out what `first` gave last."""
        for group, entry in self._way:
            if entry is not group.heap[0]:
                group.passed += 1
                continue
            turn, service, _, _ = entry
            group.passed = 0
            if turn:
                group.now = max(group.now, service)
        taken = heappop(self._way[-1][1][3].queue)
        if taken.team:
            team = self._way[taken.path.index(taken.team)][1][3]
            if team.last < taken.order:
                team.turn, team.last = team.turn + 1, self.newest
        for _, (_, _, _, member) in reversed(self._way):
            if member.queue or (member.heap and _top(member.heap) is not None):
                break
            member.entry = 0
        self._way.clear()

    def moved(self, waiting: W, home: int) -> None:
        """waiting was taken out, and its team is at home there now."""
        group = self.root
        for name in waiting.path:
            if name not in group.members:
                return
            group = group.members[name]
            if name == waiting.team:
                group.homes = (home,)

    def serve(self, path: Sequence[str], tokens: int) -> None:
        """Who is at path was served tokens more; less than 0 where it was promised more than it used."""
        team: list[tuple[Group[W], Group[W]]] = []
        group, last = self.root, -1
        for name in path:
            member = group.members.get(name)
            if member is None:  # forgotten: it will come back level with the others
                break
            member.service += tokens
            if member.turn:
                last = member.last
            if last >= 0:
                team.append((group, member))
            elif member.entry:
                self._enter(group, member, group.turn + 1)
            if len(group.members) > group.most:
                group.prune()
            group = member
        for group, member in reversed(team):  # whose turn it is depends on who is next below it
            if member.entry:
                head = self._first(member, None, [])
                late = head is None or head.order > last
                self._enter(group, member, group.turn + late)

    def forget(self, path: Sequence[str]) -> None:
        """Nobody below path comes again."""
        group = self.root
        for name in path[:-1]:
            if name not in group.members:
                return
            group = group.members[name]
        member = group.members.get(path[-1])
        if member is not None and self._first(member, None, []) is None:
            member.entry = 0
            del group.members[path[-1]]

    def _enter(self, group: Group[W], member: Group[W], turn: int) -> None:
        self.count += 1
        member.entry = self.count
        entry = (turn, member.service, self.count, member)
        heappush(group.heap, entry)
        for home in member.homes:
            heap = group.at.setdefault(home, [])
            heappush(heap, entry)
            if (
                len(heap) > 2 * len(group.members) + REMEMBERED
            ):  # a place where nobody goes any more
                heap[:] = [one for one in heap if one[3].entry == one[2]]
                heapify(heap)


def _top(heap: "list[Entry[W]]") -> "Entry[W] | None":
    """The first entry, once the stale ones before it are gone."""
    while heap and heap[0][3].entry != heap[0][2]:
        heappop(heap)
    return heap[0] if heap else None


def _near(group: Group[W], first: "Entry[W]", places: Places) -> "Entry[W]":
    """Who of group goes to one of the free places: first, unless its home is taken and another one is at home
    there."""
    homes = first[3].homes
    taken = any(home in places.open for home in homes) and not any(h in places.free for h in homes)
    if not taken or group.passed >= PASSES:
        return first
    tops = (_top(group.at[place]) for place in places.free if place in group.at)
    return min((top for top in tops if top is not None), default=first)
