"""A recorded run once more, from its answers and decisions alone: no server, no verifier, other latencies.

What the replay comes to must be what was recorded; where it is not, the run depended on time or chance in a
way that no event told of.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import anyio
import anyio.lowlevel

from podium.dsl.model import Model
from podium.dsl.program import Program

from .call import CallError, ModelCall, ModelReply, Replica, VerifierCall
from .event import AccountOpened, CallAnswered, CallFailed, CallIntended, Decided, Ordered, Stamped
from .functions import Bindings
from .run import Engine
from .store import RunRecord, Store
from .toolbox import no_tools
from .transcript import transcript, transcript_hash
from .value import Json, Verdict
from .writer import JOINED

# The clock of a replay's events, in seconds since the epoch: 1 January 2026.
EPOCH = 1_767_225_600.0
# What a replay is given; all else it must come to by itself.
_GIVEN = (AccountOpened, CallIntended, CallAnswered, CallFailed, Decided, Ordered)
# How often a recorded answer lets others go first, at most: the latencies of a replay.
_LONGEST = 20


@dataclass(frozen=True, slots=True)
class Replayed:
    """recorded, again: the hashes of both transcripts. difference: what differs first, "" where nothing does."""

    recorded: str
    again: str
    difference: str = ""


async def replay(
    program: Program, events: Sequence[Stamped], window: Callable[[str], int], *, seed: int = 0
) -> Replayed:
    """The run of these events again, in a store of its own. window: of each model by name, in tokens, as it
    was then. seed: of the latencies, which are drawn anew. Nothing is sent and nothing is judged."""
    recorded = transcript_hash(events)
    store = Store.memory(lambda: EPOCH + anyio.current_time())
    run = await _given(store, program, events)
    client = _NoServer(window)
    engine = Engine(
        store, client=client, environ={}, inline=True, judging=_no_verifier, tools=no_tools
    )
    chance = random.Random(seed)

    async def pace() -> None:
        for _ in range(chance.randrange(1, _LONGEST)):
            await anyio.lowlevel.checkpoint()

    async with engine:
        resumed = await engine.resume(run, program=_without_rent(program), pace=pace)
        try:
            await resumed.result()
        except Exception as error:  # what breaks a replay is what it is for
            return Replayed(recorded, "", repr(error))
        again = list(resumed.past())
    if client.asked:
        difference = f"a call was made that was not recorded: {client.asked[0]}"
        return Replayed(recorded, transcript_hash(again), difference)
    return _compared(events, again)


def _compared(events: Sequence[Stamped], again: Sequence[Stamped]) -> Replayed:
    hashes = transcript_hash(events), transcript_hash(again)
    if hashes[0] == hashes[1]:
        return Replayed(*hashes)
    return Replayed(*hashes, _difference(transcript(events), transcript(again)))


def _difference(recorded: list[Json], again: list[Json]) -> str:
    """The first line that only one of both has."""
    for which, lines, others in (("recorded", recorded, again), ("replayed", again, recorded)):
        only = next((line for line in lines if line not in others), None)
        if only is not None:
            return f"only {which}: {only}"
    return "the same lines, another number of times"


def _without_rent(program: Program) -> Program:
    """A replay takes no time; where the money for the rent was up is among what was decided."""
    models = {name: replace(model, rent=None) for name, model in program.models.items()}
    return replace(program, models=models)


async def _given(store: Store, program: Program, events: Sequence[Stamped]) -> str:
    """A run in store that has what a replay is given; its id."""
    opened = (s.event.address for s in events if isinstance(s.event, AccountOpened))
    run = next(opened, "replay")  # accounts are named after the run
    journal = store.create(RunRecord(run, program.name, EPOCH, ""))
    given = [stamped.event for stamped in events if isinstance(stamped.event, _GIVEN)]
    for at in range(0, len(given), JOINED):  # each reply is read from its record, which is short so
        await journal.commit(given[at : at + JOINED])
    await journal.close()
    return run


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
