"""One call reads a long prompt first; those that begin as it does follow, without deadlock or delay in vain."""

import random
from dataclasses import replace
from functools import partial

import anyio
import pytest
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.dsl.model import Endpoint, Model
from podium.dsl.program import Budget, Program, Task
from podium.engine import Engine
from podium.engine.admit import Admission, Grant, Queue, Waiting, admit
from podium.engine.call import CallError, Message, ModelCall, Replica
from podium.engine.fleet import Fleet
from podium.engine.leading import BLOCK, HANDS, LONG, LONGEST_S, WARM_S, marks_of
from podium.engine.ledger import NOTHING, Amount, Ledger, Limit
from podium.engine.store import Store
from podium.engine.testing import Server, SimulatedFleet, Speech, in_virtual_time
from podium.engine.testing.handmade import agent, parallel, program, reduce_by, team, then
from podium.engine.testing.server import Answer, FakeServer, Seen

pytestmark = pytest.mark.anyio

SHARED = random.Random(0).randbytes(4 * LONG * BLOCK).hex()
MODEL = Model("m", (Endpoint("openai", "m", "http://m"),))


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


def call(number: int, shared: str = SHARED, urgency: int = 0) -> ModelCall:
    task = Message("user", "The task."), Message("assistant", "I see.")
    messages = (Message("system", shared), *task, Message("user", f"You are #{number}."))
    return ModelCall(f"run/{number}.agent/c1", "run", "m", messages, 100, urgency=urgency)


def queue(replicas: int = 1, inflight: int = 8, *, tells: bool = True) -> Queue:
    ledger, fleet = Ledger(), Fleet(random.Random(0))
    ledger.open("run", Limit())
    endpoint = Endpoint("openai", "m", "http://m")
    found = [
        Replica(f"m@h{i}", "m", endpoint, f"http://h{i}", "m", inflight) for i in range(replicas)
    ]
    fleet.add("m", found, tells_begun=tells)
    return Queue(ledger, fleet)


def arrive(among: Queue, *calls: ModelCall) -> list[Waiting]:
    return [among.arrive(one, Amount(0, 100, 1)) for one in calls]


def grants(decided: list[Waiting]) -> list[Grant]:
    return [one.outcome for one in decided if isinstance(one.outcome, Grant)]


def go_on(among: Queue, grant: Grant, now: float) -> list[Grant]:
    """What goes once grant's prompt was read."""
    assert grant.lead is not None
    among.go_on(among.leads.read(grant.lead, now))
    return grants(admit(among, now))


def test_those_that_begin_alike_follow_the_first_and_hold_nothing() -> None:
    among = queue()
    arrive(among, *map(call, range(6)))
    [first] = grants(admit(among, 0.0))
    assert among.ledger.accounts["run"].held.calls == 1
    assert len(go_on(among, first, 1.0)) == 5
    arrive(among, call(7))
    assert len(grants(admit(among, 2.0))) == 1, "what was read is in the cache"


def test_another_prompt_a_short_one_and_an_urgent_call_wait_for_nobody() -> None:
    among = queue()
    arrive(among, call(0), call(1, SHARED[::-1]), call(2, "short"), call(3, urgency=1))
    assert len(grants(admit(among, 0.0))) == 4
    silent = queue(tells=False)
    arrive(silent, *map(call, range(3)))
    assert len(grants(admit(silent, 0.0))) == 3, "nobody would say when it was read"


def test_a_later_round_follows_for_what_is_new_in_it() -> None:
    among = queue()
    arrive(among, call(0))
    [first] = grants(admit(among, 0.0))
    go_on(among, first, 1.0)
    board = SHARED + SHARED[::-1]
    arrive(among, *(call(i, board) for i in range(1, 4)))
    [leader] = grants(admit(among, 1.0))
    assert leader.lead is not None
    assert len(leader.lead.blocks) < len(marks_of(call(1, board)))
    assert len(go_on(among, leader, 2.0)) == 2


def test_there_is_a_leader_for_each_replica() -> None:
    among = queue(replicas=2, inflight=4)
    arrive(among, *map(call, range(8)))
    decided = grants(admit(among, 0.0))
    assert len(decided) == 1
    led = go_on(among, decided[0], 1.0)
    others = [one for one in led if one.replica != decided[0].replica]
    assert [one.lead is not None for one in others] == [True]
    assert len(go_on(among, others[0], 2.0)) == 8 - 1 - len(led)


def test_a_leader_that_ends_unread_hands_on_and_not_for_ever() -> None:
    among, ended = queue(), 0
    arrive(among, *map(call, range(12)))
    decided = grants(admit(among, 0.0))
    while len(decided) == 1:
        ended += 1
        among.freed(decided[0])
        decided = grants(admit(among, float(ended)))
    assert ended == HANDS
    assert len(decided) == 8, "as many as there are slots"


def test_a_leader_that_hangs_is_not_waited_for_long() -> None:
    among = queue()
    arrive(among, *map(call, range(4)))
    assert len(grants(admit(among, 3.0))) == 1
    assert among.wake_at(3.0) == 3.0 + LONGEST_S
    # The next one of them leads, as the first one's cache may never come.
    assert len(grants(admit(among, 3.0 + LONGEST_S))) == 1


def test_a_cache_is_cold_again_after_a_while() -> None:
    among = queue()
    arrive(among, call(0))
    [first] = grants(admit(among, 0.0))
    go_on(among, first, 0.0)
    arrive(among, call(1), call(2))
    assert len(grants(admit(among, 2 * WARM_S))) == 1


def test_what_another_account_reads_is_not_to_be_found_out_by_waiting() -> None:
    assert not set(marks_of(call(1), "one")) & set(marks_of(call(1), "other"))


def test_a_follower_that_gave_up_is_not_sent() -> None:
    among = queue()
    waiting = arrive(among, *map(call, range(3)))
    [first] = grants(admit(among, 0.0))
    among.withdraw(waiting[1])
    assert [one.waiting for one in go_on(among, first, 1.0)] == [waiting[2]]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(["ends", "fails", "is cancelled"]), min_size=2, max_size=12),
    st.integers(1, 3),
    st.integers(1, 4),
)
def test_whatever_becomes_of_leaders_every_call_ends(
    fates: list[str], replicas: int, slots: int
) -> None:
    assert in_virtual_time(partial(_all_end, fates, replicas, slots)) == len(fates)


async def _all_end(fates: list[str], replicas: int, slots: int) -> int:
    servers = SimulatedFleet(
        lambda _: Speech("x" * 400), {"": Server(replicas=replicas, slots=slots)}
    )
    ledger, fleet, ended = Ledger(), Fleet(random.Random(0)), 0
    ledger.open("run", Limit(calls=len(fates)))
    fleet.add("m", await servers.probe(MODEL), tells_begun=True)
    door = Admission(ledger, fleet)

    async def one(number: int, fate: str) -> None:
        nonlocal ended
        with anyio.CancelScope(
            deadline=anyio.current_time() + 0.1 * number if fate == "is cancelled" else 1e9
        ):
            grant = await door.enter(call(number), Amount(0, 0, 1), lambda why, seconds: None)
            assert grant.replica is not None
            try:
                if fate == "fails":
                    fleet.failed(grant.replica, CallError("server", "500"), anyio.current_time())
                else:
                    await servers.send(call(number), grant.replica, str(number))
                    fleet.answered(grant.replica, anyio.current_time())
            finally:
                grant.leave()
                grant.settle(NOTHING)
        ended += 1

    async with anyio.create_task_group() as tasks:
        for number, fate in enumerate(fates):
            tasks.start_soon(one, number, fate)
    assert ledger.accounts["run"].held == NOTHING
    return ended


def test_what_a_whole_team_waits_for_is_urgent_and_what_is_near_its_end() -> None:
    def urgencies(seconds: float) -> dict[str, int]:
        seen: list[ModelCall] = []

        def speak(one: ModelCall) -> Speech:
            seen.append(one)
            return Speech("4")

        made = replace(program(team(3, rounds=1)), budget=Budget(seconds=seconds))
        in_virtual_time(partial(_run, made, SimulatedFleet(speak)))
        return {one.address.rpartition("/r1.")[2]: one.urgency for one in seen}

    assert urgencies(600.0) == {"m1/c1": 0, "m2/c1": 0, "m3/c1": 0, "answer/c1": 1}
    assert set(urgencies(20.0).values()) == {1}


async def _run(made: Program, servers: SimulatedFleet) -> None:
    async with Engine(Store.memory(), client=servers, environ={}, inline=True) as opened:
        await (await opened.start(made)).result()


def test_a_real_client_says_when_a_reply_begins() -> None:
    came: list[float] = []

    def script(seen: Seen) -> Answer:
        came.append(anyio.current_time())
        return Answer("yes", delay_s=0.2)

    async def ask() -> None:
        async with FakeServer(script) as fake:
            place = Endpoint("openai", "", fake.url)
            task = Task("long", SHARED)
            made = replace(
                program(then(parallel(4, agent()), reduce_by("vote")), task),
                models={"m": Model("m", (place,), context=100_000)},
            )
            async with Engine(Store.memory(), environ={}, inline=True) as opened:
                await (await opened.start(made)).result()

    anyio.run(ask)
    assert len(came) == 4
    assert came[1] - came[0] > 0.19
    assert came[3] - came[1] < 0.19
