"""Reaching the models of a run: its replicas found, its windows known, its first call affordable."""

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, runtime_checkable

import anyio

from podium.dsl.model import Model
from podium.dsl.problem import Problem, ProgramError
from podium.dsl.program import Program, Task

from .admit import Admission
from .agent.act import DEFAULT_WINDOW
from .call import Call, CallError, Client, Interrupted, Replica, Reply
from .event import Event
from .fleet import Fleet
from .leading import Beginning
from .ledger import NOTHING, Amount, Ledger, Limit
from .life import Access
from .scope import World
from .solo import reserve
from .spend import MICRO
from .value import Json
from .walk import Here, Walk

T = TypeVar("T")


# How often an endpoint that was not there when a run began is looked for.
MISSING_S = 30.0


@runtime_checkable
class Leaving(Protocol):
    """A client that probes a model without those of its endpoints that are not there."""

    def leaves_out(self, model: Model) -> bool: ...


@dataclass(slots=True, eq=False)
class Door:
    """The one queue of an engine, and its fleet. known: the models behind it, and the marks of the keys that
    are used for them, by pool."""

    admission: Admission
    known: dict[str, tuple[Model, frozenset[str]]] = field(
        default_factory=dict[str, tuple[Model, frozenset[str]]]
    )

    async def open(
        self, client: Client, models: Mapping[str, Model], tell: Callable[[str], None]
    ) -> Access:
        """Probe models and add them to the fleet. Raises CallError: the first model's that fails."""
        pools: dict[str, str] = {}
        windows: dict[str, int] = {}
        for name, model in models.items():
            replicas = await client.probe(model)
            pool = self._pool(model, frozenset(replica.key_mark for replica in replicas))
            self._serve(client, pool, model, replicas)
            pools[name] = pool
            told = [replica.context for replica in replicas if replica.context is not None]
            windows[name] = model.context or min(told, default=DEFAULT_WINDOW)
            if model.context is None and not told:
                tell(f"{name}: its window is not known; taken as {DEFAULT_WINDOW} tokens")
        return Access(client, self.admission, windows, pools)

    def _serve(self, client: Client, pool: str, model: Model, replicas: Sequence[Replica]) -> None:
        begun = isinstance(client, Beginning) and client.tells_begun
        self.admission.fleet.add(pool, replicas, model.limits, tells_begun=begun)
        for replica in replicas:
            self.admission.fleet.reached(replica)

    async def rejoin(
        self, access: Access, models: Mapping[str, Model], scope: anyio.CancelScope
    ) -> None:
        """Until scope is cancelled, or all endpoints of models are there: have those serve that were not when the
        run began, unless their window is smaller than what its prompts were told."""
        client, fleet = access.client, self.admission.fleet
        if not isinstance(client, Leaving):
            return
        with scope:
            while missing := [name for name, model in models.items() if client.leaves_out(model)]:
                await anyio.sleep(MISSING_S)
                for name in missing:
                    pool, window = access.pools[name], access.windows[name]
                    there = fleet.replicas((pool,))
                    with suppress(CallError):
                        come = [one for one in await client.probe(models[name]) if one not in there]
                        wide = [one for one in come if (one.context or window) >= window]
                        self._serve(client, pool, models[name], [*there, *wide])
                self.admission.turn()

    def _pool(self, model: Model, marks: frozenset[str]) -> str:
        """The model's name, numbered where another model, or this one with another key, has it already."""
        wanted, number = (model, marks), 1
        pool = model.name
        while self.known.setdefault(pool, wanted) != wanted:
            number += 1
            pool = f"{model.name} ({number})"
        return pool


def door(ledger: Ledger, chance: random.Random) -> Door:
    """A new door with a fleet of its own."""
    return Door(Admission(ledger, Fleet(chance)))


class _NoRecorder:
    """Nothing happens while a first call is only priced."""

    def emit(self, event: Event) -> None:
        raise AssertionError("pricing a call records nothing")

    def decide(self, address: str, name: str, take: Callable[[], T]) -> T:
        return take()

    def recall(self, address: str, name: str) -> Json:
        return None


def least_call(program: Program, windows: Mapping[str, int], task: Task | None) -> Amount:
    """What the first call of program's flow holds: below it nothing can be sent."""

    async def closed(call: Call) -> Reply:
        raise Interrupted(f"{call.address} is only priced")

    ledger = Ledger()
    ledger.open("", Limit())
    world = World(program, closed, ledger, _NoRecorder(), "", windows, lambda _: None)
    here = Here(Walk(world), program.name, "", task or Task("none", ""))
    return reserve(here, program.flow, here.task)


def check_budget(program: Program, windows: Mapping[str, int]) -> None:
    """Raises ProgramError where the run's budget cannot hold even its first call."""
    task = program.tasks[0] if program.tasks else None
    least = least_call(program, windows, task)
    if least == NOTHING:
        return
    budget = program.budget
    limits = {"usd": budget.usd, "tokens": budget.tokens, "calls": budget.calls}
    for dimension, limit in limits.items():
        need = getattr(least, dimension)
        if limit is not None and need > limit:
            raise ProgramError((_too_small(program, dimension, limit, need),))


def _too_small(program: Program, dimension: str, limit: int, need: int) -> Problem:
    shown = {
        "usd": (f"${limit / MICRO:g}", f"${need / MICRO:g}"),
        "tokens": (f"{limit} tokens", f"{need} tokens"),
        "calls": (f"{limit} calls", f"{need} calls"),
    }
    has, wants = shown[dimension]
    return Problem(
        "E311",
        f"a budget of {has} is too small for one call of run `{program.name}`, which may cost {wants}",
        program.flow.place,
        label="the first call of this flow",
        notes=("the worst case of a call is held before it is sent: its prompt and its whole cap",),
        help=f"raise the budget to at least {wants}, or lower `max_output` of the role",
    )
