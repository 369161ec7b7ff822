"""Plans of small programs, figure by figure."""

from dataclasses import replace
from itertools import pairwise

import pytest

from podium.dsl.bounds import bounds
from podium.dsl.model import Price
from podium.dsl.program import (
    Budget,
    Ceo,
    Clock,
    Fallback,
    Flag,
    Flow,
    Lift,
    Limited,
    OutputField,
    Program,
    Repeat,
    Route,
    Task,
    Team,
)
from podium.engine.call import Message, ModelCall
from podium.engine.plan import Node, Plan, plan
from podium.engine.plan.amounts import Range
from podium.engine.testing.handmade import (
    HERE,
    agent,
    parallel,
    program,
    reduce_by,
    role,
    team,
    then,
)
from podium.engine.tokens import worst

NONE = Budget()
PRICE = Price(input=20_000_000, cached=2_000_000, cache_write=20_000_000, output=80_000_000)
WRITER = replace(role("writer", "Write: ", "{task.statement}"), max_output=100)
REVISER = replace(role("reviser", "Mend: ", "{attempt.answer}"), max_output=50)


def planned(flow: Flow, budget: Budget = NONE, context: int | None = 8192) -> Plan:
    made = program(flow, price=PRICE)
    models = {name: replace(model, context=context) for name, model in made.models.items()}
    return plan(replace(made, models=models, budget=budget))


def part(whole: Plan, address: str) -> Node:
    return next(node for _, node in whole.root.walk() if node.address == address)


def test_one_call_is_planned_at_what_the_ledger_would_hold_for_it() -> None:
    whole = planned(agent(WRITER))
    messages = (
        Message("system", "You are a careful problem solver."),
        Message("user", "Write: What is 2 + 2?"),
    )
    held = worst(ModelCall("main/writer/c1", "run", "m", messages, 100), PRICE)
    assert whole.total.calls == Range(1, 1, 1)
    assert whole.total.tokens.most == held.tokens
    assert whole.total.usd is not None
    assert whole.total.usd.most == held.usd
    assert whole.total.usd.least == 2  # one cached token of input


def test_sequence_and_parallel_are_sums_and_a_reply_is_read_again_at_its_cap() -> None:
    whole = planned(then(parallel(3, then(agent(WRITER), agent(REVISER))), reduce_by("vote")))
    chain = part(whole, "main/1.parallel/1-3.then")
    first, second = chain.children
    assert chain.amounts == first.amounts.plus(second.amounts.onward())
    assert whole.total == chain.amounts.times(3, alike=True)
    empty = planned(agent(replace(REVISER, prompt=role("x", "Mend: ").prompt)))
    assert second.amounts.tokens.most == empty.total.tokens.most + 100
    assert [node.agents for _, node in whole.root.walk()] == [6, 6, 2, 1, 1, 0]


def test_the_first_branch_that_passes_may_be_all_that_is_spent() -> None:
    every, first = (
        planned(parallel(5, agent(WRITER))),
        planned(parallel(5, agent(WRITER), passes=1)),
    )
    assert every.total.calls == Range(5, 5, 5)
    assert first.total.calls == Range(1, 5, 5)


def test_alternatives_take_the_least_of_the_least_and_the_most_of_the_most() -> None:
    chooser = replace(WRITER, output=(OutputField("choice", ("easy", "hard")),))
    hard = then(agent(WRITER), agent(REVISER), agent(REVISER))
    routed = planned(Route("route", HERE, chooser, (("easy", agent(WRITER)), ("hard", hard))))
    assert routed.total.calls == Range(2, 3, 5)  # the choice may be asked for twice
    again = planned(Fallback("fallback", HERE, (agent(WRITER), hard)))
    assert again.total.calls == Range(1, 1, 4)


def test_a_repeat_that_may_be_done_at_once_costs_nothing_at_least() -> None:
    rounds = Repeat("repeat", HERE, 1_000_000, agent(REVISER))
    assert planned(then(agent(WRITER), rounds)).total.calls == Range(*[1_000_001] * 3)
    until = replace(rounds, until=Flag("passed"))
    assert planned(then(agent(WRITER), until)).total.calls == Range(1, 1_000_001, 1_000_001)


def test_a_step_over_many_is_planned_for_each_of_them() -> None:
    lifted = Lift("lift", HERE, agent(REVISER))
    whole = planned(then(parallel(4, agent(WRITER)), lifted, reduce_by("vote")))
    assert part(whole, "main/2.lift/1-4.reviser").count == 4
    assert whole.total.calls == Range(5, 8, 8)


def calls_of(rounds: int, context: int) -> Plan:
    return planned(team((4, WRITER), rounds=rounds), context=context)


def test_a_team_pays_for_its_growing_board_until_the_window_is_full() -> None:
    roomy = [calls_of(n, 1_000_000).total.tokens.most for n in range(1, 6)]
    steps = [b - a for a, b in pairwise(roomy)]
    assert steps == sorted(set(steps)), "each round costs more than the one before"
    full = [calls_of(n, 1_500).total.tokens.most for n in range(6, 9)]
    assert full[2] - full[1] == full[1] - full[0] == 5 * (1_500 + 100)


def test_a_team_that_a_chief_may_stop_needs_one_call_of_each() -> None:
    chief = Ceo("adaptive", role("ceo", "Lead"))
    whole = planned(team((3, WRITER), ceo=chief, rounds=4))
    assert whole.total.calls == Range(2, 20, 20)


def test_a_budget_clips_what_it_encloses_and_the_outermost_that_binds_is_named() -> None:
    inner = Limited("squad", HERE, team((3, WRITER), rounds=3), Budget(calls=5))
    flow = then(parallel(4, inner), reduce_by("vote"))
    whole = planned(flow)
    squad = whole.root.children[0].children[0]
    assert squad.amounts.calls.most == 5
    assert squad.binding is not None
    assert (whole.binding, whole.total.calls.most) == (squad.binding, 20)
    tight = planned(flow, Budget(calls=12, usd=10**9))
    assert tight.binding is not None
    assert tight.binding == ("main", "calls", 12)
    assert tight.total.calls.most == tight.root.amounts.calls.most == 12


def test_a_share_is_of_the_nearest_budget_around() -> None:
    inner = Limited("team", HERE, team((3, WRITER), rounds=3), Budget(share=0.25))
    whole = planned(then(parallel(2, inner), reduce_by("vote")), Budget(calls=16, seconds=60.0))
    squad = whole.root.children[0].children[0]
    assert squad.amounts.calls.most == 4
    assert squad.seconds == 15.0
    assert whole.seconds == 60.0


def test_where_a_budget_may_run_out_one_reply_will_do() -> None:
    flow = then(parallel(5, agent(WRITER)), reduce_by("vote"))
    assert planned(flow, Budget(tokens=1_000_000)).total.calls == Range(5, 5, 5)
    assert planned(flow, Budget(tokens=1_200)).total.calls == Range(1, 5, 5)
    assert planned(flow, Budget(seconds=60.0)).total.calls == Range(1, 5, 5)


def test_where_the_clock_may_end_a_run_one_reply_will_do() -> None:
    flow = then(parallel(5, agent(WRITER)), reduce_by("vote"))
    timed = replace(program(flow, price=PRICE), by=(Clock(7, 0),))
    assert plan(timed).total.calls == Range(1, 5, 5)


def test_a_price_that_nobody_told_makes_dollars_unknown_and_nothing_else() -> None:
    whole = plan(program(agent(WRITER), price=None))
    assert whole.total.usd is None
    assert whole.total.tokens.most > 100
    assert whole.assumed == ("m",)


def test_a_model_with_a_window_is_not_assumed_to_have_another() -> None:
    assert planned(agent(WRITER), context=4_000).assumed == ()


def test_tasks_of_a_set_are_added_up_and_shown_as_one() -> None:
    made: Program = program(agent(WRITER), price=PRICE)
    tasks = tuple(Task(f"t{i}", "x" * i) for i in (10, 40, 20))
    whole = plan(replace(made, tasks=tasks))
    assert (whole.root.address, whole.root.count) == ("main/1-3.row/writer", 3)
    assert whole.total.calls == Range(3, 3, 3)
    apart = [plan(replace(made, tasks=(task,))).total for task in tasks]
    assert whole.total.tokens.most == sum(one.tokens.most for one in apart)
    assert whole.root.amounts.tokens.most == max(one.tokens.most for one in apart)
    assert whole.depth == 1  # they run side by side


@pytest.mark.parametrize("order", ["together", "in_turn", "solver_first", "solver_last"])
def test_a_team_has_as_many_calls_as_the_language_counts(order: str) -> None:
    flow: Team = replace(team((4, WRITER), rounds=3), order=order)  # type: ignore[arg-type]
    size = bounds(flow)
    assert planned(flow).total.calls == Range(size.least, size.most, size.most)


def test_deep_programs_are_planned_too() -> None:
    flow: Flow = agent(WRITER)
    for _ in range(100):
        flow = parallel(1, then(flow, reduce_by("vote")))
    assert planned(flow).total.calls == Range(1, 1, 1)
