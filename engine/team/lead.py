"""Those outside a team's number: its CEO and its recruiter. Whatever fails here leaves the team as it was."""

from dataclasses import replace

from podium.dsl.program import Ceo, OutputField, Role

from ..agent import Turn, call_of, messages_of, parse, render, show
from ..agent.prompt import FIT_BYTES_PER_TOKEN, clip, clip_bytes
from ..agent.shape import Unreadable
from ..ask import ask_model
from ..call import Message
from ..turns import turn_of
from ..value import Attempt, Json
from ..walk import Ended, Here, ending, node
from .asking import left_of, mentions, scores_of, team_view
from .board import digest
from .ceo import DEFAULT_OUTPUT, DEFAULT_SYSTEM, may_set, question
from .ceo import output as ceo_output
from .ceo import read as read_reply
from .state import State, note_end

PERSONA_TOKENS = 60


async def lead(state: State, number: int) -> None:
    """Ask the CEO; whatever goes wrong leaves the settings in force."""
    chief = state.flow.ceo
    assert chief is not None
    place = state.here.at(f"r{number}.ceo")

    async def body(here: Here) -> Ended:
        turn = turn_of(here, chief.role, state.flow.model, group=state.here.address)
        cap = chief.role.max_output or min(DEFAULT_OUTPUT, turn.window // 4)
        turn = replace(turn, max_output=min(cap, turn.window), urgency=1)
        messages = _ceo_messages(state, number, chief, turn)
        reply = await ask_model(here, call_of(_shaped(chief), messages, turn))
        if reply.finish == "stop":
            state.settings, state.stop = read_reply(
                reply.text, chief.sets, state.settings, seats=state.flow.size
            )
        return ending(Attempt(reply.text, reply.text, here.address))

    ended = await node(place, "ceo", chief.role.name, body)
    note_end(state, ended)


def _shaped(chief: Ceo) -> Role:
    """The CEO's role with the fields that it may set: its own, else ours."""
    own = tuple(f for f in chief.role.output or () if may_set(f.name, chief.sets))
    return replace(chief.role, output=own or ceo_output(chief.sets) or None)


def _ceo_messages(state: State, number: int, chief: Ceo, turn: Turn) -> tuple[Message, ...]:
    """The CEO's prompt, with what its role leaves out: task, scores, digest, what is left, what it may set."""
    room = (turn.window - turn.max_output) * FIT_BYTES_PER_TOKEN - 900
    role = chief.role
    view = team_view(state, number, role, statement=state.here.task.statement)
    mentioned = mentions(role.prompt)
    pieces = {
        "task.statement": f"Task:\n{clip_bytes(state.here.task.statement.strip(), max(200, room // 3))}",
        "team.size": _team_line(state, number),
        "team.leaderboard": clip_bytes(scores_of(state), max(200, room // 6)),
        "team.digest": _digest_part(state, max(200, room // 3)),
        "team.left": ""
        if "team.left" in mentioned
        else f"Left of the budget: {left_of(state, number)}.",
    }
    parts = [text for slot, text in pieces.items() if slot not in mentioned]
    parts.append(render(role.prompt, view))
    if role.output is None:
        parts.append(question(chief.sets, state.flow.size))
    system = DEFAULT_SYSTEM if role.system is None else render(role.system, view)
    text = "\n\n".join(part.strip() for part in parts if part.strip())
    return (Message("system", system), Message("user", text))


def _team_line(state: State, number: int) -> str:
    kinds = ", ".join(f"{member.count} {member.role.name}" for member in state.flow.members)
    at_work = state.settings.size
    return f"Team: {kinds}; {at_work} at work. Round {number} of {state.flow.rounds * state.flow.cycles}."


def _digest_part(state: State, room: int) -> str:
    text = digest(state.posts, room)
    return f"Discussion so far:\n{text}" if text else ""


async def recruit(state: State, role: Role, segment: str) -> None:
    """Ask for the members' personas; whatever is missing leaves a member as its role says."""

    async def body(here: Here) -> Ended:
        turn = turn_of(here, role, state.flow.model, group=state.here.address)
        size = state.flow.size
        view = team_view(state, state.rounds, role, statement=state.here.task.statement)
        messages = messages_of(role, view)
        ask = f"\n\nOf the last solution was said:\n{state.evaluation}" if state.evaluation else ""
        if role.output is None:
            ask += f"\n\nList {size} members for this task, one a line, as `1. who they are`."
        messages = (*messages[:-1], replace(messages[-1], content=messages[-1].content + ask))
        reply = await ask_model(here, call_of(role, messages, turn))
        state.personas = personas(role, reply.text, size)
        return ending(Attempt(reply.text, reply.text, here.address))

    ended = await node(state.here.at(segment), "recruiter", role.name, body)
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
