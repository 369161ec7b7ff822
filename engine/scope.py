"""What the interpreter and the team machine are given: the doors to the world, nothing else.

Time comes from `anyio.current_time()`, which a test's clock can jump.
"""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import anyio.lowlevel

from podium.dsl.program import Program, Tool

from .call import Handler, Offer, Reply
from .event import Event, Ordered
from .guard import Lease
from .ledger import Ledger
from .outcome import Named
from .toolbox import NO_TOOLS
from .value import Json

T = TypeVar("T")


class Recorder(Protocol):
    """The run's list of events, as the interpreter sees it."""

    def emit(self, event: Event) -> None:
        """Append event. It is on disk no later than the next answered call."""
        ...

    def decide(self, address: str, name: str, take: Callable[[], T]) -> T:
        """take(), or what it gave in an earlier life of the run. The value must have a JSON form.

        Where take raises, nothing is decided: the exception goes through, and the next call takes again.
        """
        ...

    def recall(self, address: str, name: str) -> Json:
        """What was decided, None where nothing was. (No decision of ours is null.)"""
        ...


def _nothing(_: str) -> bool:
    return False


def _no_text(name: str) -> str:
    raise KeyError(name)


async def _unkept(_: Sequence[tuple[str, str]]) -> None:
    await anyio.lowlevel.checkpoint()


def _no_reply(_: str) -> Reply | None:
    return None


@dataclass(frozen=True, slots=True)
class World:
    """One run's doors. account: the name of the run's own account, the prefix of all others of the run.

    interrupt(cause) pauses the whole run: every call not yet sent then raises Interrupted.
    windows: the context of each model by name, in tokens, as its replicas told.
    Account names are `account + "/" + address` below the run; addresses begin with the run's name.
    lived: by account name, for how many seconds a deadline's account was open in earlier lives of the run.
    by: when the run's deadline by the clock comes, on the loop's clock. known: whether a call at this address
    was answered in an earlier life.
    pausing: the same for budgets inside the run that pause, by account, while they are open. orders: those that
    the run has taken so far.
    offers: what a tool offers to models, where the run has not decided it yet. Raises CallError.
    told: the reply that is recorded at an address, None where there is none.
    kept: a text of the store by its name; raises KeyError where there is none, as in a replay. keep: puts texts
    into the store by their names; they are on disk on return.
    longer: each gives the run's own time so many more seconds; filled by the walk.
    folders: by the files that a task gives, the name of the tree that agents on it begin with.
    lease: until when the rent of the run's models is held; without a rent it never ends.
    """

    program: Program
    call: Handler
    ledger: Ledger
    recorder: Recorder
    account: str
    windows: Mapping[str, int]
    interrupt: Callable[[str], None]
    lived: Mapping[str, float] = field(default_factory=dict[str, float])
    by: float = math.inf
    known: Callable[[str], bool] = _nothing
    longer: list[Callable[[float], None]] = field(default_factory=list[Callable[[float], None]])
    pausing: dict[str, Callable[[float], None]] = field(
        default_factory=dict[str, Callable[[float], None]]
    )
    orders: Sequence[Ordered] = ()
    offers: Callable[[Tool], tuple[Offer, ...]] = NO_TOOLS.offers
    told: Callable[[str], Reply | None] = _no_reply
    kept: Callable[[str], str] = _no_text
    keep: Callable[[Sequence[tuple[str, str]]], Awaitable[None]] = _unkept
    folders: Mapping[tuple[str, ...], str] = field(default_factory=dict[tuple[str, ...], str])
    lease: Lease = field(default_factory=Lease)

    @property
    def named(self) -> Named:
        """The run's names; of a run of several tasks the program here is one row of it, `main/3.row`."""
        return Named(self.account, self.program.name.partition("/")[0])
