"""Sizes and shapes against their definitions, written out."""

from hypothesis import given
from hypothesis import strategies as st

from podium.dsl.bounds import HUGE, bounds
from podium.dsl.program import (
    Agent,
    Branch,
    Budget,
    Fallback,
    Flow,
    Lift,
    Limited,
    Member,
    Parallel,
    Reduce,
    Repeat,
    Role,
    Same,
    Team,
    Template,
    Text,
    Then,
    subflows,
)
from podium.dsl.shapes import Shapes, after
from podium.dsl.source import Place, Source, Span
from podium.dsl.teams import apportion

HERE = Place(Source("x.team", ""), Span(0, 0))


def role(*takes: str) -> Role:
    return Role("r", Template((Text(""),)), takes=frozenset(takes))


LEAVES: st.SearchStrategy[Flow] = st.sampled_from(
    [
        Agent("solver", HERE, role("task")),
        Agent("editor", HERE, role("attempt")),
        Agent("joiner", HERE, role("attempts")),
        Agent("panel", HERE, role("attempt", "attempts")),
        Team("team", HERE, 3, (Member(3, role("task")),)),
        Same("same", HERE),
        Reduce("best", HERE, "best"),
        Reduce("top", HERE, "top", 2),
        Reduce("score", HERE, "score"),
    ]
)


def _grow(inner: st.SearchStrategy[Flow]) -> st.SearchStrategy[Flow]:
    several = st.lists(inner, min_size=1, max_size=3).map(tuple)
    return st.one_of(
        several.map(lambda steps: Then("then", HERE, steps)),
        several.map(lambda options: Fallback("fallback", HERE, options)),
        st.tuples(st.integers(1, 3), inner).map(
            lambda t: Parallel("parallel", HERE, (Branch(t[0], t[1]),))
        ),
        inner.map(lambda flow: Repeat("repeat", HERE, 3, flow)),
        inner.map(lambda flow: Limited("limited", HERE, flow, Budget(calls=1))),
    )


FLOWS = st.recursive(LEAVES, _grow, max_leaves=8)


def _width(flow: Flow, kind: str, width: int) -> tuple[str, int, int]:
    """Kind, attempts and agents that come of running flow on a value, by walking every copy."""
    match flow:
        case Agent(role=r):
            if {"attempt", "attempts"} <= r.takes:
                return "many", width, width
            return "attempt", 1, 1
        case Team(size=size):
            return "attempt", 1, size
        case Then(steps=steps):
            agents = 0
            for step in steps:
                kind, width, here = _width(step, kind, width)
                agents += here
            return kind, width, agents
        case Lift(flow=inner):
            each = [_width(inner, "attempt", 1) for _ in range(width)]
            return "many", sum(w for _, w, _ in each), sum(a for _, _, a in each)
        case Parallel(branches=branches):
            each = [_width(b.flow, kind, width) for b in branches for _ in range(b.count)]
            return "many", sum(w for _, w, _ in each), sum(a for _, _, a in each)
        case Fallback(options=options):
            each = [_width(option, kind, width) for option in options]
            return each[0][0], max(w for _, w, _ in each), sum(a for _, _, a in each)
        case Repeat(max=rounds, flow=inner):
            agents = 0
            for _ in range(rounds):
                kind, width, here = _width(inner, kind, width)
                agents += here
            return kind, width, agents
        case Limited(flow=inner):
            return _width(inner, kind, width)
        case Same():
            return kind, width, 0
        case Reduce(how="top", k=k):
            return "many", min(k, width), 0
        case Reduce(how="score"):
            return kind, width, 0
        case _:
            return "attempt", 1, 0


@given(FLOWS)
def test_a_flow_that_fits_runs_as_its_shape_says_and_is_as_large_as_its_copies(flow: Flow) -> None:
    shapes = Shapes()
    for kind, gives in shapes.of(flow).items():
        lifted = shapes.lifted(flow, kind)
        assert shapes.of(lifted)[kind] == gives
        came, width, agents = _width(lifted, kind, 2 if kind == "many" else 1)
        assert came == gives
        size = bounds(lifted, 2 if kind == "many" else 1)
        assert size.width >= min(width, HUGE)
        assert size.agents >= agents or size.width >= HUGE
        assert all(_fits(shapes, node) for node in _nodes(lifted))


def _fits(shapes: Shapes, node: Flow) -> bool:
    """Whether the steps of a chain meet without any more lifting."""
    if not isinstance(node, Then):
        return True
    kinds = set(shapes.of(node.steps[0]).values())
    for step in node.steps[1:]:
        shape = shapes.of(step)
        kinds = {result for kind in kinds if (result := after(kind, shape)) is not None}
    return bool(kinds)


def _nodes(flow: Flow) -> list[Flow]:
    return [flow, *(node for child in subflows(flow) for node in _nodes(child))]


@given(FLOWS)
def test_at_least_is_never_more_than_at_most(flow: Flow) -> None:
    size = bounds(flow)
    assert 0 <= size.least <= size.most


def test_size_is_counted_without_writing_copies_out() -> None:
    flow: Flow = Agent("solver", HERE, role("task"))
    for _ in range(50):
        flow = Parallel("parallel", HERE, (Branch(1000, flow),))
    assert bounds(flow).agents == 1000**50


@given(st.lists(st.integers(0, 20), min_size=1, max_size=6).filter(any), st.integers(1, 60))
def test_seats_are_shared_out_by_largest_remainder(counts: list[int], size: int) -> None:
    seats = apportion(counts, size)
    kinds = [i for i, count in enumerate(counts) if count]
    assert sum(seats) == size
    assert all(seats[i] == 0 for i, count in enumerate(counts) if not count)
    if size >= len(kinds):
        assert all(seats[i] >= 1 for i in kinds)
    quota = [count * size / sum(counts) for count in counts]
    if all(q >= 1 for q, count in zip(quota, counts, strict=True) if count):
        assert all(abs(s - q) < 1 for s, q in zip(seats, quota, strict=True))


def test_a_smaller_squad_keeps_every_kind() -> None:
    assert apportion([1, 7, 2], 10) == (1, 7, 2)
    assert apportion([1, 7, 2], 5) == (1, 3, 1)
    assert apportion([1, 7, 2], 4) == (1, 2, 1)
    assert apportion([1, 7, 2], 3) == (1, 1, 1)
    assert apportion([1, 7, 2], 2) == (0, 1, 1)
