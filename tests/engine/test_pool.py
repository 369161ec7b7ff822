"""A pooled budget ends with answers: who may begin, and what is kept for those that run."""

import random
from collections import Counter
from dataclasses import replace
from typing import Any, get_args

import anyio
import pytest
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.dsl.program import Budget, Flow, Repeat
from podium.engine.ledger import Amount, Hold, Ledger, Limit
from podium.engine.pool import (
    Asking,
    First,
    Later,
    Need,
    Pledge,
    Pool,
    covers,
    least_calls,
    may_ask_more,
)
from podium.engine.team.machine import Order, phases, seated
from podium.engine.testing import Memory, Played, Say, ScriptedClient, play
from podium.engine.testing.clock import in_virtual_time
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

WRITER, REVISER = role("writer", "Write."), role("reviser", "Mend: ", "{attempt.answer}")
CHAIN = then(agent(WRITER), agent(REVISER))


@pytest.fixture
def anyio_backend() -> Any:
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


@pytest.mark.parametrize("order", get_args(Order))
@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_teams_answer_takes_its_first_round(order: Order, size: int) -> None:
    made = replace(team((size, WRITER)), order=order)
    said = phases(order, seated(made.members, size))
    assert least_calls(made) == sum(len(phase.seats) for phase in said)


def test_what_gives_its_input_needs_no_call_and_a_race_needs_the_cheapest() -> None:
    mix = replace(parallel(3, CHAIN), need=2)
    assert (least_calls(mix), least_calls(replace(mix, need=3))) == (4, 6)
    assert not may_ask_more(CHAIN)
    assert may_ask_more(team((2, WRITER)))


def test_a_pool_keeps_the_answers_of_those_that_run_and_counts_what_waits_at_the_door() -> None:
    ledger, need = Ledger(), Need(Amount(calls=1), least=2)
    ledger.open("run", Limit(calls=6))
    pool = Pool("run")
    first, _ = (Pledge(need, lambda: None, pool) for _ in range(2))
    assert covers(ledger, pool, need)
    third = Pledge(need, lambda: None, pool)
    assert not covers(ledger, pool, need)
    third.end()
    for _ in range(2):  # both wait for a slot and hold nothing
        first.ask(None, counts=True)
    assert covers(ledger, pool, need)
    assert not covers(ledger, pool, replace(need, least=3))
    hold = ledger.hold("run", Amount(calls=1))
    assert isinstance(hold, Hold)
    assert covers(ledger, pool, need)
    assert not covers(ledger, pool, replace(need, least=3))


STEPS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["ask", "forgo", "end"])))


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 3), st.booleans()), max_size=4), STEPS)
def test_what_a_pool_keeps_is_what_each_of_its_branches_still_needs(
    needs: list[tuple[int, int, bool]], steps: list[tuple[int, str]]
) -> None:
    pool = Pool("run")
    running = [
        Pledge(Need(Amount(tokens=each), least, more), lambda: None, pool)
        for each, least, more in needs
    ]
    for number, step in steps:
        if number < len(running):
            match step:
                case "ask":
                    running[number].ask(None, counts=True)
                case "forgo":
                    running[number].forgo(2)
                case _:
                    running.pop(number).end()
    still = (max(one.unmet, one.need.more) * one.need.each.tokens for one in running)
    assert pool.owed.plus(pool.last) == Amount(tokens=sum(still))


@pytest.mark.anyio
async def test_branches_of_one_call_all_run_at_once_on_a_budget_that_just_fits() -> None:
    whole = replace(program(parallel(10, agent(WRITER))), budget=Budget(calls=10))
    client = ScriptedClient(lambda _: Say("yes", delay=1))
    await play(whole, client)
    assert (client.most, anyio.current_time()) == (10, 1.0)


FORMS: dict[str, Flow] = {
    "then": CHAIN,
    "team": team((2, WRITER), rounds=1),
    "mix": then(team((2, WRITER), rounds=1), agent(REVISER)),
}


@settings(max_examples=40)
@given(
    st.sampled_from(sorted(FORMS)),
    st.integers(1, 6),
    st.integers(1, 25),
    st.integers(0, 99),
)
def test_as_many_branches_answer_as_the_calls_allow_and_one_at_most_is_left_half_done(
    form: str, count: int, calls: int, seed: int
) -> None:
    flow = FORMS[form]
    whole = replace(program(parallel(count, flow)), budget=Budget(calls=calls))
    chance = random.Random(seed)

    async def main() -> Played:
        return await play(whole, ScriptedClient(lambda _: Say("yes", delay=chance.uniform(0, 9))))

    played = in_virtual_time(main, seed)
    asked = Counter(address.split("/")[2] for address in played.calls)
    least = least_calls(flow)
    done = sum(number >= least for number in asked.values())
    assert sum(asked.values()) <= calls
    assert len(asked) - done <= 1
    assert done == min(count, calls // least)


def test_a_first_round_that_asked_less_than_it_might_owes_no_more() -> None:
    pledge = Pledge(Need(Amount(calls=1), least=5), lambda: None)
    with First((pledge,), 4) as first:
        for _ in range(2):
            with Asking((pledge,), first):
                assert (pledge.pool.busy, pledge.pool.in_air) == (1, 1)
    assert (pledge.unmet, pledge.pool.owed) == (1, Amount(calls=1))


def test_what_a_later_round_may_take_is_kept_until_it_has_asked_or_ended() -> None:
    pledge = Pledge(Need(Amount(calls=1), least=1), lambda: None)
    with Later((pledge,), 3) as later:
        with Asking((pledge,), later):
            assert (pledge.pool.promised, pledge.asked) == (Amount(calls=2), 0)
        with Asking((pledge,), later, counts=False):
            assert (pledge.pool.busy, pledge.pool.promised) == (1, Amount(calls=2))
    assert (pledge.pool.promised, pledge.pool.owed) == (Amount(), Amount(calls=1))


LATER: dict[str, tuple[Flow, tuple[str, ...]]] = {
    "rounds": (team((2, WRITER), rounds=3), ("r1.m1", "r1.m2", "r1.answer")),
    "rounds and a step": (
        then(team((2, WRITER), rounds=3), agent(REVISER)),
        ("r1.m1", "r1.m2", "r1.answer", "2.reviser"),
    ),
    "a loop": (
        then(agent(WRITER), Repeat("repeat", HERE, 3, agent(REVISER)), agent(REVISER)),
        ("1.writer", "3.reviser"),
    ),
    "a loop around a parallel": (
        then(
            agent(WRITER),
            Repeat("repeat", HERE, 3, then(parallel(3, agent(REVISER)), reduce_by("vote"))),
            agent(REVISER),
        ),
        ("1.writer", "3.reviser"),
    ),
}


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(LATER)), st.integers(1, 5), st.integers(1, 30), st.integers(0, 999))
def test_later_rounds_take_nothing_from_an_answer_that_a_branch_still_owes(
    form: str, count: int, calls: int, seed: int
) -> None:
    """Whoever is quick: each branch that the money allows for has asked all that its answer needs."""
    flow, needed = LATER[form]
    whole = replace(program(parallel(count, flow)), budget=Budget(calls=calls))
    chance = random.Random(seed)

    async def main(memory: Memory | None = None) -> Played:
        client = ScriptedClient(lambda _: Say("yes", delay=chance.choice((0, 0, 1, 50))))
        return await play(whole, client, memory=memory or Memory())

    played = in_virtual_time(main, seed)
    asked: dict[str, set[str]] = {}
    for address in played.calls:
        asked.setdefault(address.split("/")[2], set()).add(address)
    done = sum(
        all(any(f"/{part}" in address for address in addresses) for part in needed)
        for addresses in asked.values()
    )
    assert len(played.calls) <= calls
    assert done == min(count, calls // least_calls(flow))
    again = in_virtual_time(lambda: main(played.memory.next_life()), seed + 1)
    assert again.calls == []
    assert again.result == played.result
    assert again.memory.outcomes() == played.memory.outcomes()
