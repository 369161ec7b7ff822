"""What each `on_exhausted` means in the middle of each form, and what is fixed when a budget is opened."""

from dataclasses import replace
from typing import Any, get_args

import pytest
import trio.testing

from podium.dsl.program import Budget, Fallback, Flow, Limited, OnExhausted, Repeat
from podium.engine.call import ModelCall
from podium.engine.event import AccountOpened, NodeEnded
from podium.engine.ledger import Ledger
from podium.engine.outcome import Exhausted, Failed, Finished, Paused
from podium.engine.testing import Memory, Played, Say, ScriptedClient, play
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
LOOP = then(agent(WRITER), Repeat("repeat", HERE, 9, agent(REVISER)))
# The form, the calls of its budget, which run out in its middle.
FORMS: dict[str, tuple[Flow, int]] = {
    "parallel": (then(parallel(5, agent(WRITER)), reduce_by("vote")), 3),
    "team": (team((3, WRITER), rounds=5), 9),
    "repeat": (LOOP, 4),
    "fallback": (
        Fallback("fallback", HERE, (then(agent(WRITER), agent(REVISER)), agent(WRITER))),
        1,
    ),
    "nested": (Limited("inner", HERE, LOOP, Budget(calls=3)), 9),
}


@pytest.fixture
def anyio_backend() -> Any:
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


pytestmark = pytest.mark.anyio


def slow(call: ModelCall) -> Say:
    return Say(f"said at {call.address.rpartition('/')[0]}", delay=1)


async def ran(form: str, policy: OnExhausted) -> Played:
    flow, calls = FORMS[form]
    if isinstance(flow, Limited):
        flow = replace(flow, on_exhausted=policy)
    whole = replace(program(flow), budget=Budget(calls=calls), on_exhausted=policy)
    return await play(whole, ScriptedClient(slow))


@pytest.mark.parametrize("form", sorted(FORMS))
@pytest.mark.parametrize("policy", get_args(OnExhausted))
async def test_each_policy_in_the_middle_of_each_form(form: str, policy: OnExhausted) -> None:
    played = await ran(form, policy)
    outcome, value = played.result.outcome, played.result.value
    limit = 3 if form == "nested" else FORMS[form][1]
    assert len(played.calls) <= limit
    match policy:
        case "pause":
            inner = "the call budget of main/inner" if form == "nested" else ""
            assert outcome == Paused("budget", inner)
        case "fail":
            assert isinstance(outcome, Failed)
            assert (outcome.kind, value) == ("budget", None)
        case "best" | "vote" | "shrink":
            assert isinstance(outcome, Exhausted)
            assert outcome.dimension == "calls"
            assert value is not None
            assert value.answer == f"said at {value.address}"
    ends = [one.address for one in played.memory.events if isinstance(one, NodeEnded)]
    assert len(ends) == len(set(ends))


async def test_a_vote_is_over_the_answers_there_are_and_best_takes_the_latest() -> None:
    def script(call: ModelCall) -> Say:
        return Say(
            "9" if call.address.endswith(("3.writer/c1", "4.writer/c1")) else call.address, 1
        )

    flow = parallel(6, agent(WRITER))
    whole = replace(program(flow), budget=Budget(calls=4), on_exhausted="vote")
    played = await play(whole, ScriptedClient(script))
    assert played.result.value is not None
    assert played.result.value.answer == "9"
    assert len(played.calls) == 4


@pytest.mark.parametrize("policy", get_args(OnExhausted))
async def test_time_that_runs_out_inside_is_the_budgets_own_matter(policy: OnExhausted) -> None:
    inner = Limited("team", HERE, team((2, WRITER), rounds=9), Budget(seconds=5.5), policy)
    played = await play(program(then(inner, agent(REVISER))), ScriptedClient(slow))
    outcome = played.result.outcome
    match policy:
        case "pause":
            assert outcome == Paused("budget", "the time budget of main/1.team")
        case "fail":
            assert outcome == Failed("budget", "the time budget of main/1.team is up")
        case "best" | "vote" | "shrink":
            assert outcome == Finished()
    again = (
        await play(
            program(then(inner, agent(REVISER))),
            ScriptedClient([]),
            memory=played.memory.next_life(),
        )
        if policy in ("best", "fail")
        else played
    )
    assert again.result.outcome == outcome


async def test_siblings_of_a_budget_that_failed_go_on_and_keep_what_they_have() -> None:
    poor = Limited("poor", HERE, then(agent(WRITER), agent(REVISER)), Budget(calls=1), "fail")
    mix = replace(
        parallel(1, poor),
        branches=(*parallel(1, poor).branches, *parallel(2, agent(WRITER)).branches),
    )
    played = await play(program(mix), ScriptedClient(slow))
    assert played.result.outcome == Finished()
    ends = {e.address: e.outcome for e in played.memory.events if isinstance(e, NodeEnded)}
    assert [ends[f"main/parallel/{one}"] for one in ("1.poor", "2.writer", "3.writer")] == [
        "failed",
        "finished",
        "finished",
    ]


def opened(memory: Memory, end: str) -> AccountOpened:
    return next(
        one for one in memory.events if isinstance(one, AccountOpened) and one.address.endswith(end)
    )


async def test_a_share_keeps_the_size_it_had_when_it_was_opened() -> None:
    inner = Limited("team", HERE, team((2, WRITER), rounds=20), Budget(share=0.5))
    whole = replace(program(inner), budget=Budget(tokens=100_000, seconds=20.0))
    first = await play(whole, ScriptedClient(slow))
    account = opened(first.memory, "team")
    assert (account.tokens, account.seconds) == (50_000, 10.0)
    # The run is topped up: in its next life the share is what it was.
    larger = replace(whole, budget=Budget(tokens=100_000, seconds=60.0))
    second = await play(
        larger, ScriptedClient(slow), memory=first.memory.next_life(), ledger=Ledger()
    )
    assert opened(second.memory, "team").seconds == 10.0
    assert second.result.outcome == first.result.outcome == Exhausted("run/main/team", "time")
