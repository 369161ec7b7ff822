"""The tables of a team: seats, phases, agreement."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.dsl.program import Member
from podium.engine.team.machine import Phase, accepted, agrees, consensus, phases, roles, seated
from podium.engine.testing.handmade import role
from podium.engine.value import Attempt


def kinds(*counts: int) -> tuple[Member, ...]:
    return tuple(Member(count, role(f"k{i}")) for i, count in enumerate(counts))


def says(text: str) -> Attempt:
    return Attempt(text, text, "a")


def test_seats_have_the_roles_in_the_order_written() -> None:
    assert [one.name for one in roles(kinds(1, 2)).values()] == ["k0", "k1", "k1"]


@pytest.mark.parametrize(
    ("counts", "size", "seats"),
    [
        ((1, 7, 2), 10, tuple(range(1, 11))),
        ((1, 7, 2), 5, (1, 2, 3, 4, 9)),
        ((1, 7, 2), 3, (1, 2, 9)),
        ((1, 7, 2), 2, (1, 2)),
        ((1, 7, 2), 1, (1,)),
        ((2, 2), 3, (1, 2, 3)),
        ((3,), 9, (1, 2, 3)),
        ((3,), 0, (1,)),
    ],
)
def test_a_smaller_team_keeps_each_kind_while_it_can(
    counts: Sequence[int], size: int, seats: tuple[int, ...]
) -> None:
    assert seated(kinds(*counts), size) == seats


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.integers(-2, 60))
def test_seats_are_as_many_as_asked_within_bounds(counts: list[int], size: int) -> None:
    seats = seated(kinds(*counts), size)
    assert len(seats) == max(1, min(size, sum(counts)))
    assert list(seats) == sorted(set(seats))
    filled = {roles(kinds(*counts))[seat].name for seat in seats}
    assert len(filled) == min(len(counts), len(seats))
    assert seats[0] == 1


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.integers(1, 45))
def test_a_shrinking_kind_gives_up_its_last_seats(counts: list[int], size: int) -> None:
    """A seat that stays keeps its number, so a seat's address means one member."""
    seats = seated(kinds(*counts), size)
    start = 1
    for count in counts:
        mine = [seat for seat in seats if start <= seat < start + count]
        assert mine == list(range(start, start + len(mine)))
        start += count


def test_the_orders_as_tables() -> None:
    everyone = (1, 2, 3)
    solve, review = Phase((2, 3), "solve"), Phase((2, 3), "review")
    answer = Phase((1,), "answer")
    turns = tuple(Phase((seat,), "solve") for seat in everyone)
    assert phases("together", everyone) == (Phase(everyone, "solve"), answer)
    assert phases("in_turn", everyone) == (*turns, answer)
    assert phases("relay", everyone) == turns
    assert phases("solver_last", everyone) == (solve, answer)
    assert phases("solver_first", everyone) == (Phase((1,), "solve"), review, answer)
    assert phases("solver_first", everyone, opens=False) == (review, answer)
    assert phases("ceo", everyone, (3,)) == (Phase((3,), "solve"), answer)
    assert phases("ceo", everyone) == (*turns, answer)
    assert phases("solver_first", (2,), opens=False) == (Phase((2,), "solve"),)


@pytest.mark.parametrize(
    ("text", "agreed"),
    [
        ("AGREE", True),
        ("All is well.\n\n**[Agree]**", True),
        ("Verdict: AGREE.", True),
        ("DISAGREE", False),
        ("I would not [Agree]", False),
        ("I do not agree", False),
        ("AGREE\nbut line 3 is wrong", False),
        ("", False),
    ],
)
def test_only_the_word_alone_is_agreement(text: str, agreed: bool) -> None:
    assert agrees(says(text)) is agreed


def test_consensus_needs_every_one_who_was_asked() -> None:
    yes = says("AGREE")
    assert consensus((2, 3), {2: yes, 3: yes}, same=False)
    assert not consensus((2, 3), {2: yes}, same=False)
    assert not consensus((), {}, same=True)
    assert consensus((1, 2), {1: says("Four"), 2: says("four ")}, same=True)
    assert not consensus((1, 2), {1: says("Four"), 2: says("four ")}, same=False)
    assert not consensus((1,), {1: says("four")}, same=True)


def test_accepted_counts_those_who_failed_as_no() -> None:
    yes, no = says("AGREE"), says("no")
    assert accepted((2, 3, 4), {2: yes, 3: yes, 4: no})
    assert not accepted((2, 3, 4), {2: yes, 4: no})
    assert not accepted((2, 3), {2: yes, 3: no})
