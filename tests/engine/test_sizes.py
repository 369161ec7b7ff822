"""Teams of other sizes than the program's own."""

from podium.dsl.program import Agent, Member, Team
from podium.engine.sizes import replicated, sized
from podium.engine.testing.handmade import agent, parallel, reduce_by, role, team, then


def test_kinds_of_members_keep_their_shares() -> None:
    base = team(10)
    kinds = (Member(1, role("a", "A")), Member(7, role("b", "B")), Member(2, role("c", "C")))
    mixed = Team("team", base.place, 10, kinds)
    for size, counts in ((30, [3, 21, 6]), (3, [1, 1, 1]), (2, [1, 1]), (13, [1, 9, 3])):
        found = sized(then(parallel(4, mixed), reduce_by("best")), size)
        assert isinstance(found, Team)
        assert sum(member.count for member in found.members) == size == found.size
        assert [member.count for member in found.members] == counts


def test_a_team_of_one_is_an_agent_of_its_first_kind() -> None:
    found = sized(team(5), 1)
    assert isinstance(found, Agent)


def test_the_size_of_what_ran_side_by_side() -> None:
    assert replicated(then(parallel(4, team(5)), reduce_by("best"))) == 5
    assert replicated(then(parallel(4, agent()), reduce_by("best"))) == 1
    assert replicated(team(7)) == 7
