"""The ends of a cycle: its recruiter before the rounds, what is made of its solution after them.

What is said at the end lies on the board of the next cycle. Whatever fails here accepts nothing and leaves the
team as it was.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import cast

from podium.dsl.program import OutputField, Role, Verifier

from ..agent import Turn, act, call_of, clip, parse, render, show
from ..agent.prompt import FIT_BYTES_PER_TOKEN, clip_bytes
from ..agent.shape import Unreadable
from ..ask import ask_model
from ..bench import bench_at
from ..call import Message
from ..later import later_round
from ..reduce import attempts_of
from ..turns import turn_of
from ..value import Attempt, Json, Verdict
from ..verdicts import verdict_on
from ..walk import Ended, Here, ending, may_start, node
from .asking import mentions, team_view
from .lead import recruit
from .state import State, note_end, told_by_others

EVALUATOR_SYSTEM = (
    "You judge the solution of a team. You do not solve the task. Answer with one JSON object."
)
EVALUATOR_OUTPUT = (OutputField("accepted", "bool"), OutputField("advice", "text"))
EVALUATOR_QUESTION = (
    "Is this solution right and complete? If not, say what is wrong and how to mend it. Give JSON with:\n"
    "accepted: true only if nothing is to be changed\nadvice: a few sentences to the team"
)
# What the board keeps of an evaluation, and of what a verifier found, in tokens.
ADVICE_TOKENS = 300
EVIDENCE_TOKENS = 120


async def recruited(state: State, cycle: int) -> bool:
    """Ask the recruiter of this cycle; False where no budget has room for the cycle."""
    role, here = state.flow.recruit, state.here
    assert role is not None
    segment = "recruit" if cycle == 1 else f"cycle{cycle}.recruit"
    if cycle == 1 or not state.submissions:
        await recruit(state, role, segment)
        return True
    if not may_start(here, f"{here.address}/{segment}"):
        return False
    async with later_round(here, f"{here.address}/{segment}", 1) as (state.here, state.refused):
        if state.refused is None:
            await recruit(state, role, segment)
    state.here = here
    return state.refused is None


async def closed(state: State, cycle: int) -> bool:
    """Execute and evaluate the cycle's solution; False where no budget has room for that.

    Sets whether it is accepted: as the evaluator says, else if its execution passed.
    """
    here = state.here
    attempt = state.submissions[-1][1]
    execute = state.flow.execute
    verdict = None if execute is None else await _execute(state, cycle, execute, attempt)
    state.consensus, state.accepted = False, verdict is not None and verdict.passed is True
    if state.flow.evaluate is None:
        return True
    state.accepted = False
    address = f"{here.address}/cycle{cycle}.evaluate"
    if not may_start(here, address):
        return False
    async with later_round(here, address, 1) as (state.here, state.refused):
        if state.refused is None:
            await _evaluate(state, cycle, state.flow.evaluate, attempt, verdict)
    state.here = here
    return state.refused is None


async def _execute(state: State, cycle: int, execute: Verifier, attempt: Attempt) -> Verdict | None:
    """What the team's own verifier finds; nothing where it fails."""

    async def body(here: Here) -> Ended:
        # At an address of its own: the task's verifier, which may have the same name, judges the attempt at its.
        moved = replace(attempt, address=here.address)
        return ending(replace(moved, verdict=await verdict_on(here, moved, execute)))

    ended = await node(state.here.at(f"cycle{cycle}.execute"), "verifier", execute.name, body)
    note_end(state, ended)
    verdict = next((judged.verdict for judged in attempts_of(ended.value)), None)
    if verdict is not None:
        told_by_others(state, execute.name, found(execute, verdict))
    return verdict


def found(execute: Verifier, verdict: Verdict) -> str:
    """A verdict in words."""
    words = [] if verdict.passed is None else ["passed" if verdict.passed else "not passed"]
    if verdict.score is not None:
        words.append(f"score {verdict.score:g}")
    evidence = clip(verdict.evidence.strip(), EVIDENCE_TOKENS)
    return f"{execute.name}: {', '.join(words)}" + (f"\n{evidence}" if evidence else "")


async def _evaluate(
    state: State, cycle: int, role: Role, attempt: Attempt, verdict: Verdict | None
) -> None:
    async def body(here: Here) -> Ended:
        turn = turn_of(here, role, state.flow.model, group=state.here.address)
        shaped = replace(role, output=role.output or EVALUATOR_OUTPUT)
        messages = _messages(state, role, turn, attempt, verdict)
        if role.tools:
            bench = bench_at(here, role, files=attempt.tree)
            made = await act(partial(ask_model, here), shaped, messages, turn, bench)
            _hear(state, role.name, cast(Mapping[str, Json], made.answer))  # it has an output
            return ending(made)
        reply = await ask_model(here, call_of(shaped, messages, turn))
        if reply.finish == "stop":
            _hear(state, role.name, parse(shaped.output or (), reply.text))
        return ending(Attempt(reply.text, reply.text, here.address))

    place = state.here.at(f"cycle{cycle}.evaluate")
    note_end(state, await node(place, "evaluator", role.name, body))


def _hear(state: State, name: str, answer: Mapping[str, Json] | Unreadable) -> None:
    """An evaluation that cannot be read accepts nothing and is not shown."""
    if isinstance(answer, Unreadable):
        return
    state.accepted = answer.get("accepted") is True
    words = "accepted" if state.accepted else "not accepted"
    others = {key: show(value).strip() for key, value in answer.items() if key != "accepted"}
    only = len(others) == 1
    lines = [text if only else f"{key}: {text}" for key, text in others.items() if text]
    state.evaluation = clip("\n".join([f"The solution is {words}.", *lines]), ADVICE_TOKENS)
    told_by_others(state, name, state.evaluation)


def _messages(
    state: State, role: Role, turn: Turn, attempt: Attempt, verdict: Verdict | None
) -> tuple[Message, ...]:
    """The evaluator's prompt, with what its role leaves out: task, solution; and what its execution found."""
    room = (turn.window - turn.max_output) * FIT_BYTES_PER_TOKEN - 900
    view = team_view(state, state.rounds, role, statement=state.here.task.statement)
    mentioned = mentions(role.prompt)
    statement = clip_bytes(state.here.task.statement.strip(), max(200, room // 3))
    parts = [f"Task:\n{statement}"] if "task.statement" not in mentioned else []
    if "attempt.answer" not in mentioned:
        parts.append(f"Solution:\n{clip_bytes(attempt.text.strip(), max(200, room // 2))}")
    if verdict is not None and state.flow.execute is not None:
        parts.append(f"Execution of it:\n{found(state.flow.execute, verdict)}")
    parts.append(render(role.prompt, view))
    if role.output is None:
        parts.append(EVALUATOR_QUESTION)
    system = EVALUATOR_SYSTEM if role.system is None else render(role.system, view)
    text = "\n\n".join(part.strip() for part in parts if part.strip())
    return (Message("system", system), Message("user", text))
