"""Rent by live time: held ahead so that the cap is a proof, charged as time goes by, never for time not lived."""

from dataclasses import replace
from itertools import product

import anyio
import pytest

from podium.dsl.model import Price, Rent
from podium.dsl.program import Budget, OnExhausted, Program
from podium.engine import Engine
from podium.engine.event import Ordered, Rented, RunEnded, RunStarted
from podium.engine.fold import fold_for
from podium.engine.ledger import Amount, Hold, Ledger, Limit, Refused
from podium.engine.outcome import Exhausted, Failed, Finished, Paused
from podium.engine.plan import plan
from podium.engine.plan.caps import Binding
from podium.engine.plan.rents import Rents
from podium.engine.rent import EVERY_S
from podium.engine.result import RunResult
from podium.engine.spend import rent_share
from podium.engine.store import Store
from podium.engine.testing import (
    Placed,
    Say,
    Schedule,
    ScriptedClient,
    Simulation,
    in_virtual_time,
    schedule,
    simulate,
)
from podium.engine.testing.arm import How
from podium.engine.testing.faults import Crash
from podium.engine.testing.handmade import parallel, program, role, team
from podium.engine.testing.strokes import struck

EACH: tuple[tuple[How, int], ...] = (("before", 1), ("torn", 2), ("written", 2), ("cancel", 7))
PER_S = 1_000_000 / 1200  # micro-dollars: $3 per 1h
WRITERS = program(parallel(2, team((2, role("writer", "Write.")))))


def rented(budget: Budget, policy: OnExhausted = "best") -> Program:
    models = {
        name: replace(model, rent=Rent(3_000_000, 3600.0), price=Price())
        for name, model in WRITERS.models.items()
    }
    return replace(WRITERS, models=models, budget=budget, on_exhausted=policy)


def rents(simulation: Simulation) -> list[Rented]:
    return [s.event for s in simulation.events if isinstance(s.event, Rented)]


def paid(simulation: Simulation) -> int:
    return sum(event.spent.usd for event in rents(simulation))


def test_the_rent_of_all_the_time_is_held_and_what_was_lived_is_charged() -> None:
    simulation = simulate(rented(Budget(usd=1_000_000, seconds=600.0)), seed=1)
    assert not simulation.violations, simulation.told()
    first, *_, last = rents(simulation)
    assert (first.held.usd, last.held.usd) == (500_000, 0)
    assert paid(simulation) == pytest.approx(simulation.seconds * PER_S, abs=1)
    folded = fold_for(simulation.program)
    for stamped in simulation.events:
        folded.add(stamped)
    assert folded.total.amount.usd == folded.total.rent == paid(simulation)
    shares = [rent_share(total, folded.total) for total in folded.totals().values()]
    assert shares[0] == paid(simulation)  # the whole flow's
    assert all(0 < (share or 0) < paid(simulation) for share in shares if share != shares[0])


def test_a_run_without_a_time_ends_when_its_money_has_reached_the_rent() -> None:
    simulation = simulate(rented(Budget(usd=8_000)), seed=1)
    assert not simulation.violations, simulation.told()
    assert simulation.result is not None
    assert isinstance(simulation.result.outcome, Exhausted)
    assert simulation.result.outcome.dimension == "usd"
    assert paid(simulation) == 8_000
    assert simulation.seconds == pytest.approx(8_000 / PER_S, abs=0.2)


@pytest.mark.parametrize(
    ("policy", "kind"), [("pause", Paused), ("fail", Failed), ("vote", Exhausted)]
)
def test_money_that_the_rent_has_used_up_obeys_the_policy(policy: OnExhausted, kind: type) -> None:
    simulation = simulate(rented(Budget(usd=8_000), policy), seed=1)
    assert not simulation.violations, simulation.told()
    assert simulation.result is not None
    assert isinstance(simulation.result.outcome, kind)


def test_a_pause_costs_nothing_and_a_topup_lets_the_run_go_on() -> None:
    made = rented(Budget(usd=8_000), "pause")
    store, client = Store.memory(anyio.current_time), ScriptedClient(lambda _: Say("no", delay=4))

    async def twice() -> tuple[RunResult, RunResult]:
        async with Engine(store, client=client, environ={}, inline=True) as engine:
            first = await (await engine.start(made)).result()
            await anyio.sleep(3600.0)
            store.order(first.run, Ordered("topup", usd=1_000_000))
            return first, await (await engine.resume(first.run, program=made)).result()

    paused, ended = in_virtual_time(twice, 1)
    assert (paused.outcome, ended.outcome) == (Paused("budget"), Finished())
    assert paused.folded.total.rent == 8_000
    assert 8_000 < ended.folded.total.rent <= 8_000 + 30 * PER_S


def test_a_kill_loses_at_most_what_is_held_ahead_and_charges_it() -> None:
    crash = Placed(Crash(3), 20.0)
    simulation = simulate(
        rented(Budget(usd=1_000_000, seconds=600.0)),
        schedule=Schedule(1, (crash,)),
    )
    assert not simulation.violations, simulation.told()
    lives = [s for s in simulation.events if isinstance(s.event, RunStarted)]
    lost = [event for event in rents(simulation) if event.lost]
    assert (len(lives), len(lost)) == (2, 1)
    assert lost[0].spent.usd == lost[0].ahead == 25_000
    live_s = next(s.event.seconds for s in simulation.events if isinstance(s.event, RunEnded))
    assert 0 <= paid(simulation) - live_s * PER_S <= lost[0].ahead + 2


@pytest.mark.parametrize("seed", range(4))
def test_the_cap_holds_whatever_goes_wrong(seed: int) -> None:
    policies: tuple[OnExhausted, ...] = ("best", "pause")
    budgets = (Budget(usd=30_000, seconds=60.0), Budget(usd=20_000), Budget(seconds=20.0))
    for policy, budget in product(policies, budgets):
        simulation = simulate(rented(budget, policy), schedule=schedule(seed))
        assert not simulation.violations, simulation.told()
        most = plan(simulation.program).total.usd
        kills = sum(event.lost for event in rents(simulation))
        assert most is not None
        assert paid(simulation) <= most.most + kills * 25_000


@pytest.mark.long
@pytest.mark.parametrize("budget", [Budget(usd=1_000_000, seconds=600.0), Budget(usd=20_000)])
def test_killed_at_any_record_and_cancelled_at_any_step_it_keeps_its_promises(
    budget: Budget,
) -> None:
    made = rented(budget)
    for how, every in EACH:
        for simulation in struck(
            lambda strokes: simulate(made, seed=3, strokes=strokes), how, every=every
        ):
            assert not simulation.violations, simulation.told()


# --- the ledger ----------------------------------------------------------------------------------


def test_a_call_that_only_rent_keeps_out_does_not_wait() -> None:
    ledger = Ledger()
    ledger.open("tenant", Limit(usd=100))
    ledger.open("run", Limit(usd=60), "tenant")
    rent = ledger.last("run")
    assert ledger.extend(rent, Amount(usd=50))
    assert ledger.hold("run", Amount(usd=20)) == Refused("run", "usd", final=True)
    ledger.open("other", Limit(), "tenant")
    assert ledger.hold("other", Amount(usd=60)) == Refused("tenant", "usd", final=False)
    assert not ledger.extend(rent, Amount(usd=11))
    ledger.draw(rent, Amount(usd=30))
    account = ledger.accounts["run"]
    assert (account.spent.usd, account.held.usd, account.lasting.usd) == (30, 20, 20)
    ledger.release(rent)
    assert isinstance(ledger.hold("run", Amount(usd=30)), Hold)
    assert account.lasting == Amount()


# --- the plan ------------------------------------------------------------------------------------


def test_the_plan_has_dollars_from_seconds_and_knows_what_it_does_not_know() -> None:
    timed = plan(rented(Budget(seconds=600.0)))
    assert timed.total.usd is not None
    assert timed.total.usd == (0, 500_000, 500_000)
    by_money = plan(rented(Budget(usd=1_000_000)))
    assert by_money.seconds == pytest.approx(1200.0)
    unknown = plan(rented(Budget(tokens=1_000_000)))
    assert (unknown.total.usd, unknown.rents) == (None, Rents(PER_S, None, None))


@pytest.mark.parametrize(
    ("budget", "binds"),
    [
        (Budget(usd=1_000_000), True),  # the rent goes on until they are spent
        (Budget(usd=1_000_000, seconds=3600.0), True),  # $3 an hour
        (Budget(usd=5_000_000, seconds=3600.0), False),
        (Budget(tokens=1_000_000), False),
    ],
)
def test_dollars_bind_in_the_plan_that_the_rent_would_pass(budget: Budget, binds: bool) -> None:
    bound = Binding("main", "usd", budget.usd) if binds and budget.usd is not None else None
    assert plan(rented(budget)).binding == bound


def test_half_of_what_is_held_ahead_is_left_when_it_is_settled() -> None:
    events = rents(simulate(rented(Budget(tokens=1_000_000)), seed=1))
    middle = events[1:-1]
    assert middle
    assert all(event.held.usd == 25_000 for event in middle)
    assert all(event.spent.usd == pytest.approx(EVERY_S * PER_S, abs=1) for event in middle)
