"""A round of a team at work: all members at the same time, each in its own loop with tools, until all have ended
or a submission has won; then the others are cancelled. Who had ended by then is a decision.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

import anyio

from podium.dsl.program import Condition, Team

from ..bench import has_files
from ..branches import Job
from ..commons import Desk
from ..condition import names
from ..joint import Folder, Joint
from ..outcome import Stopped
from ..reduce import attempts_of, best
from ..walk import Ended, Here, Race, node, skip
from .board import Post
from .state import State


def desk_of(state: State, number: int, seat: int) -> Desk:
    """The seat's place at what the team shares, in round number."""
    assert state.commons is not None
    role, flow = state.roles[seat], state.flow
    sees, last = (role.sees, role.last) if role.sees else (flow.sees, flow.last)
    last = last if sees == "last" else None
    return Desk(state.commons, seat, number, last, _rule(flow))


def joint_of(state: State) -> Joint | None:
    """The files of the team; None where no member has a folder. They begin with those of the best that came in."""
    if not any(has_files(role) for role in state.roles.values()):
        return None
    assert state.commons is not None
    given, here = attempts_of(state.value), state.here
    if given and state.scores_visible:
        given = (best(given, here.task.better),)
    tree = next((attempt.tree for attempt in given), "")
    return Joint(state.commons, state.flow.workspace, tree or here.files)


def folder_of(state: State, number: int, seat: int) -> Folder | None:
    """The seat's, in round number."""
    has = state.joint is not None and has_files(state.roles[seat])
    return Folder(state.joint, seat, number) if state.joint is not None and has else None


def _rule(flow: Team) -> Condition | None:
    """What a score alone can fulfil of the team's `until`."""
    alone = flow.until is not None and names(flow.until) <= {"score", "passed"}
    return flow.until if alone else None


async def raced(state: State, here: Here, number: int, jobs: Mapping[int, Job]) -> dict[int, Ended]:
    """The ends of those seats that had ended when one won; of all where none did."""
    address = f"{state.here.address}/r{number}"
    told = here.recorder.recall(address, "kept")
    kept = None if told is None else frozenset(cast(list[int], told))  # as written below
    race, ends = Race(), dict[int, Ended]()
    inside = replace(here, causes=(*here.causes, race))
    async with anyio.create_task_group() as tasks:

        async def one(seat: int, job: Job) -> None:
            ended = await node(inside.at(job.segment), job.kind, job.label, job.body)
            if race.lost is not None:
                return
            ends[seat] = ended
            if seat in state.winners and kept is None:
                here.recorder.decide(address, "kept", lambda: sorted(ends))
                race.lost = Stopped("lost")
                tasks.cancel_scope.cancel()

        for seat, job in jobs.items():
            if kept is None or seat in kept:
                tasks.start_soon(one, seat, job)
    state.won = kept is not None or race.lost is not None
    _bury(state, here, number, jobs, ends, began=kept)
    return ends


def _bury(
    state: State,
    here: Here,
    number: int,
    jobs: Mapping[int, Job],
    ends: Mapping[int, Ended],
    *,
    began: frozenset[int] | None,
) -> None:
    """Forget what those left who lost; end those that a later life did not begin."""
    lost = {seat: here.at(job.segment).address for seat, job in jobs.items() if seat not in ends}
    for seat in lost if began is not None else ():
        skip(here.at(jobs[seat].segment), jobs[seat].kind, jobs[seat].label, Stopped("lost"))
    assert state.commons is not None
    for post in state.commons.of_round("post", number) if began is not None else ():
        if post["seat"] in lost:
            state.commons.tell(post)
    if lost:
        for guard in here.guards:
            guard.forget(set(lost.values()))
        below = tuple(f"{address}/" for address in lost.values())
        state.provisional[:] = [
            one for one in state.provisional if not one.address.startswith(below)
        ]


def over(state: State, number: int) -> None:
    """Lay what was posted in the round on the board that the next one begins with."""
    commons = state.commons
    assert commons is not None
    commons.ended = number
    for one in commons.of_round("post", number):
        seat = int(str(one["seat"]))
        role = state.roles[seat].name
        state.posts.append(Post(number, seat, role, str(one["text"]), solution=False))
