"""An agent outside a team: what it sees, where it acts, and what its first call may cost."""

from collections.abc import Awaitable
from dataclasses import replace
from functools import partial

from podium.dsl.program import Flow, Role

from .agent import Turn, View, act, attempt_view, cap_of, messages_of, window_of
from .ask import ask_model
from .bench import desk
from .call import ModelCall
from .forms import first_role
from .ledger import NOTHING, Amount
from .limit import limited
from .pool import Need, least_calls, may_ask_more
from .reduce import attempts_of
from .tokens import worst
from .value import Attempt, Json, Many, Value
from .walk import Ended, Here, ending, keep


def turn_of(
    here: Here, role: Role, model: str | None = None, *, effort: int | None = None, group: str = ""
) -> Turn:
    """The turn of role at here: its model, else model, else the run's; effort only lowers the cap."""
    program = here.world.program
    name = role.model or model or program.default_model
    window = window_of(program, here.world.windows, name)
    return Turn(
        address=here.address,
        account=here.account,
        model=name,
        window=window,
        max_output=cap_of(role, window, effort),
        sampling=program.models[name].sampling,
        seed=program.seed,
        group=group,
    )


def act_alone(
    here: Here, role: Role, value: Value, attempt: Attempt | None = None
) -> Awaitable[Ended]:
    """One agent's end: its attempt on value. attempt: the one it revises, where there are several in value."""
    if role.budget is not None:
        bare = replace(role, budget=None)
        body = partial(_act, role=bare, value=value, attempt=attempt)
        return limited(here, body, role.budget, "best")
    return _act(here, role, value, attempt)


async def _act(here: Here, role: Role, value: Value, attempt: Attempt | None) -> Ended:
    before = attempt or (value if isinstance(value, Attempt) else None)
    view = view_of(here, role, value, before)
    bench = desk(here, role) if role.tools else None
    ask, messages = partial(ask_model, here), messages_of(role, view)
    made = await act(ask, role, messages, turn_of(here, role), bench)
    if before is not None and "attempt" in role.takes:
        made = replace(made, before=replace(before, before=None))
    keep(here, made)
    return ending(made)


def view_of(here: Here, role: Role, value: Value, attempt: Attempt | None) -> View:
    """What the slots of a lone agent's prompt stand for."""
    attempts: list[Json] = [attempt_view(a) for a in attempts_of(value)]
    return {
        "task": {"statement": here.task.statement, "name": here.task.name},
        "self": {"index": 1, "role": role.name, "name": role.name},
        "team": {"size": 1, "round": here.round, "leaderboard": "", "digest": "", "left": ""},
        "round": here.round,
        "attempt": None if attempt is None else attempt_view(attempt),
        "attempts": attempts,
    }


def reserve(here: Here, flow: Flow, value: Value) -> Amount:
    """The hold of the first call that flow makes.

    A prompt of a later round may be dearer: the ledger, not this figure, keeps the cap.
    """
    role = first_role(flow)
    if role is None:
        return NOTHING
    attempt = value if isinstance(value, Attempt) else None
    turn = turn_of(here, role)
    messages = messages_of(role, view_of(here, role, value, attempt))
    call = ModelCall(here.address, here.account, turn.model, messages, turn.max_output)
    return worst(call, here.world.program.models[turn.model].price)


def need_of(here: Here, flow: Flow, value: Value) -> Need:
    """What an answer of flow takes, its calls as dear as the first one."""
    return Need(reserve(here, flow, value), least_calls(flow), may_ask_more(flow))


def many_of(value: Value | None) -> Many:
    """value as Many."""
    return value if isinstance(value, Many) else Many(attempts_of(value))
