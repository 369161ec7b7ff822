"""Where calls go: even load, the same group on the same replica, limits kept."""

import random
from dataclasses import replace
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.dsl.model import Endpoint, EnvRef, Limits
from podium.engine.call import CallError, FailureKind, Outage, Replica
from podium.engine.fleet import Fleet, Wish
from podium.engine.rates import Window
from podium.engine.site import RETURN_S


def replica(number: int, inflight: int = 4, url: str | None = None, model: str = "m") -> Replica:
    at = url or f"http://host{number}"
    endpoint = Endpoint("openai", "served", at, EnvRef("KEY"))
    return Replica(f"r{number}", model, endpoint, at, "served", inflight)


def fleet(*replicas: Replica, limits: Limits = Limits()) -> Fleet:
    made = Fleet(random.Random(0))
    made.add("m", replicas, limits)
    return made


def test_what_was_sent_still_counts_when_a_model_is_probed_again() -> None:
    limits = Limits(calls=(2, 60.0), tokens=(100, 60.0))
    places = fleet(replica(1), limits=limits)
    for _ in range(2):
        assert places.place(Wish("m", "", 10), 0.0) is not None
    places.add("m", [replica(1)], limits)
    assert places.place(Wish("m", "", 10), 1.0) is None
    places.add("m", [replica(1)], Limits(calls=(3, 60.0)))
    assert places.place(Wish("m", "", 10), 1.0) is not None


def test_a_group_stays_where_it_was() -> None:
    places = fleet(*(replica(i) for i in range(4)))
    first = {group: places.place(Wish("m", group, 1), 0.0) for group in "abcd"}
    assert len({found.name for found in first.values() if found}) == 4
    for found in first.values():
        assert found is not None
        places.give_back(found)
    for group in "dbca":
        assert places.place(Wish("m", group, 1), 1.0) == first[group]


def test_it_matters_who_goes_next_where_some_replicas_are_full_and_others_are_not() -> None:
    places = fleet(*(replica(i, inflight=1) for i in range(3)))
    assert places.places("m", 0.0) is None
    taken = places.place(Wish("m", "team", 1, prefix=7), 0.0)
    assert taken is not None
    found = places.places("m", 0.0)
    assert found is not None
    [home] = places.homes(Wish("m", "team", 1, prefix=7))
    assert home in set(found.open) - set(found.free)
    assert places.homes(Wish("m", "other", 1, prefix=7)) == (home,)
    assert places.homes(Wish("m", "other", 1, prefix=8)) == ()
    assert home not in places.homes(Wish("m", "team", 1, prefix=7, avoid=taken))
    places.drain(taken.name)
    assert places.places("m", 0.0) is None  # those that are left have room
    for _ in range(2):
        places.place(Wish("m", "", 1), 0.0)
    assert places.places("m", 0.0) is None
    assert fleet(replica(1)).places("m", 0.0) is None


def test_a_prefix_goes_where_it_was_read_until_that_replica_was_down() -> None:
    places = fleet(*(replica(i, inflight=32) for i in range(4)))
    wish = Wish("m", "", 1, prefix=7)
    home = places.place(wish, 0.0)
    assert home is not None
    crowd = [places.place(Wish("m", "", 1), 0.0) for _ in range(7)]
    second = places.place(wish, 0.0)
    assert second == home  # as busy as the others, and warm
    places.drain(home.name)
    other = places.place(wish, 1.0)
    assert other not in (home, None)
    places.undrain(home.name)
    places.answered(home, 2.0)
    places.failed(home, CallError("unreachable", "no"), 2.0)
    places.answered(home, 3.0)
    for done in (home, home, other, *crowd):
        assert done is not None
        places.give_back(done)
    assert places.place(wish, 3.0) == other  # its cache is there; what the first one had is gone


@given(
    st.lists(st.tuples(st.sampled_from("aaab"), st.booleans()), max_size=60),
    st.integers(1, 5),
)
def test_load_stays_even_and_within_the_slots(steps: list[tuple[str, bool]], width: int) -> None:
    places = fleet(*(replica(i, inflight=6) for i in range(width)))
    load = {f"r{i}" for i in range(width)}
    running: list[Replica] = []
    for group, ends in steps:
        if ends and running:
            gone = running.pop(0)
            places.give_back(gone)
            continue
        found = places.place(Wish("m", group, 1), 0.0)
        counts = {name: sum(r.name == name for r in running) for name in load}
        if found is None:
            assert all(count == 6 for count in counts.values())
            continue
        mean = (len(running) + 1) / width
        assert counts[found.name] == min(counts.values()) or counts[found.name] <= 1.25 * mean
        assert counts[found.name] < 6
        running.append(found)


@given(
    st.lists(st.tuples(st.integers(1, 12), st.floats(0, 5)), max_size=40),
    st.integers(1, 10),
)
def test_no_span_has_more_than_its_window_allows(
    items: list[tuple[int, float]], count: int
) -> None:
    window = Window(count, 10.0)
    taken: list[tuple[float, int]] = []
    now = 0.0
    for amount, gap in items:
        now = window.opens_at(amount, now + gap)
        assert window.opens_at(amount, now) == now
        window.take(amount, now)
        taken.append((now, amount))
    for start, _ in taken:
        inside = [amount for when, amount in taken if start <= when < start + 10.0]
        assert sum(inside) <= count or len(inside) == 1


def test_rates_count_over_all_replicas_of_a_model() -> None:
    places = fleet(replica(1), replica(2), limits=Limits(tokens=(100, 60.0)))
    assert places.place(Wish("m", "", 60), 0.0) is not None
    assert places.place(Wish("m", "", 60), 1.0) is None
    assert places.opens_at("m", 60, 1.0) == 60.0
    assert places.place(Wish("m", "", 60), 60.0) is not None


def test_refusals_of_one_burst_are_one_cut() -> None:
    one = replica(1, inflight=10)
    places = fleet(one)
    for _ in range(10):
        assert places.place(Wish("m", "", 1), 0.0) is not None
    for _ in range(10):
        places.failed(one, CallError("busy", "no", retry_after_s=0.0), 1.0)
        places.give_back(one)
    granted = 0
    for tick in range(400):
        granted += places.place(Wish("m", "", 1), 2.0 + tick) is not None
    assert granted == 5


def test_what_one_model_hears_counts_for_all_models_of_the_endpoint() -> None:
    places = fleet(replica(1, url="http://same"))
    places.add("n", [replica(2, url="http://same", model="n")])
    places.failed(replica(1, url="http://same"), CallError("busy", "no", retry_after_s=9.0), 0.0)
    assert places.place(Wish("n", "", 1), 8.9) is None
    opens = places.opens_at("n", 1, 0.0)
    assert 9.0 < opens <= 9.0 * 1.5
    assert places.why("n", 0.0) == "busy"
    assert places.place(Wish("n", "", 1), opens) is not None


def test_calls_in_flight_are_limited_over_all_replicas() -> None:
    places = fleet(replica(1), replica(2), limits=Limits(inflight=4))
    taken = [places.place(Wish("m", "", 1), 0.0) for _ in range(4)]
    assert [one and one.name for one in taken] == ["r1", "r2", "r1", "r2"]
    assert not places.has_place("m", 1, 0.0)
    assert places.place(Wish("m", "", 1), 0.0) is None
    assert (places.opens_at("m", 1, 0.0), places.why("m", 0.0)) == (inf, "slot")
    places.give_back(replica(1))
    assert places.place(Wish("m", "", 1), 0.0) == replica(1)


@pytest.mark.parametrize("kind", ["busy", "unreachable"])
def test_a_burst_of_failures_is_waited_for_as_long_as_one(kind: FailureKind) -> None:
    one = replica(1, inflight=32)
    places = fleet(one)
    places.answered(one, 0.0)
    for _ in range(32):
        places.place(Wish("m", "", 1), 0.0)
    for _ in range(32):
        places.failed(one, CallError(kind, "no"), 0.0)
        places.give_back(one)
    opens = places.opens_at("m", 1, 0.0)
    assert 1.0 <= opens <= 1.5
    places.failed(one, CallError(kind, "no"), opens)
    assert opens + 2.0 <= places.opens_at("m", 1, opens) <= opens + 3.0


def test_a_server_of_errors_alone_is_left_for_a_second_and_then_tried_by_one_call() -> None:
    one = replica(1)
    places = fleet(one)
    places.answered(one, 0.0)
    for _ in range(5):
        places.failed(one, CallError("server", "500"), 0.0)
    opens = places.opens_at("m", 1, 0.0)
    assert 1.0 <= opens <= 1.5
    assert places.place(Wish("m", "", 1), opens) == one
    assert places.place(Wish("m", "", 1), opens) is None
    places.failed(one, CallError("cut", "it broke off"), opens)
    places.give_back(one)
    assert places.place(Wish("m", "", 1), opens) is None


def test_another_endpoint_of_the_model_takes_over() -> None:
    one, two = replica(1), replica(2)
    places = fleet(one, two)
    places.answered(one, 0.0)
    places.failed(one, CallError("unreachable", "refused"), 0.0)
    assert places.is_elsewhere("m", one, 0.0)
    assert places.is_down(one)
    for _ in range(4):
        assert places.place(Wish("m", "", 1), 0.0) == two
    assert places.refusal("m", 0.0) is None


def test_an_endpoint_that_is_down_is_tried_by_one_call_at_a_time() -> None:
    one = replica(1)
    places = fleet(one)
    places.answered(one, 0.0)
    places.failed(one, CallError("unreachable", "refused"), 0.0)
    assert places.place(Wish("m", "", 1), 0.5) is None
    assert places.place(Wish("m", "", 1), 2.0) == one
    assert places.place(Wish("m", "", 1), 2.0) is None
    places.answered(one, 0.0)
    places.give_back(one)
    assert places.place(Wish("m", "", 1), 2.0) == one
    assert places.place(Wish("m", "", 1), 2.0) == one


def test_an_outage_is_over_at_its_time() -> None:
    one = replica(1)
    places = fleet(one)
    places.answered(one, 0.0)
    places.failed(one, CallError("unreachable", "refused"), 5.0)
    assert places.refusal("m", 1804.9) is None
    assert isinstance(places.refusal("m", 1805.0), Outage)


def test_an_endpoint_that_never_answered_is_closed_and_then_tried_by_one_call() -> None:
    one = replica(1)
    places = fleet(one)
    assert places.place(Wish("m", "", 1), 0.0) == one
    places.failed(one, CallError("mute", "it hangs"), 120.0)
    places.give_back(one)
    refusal = places.refusal("m", 120.0)
    assert isinstance(refusal, CallError)
    assert (refusal.kind, places.place(Wish("m", "", 1), 179.0)) == ("mute", None)
    assert places.place(Wish("m", "", 1), 180.0) == one
    assert places.place(Wish("m", "", 1), 180.0) is None
    places.answered(one, 0.0)
    assert places.place(Wish("m", "", 1), 180.0) == one


def test_an_answer_opens_an_endpoint_that_was_held_to_be_hanging() -> None:
    one = replica(1)
    places = fleet(one)
    places.failed(one, CallError("mute", "it hangs"), 0.0)
    places.answered(one, 0.0)
    assert places.refusal("m", 1.0) is None


def test_one_model_that_hangs_does_not_close_an_endpoint_that_answers_for_others() -> None:
    one, other = replica(1), replica(1, model="n")
    places = fleet(one)
    places.add("n", [other])
    places.answered(one, 0.0)
    places.failed(other, CallError("mute", "it hangs"), 0.0)
    assert places.refusal("m", 0.0) is None


def test_a_closed_endpoint_is_asked_again_by_a_later_run() -> None:
    one = replica(1)
    places = fleet(one)
    places.failed(one, CallError("credentials", "who are you"), 0.0)
    refusal = places.refusal("m", 1.0)
    assert isinstance(refusal, CallError)
    assert refusal.kind == "credentials"
    assert places.refusal("m", 60.0) is None


def test_two_keys_share_the_slots_and_rates_of_a_server_and_not_its_refusals() -> None:
    fleet = Fleet(random.Random(0))
    ours = Replica(
        "fast@there", "fast", Endpoint("openai", "m"), "http://there", "m", 2, key_mark="a"
    )
    theirs = replace(ours, name="other@there", model="other", key_mark="b")
    limits = Limits(calls=(3, 60.0))
    fleet.add("fast", [ours], limits)
    fleet.add("other", [theirs], limits)
    assert fleet.place(Wish("fast", "", 1), 0.0) == ours
    assert fleet.place(Wish("other", "", 1), 0.0) == theirs
    assert fleet.place(Wish("fast", "", 1), 0.0) is fleet.place(Wish("other", "", 1), 0.0) is None
    fleet.failed(ours, CallError("credentials", "the key is refused"), 0.0)
    fleet.give_back(ours)
    assert fleet.refusal("fast", 1.0) is not None
    assert fleet.refusal("other", 1.0) is None
    assert fleet.place(Wish("other", "", 1), 1.0) == theirs
    fleet.give_back(theirs)
    assert (
        fleet.place(Wish("other", "", 1), 2.0) is None
    )  # three calls a minute, whoever's key is used
    assert fleet.place(Wish("other", "", 1), 61.0) == theirs


def test_a_server_that_could_not_be_reached_is_tried_again_within_seconds_however_often() -> None:
    places, now = fleet(replica(1)), 0.0
    places.answered(replica(1), now)
    for _ in range(12):
        assert places.place(Wish("m", "", 1), now) is not None
        places.failed(replica(1), CallError("unreachable", "refused"), now)
        places.give_back(replica(1))
        opens = places.opens_at("m", 1, now)
        assert now < opens <= now + RETURN_S
        now = opens


def test_a_slot_whose_call_was_broken_off_is_free_once_the_server_notices() -> None:
    one = replace(replica(1, inflight=1), works_on_s=2.0)
    places = fleet(one)
    places.place(Wish("m", "", 1), 0.0)
    places.give_back(one, 10.0)
    assert not places.has_place("m", 1, 11.0)
    assert places.opens_at("m", 1, 11.0) == 12.0
    places.pass_time(12.0)
    assert places.has_place("m", 1, 12.0)
