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

from podium.dsl.program import Budget, Flow
from podium.engine.ledger import Amount, Hold, Ledger, Limit
from podium.engine.pool import Need, Pledge, covers, least_calls, may_ask_more
from podium.engine.team.machine import Order, phases, seated
from podium.engine.testing import Played, Say, ScriptedClient, play
from podium.engine.testing.clock import in_virtual_time
from podium.engine.testing.handmade import agent, parallel, program, role, team, then

WRITER, REVISER = role("writer", "Write."), role("reviser", "Mend: ", "{attempt.answer}")
CHAIN = then(agent(WRITER), agent(REVISER))


@pytest.fixture
def anyio_backend() -> Any:
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


@pytest.mark.parametrize("order", get_args(Order))
@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_teams_answer_takes_its_first_round(order: Order, size: int) -> None:
    made = replace(team((size, WRITER)), order=order)
    said = phases(order, seated(made.members, size), 1)
    assert least_calls(made) == sum(len(phase.seats) for phase in said)


def test_what_gives_its_input_needs_no_call_and_a_race_needs_the_cheapest() -> None:
    mix = replace(parallel(3, CHAIN), need=2)
    assert (least_calls(mix), least_calls(replace(mix, need=3))) == (4, 6)
    assert not may_ask_more(CHAIN)
    assert may_ask_more(team((2, WRITER)))


def test_a_pool_keeps_the_answers_of_those_that_run_and_counts_what_waits_at_the_door() -> None:
    ledger, need = Ledger(), Need(Amount(calls=1), least=2)
    ledger.open("run", Limit(calls=6))
    running = [Pledge(need, lambda: None), Pledge(need, lambda: None)]
    assert covers(ledger, "run", running, need)
    assert not covers(ledger, "run", [*running, Pledge(need, lambda: None)], need)
    running[0].asked = running[0].in_air = 2  # both wait for a slot and hold nothing
    assert covers(ledger, "run", running, need)
    assert not covers(ledger, "run", running, replace(need, least=3))
    hold = ledger.hold("run", Amount(calls=1))
    assert isinstance(hold, Hold)
    assert covers(ledger, "run", running, need)
    assert not covers(ledger, "run", running, replace(need, least=3))


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
