"""A team, from its first call to its answer.

The board's order is that of seats, never of time. A team submits once a round; one at work submits what each of
its members gives where they may know scores. The answer is then the best submission, else the last. A member
that fails is skipped; the team fails only if nobody gave an attempt.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from podium.dsl.program import Role, Team

from ..agent import act
from ..ask import ask_model
from ..bench import bench_at
from ..branches import Job, gather, open_account
from ..call import Message
from ..commons import commons_of
from ..condition import Facts, fired, holds, needs_spent
from ..event import Said
from ..later import first_round, later_round
from ..ledger import NOTHING
from ..limit import limit_of
from ..outcome import Passed
from ..pool import calls_of_first, calls_of_round
from ..reduce import attempts_of, best, rank
from ..rounds import spent
from ..value import Attempt, Value
from ..verdicts import judge_all
from ..walk import Ended, Here, ending, keep, may_start, no_more
from . import mas_tts_drive
from .asking import member_messages, member_turn
from .board import Post
from .ceo import Settings
from .cycle import closed, recruited
from .lead import lead
from .machine import Phase, accepted, consensus, phases, roles, seated
from .state import LINE, State, note_end, told_by_others
from .work import desk_of, folder_of, joint_of, over, raced


async def drive(flow: Team, value: Value, here: Here) -> Ended:
    """The team's end: its answer, and in the reason which of its bounds or conditions ended it early."""
    if flow.compat == "mas_tts":
        return await mas_tts_drive.drive(flow, value, here)
    state = State(flow, here, value, Settings(flow.size), roles(flow.members))
    if flow.style == "work":
        state.commons = commons_of(here, state.roles, flow.lease)
        state.joint = joint_of(state)
    state.posts.extend(_given(value))
    why = await _cycles(state)
    return replace(_ended(state, why), rounds_left=flow.rounds * flow.cycles - state.rounds)


async def _cycles(state: State) -> str:
    """Run the cycles; the reason for ending before the last one's end, "" where there is none."""
    agreed = ""
    for cycle in range(1, state.flow.cycles + 1):
        if state.flow.recruit is not None and not await recruited(state, cycle):
            return "budget"
        solutions = len(state.submissions)
        why, agreed = await _rounds(state)
        if why:
            return why
        if state.flow.closes and len(state.submissions) > solutions:
            if not await closed(state, cycle):
                return "budget"
            if why := _fired(state, f"cycle{cycle}"):
                return why
    return agreed


async def _rounds(state: State) -> tuple[str, str]:
    """Run the rounds of a cycle: the reason for ending the team, and that for ending the cycle's discussion."""
    here = state.here
    for turn in range(1, state.flow.rounds + 1):
        address = f"{here.address}/r{state.rounds + 1}"
        if state.rounds and not may_start(here, address):
            return "budget", ""
        if not state.submissions:
            with first_round(here, calls_of_first(state.flow)) as state.here:
                why = await _led(state, turn)
        else:
            calls = calls_of_round(state.flow)
            async with later_round(here, address, calls) as (state.here, state.refused):
                if state.refused is not None:
                    return "budget", ""
                why = await _led(state, turn)
        state.here = here
        if why and _only_agreed(state):
            return "", why
        if why:
            return why, ""
    return "", ""


def _only_agreed(state: State) -> bool:
    """Whether all that speaks for an end is that members agree, which the cycle's own end may still contradict."""
    if not state.flow.closes or not state.consensus or state.stop or state.refused is not None:
        return False
    return not _fired(state, state.rounds, consensus=False)


async def _led(state: State, turn: int) -> str:
    """A round, the cycle's turn, and what its CEO says before it: why no other follows."""
    flow, number = state.flow, state.rounds + 1
    _migrant(state, number)
    if flow.ceo is not None and (number == 1 or flow.ceo.mode == "adaptive"):
        await lead(state, number)
    if state.stop and state.submissions:
        return "ceo"
    state.rounds = number
    await _round(state, number, opens=turn == 1)
    port = state.here.port
    if port is not None and port.posts(number) and state.submissions:
        port.post(_answer(state))
    if state.stop:  # before there was any solution, a stop asks for one round and no more
        return "ceo"
    if state.refused is not None:
        return "budget"
    return _fired(state, state.rounds) or ("passed" if state.won else "")


def _fired(state: State, at: int | str, *, consensus: bool = True) -> str:
    """Which part of `until` holds at the end of a round, by its number, or of a cycle, "" where none does.

    consensus False: as if members did not agree.
    """
    rule = state.flow.until
    if rule is None:
        return ""
    facts = _facts(state, at)
    facts = replace(facts, consensus=facts.consensus and consensus)
    return fired(rule, facts) if holds(rule, facts) else ""


def _migrant(state: State, number: int) -> None:
    """Read what a neighbour has posted, where it is time for that."""
    here, port = state.here, state.here.port
    if port is None or not port.posts(number - 1):
        return
    told = port.read(here.recorder, f"{here.address}/r{number}")
    if told is not None:
        score = told["score"] if state.scores_visible else None
        name = f"the best of team {port.neighbour}"
        name += f", score {score:g}" if isinstance(score, float) else ""
        told_by_others(state, name, str(told["text"]))


def _answer(state: State) -> Attempt:
    """The best submission where scores are visible, else the last."""
    attempts = [attempt for _, attempt in state.submissions]
    return best(attempts, state.here.task.better) if state.scores_visible else attempts[-1]


def _given(value: Value) -> list[Post]:
    """What came in, as the first posts on the board."""
    return [
        Post(0, 0, f"attempt {i}", attempt.text) for i, attempt in enumerate(attempts_of(value), 1)
    ]


# --- one round -----------------------------------------------------------------------------------


async def _round(state: State, number: int, *, opens: bool) -> None:
    settings = state.settings
    seats = seated(state.flow.members, settings.size)
    assigned = tuple(seat for seat, _ in settings.assignment)
    spoken: dict[int, Attempt] = {}
    asked: list[int] = []
    answer: Attempt | None = None
    for phase in phases(state.flow.order, seats, assigned, opens=opens):
        if phase.part == "answer" and _settle_agreement(state, number, asked, spoken):
            answer = state.standing
            break
        if phase.part == "answer" and state.refused is not None and not spoken:
            break  # nobody could pay to speak: the answer could not be paid either
        if phase.part == "answer" and state.commons is not None and state.scores_visible and spoken:
            break  # what each of them gives is a submission
        # A live round keeps its answer: under `shrink` only members that speak one by one are left out.
        if phase.part != "answer" and not _may_speak(state, number, phase):
            continue
        given = await _phase(state, number, phase, asked)
        if phase.part == "answer":
            answer = given.get(phase.seats[0])
        else:
            asked.extend(phase.seats)
            spoken.update(given)
    _settle_agreement(state, number, asked, spoken)
    if state.commons is not None and state.scores_visible:
        await _submit(state, number, [spoken[seat] for seat in seats if seat in spoken])
        return
    if answer is None or answer.cut:
        answer = _fallback(state, seats, spoken) or answer
    await _submit(state, number, [] if answer is None else [answer])


def _may_speak(state: State, number: int, phase: Phase) -> bool:
    seat, *others = phase.seats
    return bool(others) or may_start(state.here, f"{state.here.address}/r{number}.m{seat}")


async def _phase(
    state: State, number: int, phase: Phase, asked: Sequence[int]
) -> dict[int, Attempt]:
    """The attempts of those of the phase who gave one, by seat; what they said is on the board."""
    asks = member_messages(state, number, phase)
    jobs = [
        _job(state, number, seat, phase, messages, again=seat in asked)
        for seat, messages in zip(phase.seats, asks, strict=True)
    ]
    here = replace(state.here, round=number)
    by_seat = dict(zip(phase.seats, jobs, strict=True))
    if state.commons is not None and phase.part == "solve":
        ends = await raced(state, here, number, by_seat)
        over(state, number)
    else:
        ends = dict(zip(phase.seats, await gather(here, jobs), strict=True))
    given: dict[int, Attempt] = {}
    for seat, ended in sorted(ends.items()):
        note_end(state, ended)
        for attempt in attempts_of(ended.value):
            given[seat] = attempt
            _say(state, number, seat, phase, attempt)
    return given


def _job(
    state: State,
    number: int,
    seat: int,
    phase: Phase,
    messages: tuple[Message, ...],
    *,
    again: bool,
) -> Job:
    role = state.roles[seat]
    account = _account(state, seat, role)

    async def body(place: Here) -> Ended:
        place = replace(place, account=account)
        turn = member_turn(state, place, role)
        turn = replace(turn, urgency=int(len(phase.seats) == 1))  # then all others wait for it
        desk = desk_of(state, number, seat) if state.commons and phase.part == "solve" else None
        tools = () if state.commons and desk is None else role.tools
        folder = None if desk is None else folder_of(state, number, seat)
        bench = bench_at(place, role, desk, files=place.files, folder=folder) if tools else None
        try:
            attempt = await act(partial(ask_model, place), role, messages, turn, bench)
        finally:
            if folder is not None and bench is not None:
                folder.joint.trees[seat] = bench.tree
        if desk is not None:
            desk.leave(place.address)
            state.winners |= {seat} if desk.won else set[int]()
        elif state.joint is not None:  # it answers for the team
            attempt = replace(attempt, tree=state.joint.answer(seat, number))
        if phase.part == "solve" and not state.submissions:
            state.provisional.append(attempt)  # should time run out before the team has submitted
            keep(place, attempt)
        return ending(attempt)

    segment = f"r{number}.answer" if again and phase.part == "answer" else f"r{number}.m{seat}"
    return Job(segment, "agent", role.name, body)


def _account(state: State, seat: int, role: Role) -> str:
    """The account of a seat: its role's budget is for all its rounds. (A role's time bounds lone agents only.)"""
    if role.budget is None:
        return state.here.account
    name = f"{state.here.world.account}/{state.here.address}/m{seat}"
    open_account(state.here, name, limit_of(state.here, role.budget), state.here.account, None)
    return name


def _say(state: State, number: int, seat: int, phase: Phase, attempt: Attempt) -> None:
    role = state.roles[seat].name
    solution = phase.part != "review"
    state.posts.append(Post(number, seat, role, attempt.text, solution, phase.part == "answer"))
    if solution:
        state.own[seat] = attempt.text
        if (
            phase.part == "answer"
            or state.flow.order in ("solver_first", "relay")
            or state.flow.size == 1
        ):
            state.standing = attempt
    line = " ".join(attempt.text.split())[:LINE]
    state.here.recorder.emit(Said(state.here.address, number, seat, role, line))


def _settle_agreement(
    state: State, number: int, asked: Sequence[int], spoken: dict[int, Attempt]
) -> bool:
    """Note whether those asked so far agree; true where a solver need not speak again."""
    reviewers = asked
    if state.flow.order == "solver_first" and len(asked) > 1:
        reviewers = [seat for seat in asked if seat != 1]  # seat 1 is the solver
    same = state.flow.order != "solver_first"
    state.consensus = consensus(reviewers, spoken, same=same)
    state.accepted = not state.flow.closes and bool(reviewers) and accepted(reviewers, spoken)
    done = state.flow.until is not None and holds(state.flow.until, _facts(state, number))
    return state.marks and not same and done and state.standing is not None


def _fallback(state: State, seats: Sequence[int], spoken: dict[int, Attempt]) -> Attempt | None:
    """The round's solution where nobody gave a whole answer: a relay's last, else the first seat's; one
    that was cut by its cap only where there is no other."""
    if state.flow.order == "solver_first":
        return spoken.get(seats[0]) or state.standing
    order = [spoken[seat] for seat in seats if seat in spoken]
    if state.flow.order == "relay":
        order.reverse()
    return next((attempt for attempt in order if not attempt.cut), next(iter(order), None))


async def _submit(state: State, number: int, answers: Sequence[Attempt]) -> None:
    if not answers:
        state.stale += 1
        return
    if isinstance(state.value, Attempt):
        before = replace(state.value, before=None)
        answers = [replace(answer, before=before) for answer in answers]
    for guard in state.here.guards:
        for attempt in state.provisional:
            guard.drop(attempt.address)
    state.provisional.clear()
    for answer in answers:
        keep(state.here, answer)
    if state.scores_visible:
        answers, _ = await judge_all(state.here, answers)
    better = state.here.task.better
    top = state.standing = best(answers, better)
    so_far = [rank(old.verdict, better) for _, old in state.submissions]
    risen = not so_far or rank(top.verdict, better) > max(so_far)
    state.stale = 0 if risen else state.stale + 1
    state.submissions.extend((number, answer) for answer in answers)


def _facts(state: State, at: int | str) -> Facts:
    attempts = [attempt for _, attempt in state.submissions]
    top = best(attempts, state.here.task.better) if attempts and state.scores_visible else None
    needs = needs_spent(state.flow.until)
    return Facts(
        score=None if top is None else top.score,
        passed=top is not None and top.passed,
        round=state.rounds,
        stale=state.stale if state.scores_visible else 0,
        spent=spent(state.here, at) if needs else NOTHING,
        consensus=state.consensus,
        accepted=state.accepted,
    )


def _ended(state: State, why: str) -> Ended:
    failures = tuple(state.failures)
    if not state.submissions:
        failed = next((failure.outcome for failure in failures), None)
        # Without a failure nobody was asked: a budget around it had shrunk before any member spoke.
        return Ended(state.refused or failed or no_more(state.here), None, failures, why)
    ended = ending(_answer(state), failures, why)
    if state.refused is not None and not isinstance(ended.outcome, Passed):
        return replace(ended, outcome=state.refused, reason="")
    return ended
