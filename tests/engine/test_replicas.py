"""A replica that goes, fails or is drained leaves the others: nothing fails, and it comes back."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import anyio
import pytest

from podium.dsl.model import Endpoint, Model
from podium.engine.access import door
from podium.engine.call import CallError, ModelCall, ModelReply, Replica
from podium.engine.event import CallFailed, CallIntended, NodeEnded, Ordered, Stamped
from podium.engine.fleet import Fleet, is_named
from podium.engine.ledger import Ledger
from podium.engine.orders import DRAIN, UNDRAIN
from podium.engine.outcome import Finished, Passed
from podium.engine.testing import Placed, Schedule, Server, Simulation, in_virtual_time, simulate
from podium.engine.testing.faults import Broken, Crash, Cut, Fault, Outage, Quota
from podium.engine.testing.handmade import parallel, program, reduce_by, team, then

ONE, TWO = "simulated:m/1", "simulated:m/2"
MADE = replace(program(then(parallel(8, team(3, rounds=4)), reduce_by("vote"))), max_agents=200)
LASTS_S = 400.0


def play(*faults: Placed, orders: Sequence[tuple[float, Ordered]] = ()) -> Simulation:
    servers = {"": Server(replicas=2, slots=2)}
    found = simulate(
        MADE, schedule=Schedule(3, faults), servers=servers, orders=orders, replay=False
    )
    assert not found.violations, found.told()
    assert found.result is not None
    assert isinstance(found.result.outcome, Finished | Passed)
    ends = [one.event.outcome for one in found.events if isinstance(one.event, NodeEnded)]
    assert "failed" not in ends
    return found


def sent(events: Sequence[Stamped], since: float, until: float) -> list[str]:
    """The replicas of the tries that were sent between these times."""
    began = events[0].time
    calls = [(one.time - began, one.event) for one in events if isinstance(one.event, CallIntended)]
    return [event.replica for at, event in calls if since < at < until]


def test_a_drained_replica_gets_nothing_until_it_is_taken_back() -> None:
    orders = [(20.0, Ordered(DRAIN, replica=ONE)), (60.0, Ordered(UNDRAIN, replica=ONE))]
    events = play(orders=orders).events
    assert set(sent(events, 0, 19)) == {ONE, TWO}
    assert set(sent(events, 22, 59)) == {TWO}
    assert ONE in sent(events, 62, LASTS_S)
    assert not any(isinstance(one.event, CallFailed) for one in events)


def test_with_all_replicas_drained_calls_wait_and_say_so() -> None:
    orders = [
        (20.0, Ordered(DRAIN, replica="simulated:m")),
        (60.0, Ordered(UNDRAIN, replica="simulated:m")),
    ]
    events = play(orders=orders).events
    assert sent(events, 22, 59) == []
    assert sent(events, 61, LASTS_S)
    places = Fleet(random.Random(0))
    places.add("m", [Replica("r", "m", Endpoint("openai", "m"), "http://m", "m", 1)])
    places.drain("r")
    assert places.why("m", 0.0) == "drained"


def test_a_replica_stays_drained_in_the_next_life() -> None:
    orders = [(20.0, Ordered(DRAIN, replica=ONE))]
    found = play(Placed(Crash(), 30.0), orders=orders)
    assert found.lives == 2
    assert set(sent(found.events, 22, LASTS_S)) == {TWO}


def test_a_replica_that_goes_is_asked_for_its_health_and_used_again_once_it_is_well() -> None:
    events = play(Placed(Outage(60.0), 20.0, ONE)).events
    failed = [one.event for one in events if isinstance(one.event, CallFailed)]
    assert 0 < len(failed) <= 4, "what was in the air, and perhaps who found out"
    assert set(sent(events, 24, 79)) == {TWO}
    assert ONE in sent(events, 81, 81 + 20)


@pytest.mark.parametrize("fault", [Cut(), Broken(), Quota()])
def test_calls_that_fail_at_one_replica_go_to_the_other(fault: Fault) -> None:
    events = play(Placed(fault, 20.0, ONE, share=1.0)).events
    tries = [one.event for one in events if isinstance(one.event, CallFailed)]
    assert tries
    assert len(tries) < 40, "it is taken out, and probed now and then"
    assert sent(events, 60, LASTS_S).count(TWO) > 4 * sent(events, 60, LASTS_S).count(ONE)


def test_a_replica_is_named_with_or_without_its_model_and_its_slot() -> None:
    one = Replica("m@local:81/2", "m", Endpoint("local", "tiny"), "http://x", "tiny", 1)
    assert all(is_named(one, name) for name in ("m@local:81/2", "local:81/2", "local:81"))
    assert not is_named(one, "local:8")


@dataclass
class Late:
    """A client of two endpoints, one of which is there from 100 s on."""

    there: list[Replica]
    probes: int = 0

    async def probe(self, model: Model) -> tuple[Replica, ...]:
        self.probes += 1
        return tuple(self.there[: 1 if self.leaves_out(model) else 2])

    async def send(self, call: ModelCall, replica: Replica, request_id: str) -> ModelReply:
        raise AssertionError("nothing is sent here")

    def leaves_out(self, model: Model) -> bool:
        return anyio.current_time() < 100.0


def test_an_endpoint_that_was_not_there_at_first_serves_once_it_is() -> None:
    places = [Endpoint("openai", "m", f"http://h{number}") for number in range(2)]
    model = Model("m", tuple(places))
    late = Late(
        [Replica(f"m@h{i}", "m", at, at.name, "m", 4, context=8000) for i, at in enumerate(places)]
    )

    async def wait() -> float:
        opened = door(Ledger(), random.Random(0))
        access = await opened.open(late, {"m": model}, lambda said: None)
        assert opened.admission.fleet.replicas(("m",)) == late.there[:1]
        await opened.rejoin(access, {"m": model}, anyio.CancelScope())
        assert opened.admission.fleet.replicas(("m",)) == late.there
        return anyio.current_time()

    assert in_virtual_time(wait) == 120.0
    assert late.probes == 5


def test_a_server_that_was_down_has_nothing_in_its_cache() -> None:
    fleet, one = (
        Fleet(random.Random(0)),
        Replica("r", "m", Endpoint("openai", "m"), "http://m", "m", 1),
    )
    fleet.add("m", [one])
    before = fleet.cache_of(one)
    fleet.answered(one, 0.0)
    for now in (1.0, 2.0):
        fleet.failed(one, CallError("unreachable", "refused"), now)
    assert fleet.cache_of(one) == before + 1
