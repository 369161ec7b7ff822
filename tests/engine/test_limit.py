"""Budgets and deadlines around flows: what is refused, what is kept, how it is told."""

from dataclasses import replace

import anyio
import pytest
import trio.testing

from podium.dsl.model import Price
from podium.dsl.program import Budget, Fallback, Flow, Limited, OnExhausted, Repeat, Verifier
from podium.engine.call import ModelCall
from podium.engine.event import AccountOpened, NodeEnded
from podium.engine.ledger import Amount
from podium.engine.outcome import Exhausted, Failed, Finished, Passed, Paused
from podium.engine.testing import Played, Say, ScriptedClient, play
from podium.engine.testing.handmade import (
    HERE,
    TASK,
    agent,
    exact,
    parallel,
    program,
    reduce_by,
    role,
    team,
    then,
)

REFINER = role("refiner", "Mend: ", "{attempt.answer}")


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return ("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})


pytestmark = pytest.mark.anyio


def second(call: ModelCall) -> Say:
    return Say("4", 1.0)


def endings(played: Played) -> dict[str, int]:
    counts: dict[str, int] = {}
    for outcome in played.memory.outcomes().values():
        counts[outcome] = counts.get(outcome, 0) + 1
    return counts


async def test_calls_beyond_the_budget_are_never_sent_and_what_there_is_is_kept() -> None:
    flow = replace(program(parallel(5, agent())), budget=Budget(calls=3))
    played = await play(flow, ScriptedClient(second))
    assert len(played.calls) == 3
    assert played.result.outcome == Exhausted("run", "calls")
    assert played.result.value is not None
    assert endings(played) == {"finished": 4, "exhausted": 2}
    assert played.ledger.accounts["run"].spent.calls == 3


async def test_a_run_that_passes_is_passed_whatever_was_refused() -> None:
    flow = then(parallel(5, agent()), reduce_by("best"))
    whole = replace(program(flow, replace(TASK, verify=exact("4"))), budget=Budget(calls=3))
    played = await play(whole, ScriptedClient(second))
    assert played.result.outcome == Passed()


async def test_a_limit_inside_is_an_account_below_the_run() -> None:
    inner = Limited("squad", HERE, replace(parallel(4, agent()), label="squad"), Budget(calls=2))
    played = await play(program(inner), ScriptedClient(second))
    opened = [e for e in played.memory.events if isinstance(e, AccountOpened)]
    assert opened == [AccountOpened("run/main/squad", "run", None, None, 2, None)]
    assert len(played.calls) == 2
    assert played.result.outcome == Exhausted("run/main/squad", "calls")


async def test_a_share_is_of_the_enclosing_limit_and_fixed_when_it_opens() -> None:
    inner = Limited("refine", HERE, parallel(9, agent(REFINER)), Budget(share=0.2))
    whole = replace(program(then(agent(), inner)), budget=Budget(calls=20, seconds=100))
    played = await play(whole, ScriptedClient(second))
    [opened] = [e for e in played.memory.events if isinstance(e, AccountOpened)]
    assert (opened.calls, opened.seconds) == (4, 20)
    assert len(played.calls) == 5


async def test_two_budgets_around_one_node_have_two_accounts() -> None:
    inner = Limited("agent", HERE, agent(), Budget(calls=2))
    outer = Limited("agent", HERE, inner, Budget(calls=3))
    played = await play(program(outer), ScriptedClient(second))
    assert set(played.ledger.accounts) == {"run", "run/main/agent", "run/main/agent'"}


async def test_an_even_split_gives_each_branch_its_share() -> None:
    inner = then(agent(), agent(REFINER), agent(REFINER))
    flow = replace(parallel(2, inner), split="even")
    whole = replace(program(flow), budget=Budget(calls=4))
    played = await play(
        whole, ScriptedClient(lambda call: Say("4", 1 if "/1.then" in call.address else 5))
    )
    per_branch = [sum(f"/{i}.then/" in address for address in played.calls) for i in (1, 2)]
    assert per_branch == [2, 2]
    assert played.ledger.accounts["run/main/parallel/1"].limit.calls == 2


async def test_what_an_ended_branch_leaves_goes_to_those_that_have_not_begun() -> None:
    inner = then(agent(), agent(REFINER), agent(REFINER))
    flow = replace(parallel(2, inner), split="even", inflight=1)
    client = ScriptedClient(lambda call: Say("" if "/1.then" in call.address else "4", 1))
    played = await play(replace(program(flow), budget=Budget(calls=5)), client)
    assert played.ledger.accounts["run/main/parallel/2"].limit.calls == 4


async def test_a_pool_ends_in_answers_and_not_in_half_finished_branches() -> None:
    price = Price(input=1_000_000, output=1_000_000)
    inner = then(agent(), agent(REFINER))
    one = replace(role(), max_output=100)
    inner = then(agent(one), agent(replace(REFINER, max_output=100)))
    whole = replace(program(parallel(10, inner), price=price), budget=Budget(usd=1600))
    played = await play(whole, ScriptedClient(second))
    ends = played.memory.outcomes()
    begun = [a for a in ends if a.endswith(".then") and ends[a] == "finished"]
    firsts = [a for a in played.calls if a.endswith("1.agent/c1")]
    assert len(begun) == len(firsts) > 1
    assert played.ledger.accounts["run"].spent.usd <= 1600


async def test_time_that_runs_out_keeps_the_best_there_is() -> None:
    flow = then(parallel(4, agent()), reduce_by("best"))
    client = ScriptedClient(
        {"1.agent/c1": Say("5", 1), "2.agent/c1": Say("4", 2), "": Say("4", 99)}
    )
    words = Verifier("v", "number", {"expected": 4})
    whole = replace(program(flow, replace(TASK, verify=words)), budget=Budget(seconds=10))
    played = await play(whole, client)
    assert played.result.outcome == Passed()
    assert played.result.value is not None
    assert played.result.value.address == "main/1.parallel/2.agent"
    ends = [e for e in played.memory.events if isinstance(e, NodeEnded)]
    assert {e.reason for e in ends if e.outcome == "exhausted"} == {"time budget of run main"}
    assert client.ended == ["main/1.parallel/1.agent/c1", "main/1.parallel/2.agent/c1"]


async def test_time_that_was_lived_before_counts() -> None:
    from podium.engine.interpret import run
    from podium.engine.testing import Memory, scripted_world

    whole = replace(program(agent()), budget=Budget(seconds=10))
    client = ScriptedClient([Say("4", 5)])
    async with scripted_world(whole, client, memory=Memory()) as world:
        began = anyio.current_time()
        result = await run(replace(world, lived={"run": 8.0}), TASK)
    assert result.outcome == Exhausted("run", "time")
    assert anyio.current_time() - began == 2.0


async def test_a_vote_is_taken_over_the_answers_there_are() -> None:
    inner = then(parallel(3, agent()), agent(role("merger", "{attempts.answer}")))
    whole = replace(program(inner), budget=Budget(calls=3), on_exhausted="vote")
    client = ScriptedClient({"1.agent/c1": "a", "2.agent/c1": "b", "3.agent/c1": "b"})
    played = await play(whole, client)
    assert played.result.value is not None
    assert played.result.value.answer == "b"
    assert played.result.outcome == Exhausted("run", "calls")
    assert len(played.calls) == 3


async def test_fail_cancels_the_rest_at_the_first_refusal() -> None:
    flow = then(agent(), parallel(3, agent(REFINER)))
    whole = replace(program(flow), budget=Budget(calls=3), on_exhausted="fail")
    client = ScriptedClient(lambda call: Say("4", 1 if "1.agent" in call.address else 60))
    played = await play(whole, client)
    outcome = played.result.outcome
    assert isinstance(outcome, Failed)
    assert outcome.kind == "budget"
    assert played.result.value is None


async def test_shrink_starts_nothing_new_after_the_first_refusal() -> None:
    rounds = Repeat("repeat", HERE, 5, agent(REFINER))
    flow = replace(parallel(4, then(agent(), rounds)), inflight=2)
    whole = replace(program(flow), budget=Budget(calls=5), on_exhausted="shrink")
    played = await play(whole, ScriptedClient(second))
    ends = [e for e in played.memory.events if isinstance(e, NodeEnded)]
    skipped = {e.address for e in ends if not e.began}
    assert skipped == {"main/parallel/3.then", "main/parallel/4.then"}
    assert {e.reason for e in ends if not e.began} == {"calls budget of run main"}
    assert played.result.outcome == Exhausted("run", "calls")
    assert played.result.value is not None


async def test_pause_stops_the_run_and_lets_what_is_in_the_air_end() -> None:
    flow = parallel(3, agent())
    whole = replace(program(flow), budget=Budget(calls=2), on_exhausted="pause")
    client = ScriptedClient(lambda call: Say("4", 7))
    played = await play(whole, client)
    assert played.result.outcome == Paused("budget")
    assert played.result.value is not None  # though none of the two was judged
    assert len(client.ended) == 2
    raised = replace(whole, budget=Budget(calls=3))
    again = await play(raised, client, memory=played.memory.next_life())
    assert len(again.calls) == 1
    assert again.result.outcome == Finished()


async def test_a_role_budget_bounds_its_agent_alone() -> None:
    asks = replace(role("asks"), budget=Budget(calls=1))
    flow = Fallback("fallback", HERE, (agent(replace(asks, budget=Budget(tokens=1))), agent(asks)))
    played = await play(program(flow), ScriptedClient(second))
    assert played.calls == ["main/fallback/2.asks/c1"]
    assert played.result.outcome == Finished()


@pytest.mark.parametrize("policy", ["best", "vote", "shrink", "fail", "pause"])
async def test_no_policy_overspends_or_holds_money_afterwards(policy: OnExhausted) -> None:
    price = Price(input=10, output=1_000_000)
    flow = then(parallel(4, team(3)), reduce_by("vote"))
    whole = replace(program(flow, price=price), budget=Budget(usd=9000), on_exhausted=policy)
    played = await play(whole, ScriptedClient(second))
    account = played.ledger.accounts["run"]
    assert account.spent.usd <= 9000
    assert account.held == Amount()
    assert all(
        o in {"finished", "exhausted", "failed", "cancelled", "stopped"} for o in endings(played)
    )


@pytest.mark.parametrize("budget", [Budget(calls=3), Budget(seconds=7.0)], ids=["calls", "time"])
@pytest.mark.parametrize(
    "flow",
    [
        then(agent(), parallel(3, agent(role("mends")))),
        then(*[agent()] * 4),
        team(3, rounds=2),
        parallel(2, team(3, rounds=2)),
    ],
    ids=["parallel", "chain", "team", "teams"],
)
async def test_what_a_budget_fails_has_failed_up_to_the_run_in_any_topology(
    flow: Flow, budget: Budget
) -> None:
    whole = replace(program(flow), budget=budget, on_exhausted="fail")
    played = await play(whole, ScriptedClient(lambda call: Say("4", 4)))
    outcome = played.result.outcome
    assert isinstance(outcome, Failed)
    assert outcome.kind == "budget"
    ends = played.memory.outcomes()
    assert set(ends.values()) == {"finished", "failed"}
    cut = [address for address, how in ends.items() if how == "failed"]
    assert all(ends[one[: one.rindex("/")]] == "failed" for one in cut if one.count("/") > 1)
