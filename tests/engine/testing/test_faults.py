"""Schedules of faults: drawn from a seed, and made smaller."""

import re
from pathlib import Path

from podium.dsl.faults import FAULTS as LANGUAGE
from podium.dsl.tried import Fault
from podium.engine.testing import FAULTS, Placed, Schedule, name_of, placed, schedule, simpler
from podium.engine.testing.faults import Crash, Cut, Outage, Slow, VerifierError
from podium.engine.testing.handmade import HERE
from podium.engine.testing.weather import Weather


def test_each_fault_has_one_name_and_can_be_made_without_arguments() -> None:
    assert all(name_of(make()) == name for name, make in FAULTS.items())


def test_a_seed_gives_one_schedule_in_the_order_of_its_times() -> None:
    plans = [schedule(seed, most=6, places=("m1",)) for seed in range(50)]
    assert plans == [schedule(seed, most=6, places=("m1",)) for seed in range(50)]
    assert all(plan.faults == tuple(sorted(plan.faults, key=lambda p: p.at_s)) for plan in plans)
    assert {name_of(p.fault) for plan in plans for p in plan.faults} == set(FAULTS)


def test_shrinking_ends_at_the_fault_that_matters() -> None:
    plan = Schedule(1, (Placed(Cut(), 1.0, times=5), Placed(Outage(), 3.0), Placed(Crash(), 9.0)))

    def fails(plan: Schedule) -> bool:
        return any(isinstance(p.fault, Outage) and p.at_s < 100 for p in plan.faults)

    steps = 0
    while (smaller := next(filter(fails, simpler(plan)), None)) is not None:
        plan, steps = smaller, steps + 1
    assert [name_of(p.fault) for p in plan.faults] == ["outage"]
    assert 50 < plan.faults[0].at_s < 100
    assert steps < 20


def test_a_fault_of_requests_hits_so_many_from_its_time_on_and_where_it_is() -> None:
    weather = Weather(Schedule(0, (Placed(Cut(), 5.0, "r1.m2", times=2),)))
    asked = [("a/r1.m1", 6.0), ("a/r1.m2", 4.0), ("a/r1.m2/c1", 6.0), ("a/r1.m22", 6.0)]
    asked += [("a/r1.m2", 7.0), ("a/r1.m2", 8.0)]
    hits = [weather.strikes(address, "m", now) for address, now in asked]
    assert hits == [None, None, Cut(), None, Cut(), None]


def test_what_lasts_is_no_fault_of_one_request() -> None:
    weather = Weather(Schedule(0, (Placed(Outage(10.0), 5.0), Placed(Slow(3.0, 10.0), 5.0))))
    assert weather.strikes("a", "m", 6.0) is None
    assert [weather.down(now) for now in (4.9, 5.0, 14.9, 15.0)] == [False, True, True, False]
    assert [weather.delay("a", "m", now) for now in (6.0, 16.0)] == [3.0, 0.0]
    assert weather.goes_down(1.0, 9.0) == 5.0


def test_a_verifier_error_leaves_model_calls_alone() -> None:
    weather = Weather(Schedule(0, (Placed(VerifierError()),)))
    assert weather.strikes("a", "m", 1.0) is None
    assert [weather.judging_fails("a/v", 1.0) for _ in range(2)] == [True, False]


def test_a_share_of_all_requests_is_hit_by_chance_and_a_retry_has_a_chance_of_its_own() -> None:
    weather = Weather(Schedule(0, (Placed(Cut(), share=0.25),)))
    hits = [weather.strikes(f"a/{i // 2}", "m", 1.0) is not None for i in range(2000)]
    assert 430 < sum(hits) < 570
    assert 30 < sum(a and b for a, b in zip(hits[::2], hits[1::2], strict=True)) < 100


def test_every_fault_of_the_language_can_be_simulated() -> None:
    for name, spec in LANGUAGE.items():
        defaults = {p.name: p.default for p in spec.params}
        args = {n: v if isinstance(v, int | float) else 7 for n, v in defaults.items()}
        assert name_of(placed(Fault(name, args, HERE)).fault) == name


def test_every_fault_of_the_language_has_an_example_in_the_documents() -> None:
    page = (Path(__file__).parents[3] / "docs" / "testing.md").read_text("utf-8")
    for name, spec in LANGUAGE.items():
        written = rf"`{name}\(" if any(p.required for p in spec.params) else rf"`{name}\b"
        assert re.search(written, page), name


def test_a_fault_of_the_language_keeps_its_numbers() -> None:
    assert placed(Fault("outage", {"time": 30.0, "after": 5.0}, HERE)) == Placed(Outage(30.0), 5.0)
    assert placed(Fault("cut", {"which": 3}, HERE)) == Placed(Cut(), times=3)
    assert placed(Fault("cut", {"which": 1.0}, HERE)) == Placed(Cut(), share=1.0)
    assert placed(Fault("crash", {"after": 4}, HERE)) == Placed(Crash(answers=4))
