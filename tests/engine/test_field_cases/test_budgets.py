"""Field cases of budgets: siblings, reserves, plans, batches, permits, loops.

Case | where it is looked at
1    | here, from the language; `test_dispatch`: at the door
2    | `test_dispatch.test_outstanding_holds_are_part_of_the_comparison`, `test_ledger`; on error and
     | cancel `test_dispatch.test_whatever_fails_or_is_cancelled_the_books_are_right`
3    | here: what a chief reads; `plan/test_promise`: least <= bill <= most over generated programs
4    | `agent/test_work.test_the_calls_of_a_reply_are_run_one_after_another_and_the_first_so_many_alone`,
     | `agent/test_calls.test_a_batch_is_counted_before_any_of_it_is_run`; a batch of branches is case 1
5    | here
6    | here
7    | here; by SIGKILL `test_kill`
"""

import itertools
import random

import anyio
import pytest

from podium.engine import Engine, Run
from podium.engine.admit import Admission, Grant
from podium.engine.call import Message, ModelCall, Replica, Usage
from podium.engine.event import Stamped
from podium.engine.fleet import Fleet
from podium.engine.ledger import NOTHING, Amount, Ledger, Limit
from podium.engine.outcome import Paused
from podium.engine.plan.plan import plan
from podium.engine.store import Store
from podium.engine.testing import Fail, Say
from podium.engine.testing.disk import simulated_disk

from .bench import (
    ENDPOINT,
    REAL,
    During,
    Played,
    Till,
    compiled,
    cost,
    failure,
    is_killed,
    over,
    play,
    team_file,
)

FEW, MANY = range(8), range(1000)
ORDERS = pytest.mark.parametrize(
    "seeds", [FEW, pytest.param(MANY, marks=pytest.mark.long, id="many")]
)
FIVE = "[$0.0005]"  # five worst cases of a hundred micro-dollars


# --- case 1 -----------------------------------------------------------------------------------------

# Where the limit is: on the flow, on the run, on the account above it, or on several of them.
PLACES = {
    "parent": ("parallel(8, budget = [$0.0005]) of one", "", None),
    "grandparent": ("parallel(8) of one", FIVE, None),
    "tenant": ("parallel(8) of one", "", FIVE),
    "parent and tenant": ("parallel(8, budget = [$0.0005]) of one", "[$0.00055]", FIVE),
    "cousins": ("parallel(2) of parallel(4) of one", FIVE, None),
    "shares": ("parallel(8, split = even, inflight = 3) of one", FIVE, None),
    "calls": ("parallel(8) of one", "[5 calls]", None),
}


@pytest.mark.parametrize("place", PLACES)
@ORDERS
def test_siblings_spend_no_more_together_than_there_is(seeds: range, place: str) -> None:
    flow, budget, tenant = PLACES[place]

    async def case(seed: int) -> None:
        chance = random.Random(seed)
        till = Till(lambda call, number: cost(100, delay=chance.choice((1.0, chance.random()))))
        played = await play(team_file(flow, budget=budget), till, tenant=tenant)
        assert len(till.seen) == 5
        ends = [end for address, end in played.ends().items() if address.endswith(".one")]
        assert ends.count("finished") == 5
        assert len(ends) == 8
        # The refused ones say whose budget it was, those that were not begun that it was not worth it.
        refused = {why for a, why in played.ends("exhausted").items() if a.endswith(".one")}
        assert all(why.partition(" budget of ")[2] for why in refused)

    over(seeds, case)


# --- case 3 -----------------------------------------------------------------------------------------


def test_a_plan_counts_what_is_read_of_ten_reports_by_who_sums_them_up() -> None:
    text = team_file(
        "team(members = [10 of one], rounds = 1)",
        cap=4000,
        more="context = 200k tokens",
        price=REAL,
    )
    planned = plan(compiled(text)).total
    # Ten reports and the summary are written; the ten are read once by who sums up.
    assert planned.tokens.most >= 11 * 4000 + 10 * 4000
    report = "yes " * 4000

    async def case(seed: int) -> None:
        till = Till(
            lambda call, number: Say(
                report, usage=Usage(input=len(call.messages[-1].content) // 4, output=4000)
            ),
            price=REAL,
            context=200_000,
        )
        played = await play(text, till)
        assert planned.tokens.least <= played.spent.tokens <= planned.tokens.most
        assert played.spent.tokens > 80_000

    over([0], case)


# --- case 5 -----------------------------------------------------------------------------------------


@ORDERS
def test_calls_of_very_different_cost_never_pass_a_budget_and_leave_no_room_for_another(
    seeds: range,
) -> None:
    async def case(seed: int) -> None:
        chance = random.Random(seed)

        def script(call: ModelCall, number: int) -> Say:
            return cost(chance.choice((1, 100)), delay=chance.random() * 5, text="no")

        till = Till(script, inflight=50)
        played = await play(team_file("parallel(100) of one", budget=FIVE), till)
        assert played.spent.usd <= 500
        if len(till.seen) < 100:  # it ended for want of money, not of thrift
            assert played.spent.usd + 100 > 500

    over(seeds[:200], case)


# --- case 6 -----------------------------------------------------------------------------------------

CALL = ModelCall("a", "child", "m", (Message("user", "go"),), 10)


@pytest.mark.parametrize("order", set(itertools.permutations(("leave", "settle") * 2)))
def test_a_permit_given_back_twice_is_given_back_once(order: tuple[str, ...]) -> None:
    """From two tasks, in every order, while others wait for the slot and for the money."""

    async def case(seed: int) -> None:
        ledger = Ledger()
        ledger.open("parent", Limit(usd=20))
        ledger.open("child", Limit(), "parent")
        fleet = Fleet(random.Random(seed))
        fleet.add("m", [Replica("r", "m", ENDPOINT, "http://fake", "m", 2)])
        admission = Admission(ledger, fleet)
        running, most = 0, 0

        async def one(first: bool) -> None:
            nonlocal running, most
            grant = await admission.enter(CALL, Amount(usd=10), lambda why, seconds: None)
            running += 1
            most = max(most, running)
            await anyio.sleep(1)
            running -= 1
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(back, grant, order[:2])
                tasks.start_soon(back, grant, order[2:])
            await back(grant, ("leave", "settle"))

        async def back(grant: Grant, how: tuple[str, ...]) -> None:
            for step in how:
                await anyio.lowlevel.checkpoint()
                grant.leave() if step == "leave" else grant.settle(Amount(usd=3))

        async with anyio.create_task_group() as tasks:
            for number in range(4):
                tasks.start_soon(one, number == 0)
        assert most == 2
        for account in ledger.accounts.values():
            assert (account.spent, account.held) == (Amount(usd=12), NOTHING)

    over(range(5), case)


@ORDERS
def test_a_parent_of_two_children_gets_its_permit_back_once_and_the_run_ends(seeds: range) -> None:
    async def case(seed: int) -> None:
        chance = random.Random(seed)

        def script(call: ModelCall, number: int) -> Say | Fail:
            if chance.random() < 0.2:
                return failure("server", delay=chance.choice((0.0, 1.0)))
            return cost(3, delay=chance.choice((0.0, 1.0, 1.0)))

        till = Till(script, inflight=chance.choice((1, 2)))
        text = team_file("parallel(2) of (parallel(2, inflight = 1) of one -> merge) -> merge")
        await play(text, till)
        assert till.most <= till.inflight

    over(seeds, case)


# --- case 7 -----------------------------------------------------------------------------------------

# Nothing passes, so that all rounds are made. What an answer costs follows from its address.
NEVER = 'verifier never = contains(["yes", "never"])'
LOOP = team_file(
    "one -> repeat(5, until = score >= 1) of mend", budget="[$0.002, 40 calls]", rest=NEVER
).replace('contains("yes")', "never")


def loop() -> Till:
    """A server at which the first try of every call fails."""
    met: set[str] = set()

    def script(call: ModelCall, number: int) -> Say | Fail:
        if call.address not in met:
            met.add(call.address)
            return failure("server")
        return cost(len(call.address))

    return Till(script)


def undisturbed() -> Played:
    found: list[Played] = []

    async def case(seed: int) -> None:
        found.append(await play(LOOP, loop()))

    over([0], case)
    return found[0]


def pausing(at: int) -> During:
    """Pauses the run when so many events of this life have happened."""

    async def during(engine: Engine, run: Run) -> None:
        left = at

        def seen(stamped: Stamped) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                run.pause()

        run.watchers.append(seen)
        await anyio.lowlevel.checkpoint()

    return during


@pytest.mark.parametrize("calls", range(1, 12))
def test_loops_and_retries_pass_the_one_admission(calls: int) -> None:
    async def case(seed: int) -> None:
        till = loop()
        played = await play(LOOP.replace("40 calls", f"{calls} calls"), till)
        assert len(till.seen) == played.spent.calls == calls
        assert played.ends()["main/2.repeat" if calls > 1 else "main/1.one"] == "exhausted"

    over([0], case)


def test_a_run_stopped_at_any_record_and_resumed_twice_costs_what_an_undisturbed_one_does() -> None:
    whole = undisturbed()
    assert whole.spent.calls == 12

    async def case(seed: int) -> None:
        store, till = Store.memory(anyio.current_time), loop()
        played = await play(LOOP, till, store=store, during=pausing(seed))
        for at in (2, 0):
            if isinstance(played.result.outcome, Paused):
                played = await play(LOOP, till, store=store, during=pausing(at))
        assert played.spent == whole.spent
        assert played.result.attempt == whole.result.attempt
        assert len(till.seen) == len(whole.till.seen)

    over(range(1, len(whole.events), 4), case)


def test_a_run_killed_at_every_commit_pays_again_only_what_was_in_flight() -> None:
    whole = undisturbed()

    async def case(seed: int) -> None:
        disk = simulated_disk()
        store, till = Store.memory(anyio.current_time, disk), loop()
        disk.dies_in = seed
        try:
            played = await play(LOOP, till, store=store)
        except BaseException as problem:
            if not is_killed(problem):
                raise
            disk.dies_in = None
            till.exact = False
            played = await play(LOOP, till, store=store)
        lost = [event for event in played.failed() if event.kind == "lost"]
        assert len(lost) <= 1
        assert len(till.seen) <= len(whole.till.seen) + len(lost)
        assert played.spent.calls <= whole.spent.calls + len(lost)

    over(range(1, 21, 2), case)
