"""Calls that share a prefix meet on few replicas, and the load stays even."""

from collections import Counter
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from podium.dsl.program import Task, Verifier
from podium.engine.call import Message, ModelCall, VerifierCall
from podium.engine.placing import IMBALANCE, bound, choose, mark, prefix_of


@dataclass
class Spot:
    mark: int
    limit: float = 32.0
    inflight: int = 0


def spots(count: int) -> list[Spot]:
    return [Spot(mark(f"m@host{number}")) for number in range(count)]


def place(among: list[Spot], prefix: int) -> Spot:
    found = choose(among, prefix, bound(among))
    found.inflight += 1
    return found


@given(
    st.lists(st.integers(0, 5), max_size=80), st.lists(st.integers(1, 64), min_size=2, max_size=8)
)
def test_no_replica_gets_much_more_than_its_share(calls: list[int], limits: list[int]) -> None:
    among = [Spot(mark(str(i)), float(limit)) for i, limit in enumerate(limits)]
    for count, prefix in enumerate(calls, 1):
        found = place(among, prefix)
        fair = count * found.limit / sum(limits)
        least = all(found.inflight - 1 <= one.inflight * found.limit / one.limit for one in among)
        assert least or found.inflight <= IMBALANCE * fair + 1


def test_one_prefix_stays_on_one_replica_while_it_is_a_small_part_of_the_load() -> None:
    among, homes = spots(4), dict[int, Counter[int]]()
    running: list[Spot] = []
    for number in range(2_000):
        prefix = mark(f"task {number * number % 41}")
        found = place(among, prefix)
        homes.setdefault(prefix, Counter())[found.mark] += 1
        running.append(found)
        if len(running) > 60:
            running.pop(0).inflight -= 1
    most = sum(max(counts.values()) for counts in homes.values())
    assert most > 0.75 * 2_000
    assert max(one.inflight for one in among) <= 1.25 * 15 + 2


def test_prefixes_are_spread_evenly_over_the_replicas() -> None:
    homes = Counter(choose(spots(8), mark(f"task {n}"), 1.0).mark for n in range(8_000))
    assert len(homes) == 8
    assert 850 < min(homes.values()) <= max(homes.values()) < 1150


def test_a_replica_that_goes_moves_only_what_was_on_it() -> None:
    eight = spots(8)
    for number in range(500):
        prefix = mark(f"task {number}")
        home = choose(eight, prefix, 1.0)
        rest = [one for one in eight if one is not eight[3]]
        assert home is eight[3] or choose(rest, prefix, 1.0) is home


def test_the_prefix_is_the_role_and_the_task_and_not_what_follows() -> None:
    head = Message("system", "You add."), Message("user", "2 + 2")
    first = ModelCall("a/c1", "run", "m", head, 10)
    later = ModelCall("a/c2", "run", "m", (*head, Message("assistant", "4")), 10)
    other = ModelCall("b/c1", "run", "m", (head[0], Message("user", "2 + 3")), 10)
    assert prefix_of(first) == prefix_of(later)
    assert prefix_of(first) != prefix_of(other)
    verifier = VerifierCall("v", "run", Verifier("v", "exact", {}), Task("t", ""), "", "")
    assert prefix_of(verifier) == prefix_of(ModelCall("a", "run", "m", (), 10)) == 0
