"""Turns by attained service: each waiter once, none starved, shares level at every level of the paths."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from podium.engine.fair import PASSES, REMEMBERED, Places, Turns

LARGEST = 50


@dataclass(slots=True, eq=False)
class One:
    path: tuple[str, ...]
    order: int
    live: bool = True
    team: str = ""
    homes: tuple[int, ...] = ()

    def __lt__(self, other: "One") -> bool:
        return self.order < other.order


PATHS = [
    ("tenant", "run 1", "a"),
    ("tenant", "run 1", "team", "b"),
    ("tenant", "run 2", "a"),
    ("alone", "a"),
    ("alone", "b"),
]
steps = st.lists(
    st.tuples(
        st.sampled_from(["add", "take", "drop", "forget"]),
        st.sampled_from(PATHS),
        st.integers(1, LARGEST),
    ),
    max_size=80,
)


@given(steps)
def test_each_waiter_is_given_once_unless_it_gave_up(
    events: list[tuple[str, tuple[str, ...], int]],
) -> None:
    turns, waiting, given_out = Turns[One](), list[One](), list[One]()

    def take(size: int) -> bool:
        places = Places({size % 3}, range(3))
        if (first := turns.first(places if size % 2 else None)) is None:
            return False
        turns.pop()
        if first.team:
            turns.moved(first, size % 3)
        turns.serve(first.path, size)
        given_out.append(first)
        return True

    for number, (what, path, size) in enumerate(events):
        if what == "add":
            team = path[-2] if path[-2] == "team" else ""
            waiting.append(One(path, number, team=team, homes=(size % 3,) if size % 4 else ()))
            turns.add(waiting[-1])
        elif what == "take":
            take(size)
        elif what == "forget":
            turns.forget(path[:2])
        elif candidates := [one for one in waiting if one not in given_out and one.live]:
            candidates[size % len(candidates)].live = False
    while take(1):
        pass
    assert len(given_out) == len({id(one) for one in given_out})
    assert all(one in given_out or not one.live for one in waiting)
    for path in PATHS:
        orders = [one.order for one in given_out if one.path == path]
        assert orders == sorted(orders)


def served_in_turn(
    turns: Turns[One], sizes: list[int], before: Callable[[int, Counter[tuple[str, ...]]], None]
) -> Counter[tuple[str, ...]]:
    """What each path was served, when each turn is promised the most there is and then corrected, as a hold
    and its settlement."""
    served: Counter[tuple[str, ...]] = Counter()
    for number, size in enumerate(sizes):
        before(number, served)
        first = turns.first()
        assert first is not None
        turns.pop()
        turns.serve(first.path, LARGEST)
        turns.serve(first.path, size - LARGEST)
        served[first.path] += size
    return served


sizes_of_turns = st.lists(st.integers(1, LARGEST), min_size=30, max_size=60)


@given(sizes_of_turns, st.integers(0, 29))
def test_shares_stay_level_also_with_a_newcomer(sizes: list[int], joins: int) -> None:
    turns = Turns[One]()
    for i in range(100):
        turns.add(One(("a",), i))
        turns.add(One(("b",), 1000 + i))

    def join(number: int, served: Counter[tuple[str, ...]]) -> None:
        if number == joins:
            served.clear()
            for i in range(100):
                turns.add(One(("new",), 2000 + i))

    served = served_in_turn(turns, sizes, join)
    shares = [served[(name,)] for name in ("a", "b", "new")]
    # Each lead is below two turns: one that began before the newcomer, one since.
    assert max(shares) - min(shares) <= 2 * LARGEST


# By path: every one always waits. Of `crowd` there are many agents in two runs, of `one` a single agent.
SEATS = [("team 1", "seat 0"), ("team 1", "seat 1"), ("team 1", "seat 2"), ("team 2", "seat 0")]
CROWD = [
    *(("crowd", "run 1", f"agent {i}") for i in range(20)),
    *(("crowd", "run 2", *seat) for seat in SEATS),
]
ALL = [*CROWD, ("one", "agent")]


@given(sizes_of_turns)
def test_turns_are_shared_by_accounts_then_runs_then_teams_then_agents(sizes: list[int]) -> None:
    turns = Turns[One]()
    for i in range(len(sizes)):
        for number, path in enumerate(ALL):
            turns.add(One(path, i * len(ALL) + number))
    served = served_in_turn(turns, sizes, lambda number, so_far: None)

    def shares(*above: str) -> list[int]:
        """What the members of a group were served, each with all that is below it."""
        sums: Counter[str] = Counter()
        for path in ALL:
            if path[: len(above)] == above:
                sums[path[len(above)]] += served[path]
        return list(sums.values())

    for group in (
        (),
        ("crowd",),
        ("crowd", "run 1"),
        ("crowd", "run 2"),
        ("crowd", "run 2", "team 1"),
    ):
        assert max(shares(*group)) - min(shares(*group)) <= LARGEST


HOMES = st.frozensets(st.integers(1, 3), max_size=2)


@given(
    st.lists(st.tuples(st.booleans(), HOMES, HOMES, st.integers(1, LARGEST)), max_size=80),
    st.frozensets(st.integers(1, 3)),
)
def test_a_free_place_goes_to_who_is_at_home_there_and_nobody_is_passed_over_for_long(
    steps: list[tuple[bool, frozenset[int], frozenset[int], int]], opened: frozenset[int]
) -> None:
    turns, waiting, passed = Turns[One](), list[One](), 0
    for number, (comes, homes, free, size) in enumerate([*steps, *steps]):
        if comes:
            waiting.append(One(("run", f"agent {number}"), number, homes=tuple(homes)))
            turns.add(waiting[-1])
            continue
        fair = turns.first()
        found = turns.first(Places(free, opened | free))
        assert (found is None) == (fair is None) == (not waiting)
        if found is None or fair is None:
            continue
        has_taken_home = set(fair.homes) & (opened | free) and not set(fair.homes) & free
        if has_taken_home and any(set(one.homes) & free for one in waiting) and passed < PASSES:
            assert set(found.homes) & free
        else:
            assert found is fair
        passed = 0 if found is fair else passed + 1
        turns.pop()
        turns.serve(found.path, size)
        waiting.remove(found)


def test_who_is_at_home_where_nothing_is_free_goes_elsewhere_in_the_end() -> None:
    turns = Turns[One]()
    turns.add(One(("run", "far"), 0, homes=(1,)))
    for i in range(1, 3 * PASSES):
        turns.add(One(("run", f"near {i}"), i, homes=(2,)))
    went: list[str] = []
    while (found := turns.first(Places({2}, {1, 2}))) is not None:
        turns.pop()
        turns.serve(found.path, 1)
        went.append(found.path[1])
    assert went.index("far") == PASSES
    turns.add(One(("run", "drained"), 1000, homes=(1,)))
    turns.add(One(("run", "near"), 1001, homes=(2,)))
    first = turns.first(Places({2}, {2}))
    assert first is not None
    assert first.path[1] == "drained"


def test_a_team_is_at_home_where_its_last_call_went() -> None:
    turns = Turns[One]()
    for i in range(4):
        turns.add(One(("run", "team 1", f"m{i}"), i, team="team 1"))
    turns.add(One(("run", "team 2", "m0"), 9, team="team 2", homes=(2,)))
    first = turns.first(Places({1}, {1, 2}))
    assert first is not None
    turns.pop()
    turns.moved(first, 1)
    turns.serve(first.path, 10)
    there = [turns.first(Places({place}, {1, 2})) for place in (1, 2)]
    assert [one and one.team for one in there] == ["team 1", "team 2"]


TEAMS = ("team 1", "team 2", "team 3")


@given(
    st.lists(
        st.tuples(st.sampled_from(TEAMS), st.integers(0, 6), st.integers(1, LARGEST)), max_size=60
    )
)
def test_a_turn_is_for_all_of_a_team_that_waits_and_the_next_for_who_was_served_least(
    steps: list[tuple[str, int, int]],
) -> None:
    turns = Turns[One]()
    waiting, served = list[One](), Counter[str]()
    last: dict[str, int] = dict.fromkeys(TEAMS, -1)
    level, order = 0, 0

    def take(size: int) -> None:
        nonlocal level
        found = turns.first()
        assert (found is None) == (not waiting)
        if found is None:
            return
        ahead = [one for one in waiting if one.order <= last[one.team]]
        assert found in ahead or not ahead
        if not ahead:
            assert served[found.team] == min(served[one.team] for one in waiting)
            level, last[found.team] = max(level, served[found.team]), order
        turns.pop()
        turns.serve(found.path, size)
        waiting.remove(found)
        served[found.team] += size

    for name, members, size in steps:
        if members and all(one.team != name for one in waiting):
            served[name] = max(served[name], level)
        for member in range(members):
            order += 1
            waiting.append(One(("run", name, f"m{member}"), order, team=name))
            turns.add(waiting[-1])
        take(size)
        if (
            members == 3 and (head := turns.first()) is not None
        ):  # it follows another, and comes back
            begins = head.order > last[head.team]
            level = max(level, served[head.team] if begins else 0)
            last[head.team] = order if begins else last[head.team]
            turns.pop()
            turns.add(head)
    while waiting:
        take(1)


@given(st.integers(1, 200), st.integers(1, LARGEST))
def test_who_comes_alone_goes_after_one_turn_of_a_crowd(before: int, size: int) -> None:
    turns = Turns[One]()
    for i in range(400):
        turns.add(One(("crowd", f"run {i % 2}", f"agent {i % 100}"), i))
    for _ in range(before):
        first = turns.first()
        assert first is not None
        turns.pop()
        turns.serve(first.path, size)
    turns.add(One(("one", "run", "agent"), 1000))
    found: list[str] = []
    for _ in range(2):
        first = turns.first()
        assert first is not None
        turns.pop()
        turns.serve(first.path, size)
        found.append(first.path[0])
    assert "one" in found


def test_what_is_remembered_of_those_who_left_is_bounded() -> None:
    turns = Turns[One]()
    for i in range(5 * REMEMBERED):
        path = ("tenant", "run", f"agent {i}")
        turns.add(One(path, i))
        assert turns.first() is not None
        turns.pop()
        turns.serve(path, 10)
    assert len(turns.root.members["tenant"].members["run"].members) <= 2 * REMEMBERED
    turns.forget(("tenant", "run"))
    assert not turns.root.members["tenant"].members
