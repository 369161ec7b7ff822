"""Programs under schedules of faults: every promise is kept, and the same seed tells the same story."""

import time
from dataclasses import replace

import pytest

from podium.dsl.program import Budget, Ceo, Flow, Limited, OutputField, Program, Task, Verifier
from podium.engine.event import (
    CallAnswered,
    CallFailed,
    CallIntended,
    CallWaits,
    NodeEnded,
    RunStarted,
)
from podium.engine.outcome import Failed, Finished, Passed, Paused
from podium.engine.testing import (
    Placed,
    Schedule,
    Server,
    Simulation,
    name_of,
    schedule,
    scored,
    simulate,
)
from podium.engine.testing.faults import (
    BadJson,
    Busy,
    Cancel,
    Crash,
    Cut,
    Empty,
    Fault,
    FullDisk,
    NoUsage,
    Outage,
    Overflow,
    Quota,
    Silent,
    Slow,
    VerifierError,
)
from podium.engine.testing.handmade import (
    HERE,
    agent,
    exact,
    parallel,
    program,
    reduce_by,
    role,
    team,
    then,
)

CHIEF = Ceo("adaptive", role("ceo"))
JUDGED = Task("sum", "What is 2 + 2?", exact("4"))
FORM = replace(role("former"), output=(OutputField("answer", "text"), OutputField("n", "int")))
FLOWS: dict[str, Flow] = {
    "race": then(parallel(4, agent(), passes=1), reduce_by("best")),
    "teams": then(parallel(3, team(3, ceo=CHIEF)), reduce_by("best")),
    "form": then(parallel(3, agent(FORM)), reduce_by("vote")),
    "capped": then(
        Limited("parallel", HERE, parallel(4, team(2)), Budget(calls=9), "shrink"),
        reduce_by("best"),
    ),
    "plenty": then(parallel(8, team(2)), reduce_by("best")),
    "timed": then(
        Limited("parallel", HERE, parallel(4, team(2, ceo=CHIEF)), Budget(seconds=25.0)),
        reduce_by("best"),
    ),
}
SMALL = {"": Server(replicas=1, slots=4)}


def whole(flow: str, **budget: int) -> Program:
    return replace(program(FLOWS[flow], JUDGED), budget=Budget(**budget))


def under(*faults: Placed | Fault, flow: str = "teams", seed: int = 1) -> Simulation:
    """The simulation of flow with these faults, those without a time at 2 s. No promise may be broken."""
    placed = tuple(one if isinstance(one, Placed) else Placed(one, 2.0) for one in faults)
    simulation = simulate(whole(flow), schedule=Schedule(seed, placed), servers=SMALL)
    assert not simulation.violations, simulation.told()
    return simulation


def failures(simulation: Simulation) -> list[str]:
    return [s.event.kind for s in simulation.events if isinstance(s.event, CallFailed)]


def ends(simulation: Simulation) -> set[str]:
    return {s.event.outcome for s in simulation.events if isinstance(s.event, NodeEnded)}


@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize("seed", range(4))
def test_every_promise_is_kept(flow: str, seed: int) -> None:
    simulation = simulate(whole(flow), schedule=schedule(seed, within_s=40), servers=SMALL)
    assert not simulation.violations, simulation.told()


@pytest.mark.long
@pytest.mark.parametrize("flow", FLOWS)
def test_every_promise_is_kept_under_many_schedules(flow: str) -> None:
    for seed in range(60):
        plan = schedule(seed, within_s=40)
        simulation = simulate(whole(flow, calls=20), schedule=plan, servers=SMALL)
        assert not simulation.violations, simulation.told()


def test_the_same_seed_tells_the_same_story() -> None:
    plan = schedule(3, most=6, within_s=30)
    one, other = (simulate(whole("teams"), schedule=plan, servers=SMALL) for _ in range(2))
    assert one.events == other.events
    assert one.events != simulate(whole("teams"), schedule=replace(plan, seed=4)).events


def test_an_hour_of_a_hundred_agents_takes_a_few_seconds() -> None:
    flow = then(parallel(20, team(5, rounds=3)), reduce_by("best"))
    slow = {"": Server(replicas=1, slots=8, decode=4.0)}
    began = time.perf_counter()
    simulation = simulate(program(flow, JUDGED), servers=slow, replay=False)
    assert simulation.seconds > 3600
    assert simulation.calls >= 300
    assert time.perf_counter() - began < 10


def test_an_outage_shorter_than_the_wait_costs_no_agent() -> None:
    simulation = under(Outage(600.0))
    assert simulation.lives == 1
    assert simulation.seconds > 600
    assert "failed" not in ends(simulation)


def test_an_outage_before_the_first_answer_is_waited_for_too() -> None:
    simulation = under(Placed(Outage(60.0), 0.0001))
    assert simulation.lives == 1
    assert "failed" not in ends(simulation)


def test_a_longer_outage_pauses_the_run_which_goes_on_where_it_was() -> None:
    simulation = under(Placed(Outage(4000.0), 12.0))
    assert simulation.lives > 1
    assert isinstance(simulation.result and simulation.result.outcome, Passed | Finished)
    paid = [s.event.address for s in simulation.events if isinstance(s.event, CallAnswered)]
    assert len(paid) == len(set(paid))


def test_three_verifier_errors_running_pause_the_run() -> None:
    simulation = under(Placed(VerifierError(), 0.0, times=3))
    assert simulation.lives == 2
    assert failures(simulation).count("verifier") == 3


def test_two_verifier_errors_are_asked_again() -> None:
    simulation = under(Placed(VerifierError(), 0.0, times=1))
    assert simulation.lives == 1
    assert failures(simulation).count("verifier") == 1


def test_a_full_disk_pauses_the_run_until_there_is_room() -> None:
    simulation = under(FullDisk(100.0))
    assert simulation.lives > 1
    assert isinstance(simulation.result and simulation.result.outcome, Passed | Finished)


def test_a_disk_that_stays_full_leaves_the_run_paused_whatever_its_budget_says() -> None:
    flow = "capped"
    simulation = under(FullDisk(300.0), flow=flow)
    assert simulation.seconds > 300
    assert not isinstance(simulation.result and simulation.result.outcome, Paused)


def test_a_kill_at_any_transaction_loses_nothing_acknowledged() -> None:
    lives = [under(Placed(Crash(0), 0.0)).lives]
    while lives[-1] == 2:  # a kill behind the last transaction meets nobody
        lives.append(under(Placed(Crash(3 * len(lives)), 0.0)).lives)
    assert lives[-1] == 1
    assert len(lives) > 10


def test_a_cancellation_is_settled_and_the_run_resumed() -> None:
    simulation = under(Cancel())
    assert simulation.lives == 2
    assert "cancelled" in failures(simulation)


def test_a_busy_server_is_left_alone_and_nobody_fails() -> None:
    simulation = under(Busy(20.0, 5.0))
    assert "busy" in failures(simulation)
    assert any(isinstance(s.event, CallWaits) for s in simulation.events)
    assert "failed" not in ends(simulation)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [(Cut(), "cut"), (Silent(), "silent"), (Overflow(), "overflow"), (Quota(), "quota")],
)
def test_a_fault_of_one_request_is_one_failed_try(fault: Fault, kind: str) -> None:
    assert failures(under(Placed(fault, 0.0))).count(kind) == 1


def test_a_slow_server_is_not_asked_twice() -> None:
    simulation = under(Slow(500.0))
    asked = [s.event.address for s in simulation.events if isinstance(s.event, CallIntended)]
    assert len(asked) == len(set(asked))


def test_usage_that_is_not_told_is_estimated_upward() -> None:
    simulation = under(Placed(NoUsage(), 0.0, times=50))
    assert simulation.result is not None
    assert simulation.result.folded.total.unknown > 0


@pytest.mark.parametrize("fault", [BadJson(), Empty()])
def test_an_unreadable_form_is_asked_for_once_more(fault: Fault) -> None:
    simulation = under(Placed(fault, 0.0, "former"), flow="form")
    assert any(
        isinstance(s.event, CallIntended) and s.event.address.endswith("/c2")
        for s in simulation.events
    )


def test_an_endless_wait_breaks_the_promise_to_end() -> None:
    forever = Schedule(1, (Placed(Outage(1e9), 5.0),))
    simulation = simulate(whole("teams"), schedule=forever, servers=SMALL, horizon_s=20_000)
    assert [one.promise for one in simulation.violations][:1] == ["termination"]


def test_a_mistake_of_the_engine_is_told_as_one() -> None:
    unjudged = program(then(parallel(2, agent()), reduce_by("best")))
    found = simulate(unjudged).violations
    assert [one.promise for one in found] == ["bug"]


def test_a_verifier_that_cannot_run_here_reads_the_score_of_the_reply() -> None:
    command = Verifier("bench", "command", {})
    simulation = simulate(program(agent(), Task("t", "Be quick.", command)))
    assert not simulation.violations
    result = simulation.result
    assert result is not None
    assert result.attempt is not None
    assert result.attempt.score is not None
    assert result.attempt.score == pytest.approx(scored(result.attempt, JUDGED).score)


def test_a_run_that_fails_says_so_in_its_result() -> None:
    simulation = simulate(
        program(agent()), schedule=Schedule(0, (Placed(Quota(), 0.0, times=9),)), replay=False
    )
    assert isinstance(simulation.result and simulation.result.outcome, Failed)
    assert name_of(simulation.schedule.faults[0].fault) == "quota"


@pytest.mark.parametrize("seed", range(3))
def test_a_branch_that_had_not_begun_when_time_ran_out_does_not_begin_on_replay(seed: int) -> None:
    waiting = replace(whole("plenty"), budget=Budget(tokens=16_000, seconds=12.0))
    simulation = simulate(waiting, seed=seed, servers=SMALL)
    assert not simulation.violations, simulation.told()


@pytest.mark.parametrize("answers", [1, 4, 9])
def test_a_crash_behind_so_many_answers_keeps_them(answers: int) -> None:
    simulation = under(Placed(Crash(answers=answers)))
    assert simulation.lives == 2
    kept = [s.event for s in simulation.events]
    second = max(i for i, event in enumerate(kept) if isinstance(event, RunStarted))
    assert sum(isinstance(event, CallAnswered) for event in kept[:second]) == answers


@pytest.mark.parametrize("seed", range(4))
def test_a_budget_that_fails_fails_in_the_same_place_on_replay(seed: int) -> None:
    tight = Limited("parallel", HERE, parallel(4, team(2), passes=2), Budget(calls=6), "fail")
    simulation = simulate(program(then(tight, reduce_by("best")), JUDGED), seed=seed, servers=SMALL)
    assert not simulation.violations, simulation.told()


def test_verifiers_of_one_name_that_judge_the_same_attempt_are_told_apart() -> None:
    """Two questions at one address would be taken for those of two different runs."""
    flow = then(parallel(2, agent()), reduce_by("score", by=exact("5")), reduce_by("best"))
    simulation = simulate(program(flow, JUDGED), seed=3)
    assert not simulation.violations, simulation.told()
    assert simulation.result is not None
    assert simulation.result.outcome in (Passed(), Finished())
