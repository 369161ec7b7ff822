"""Schedules of faults: drawn from a seed, and made smaller."""

from podium.engine.testing import FAULTS, Placed, Schedule, name_of, schedule, simpler
from podium.engine.testing.faults import Cut, Kill, Outage, Slow, VerifierError
from podium.engine.testing.weather import Weather


def test_each_fault_has_one_name_and_can_be_made_without_arguments() -> None:
    assert all(name_of(make()) == name for name, make in FAULTS.items())


def test_a_seed_gives_one_schedule_in_the_order_of_its_times() -> None:
    plans = [schedule(seed, most=6, places=("m1",)) for seed in range(50)]
    assert plans == [schedule(seed, most=6, places=("m1",)) for seed in range(50)]
    assert all(plan.faults == tuple(sorted(plan.faults, key=lambda p: p.at_s)) for plan in plans)
    assert {name_of(p.fault) for plan in plans for p in plan.faults} == set(FAULTS)


def test_shrinking_ends_at_the_fault_that_matters() -> None:
    plan = Schedule(1, (Placed(Cut(), 1.0, times=5), Placed(Outage(), 3.0), Placed(Kill(), 9.0)))

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
    assert weather.slowness("a", "m", 6.0) == 3.0
    assert weather.goes_down(1.0, 9.0) == 5.0


def test_a_verifier_error_leaves_model_calls_alone() -> None:
    weather = Weather(Schedule(0, (Placed(VerifierError()),)))
    assert weather.strikes("a", "m", 1.0) is None
    assert [weather.judging_fails("a/v", 1.0) for _ in range(2)] == [True, False]
