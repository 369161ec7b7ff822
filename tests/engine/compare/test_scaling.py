"""What a team of a size costs, from what teams of other sizes did."""

import pytest

from podium.engine.compare.scaling import GRID, cost_at, teams_of


def test_costs_in_proportion_to_size_stay_so_at_every_size() -> None:
    costs = {m: 0.02 * m for m in (1, 3, 10, 30)}
    assert [cost_at(costs, m) for m in GRID] == pytest.approx([0.02 * m for m in GRID])


def test_a_lone_agent_that_is_asked_once_does_not_make_small_teams_cheap() -> None:
    # Two rounds and an answer: a team of m makes 2 m + 2 calls, a lone agent one.
    true = {m: 1.0 if m == 1 else 2.0 * m + 2 for m in GRID}
    seen = {m: 1.0 if m == 1 else 2.0 * m + 2 for m in (1, 3, 10, 30)}
    for m in GRID:
        assert cost_at(seen, m) == pytest.approx(true[m], rel=0.15)
    assert cost_at({1: 1.0, 10: 22.0}, 20) == pytest.approx(44.0)


def test_a_larger_team_is_never_held_cheaper_than_a_smaller_one_that_was_run() -> None:
    costs = {1: 18.0, 3: 505.0, 5: 840.0, 10: 1_940.0}
    found = [cost_at(costs, m) for m in GRID]
    assert found == sorted(found)
    assert list(teams_of(costs, 1e6).values()) == sorted(
        teams_of(costs, 1e6).values(), reverse=True
    )


def test_one_size_alone_gives_the_others_in_proportion_and_none_gives_none() -> None:
    assert cost_at({4: 8.0}, 1) == pytest.approx(2.0)
    with pytest.raises(ValueError, match="no run says what a team costs"):
        cost_at({}, 3)
