"""An agent outside a team: what it does, and what its first call may cost."""

from collections.abc import Awaitable
from dataclasses import replace
from functools import partial

from podium.dsl.program import Flow, Role

from .agent import act, messages_of
from .ask import ask_model
from .bench import bench_at
from .call import ModelCall
from .forms import first_role
from .ledger import NOTHING, Amount
from .limit import limited
from .pool import Need, least_calls, may_ask_more
from .reduce import attempts_of
from .tokens import worst
from .turns import turn_of, view_of
from .value import Attempt, Many, Value
from .walk import Ended, Here, ending, keep


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
    files = here.files if before is None else before.tree or here.files
    bench = bench_at(here, role, value=value, files=files) if role.tools else None
    ask, messages = partial(ask_model, here), messages_of(role, view)
    made = await act(ask, role, messages, turn_of(here, role), bench)
    if before is not None and "attempt" in role.takes:
        # Files stay with what is revised, unless who revises it has a folder of its own.
        made = replace(made, before=replace(before, before=None), tree=made.tree or before.tree)
    keep(here, made)
    return ending(made)


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
