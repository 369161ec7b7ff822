"""The protocol of a team as tables: who speaks in a round, who has which seat, what counts as agreement. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from podium.dsl.program import Member, Role

from ..reduce import ballot
from ..value import Attempt

Part = Literal["solve", "review", "answer"]
Order = Literal["together", "in_turn", "solver_first", "solver_last", "relay", "ceo"]


@dataclass(frozen=True, slots=True)
class Phase:
    """Seats that speak at the same time, each seeing what was said before the phase.

    solve: an own solution; review: a judgement of the standing one; answer: the team's solution of this round.
    """

    seats: tuple[int, ...]
    part: Part


def phases(
    order: Order, seats: Sequence[int], assigned: Sequence[int] = (), *, opens: bool = True
) -> tuple[Phase, ...]:
    """Who speaks in a round, in order. The first seat integrates or is the solver; alone, it just solves.

    A round's last phase is the team's answer, but for a relay and a lone seat, where the last who solves gives it.
    assigned: the seats that the CEO named, for `order = ceo`; none is all. opens: the first round of a cycle.
    """
    first, others = seats[0], tuple(seats[1:])
    if not others:
        return (Phase((first,), "solve"),)
    answer = Phase((first,), "answer")
    match order:
        case "together":
            return (Phase(tuple(seats), "solve"), answer)
        case "in_turn":
            return (*_each(seats), answer)
        case "ceo":
            named = [seat for seat in seats if seat in assigned]
            return (*_each(named or seats), answer)
        case "relay":
            return _each(seats)
        case "solver_last":
            return (Phase(others, "solve"), answer)
        case "solver_first":
            draft = (Phase((first,), "solve"),) if opens else ()
            return (*draft, Phase(others, "review"), answer)


def _each(seats: Sequence[int]) -> tuple[Phase, ...]:
    return tuple(Phase((seat,), "solve") for seat in seats)


def roles(members: Sequence[Member]) -> dict[int, Role]:
    """The role of each seat, from 1, kinds in the order they are written."""
    flat = [member.role for member in members for _ in range(member.count)]
    return dict(enumerate(flat, 1))


def seated(members: Sequence[Member], size: int) -> tuple[int, ...]:
    """The seats that are filled at this size, in order: each kind keeps its first ones.

    By largest remainder, at least one seat for each kind; ties, and seats too few for all kinds, go to those
    written first. So seat 1, who integrates or is the solver, is always there.
    """
    counts = [member.count for member in members]
    size = max(1, min(size, sum(counts)))
    given = [int(kind < size) for kind in range(len(counts))]
    quotas = [size * count / sum(counts) for count in counts]
    while sum(given) < size:
        open_kinds = [k for k, count in enumerate(counts) if given[k] < count]
        given[max(open_kinds, key=lambda k: (quotas[k] - given[k], -k))] += 1
    starts = [sum(counts[:k]) + 1 for k in range(len(counts))]
    return tuple(seat for k, start in enumerate(starts) for seat in range(start, start + given[k]))


def agrees(attempt: Attempt) -> bool:
    """Whether a review agrees: its field `agree` is true, or its last line is the word AGREE and nothing more.

    Anything else is no agreement: `I would not [Agree]`, no mark at all.
    """
    if isinstance(attempt.answer, Mapping):
        return attempt.answer.get("agree") is True
    lines = [line for line in attempt.text.splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    return re.sub(r"[^a-z ]", "", last.casefold()).strip() in ("agree", "agreed", "verdict agree")


def consensus(asked: Sequence[int], replies: Mapping[int, Attempt], *, same: bool) -> bool:
    """Whether all who were asked replied and agree. One who failed did not agree; nobody asked is no consensus.

    same: equal answers are agreement too, among members who each solved the task.
    """
    if not asked or any(seat not in replies for seat in asked):
        return False
    given = [replies[seat] for seat in asked]
    if all(agrees(attempt) for attempt in given):
        return True
    return same and len(given) > 1 and len({ballot(a.answer) for a in given}) == 1


def accepted(asked: Sequence[int], replies: Mapping[int, Attempt]) -> bool:
    """Whether more than half of those asked agree; one who failed does not."""
    return 2 * sum(agrees(replies[seat]) for seat in asked if seat in replies) > len(asked)
