"""What the members of a team are asked: their turns, their prompts, what each may know."""

import math
from collections.abc import Mapping

import anyio

from podium.dsl.program import Role, Slot, Template, Workspace

from ..agent import Turn, View, attempt_view, clip, prompt_tokens, render
from ..agent.prompt import FIT_BYTES_PER_TOKEN
from ..bench import has_files
from ..call import Message
from ..reduce import attempts_of
from ..turns import turn_of
from ..value import Json
from ..walk import Here
from .board import SYSTEM, Personal, digest, leaderboard, prompts, seen
from .machine import Phase, seated
from .state import State

_ANSWER = "Read the discussion above. Write the team's final solution of the task, whole."
_REVIEW = "Check the latest solution above. Say what is wrong and how to mend it. Do not solve the task anew."
_MARK = "If nothing is wrong, end with the line AGREE; else end with the line DISAGREE."
_MARK_SOLVE = "If the team's latest solution is right, end with the line AGREE."
_WORK = (
    "All members work on this at the same time. Look at the board before you begin and now and then, and post what"
    " helps the others. Submit what you have as soon as it is of use."
)

WORKSPACES: Mapping[Workspace, str] = {
    "private": "",
    "shared": (
        "All of you work in one folder: what one member changes, the others find there. Where two change the same"
        " at the same time, the later one is told, and its change is not kept."
    ),
    "branches": (
        "Your folder is a branch of your own. `submit` merges your files with what others have submitted. Where"
        " they clash, nothing is submitted, and both texts stand in your file between marks, for you to mend."
        " `pull` takes over what others have submitted."
    ),
}

# What a digest may take: the beginnings of about the last twenty messages.
_DIGEST_BYTES = 4000


def member_turn(state: State, place: Here, role: Role) -> Turn:
    return turn_of(
        place, role, state.flow.model, effort=state.settings.effort, group=state.here.address
    )


def alike(state: State) -> bool:
    """Whether all members are of one role and have no personas: what is said to one is said to all."""
    return len(state.flow.members) == 1 and not state.personas


def member_messages(state: State, number: int, phase: Phase) -> list[tuple[Message, ...]]:
    """What each seat of the phase is asked, the common part first."""
    personals = [_personal(state, number, seat, phase) for seat in phase.seats]
    systems = [_system(state, number, seat) for seat in phase.seats]
    pairs = zip(phase.seats, systems, strict=True)
    room = min(_room(state, seat, system) for seat, system in pairs)
    task = "" if alike(state) else state.here.task.statement
    texts = prompts(task, scores_of(state), state.settings.direction, personals, room)
    return [
        (Message("system", system), Message("user", text))
        for system, text in zip(systems, texts, strict=True)
    ]


def _system(state: State, number: int, seat: int) -> str:
    """The system text: the role's where all are alike, else one for the whole team."""
    role = state.roles[seat]
    if not alike(state) or role.system is None:
        return SYSTEM
    return render(role.system, _view(state, number, seat, role))


def _room(state: State, seat: int, system: str) -> int:
    """How many bytes a seat's prompt may have: its window without its cap and the system text.

    A cap of more than half the window is lowered when the call is made, not the prompt.
    """
    turn = member_turn(state, state.here, state.roles[seat])
    around = prompt_tokens((Message("system", system), Message("user", "")))
    cap = min(turn.max_output, turn.window // 2)
    return max(256, (turn.window - cap - around) * FIT_BYTES_PER_TOKEN)


def _personal(state: State, number: int, seat: int, phase: Phase) -> Personal:
    role = state.roles[seat]
    sees, last = (role.sees, role.last) if role.sees else (state.flow.sees, state.flow.last)
    posts = seen(state.posts, sees, seat, last)
    view = _view(state, number, seat, role)
    lines = [] if alike(state) else _introduction(state, seat, view)
    lines.append(render(role.prompt, view))
    lines.append(state.settings.assigned(seat))
    if state.commons is not None and phase.part == "solve":
        lines.append(_at_work(state, seat))
    lines.append(_instruction(state, phase))
    text = "\n".join(line.strip() for line in lines if line.strip())
    return Personal(posts, state.own.get(seat, ""), text)


def _at_work(state: State, seat: int) -> str:
    """What a member that works beside others is told, and who it is, behind all that is the same for all."""
    size = len(seated(state.flow.members, state.settings.size))
    files = WORKSPACES[state.flow.workspace] if has_files(state.roles[seat]) else ""
    return " ".join(part for part in (_WORK, files, f"You are #{seat} of {size}.") if part)


def _introduction(state: State, seat: int, view: View) -> list[str]:
    """Who the member is, where that differs from seat to seat."""
    role = state.roles[seat]
    size = len(seated(state.flow.members, state.settings.size))
    lines = [f"You are #{seat} of {size}: {role.name}."]
    if role.system is not None:
        lines.append(render(role.system, view))
    return [*lines, state.personas.get(seat, "")]


def _instruction(state: State, phase: Phase) -> str:
    match phase.part:
        case "answer":  # those who are all alike have the task itself as their last line
            return "" if alike(state) else _ANSWER
        case "review":
            return f"{_REVIEW} {_MARK}" if state.marks else _REVIEW
        case "solve":
            return _MARK_SOLVE if state.marks and state.standing is not None else ""


def _view(state: State, number: int, seat: int, role: Role) -> View:
    """A member's slots. Where the task stands above already, its slot only points there."""
    persona = state.personas.get(seat) or role.name
    statement = state.here.task.statement if alike(state) else "(the task above)"
    view = dict(team_view(state, number, role, statement=statement))
    view["self"] = {"index": seat, "role": role.name, "name": persona}
    return view


def team_view(state: State, number: int, role: Role, *, statement: str) -> View:
    """What the slots of a prompt inside the team stand for. number: the round, 0 before the first."""
    attempts: list[Json] = [
        attempt_view(a, scored=state.scores_visible) for a in attempts_of(state.value)
    ]
    latest = state.standing or next(iter(attempts_of(state.value)), None)
    mentioned = mentions(role.prompt) | mentions(role.system)
    return {
        "task": {"statement": statement, "name": state.here.task.name},
        "self": {"index": 0, "role": role.name, "name": role.name},
        "team": {
            "size": state.flow.size if number == 0 else state.settings.size,
            "round": number,
            "leaderboard": scores_of(state) or "none yet",
            "digest": digest(state.posts, _DIGEST_BYTES) or "nothing yet",
            "left": left_of(state, number) if "team.left" in mentioned else "",
        },
        "round": number,
        "attempt": None if latest is None else attempt_view(latest, scored=state.scores_visible),
        "attempts": attempts,
    }


def mentions(template: Template | None) -> frozenset[str]:
    """The slots of a template, as `team.left`."""
    parts = () if template is None else template.parts
    return frozenset(".".join(part.path[:2]) for part in parts if isinstance(part, Slot))


def left_of(state: State, number: int) -> str:
    """What is left of the budget in round number: a decision, since others spend from it at the same time."""
    here = state.here
    words = here.recorder.decide(f"{here.address}/r{number}", "left", lambda: _left_now(here))
    return ", ".join(words) or "no limit"


def _left_now(here: Here) -> list[str]:
    left = here.world.ledger.left(here.account)
    words: list[str] = []
    if left.usd is not None:
        words.append(f"${left.usd / 1_000_000:.2f}")
    words += [
        f"{n} {unit}"
        for n, unit in ((left.tokens, "tokens"), (left.calls, "calls"))
        if n is not None
    ]
    end = min((guard.due for guard in here.guards), default=math.inf)
    if end < math.inf:
        words.append(f"{max(0, int(end - anyio.current_time()))} seconds")
    return words


def scores_of(state: State) -> str:
    """The leaderboard and the last verdict's evidence, where members may know them."""
    if not state.scores_visible or not state.submissions:
        return ""
    if state.commons is not None:
        return f"Best submissions so far:\n{state.commons.standings()}"
    table = leaderboard(
        [
            (number, a.score, a.verdict.passed if a.verdict else None)
            for number, a in state.submissions
        ]
    )
    verdict = state.submissions[-1][1].verdict
    evidence = "" if verdict is None else clip(verdict.evidence.strip(), 120)
    return f"{table}\nAbout the last one: {evidence}" if evidence else table
