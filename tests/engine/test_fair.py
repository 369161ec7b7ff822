"""Turns by attained service: each waiter once, none starved, shares level."""

from collections import Counter
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from podium.engine.fair import Turns


@dataclass(slots=True, eq=False)
class One:
    node: str
    order: int
    live: bool = True

    def __lt__(self, other: "One") -> bool:
        return self.order < other.order


steps = st.lists(
    st.tuples(st.sampled_from(["add", "take", "drop"]), st.sampled_from("abc"), st.integers(1, 50)),
    max_size=80,
)


@given(steps)
def test_each_waiter_is_given_once_unless_it_gave_up(events: list[tuple[str, str, int]]) -> None:
    turns, waiting, given_out = Turns[One](), list[One](), list[One]()

    def take(size: int) -> bool:
        if (first := turns.first()) is None:
            return False
        turns.pop()
        turns.serve(first.node, size)
        given_out.append(first)
        return True

    for number, (what, node, size) in enumerate(events):
        if what == "add":
            waiting.append(One(node, number))
            turns.add(waiting[-1])
        elif what == "take":
            take(size)
        elif candidates := [one for one in waiting if one not in given_out and one.live]:
            candidates[size % len(candidates)].live = False
    while take(1):
        pass
    assert Counter(id(one) for one in given_out).keys() == {
        id(o) for o in waiting if o in given_out
    }
    assert len(given_out) == len({id(one) for one in given_out})
    assert all(one in given_out or not one.live for one in waiting)
    for node in "abc":
        orders = [one.order for one in given_out if one.node == node]
        assert orders == sorted(orders)


@given(st.lists(st.integers(1, 50), min_size=30, max_size=60), st.integers(0, 29))
def test_shares_stay_level_also_with_a_newcomer(sizes: list[int], joins: int) -> None:
    turns = Turns[One]()
    for i in range(100):
        turns.add(One("a", i))
        turns.add(One("b", 1000 + i))
    served: Counter[str] = Counter()
    for number, size in enumerate(sizes):
        if number == joins:
            served.clear()
            for i in range(100):
                turns.add(One("new", 2000 + i))
        first = turns.first()
        assert first is not None
        turns.pop()
        # Promised the most there is, then corrected: as a hold and its settlement.
        turns.serve(first.node, 50)
        turns.serve(first.node, size - 50)
        served[first.node] += size
    # Each lead is below two turns: one that began before the newcomer, one since.
    assert (
        max(served[node] for node in ("a", "b", "new"))
        - min(served[node] for node in ("a", "b", "new"))
        <= 2 * 50
    )
