"""What the members of a team are asked: their turns, their prompts, what each may know."""

from podium.dsl.program import Role

from ..agent import Turn, View, attempt_view, clip, prompt_tokens, render
from ..agent.prompt import FIT_BYTES_PER_TOKEN
from ..call import Message
from ..reduce import attempts_of
from ..solo import turn_of
from ..value import Json
from ..walk import Here
from . import board, machine
from .machine import Phase
from .state import State

_ANSWER = "Read the discussion above. Write the team's final solution of the task, whole."
_REVIEW = "Check the latest solution above. Say what is wrong and how to mend it. Do not solve the task anew."
_MARK = "If nothing is wrong, end with the line AGREE; else end with the line DISAGREE."
_MARK_SOLVE = "If the team's latest solution is right, end with the line AGREE."


def member_turn(state: State, place: Here, role: Role) -> Turn:
    return turn_of(
        place, role, state.flow.model, effort=state.settings.effort, group=state.here.address
    )


def member_prompts(state: State, number: int, phase: Phase) -> list[str]:
    """What each seat of the phase is asked, the common part first."""
    personals = [_personal(state, number, seat, phase) for seat in phase.seats]
    scores = scores_of(state)
    room = min(_room(state, seat) for seat in phase.seats)
    return board.prompts(
        state.here.task.statement, scores, state.settings.direction, personals, room
    )


def _room(state: State, seat: int) -> int:
    """How many bytes a seat's prompt may have: its window without its cap and the system text."""
    turn = member_turn(state, state.here, state.roles[seat])
    around = prompt_tokens((Message("system", board.SYSTEM), Message("user", "")))
    return max(256, (turn.window - turn.max_output - around) * FIT_BYTES_PER_TOKEN)


def _personal(state: State, number: int, seat: int, phase: Phase) -> board.Personal:
    role = state.roles[seat]
    sees = role.sees or state.flow.sees
    posts = board.seen(state.posts, sees, seat, state.flow.last)
    size = len(machine.seated(state.flow.members, state.settings.size))
    view = _view(state, number, seat, role)
    lines = [f"You are #{seat} of {size}: {role.name}."]
    if role.system is not None:
        lines.append(render(role.system, view))
    lines.append(state.personas.get(seat, ""))
    lines.append(render(role.prompt, view))
    lines.append(state.settings.assigned(seat))
    lines.append(_instruction(state, phase))
    text = "\n".join(line.strip() for line in lines if line.strip())
    return board.Personal(posts, state.own.get(seat, ""), text)


def _instruction(state: State, phase: Phase) -> str:
    match phase.part:
        case "answer":
            return _ANSWER
        case "review":
            return f"{_REVIEW} {_MARK}"
        case "solve":
            return _MARK_SOLVE if state.marks and state.standing is not None else ""


def _view(state: State, number: int, seat: int, role: Role) -> View:
    """A member's slots. The task stands above already, so its slot only points there."""
    attempts: list[Json] = [
        attempt_view(a, scored=state.scores_visible) for a in attempts_of(state.value)
    ]
    latest = state.standing or next(iter(attempts_of(state.value)), None)
    return {
        "task": {"statement": "(the task above)", "name": state.here.task.name},
        "self": {"index": seat, "role": role.name, "persona": state.personas.get(seat, "")},
        "team": {"size": state.settings.size, "direction": state.settings.direction},
        "round": number,
        "attempt": None if latest is None else attempt_view(latest, scored=state.scores_visible),
        "attempts": attempts,
    }


def scores_of(state: State) -> str:
    """The leaderboard and the last verdict's evidence, where members may know them."""
    if not state.scores_visible or not state.submissions:
        return ""
    table = board.leaderboard(
        [
            (number, a.score, a.verdict.passed if a.verdict else None)
            for number, a in state.submissions
        ]
    )
    verdict = state.submissions[-1][1].verdict
    evidence = "" if verdict is None else clip(verdict.evidence.strip(), 120)
    return f"{table}\nAbout the last one: {evidence}" if evidence else table
