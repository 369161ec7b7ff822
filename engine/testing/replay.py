"""A recorded run once more, from its answers and decisions alone: no server, another order of tasks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import anyio
import anyio.lowlevel

from podium.dsl.program import Model, Program

from ..call import CallError, ModelCall, ModelReply, Replica, VerifierCall
from ..event import AccountOpened, CallAnswered, CallFailed, CallIntended, Decided, Ordered, Stamped
from ..run import Engine
from ..store import RunRecord, Store
from ..transcript import transcript, transcript_hash
from ..value import Json, Verdict
from ..verify import Bindings
from .clock import in_virtual_time
from .invariants import Violation

# The clock of a simulation's events, in seconds since the epoch: 1 January 2026.
EPOCH = 1_767_225_600.0
# What a replay is given; all else it must come to by itself.
_GIVEN = (AccountOpened, CallIntended, CallAnswered, CallFailed, Decided, Ordered)


def replayed(
    program: Program, events: Sequence[Stamped], *, seed: int, window: Callable[[str], int]
) -> tuple[Violation, ...]:
    """What differs when the run of these events is replayed. seed: of the order of tasks; window: of each
    model by name, in tokens, as it was then."""
    again = in_virtual_time(partial(_replay, program, events, window), seed)
    if isinstance(again, Violation):
        return (again,)
    if transcript_hash(events) == transcript_hash(again):
        return ()
    return (Violation("replay", program.name, _difference(transcript(events), transcript(again))),)


def _difference(recorded: list[Json], again: list[Json]) -> str:
    """The first line that only one of both has."""
    for which, lines, others in (("recorded", recorded, again), ("replayed", again, recorded)):
        only = next((line for line in lines if line not in others), None)
        if only is not None:
            return f"only {which}: {only}"
    return "the same lines, another number of times"


async def _replay(
    program: Program, events: Sequence[Stamped], window: Callable[[str], int]
) -> list[Stamped] | Violation:
    store = Store.memory(lambda: EPOCH + anyio.current_time())
    opened = (s.event.address for s in events if isinstance(s.event, AccountOpened))
    run = next(opened, "replay")  # accounts are named after the run
    journal = store.create(RunRecord(run, program.name, EPOCH, ""))
    given = [stamped.event for stamped in events if isinstance(stamped.event, _GIVEN)]
    await journal.commit(given)
    await journal.close()
    client = _NoServer(window)
    engine = Engine(store, client=client, environ={}, inline=True, judging=_no_verifier)
    async with engine:
        resumed = await engine.resume(run, program=program)
        try:
            await resumed.result()
        except Exception as error:
            return Violation("replay", program.name, repr(error))
        again = list(resumed.past())
    if client.asked:
        return Violation("replay", client.asked[0], "a call was made that was not recorded")
    return again


@dataclass(slots=True, eq=False)
class _NoServer:
    """A client whose models are there and must not be asked."""

    window: Callable[[str], int]
    asked: list[str] = field(default_factory=list[str])

    async def probe(self, model: Model) -> tuple[Replica, ...]:
        await anyio.lowlevel.checkpoint()
        name, endpoint = model.name, model.endpoints[0]
        return (Replica(name, name, endpoint, "replay:", name, 1000, self.window(name)),)

    async def send(self, call: ModelCall, replica: Replica, request_id: str) -> ModelReply:
        await anyio.lowlevel.checkpoint()
        self.asked.append(call.address)
        raise CallError("request", "a replay asks no server")


async def _no_verifier(
    call: VerifierCall, bindings: Bindings | None = None, *, inline: bool = False
) -> Verdict:
    await anyio.lowlevel.checkpoint()
    raise CallError("verifier", "a replay asks no verifier")
