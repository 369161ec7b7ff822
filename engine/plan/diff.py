"""What a change of topology costs: two plans side by side, part by part. Pure.

Parts are aligned from the top down. Among siblings a part's counterpart is the one with the same kind, label and
figures, else the same kind and label, else, but for agents, the same kind; of several the first with the first.
So a part that only moved or was renumbered is still the same part, and the difference of two plans read backwards
is the difference the other way round.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from podium.dsl.program import Program

from ..value import Json
from .amounts import NOTHING, Amounts
from .nodes import Node
from .plan import Plan, plan
from .settings import Settings, of_models, of_node, of_run
from .touched import touched

Change = Literal["added", "removed", "changed", "same"]
Pair = tuple[Node | None, Node | None]


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two plans."""

    program: Program
    plan: Plan


@dataclass(frozen=True, slots=True)
class Seen:
    """A part in one of the plans.

    times: how often it stands in the whole run, at most. own: of all of these, what its own children do not
    explain: of an agent all, of a chain nothing, of a part whose budget clips less than nothing.
    """

    node: Node
    times: int
    own: Amounts
    settings: Settings


@dataclass(frozen=True, slots=True)
class Part:
    """A part before and after; None where there is none."""

    depth: int
    old: Seen | None
    new: Seen | None

    @property
    def change(self) -> Change:
        if self.old is None:
            return "added"
        if self.new is None:
            return "removed"
        return "same" if _facts(self.old) == _facts(self.new) else "changed"

    @property
    def own(self) -> Amounts:
        """Its share of the difference of the totals."""
        return _own(self.new).minus(_own(self.old))


@dataclass(frozen=True, slots=True)
class Changed:
    """A value before and after, None where there is none. where: `run` or `model NAME`, "" for a parameter."""

    where: str
    name: str
    old: Json
    new: Json


@dataclass(frozen=True, slots=True)
class Diff:
    """own: the share of the totals' difference that no part explains: the run's own budget, and sums of tasks.

    gained, lost: what only the new, only the old run would touch, by kind.
    """

    old: Side
    new: Side
    parts: tuple[Part, ...]
    own: Amounts
    settings: tuple[Changed, ...]
    params: tuple[Changed, ...]
    gained: Mapping[str, tuple[str, ...]]
    lost: Mapping[str, tuple[str, ...]]

    @property
    def empty(self) -> bool:
        """Whether the two say the same."""
        alike = all(part.change == "same" for part in self.parts)
        others = (self.settings, self.params, self.gained, self.lost)
        return alike and self.old.plan.total == self.new.plan.total and not any(others)


def diff(old: Program, new: Program) -> Diff:
    """What becomes of old's plan in new."""
    one, two = Side(old, plan(old)), Side(new, plan(new))
    roots = _aligned([one.plan.root], [two.plan.root])
    return Diff(
        one,
        two,
        tuple(_walk(old, new, roots, 0, before=1, after=1)),
        _run_own(two.plan).minus(_run_own(one.plan)),
        tuple(_settings(old, new)),
        tuple(_changed("", _params(old), _params(new))),
        _only(_touched(new), _touched(old)),
        _only(_touched(old), _touched(new)),
    )


def _run_own(whole: Plan) -> Amounts:
    return whole.total.minus(whole.root.amounts.times(whole.root.count))


def _facts(seen: Seen) -> Hashable:
    """What makes two aligned parts the same. Where a part stands is not of it."""
    node = seen.node
    binding = None if node.binding is None else node.binding[1:]
    settings = repr(sorted(seen.settings.items()))
    return (*_figures(node), node.label, settings, binding)


def _figures(node: Node) -> tuple[Hashable, ...]:
    # What repeats hangs on what stands before the part.
    amounts = node.amounts._replace(repeats=NOTHING.repeats)
    return (node.kind, node.count, node.agents, node.depth, amounts, node.seconds)


# --- alignment -------------------------------------------------------------------------------------


def _walk(
    old: Program, new: Program, pairs: Sequence[Pair], depth: int, *, before: int, after: int
) -> Iterator[Part]:
    """The parts of these pairs and all below, parents first.

    before, after: how often what is around them stands in the whole run.
    """
    for one, two in pairs:
        was, now = _seen(old, one, before), _seen(new, two, after)
        yield Part(depth, was, now)
        below = _aligned(one.children if one else (), two.children if two else ())
        yield from _walk(
            old,
            new,
            below,
            depth + 1,
            before=was.times if was else 0,
            after=now.times if now else 0,
        )


def _seen(program: Program, node: Node | None, around: int) -> Seen | None:
    if node is None:
        return None
    times = around * node.count
    own = node.amounts.times(times)
    for child in node.children:
        own = own.minus(child.amounts.times(times * child.count))
    return Seen(node, times, own, of_node(program, node))


def _aligned(old: Sequence[Node], new: Sequence[Node]) -> list[Pair]:
    """Siblings with their counterparts, in the new order; what is gone stands before what came in its place."""
    partner = _partners(old, new)
    kept = set(partner.values())
    gone = deque(number for number in range(len(old)) if number not in kept)
    ahead = len(old)
    until: list[
        int
    ] = []  # for each of new, the old number of the first at or after it that was there before
    for number in reversed(range(len(new))):
        ahead = partner.get(number, ahead)
        until.append(ahead)
    pairs: list[Pair] = []
    for number, (node, before) in enumerate(zip(new, reversed(until), strict=True)):
        while gone and gone[0] < before:
            pairs.append((old[gone.popleft()], None))
        pairs.append((old[partner[number]] if number in partner else None, node))
    pairs.extend((old[number], None) for number in gone)
    return pairs


def _partners(old: Sequence[Node], new: Sequence[Node]) -> dict[int, int]:
    """For numbers of new that have a counterpart, its number in old."""
    found: dict[int, int] = {}
    for key in (_whole, _named, _kind):
        taken = set(found.values())
        waiting = _by_key(old, key, taken)
        for number, node in enumerate(new):
            same = waiting.get(key(node))
            if number not in found and key(node) is not None and same:
                found[number] = same.popleft()
    return found


def _by_key(
    nodes: Sequence[Node], key: Callable[[Node], Hashable], taken: set[int]
) -> dict[Hashable, deque[int]]:
    groups = defaultdict[Hashable, deque[int]](deque)
    for number, node in enumerate(nodes):
        if number not in taken:
            groups[key(node)].append(number)
    return groups


def _whole(node: Node) -> Hashable:
    return (node.label, *_figures(node))


def _named(node: Node) -> Hashable:
    return (node.kind, node.label)


def _kind(node: Node) -> Hashable:
    """Two agents of different roles are different parts."""
    return None if node.kind == "agent" else node.kind


def _own(seen: Seen | None) -> Amounts:
    return NOTHING if seen is None else seen.own


# --- what stands around the parts ------------------------------------------------------------------


def _settings(old: Program, new: Program) -> Iterator[Changed]:
    yield from _changed("run", of_run(old), of_run(new))
    before, after = of_models(old), of_models(new)
    for name in dict.fromkeys((*before, *after)):
        yield from _changed(f"model {name}", before.get(name, {}), after.get(name, {}))


def _params(program: Program) -> Settings:
    return {name: value for name, value, _ in program.params}


def _changed(where: str, old: Settings, new: Settings) -> Iterator[Changed]:
    for name in dict.fromkeys((*old, *new)):
        before, after = old.get(name), new.get(name)
        if before != after:
            yield Changed(where, name, before, after)


def _touched(program: Program) -> dict[str, list[str]]:
    """What the run touches but for the program's own file, which differs where two are compared."""
    found = touched(program)
    own = {source.name for source in program.sources[:1]}
    return {kind: [n for n in names if n not in own] for kind, names in found.items()}


def _only(
    of: Mapping[str, list[str]], others: Mapping[str, list[str]]
) -> dict[str, tuple[str, ...]]:
    """What only the first touches."""
    only = {kind: tuple(n for n in names if n not in others[kind]) for kind, names in of.items()}
    return {kind: names for kind, names in only.items() if names}
