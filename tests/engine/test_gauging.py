"""Servers are asked for their gauges while calls are there, and sent what they have room for."""

import random
from dataclasses import dataclass, field

import anyio
import pytest
import trio.testing

from podium.dsl.model import Endpoint, Model
from podium.engine.admit import Admission
from podium.engine.call import CallError, Message, ModelCall, ModelReply, Replica
from podium.engine.clients.gauges import Load
from podium.engine.fleet import Fleet
from podium.engine.gauging import listen
from podium.engine.ledger import NOTHING, Amount, Ledger, Limit
from podium.engine.testing.agents import Speech
from podium.engine.testing.fleet import Server, SimulatedFleet

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


MODEL = Model("m", (Endpoint("openai", "m", "http://m"),))


def door(replicas: tuple[Replica, ...]) -> Admission:
    ledger = Ledger()
    ledger.open("run", Limit())
    made = Fleet(random.Random(0))
    made.add("m", replicas)
    return Admission(ledger, made)


def call(number: int) -> ModelCall:
    return ModelCall(f"run/{number}.agent", "run", "m", (Message("user", "go"),), 10)


def untold(why: str, seconds: float | None) -> None:
    pass


async def test_the_queue_of_a_server_is_kept_short_and_its_slots_full() -> None:
    server = Server(replicas=1, slots=8, queue=56)
    servers = SimulatedFleet(lambda _: Speech("x" * 2000), {"": server})
    (replica,) = replicas = await servers.probe(MODEL)
    admission, scope = door(replicas), anyio.CancelScope()
    loads: list[Load] = []

    async def one(number: int) -> None:
        grant = await admission.enter(call(number), Amount(), untold)
        await servers.send(ModelCall("a", "run", "m", (), 500), replica, str(number))
        admission.fleet.answered(replica, anyio.current_time())
        grant.leave()
        grant.settle(NOTHING)

    async def look() -> None:
        while True:
            await anyio.sleep(1.0)
            loads.append(await servers.load(replica) or Load())

    async with anyio.create_task_group() as group:
        group.start_soon(listen, servers, admission, ("m",), scope)
        group.start_soon(look)
        async with anyio.create_task_group() as calls:
            for number in range(200):
                calls.start_soon(one, number)
        group.cancel_scope.cancel()
    settled = loads[80:-20]
    assert len(settled) > 80
    assert (loads[0].running, loads[0].waiting) == (8, 56)
    assert max(load.waiting or 0.0 for load in settled) <= 4
    assert sum(load.running or 0.0 for load in settled) / len(settled) > 7.5


@dataclass
class Asked:
    """A server whose answers are listed: a load, none, or an error; and after the last, none."""

    answers: list[Load | CallError | None]
    times: list[float] = field(default_factory=list[float])

    async def probe(self, model: Model) -> tuple[Replica, ...]:
        return ()

    async def send(self, call: ModelCall, replica: Replica, request_id: str) -> ModelReply:
        raise CallError("server", "no")

    def has_gauges(self, replica: Replica) -> bool:
        return replica.served != "none"

    async def load(self, replica: Replica) -> Load | None:
        self.times.append(anyio.current_time())
        await anyio.lowlevel.checkpoint()
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, CallError):
            raise answer
        return answer


def replica(inflight: int = 4, served: str = "m") -> Replica:
    return Replica("r", "m", MODEL.endpoints[0], "http://m", served, inflight)


async def test_a_server_is_asked_while_calls_are_there_and_until_it_has_no_gauges() -> None:
    asked = Asked([Load(1.0, 0.0), CallError("unreachable", "gone")])
    admission = door((replica(),))
    async with anyio.create_task_group() as group:
        group.start_soon(listen, asked, admission, ("m",), anyio.CancelScope())
        await anyio.sleep(10.5)
        assert asked.times == []
        await admission.enter(call(1), Amount(), untold)
    assert asked.times == [11.0, 12.0, 13.0]  # the third answer was none, which ended it


@pytest.mark.parametrize("one", [replica(inflight=1), replica(served="none")])
async def test_a_server_of_one_call_or_without_gauges_is_never_asked(one: Replica) -> None:
    asked = Asked([])
    await listen(asked, door((one,)), ("m",), anyio.CancelScope())
    assert asked.times == []
    assert anyio.current_time() == 0.0
