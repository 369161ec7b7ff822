"""Money, slot and replica together or not at all: no deadlock, nothing lost, nothing held while waiting."""

import random
from collections import Counter
from dataclasses import dataclass, field, replace

import anyio
import pytest
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.dsl.model import Endpoint
from podium.dsl.program import Task, Verifier
from podium.engine.admit import MOVES, Admission, Grant, Queue, Waiting, admit
from podium.engine.call import (
    BudgetExhausted,
    CallError,
    Message,
    ModelCall,
    Replica,
    VerifierCall,
)
from podium.engine.fleet import Fleet
from podium.engine.ledger import NOTHING, Amount, Hold, Ledger, Limit

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


def call(address: str, model: str = "m", account: str = "run") -> ModelCall:
    return ModelCall(address, account, model, (Message("user", "go"),), 10)


def fleet(**inflight: int) -> Fleet:
    made = Fleet(random.Random(0))
    for model, slots in inflight.items():
        at = f"http://{model}"
        made.add(model, [Replica(model, model, Endpoint("openai", model, at), at, model, slots)])
    return made


async def test_the_pool_of_a_verifier_lasts_as_long_as_somebody_is_there() -> None:
    ledger = Ledger()
    ledger.open("run", Limit())
    queue = Queue(ledger, fleet(m=1))
    pools: set[int] = set()
    for number in range(3):
        verifier = Verifier("exact", "exact", {"expected": str(number)}, inflight=1)
        judged = [
            VerifierCall(f"a/{i}/v.exact", "run", verifier, Task("t", ""), "", "") for i in range(3)
        ]
        waiting = [queue.arrive(one, None) for one in judged]
        [first] = admit(queue, 0.0)
        pools.add(len(queue.pools))
        queue.withdraw(waiting[2])
        assert isinstance(first.outcome, Grant)
        queue.freed(first.outcome)
        [second] = admit(queue, 0.0)
        assert isinstance(second.outcome, Grant)
        queue.freed(second.outcome)
        assert admit(queue, 0.0) == []
    assert pools == {1}
    assert not queue.pools
    assert not queue.judges
    assert not queue.judging


async def test_where_all_replicas_are_full_a_slot_goes_to_a_call_that_was_there() -> None:
    ledger, made = Ledger(), Fleet(random.Random(0))
    ledger.open("run", Limit())
    urls = ("http://a", "http://b")
    made.add("m", [Replica(at, "m", Endpoint("openai", "m", at), at, "m", 1) for at in urls])
    queue = Queue(ledger, made)

    def sent(group: str, turn: int) -> Waiting:
        return queue.arrive(replace(call(f"run/{group}/t{turn}"), group=group), None)

    def at(waiting: Waiting) -> Replica | None:
        assert isinstance(waiting.outcome, Grant)
        return waiting.outcome.replica

    one, other = sent("one", 1), sent("other", 1)
    assert admit(queue, 0.0) == [one, other]
    other_again, one_again = sent("other", 2), sent("one", 2)
    assert admit(queue, 0.0) == []
    for ended, goes in ((one, one_again), (other, other_again)):
        home = at(ended)
        assert isinstance(ended.outcome, Grant)
        queue.freed(ended.outcome)
        assert admit(queue, 0.0) == [goes]
        assert at(goes) == home


# --- the pure part, under every order of events ------------------------------------------------------

ACCOUNTS = ["run", "left", "right", "deep"]


@dataclass
class World:
    queue: Queue
    slots: dict[str, int]
    granted: list[Grant] = field(default_factory=list[Grant])
    waiting: list[Waiting] = field(default_factory=list[Waiting])
    running: Counter[str] = field(default_factory=Counter[str])

    def turn(self) -> None:
        for one in admit(self.queue, 0.0):
            self.waiting.remove(one)
            if isinstance(one.outcome, Grant):
                self.granted.append(one.outcome)
                self.running[one.pool] += 1
            else:
                assert isinstance(one.outcome, BudgetExhausted)

    def check(self) -> None:
        held = sum(grant.hold.amount.usd for grant in self.granted if grant.hold)
        accounts = self.queue.ledger.accounts
        assert accounts["run"].held.usd == held
        for account in accounts.values():
            assert (
                account.limit.usd is None
                or account.spent.usd + account.held.usd <= account.limit.usd
            )
        assert all(self.running[model] <= slots for model, slots in self.slots.items())
        for one in self.waiting:
            in_line = any(one in line for line in self.queue.lines.values())
            assert in_line or not self.queue.has_place(one, 0.0), "a slot is idle"
        for name in list(self.queue.lines):
            if (head := self.queue.first(name)) is not None:
                self.check_head(name, head)

    def check_head(self, name: str, head: Waiting) -> None:
        """What stands at the head of a line lacks money there, or a settlement will wake the line."""
        assert head.amount is not None
        ledger = self.queue.ledger
        found = ledger.hold(head.account, head.amount)
        if isinstance(found, Hold):
            ledger.release(found)
            assert len(self.waiting) > MOVES
        assert ledger.accounts[name].held != NOTHING


steps = st.one_of(
    st.tuples(
        st.just("arrive"), st.sampled_from(ACCOUNTS), st.sampled_from("mn"), st.integers(1, 40)
    ),
    st.tuples(st.just("settle"), st.integers(0, 99), st.integers(0, 100), st.booleans()),
    st.tuples(st.just("withdraw"), st.integers(0, 99), st.just(0), st.just(0)),
)


@settings(deadline=None, max_examples=150)
@given(
    st.lists(steps, max_size=60),
    st.tuples(*[st.none() | st.integers(30, 200)] * 4),
    st.tuples(st.integers(1, 4), st.integers(1, 4)),
)
def test_every_call_goes_or_is_refused_whatever_the_order(
    events: list[tuple[str, str | int, str | int, int | bool]],
    limits: tuple[int | None, ...],
    slots: tuple[int, int],
) -> None:
    ledger = Ledger()
    for name, parent, limit in zip(ACCOUNTS, [None, "run", "run", "left"], limits, strict=True):
        ledger.open(name, Limit(usd=limit), parent)
    places = {"m": slots[0], "n": slots[1]}
    world = World(Queue(ledger, fleet(**places)), places)
    for number, event in enumerate(events):
        match event:
            case ("arrive", str(account), str(model), int(usd)):
                arrived = call(f"{usd % 3}/{number}", model, account)
                world.waiting.append(world.queue.arrive(arrived, Amount(usd=usd, tokens=usd)))
            case ("settle", int(index), int(share), bool(late)) if world.granted:
                end(world, world.granted[index % len(world.granted)], share, late)
            case ("withdraw", int(index), _, _) if world.waiting:
                world.queue.withdraw(world.waiting.pop(index % len(world.waiting)))
            case _:
                continue
        world.turn()
        world.check()
    while world.granted:
        end(world, world.granted[0], 50, False)
        world.turn()
        world.check()
    assert not world.waiting
    assert all(account.held == NOTHING for account in ledger.accounts.values())


def end(world: World, grant: Grant, share: int, late: bool) -> None:
    """The call of grant ends; late: its slot comes back in a step of its own, before its money."""
    assert grant.hold is not None
    world.running[grant.waiting.pool] -= 1
    grant.leave()
    if late:
        world.turn()
    grant.settle(Amount(*(part * share // 100 for part in grant.hold.amount)))
    grant.leave()
    grant.settle(Amount(usd=10**6))
    world.granted.remove(grant)


# --- the door ---------------------------------------------------------------------------------------


def silent(why: str, seconds: float | None) -> None:
    pass


async def test_a_call_without_a_slot_holds_no_money_from_others() -> None:
    ledger = Ledger()
    ledger.open("run", Limit(usd=100))
    door = Admission(ledger, fleet(m=1, n=1))
    first = await door.enter(call("a"), Amount(usd=10), silent)
    async with anyio.create_task_group() as group:
        group.start_soon(door.enter, call("b"), Amount(usd=90), silent)
        await anyio.wait_all_tasks_blocked()
        other = await door.enter(call("c", "n"), Amount(usd=90), silent)
        assert ledger.accounts["run"].held.usd == 100
        other.leave()
        other.settle(NOTHING)
        first.leave()
        first.settle(Amount(usd=10))


async def test_a_wait_for_a_paused_model_does_not_hold_up_another_models_money() -> None:
    ledger = Ledger()
    ledger.open("run", Limit(usd=100))
    servers = fleet(m=5, n=5)
    door = Admission(ledger, servers)
    started: dict[str, float] = {}

    async def one(address: str, model: str) -> None:
        grant = await door.enter(call(address, model), Amount(usd=60), silent)
        started[address] = anyio.current_time()
        await anyio.sleep(1)
        grant.leave()
        grant.settle(NOTHING)

    probe = await door.enter(call("probe"), Amount(usd=60), silent)
    assert probe.replica is not None
    async with anyio.create_task_group() as group:
        for address, model in (("paused", "m"), ("other", "n")):
            group.start_soon(one, address, model)
            await anyio.wait_all_tasks_blocked()
        assert not started
        servers.failed(probe.replica, CallError("busy", "no", retry_after_s=100.0), 0.0)
        probe.leave()
        probe.settle(NOTHING)
    assert started["other"] == 0.0
    assert 100.0 <= started["paused"] <= 105.0


async def test_a_cancelled_wait_leaves_nothing_and_lets_the_next_one_go() -> None:
    ledger = Ledger()
    ledger.open("run", Limit(usd=100))
    door = Admission(ledger, fleet(m=9))
    holder = await door.enter(call("a"), Amount(usd=50), silent)
    reasons: list[str] = []
    granted: list[Grant] = []

    async def large() -> None:
        with anyio.move_on_after(5):
            await door.enter(call("b"), Amount(usd=80), lambda why, _: reasons.append(why))

    async def small() -> None:
        granted.append(
            await door.enter(call("c"), Amount(usd=50), lambda why, _: reasons.append(why))
        )
        assert anyio.current_time() == 5

    async with anyio.create_task_group() as group:
        group.start_soon(large)
        await anyio.wait_all_tasks_blocked()
        group.start_soon(small)
    assert reasons == ["budget", "budget"]
    for grant in (holder, *granted):
        grant.leave()
        grant.settle(NOTHING)
    assert ledger.accounts["run"].held == NOTHING


async def test_the_clock_is_watched_when_the_one_who_watched_it_gives_up() -> None:
    ledger = Ledger()
    ledger.open("run", Limit())
    servers = fleet(m=9)
    door = Admission(ledger, servers)
    grant = await door.enter(call("a"), Amount(), silent)
    assert grant.replica is not None
    servers.failed(grant.replica, CallError("busy", "no", retry_after_s=60.0), 0.0)
    grant.leave()

    async def patient() -> None:
        await door.enter(call("c"), Amount(), silent)
        assert 60 <= anyio.current_time() <= 65

    async with anyio.create_task_group() as group:
        with anyio.move_on_after(5):
            group.start_soon(patient)
            await door.enter(call("b"), Amount(), silent)


async def test_a_raised_limit_is_seen_when_the_door_is_poked() -> None:
    ledger = Ledger()
    account = ledger.open("run", Limit(usd=100))
    door = Admission(ledger, fleet(m=9))
    await door.enter(call("a"), Amount(usd=90), silent)
    async with anyio.create_task_group() as group:
        group.start_soon(door.enter, call("b"), Amount(usd=90), silent)
        await anyio.wait_all_tasks_blocked()
        account.limit = Limit(usd=200)
        door.poke()
    assert account.held.usd == 180
