"""Simulated servers: what they report, how long they take, and what they refuse."""

from functools import partial

import anyio
import pytest

from podium.dsl.model import Endpoint, Limits, Model
from podium.engine.call import CallError, Message, ModelCall, ModelReply
from podium.engine.testing import Placed, Schedule, Server, SimulatedFleet, Speech, in_virtual_time
from podium.engine.testing.faults import Busy, Cut, NoUsage, Outage, Truncated
from podium.engine.testing.weather import Weather

MODEL = Model("m", (Endpoint("openai", "m"),))
EVEN = Server(replicas=1, slots=2, latency_s=1.0, prefill=100.0, decode=10.0, jitter=0.0)


def speak(call: ModelCall) -> Speech:
    return Speech("yes " * 10, reasoning=10)


def fleet(*faults: Placed, server: Server = EVEN) -> SimulatedFleet:
    return SimulatedFleet(speak, {"": server}, Weather(Schedule(0, faults)))


def call(text: str, cap: int = 100, address: str = "main/agent/c1") -> ModelCall:
    return ModelCall(address, "run", "m", (Message("user", text),), cap)


async def asked(fleet: SimulatedFleet, *calls: ModelCall) -> tuple[list[ModelReply], float]:
    """The replies of calls made at once, and when the last came."""
    (replica, *_) = await fleet.probe(MODEL)
    replies: list[ModelReply] = []

    async def one(call: ModelCall, number: int) -> None:
        replies.append(await fleet.send(call, replica, f"id {number}"))

    async with anyio.create_task_group() as tasks:
        for number, made in enumerate(calls):
            tasks.start_soon(one, made, number)
    return replies, anyio.current_time()


def test_a_call_takes_its_latency_its_prompt_and_its_tokens() -> None:
    (reply,), seconds = in_virtual_time(partial(asked, fleet(), call("x" * 372)))
    assert (reply.usage.input, reply.usage.output, reply.usage.reasoning) == (100, 20, 10)
    assert seconds == pytest.approx(1.0 + 100 / 100 + 20 / 10)


def test_a_prompt_that_grew_is_read_from_the_cache_in_whole_blocks() -> None:
    async def twice() -> ModelReply:
        one = fleet()
        await asked(one, call("x" * 400))
        return (await asked(one, call("x" * 400 + "y" * 80)))[0][0]

    usage = in_virtual_time(twice).usage
    assert (usage.input, usage.cached) == (127, 96)


def test_what_the_slots_cannot_take_waits_in_the_servers_queue() -> None:
    queued = fleet(server=Server(1, 2, 4, 1.0, 100.0, 10.0, 0.0))
    replies, seconds = in_virtual_time(partial(asked, queued, *[call("")] * 4))
    assert len(replies) == 4
    assert seconds == pytest.approx(2 * (1.0 + 7 / 100 + 20 / 10))


def test_the_models_limit_is_shared_by_its_replicas() -> None:
    model = Model("m", MODEL.endpoints, limits=Limits(inflight=6))
    found = in_virtual_time(partial(fleet(server=Server(replicas=3)).probe, model))
    assert [replica.inflight for replica in found] == [2, 2, 2]


@pytest.mark.parametrize(
    ("fault", "kind"),
    [(Outage(9.0), "unreachable"), (Busy(9.0, 3.0), "busy"), (Cut(), "cut")],
)
def test_a_fault_is_the_error_that_a_client_would_raise(
    fault: Outage | Busy | Cut, kind: str
) -> None:
    async def failing() -> CallError:
        one = fleet(Placed(fault, 0.1))
        (replica, *_) = await one.probe(MODEL)
        await anyio.sleep(0.2)
        with pytest.raises(CallError) as caught:
            await one.send(call("x"), replica, "id")
        assert not one.flying
        return caught.value

    error = in_virtual_time(failing)
    assert error.kind == kind
    assert error.maybe_paid == (kind == "cut")


def test_a_call_in_the_air_is_cut_when_the_outage_begins_and_half_of_it_is_billed() -> None:
    async def failing() -> tuple[float, int]:
        one = fleet(Placed(Outage(), 1.535))
        (replica, *_) = await one.probe(MODEL)
        with pytest.raises(CallError, match="finish reason"):
            await one.send(call(""), replica, "id")
        return anyio.current_time(), one.bill["m"].output

    assert in_virtual_time(failing) == (pytest.approx(1.535), 10)


def test_a_reply_above_its_cap_ends_at_it() -> None:
    (reply,), _ = in_virtual_time(partial(asked, fleet(), call("x", cap=3)))
    assert (len(reply.text), reply.finish, reply.usage.output) == (12, "length", 3)


def test_a_truncated_reply_says_that_it_was_cut() -> None:
    (reply,), _ = in_virtual_time(partial(asked, fleet(Placed(Truncated())), call("x")))
    assert (len(reply.text), reply.finish) == (20, "length")


def test_usage_may_be_left_out_of_the_reply_but_not_of_the_bill() -> None:
    one = fleet(Placed(NoUsage()))
    (reply,), _ = in_virtual_time(partial(asked, one, call("x")))
    assert reply.usage.output == 0
    assert one.generated == 8 + 20


def test_it_runs_on_asyncio_too() -> None:
    quick = fleet(server=Server(1, 2, 0, 0.0, 1e6, 1e6, 0.0))
    replies, _ = anyio.run(asked, quick, call("x"))
    assert replies[0].finish == "stop"
