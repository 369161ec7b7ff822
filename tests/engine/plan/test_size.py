"""How large a flow is, figure by figure."""

from dataclasses import replace

import pytest

from podium.dsl.bounds import bounds
from podium.dsl.program import Ceo, Fallback, Flow, ForEach, OutputField, Repeat, Route, Team, Tool
from podium.engine.testing.handmade import HERE, agent, parallel, reduce_by, role, team, then

PLAIN = role("plain")
SHAPED = replace(role("shaped"), output=(OutputField("answer", "text"),))
MENDS = role("mends", "{attempt.answer}")


def test_a_structured_reply_may_be_asked_for_twice_and_no_other() -> None:
    assert [bounds(agent(one)).most for one in (PLAIN, SHAPED)] == [1, 2]
    assert bounds(agent(SHAPED)).least == 1
    routed = Route("route", HERE, PLAIN, (("a", agent(PLAIN)), ("b", agent(SHAPED))))
    assert (bounds(routed).least, bounds(routed).most) == (2, 4)
    each = ForEach("for_each", HERE, PLAIN, 3, agent(SHAPED))
    assert (bounds(each).least, bounds(each).most) == (2, 8)


def test_who_puts_together_what_a_team_at_work_gave_has_no_turns() -> None:
    works = replace(PLAIN, tools=(Tool("notes", "notes"),), turns=6)
    flow = replace(team((3, works), rounds=2), style="work")
    assert (bounds(flow).most, bounds(flow).depth) == (2 * (3 * 6 + 1), 2 * (6 + 1))
    alone = replace(team((1, works), rounds=2), style="work")
    assert bounds(alone).most == 2 * 6


@pytest.mark.parametrize(
    ("order", "calls", "depth"),
    [
        ("together", 2 * (5 + 1), 2 * (2 + 1)),
        ("in_turn", 2 * (5 + 1), 2 * (5 + 1)),
        ("solver_first", 5 + 1 + 5, (1 + 2 + 1) + (2 + 1)),
        ("solver_last", 2 * 5, 2 * (2 + 1)),
        ("relay", 2 * 5, 2 * 5),
    ],
)
def test_a_team_of_kinds_counts_each_seat_and_what_waits_for_what(
    order: str, calls: int, depth: int
) -> None:
    flow: Team = replace(team((1, PLAIN), (2, SHAPED), rounds=2), order=order)  # type: ignore[arg-type]  # a word of order
    assert (bounds(flow).most, bounds(flow).depth) == (calls, depth)
    led = replace(flow, ceo=Ceo("adaptive", SHAPED), recruit=SHAPED)
    assert (bounds(led).most, bounds(led).depth) == (calls + 3, depth + 3)


@pytest.mark.parametrize(
    ("flow", "depth"),
    [
        (parallel(100, agent(SHAPED)), 2),
        (then(parallel(9, agent(PLAIN)), reduce_by("vote"), agent(MENDS)), 2),
        (Fallback("fallback", HERE, (agent(PLAIN), agent(SHAPED))), 3),
        (Repeat("repeat", HERE, 1000, agent(MENDS)), 1000),
        (reduce_by("vote"), 0),
    ],
)
def test_depth_is_the_longest_chain_of_calls(flow: Flow, depth: int) -> None:
    assert bounds(flow).depth == depth
