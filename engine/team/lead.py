"""Those outside a team's number: its CEO and its recruiter. Whatever fails here leaves the team as it was."""

from dataclasses import replace

import anyio

from podium.dsl.program import OutputField, Role

from ..agent import Turn, View, call_of, messages_of, parse, render, show
from ..agent.prompt import FIT_BYTES_PER_TOKEN, clip, clip_bytes
from ..agent.shape import Unreadable
from ..ask import ask_model
from ..call import Message
from ..solo import turn_of
from ..value import Attempt, Json
from ..walk import Ended, Here, ending, node
from . import board, ceo
from .asking import scores_of
from .state import State, note_end

PERSONA_TOKENS = 60


async def lead(state: State, number: int) -> None:
    """Ask the CEO; whatever goes wrong leaves the settings in force."""
    chief = state.flow.ceo
    assert chief is not None
    place = state.here.at(f"r{number}.ceo")

    async def body(here: Here) -> Ended:
        turn = turn_of(here, chief.role, state.flow.model, group=state.here.address)
        cap = chief.role.max_output or min(ceo.DEFAULT_OUTPUT, turn.window // 4)
        turn = replace(turn, max_output=min(cap, turn.window))
        role = replace(chief.role, output=chief.role.output or ceo.output(chief.sets) or None)
        messages = _ceo_messages(state, number, role, turn)
        reply = await ask_model(here, call_of(role, messages, turn))
        if reply.finish == "stop":
            state.settings, state.stop = ceo.read(
                reply.text, chief.sets, state.settings, seats=state.flow.size
            )
        return ending(Attempt(reply.text, reply.text, here.address))

    ended = await node(place, "ceo", chief.role.name, body)
    note_end(state, ended)


def _ceo_messages(state: State, number: int, role: Role, turn: Turn) -> tuple[Message, ...]:
    room = (turn.window - turn.max_output) * FIT_BYTES_PER_TOKEN - 600
    task = clip_bytes(state.here.task.statement.strip(), max(200, room // 3))
    chief = state.flow.ceo
    assert chief is not None
    parts = [
        f"Task:\n{task}",
        _team_line(state, number),
        scores_of(state),
        _digest_part(state, max(200, room // 3)),
        _left(state, number),
        render(role.prompt, _ceo_view(state, number)),
        ceo.question(chief.sets, state.flow.size),
    ]
    system = (
        ceo.DEFAULT_SYSTEM if role.system is None else render(role.system, _ceo_view(state, number))
    )
    text = "\n\n".join(part.strip() for part in parts if part.strip())
    return (Message("system", system), Message("user", text))


def _ceo_view(state: State, number: int) -> View:
    return {
        "task": {"statement": "(the task above)", "name": state.here.task.name},
        "self": {"index": 0, "role": "ceo"},
        "team": {"size": state.flow.size, "direction": state.settings.direction},
        "round": number,
        "attempt": None,
        "attempts": [],
    }


def _team_line(state: State, number: int) -> str:
    kinds = ", ".join(f"{member.count} {member.role.name}" for member in state.flow.members)
    at_work = state.settings.size
    return f"Team: {kinds}; {at_work} at work. Round {number} of {state.flow.rounds}."


def _digest_part(state: State, room: int) -> str:
    text = board.digest(state.posts, room)
    return f"Discussion so far:\n{text}" if text else ""


def _left(state: State, number: int) -> str:
    """What is left of the budget, as a decision: other branches spend from it at the same time."""
    here = state.here
    left = here.recorder.decide(f"{here.address}/r{number}.ceo", "left", lambda: _left_now(here))
    words = [f"{amount} {name}" for name, amount in left.items()]
    return f"Left of the budget: {', '.join(words)}." if words else ""


def _left_now(here: Here) -> dict[str, str]:
    left = here.world.ledger.left(here.account)
    words = {
        "": None if left.usd is None else f"${left.usd / 1_000_000:.2f}",
        "tokens": None if left.tokens is None else str(left.tokens),
        "calls": None if left.calls is None else str(left.calls),
    }
    ends = [guard.scope.deadline for guard in here.guards if guard.seconds is not None]
    if ends:
        words["seconds"] = str(max(0, int(min(ends) - anyio.current_time())))
    return {name: word for name, word in words.items() if word is not None}


async def recruit(state: State, role: Role) -> None:
    """Ask for the members' personas; whatever is missing leaves a member as its role says."""

    async def body(here: Here) -> Ended:
        turn = turn_of(here, role, state.flow.model, group=state.here.address)
        size = state.flow.size
        view: View = {
            "task": {"statement": state.here.task.statement, "name": state.here.task.name},
            "self": {"index": 0, "role": role.name},
            "team": {"size": size, "direction": ""},
            "round": 0,
            "attempt": None,
            "attempts": [],
        }
        messages = messages_of(role, view)
        ask = f"\n\nList {size} members for this task, one a line, as `1. who they are`."
        messages = (*messages[:-1], replace(messages[-1], content=messages[-1].content + ask))
        reply = await ask_model(here, call_of(role, messages, turn))
        state.personas = personas(role, reply.text, size)
        return ending(Attempt(reply.text, reply.text, here.address))

    ended = await node(state.here.at("recruit"), "recruiter", role.name, body)
    note_end(state, ended)


def personas(role: Role, text: str, size: int) -> dict[int, str]:
    """The personas in a recruiter's reply by seat: a list in its output, else numbered lines; maybe too few."""
    fields = role.output or (OutputField("members", "text", is_list=True),)
    answer = parse(fields, text)
    if isinstance(answer, Unreadable):
        return {}
    lists = [value for value in answer.values() if isinstance(value, list)]
    listed: list[Json] = lists[0] if lists else []
    texts = [clip(" ".join(show(item).split()), PERSONA_TOKENS) for item in listed[:size]]
    return {seat: text for seat, text in enumerate(texts, 1) if text}
