"""Where an agent acts, and what one outside a team sees."""

from podium.dsl.program import Role

from .agent import Turn, View, attempt_view, cap_of, window_of
from .reduce import attempts_of
from .value import Attempt, Json, Value
from .walk import Here


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
