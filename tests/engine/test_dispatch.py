"""The promises of the path of a call, against a scripted fleet on virtual time."""

import random
from dataclasses import replace

import anyio
import pytest
import trio.testing

from podium.dsl.model import Limits
from podium.engine.call import (
    BudgetExhausted,
    CallError,
    Interrupted,
    ModelCall,
    ModelReply,
    Replica,
    Reply,
    Usage,
    VerifierBroken,
    VerifierCall,
    VerifierReply,
)
from podium.engine.event import CallAnswered, CallIntended, CallWaits
from podium.engine.journal import Diverged
from podium.engine.ledger import Amount, Limit
from podium.engine.value import Verdict

from .doors import (
    ENDPOINT,
    Bench,
    Server,
    answer,
    ask,
    asked_for_nothing,
    judge,
    outcomes,
    run_of,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


# --- field case 1: siblings count together, at every ancestor -------------------------------------


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("limited", [{"team"}, {"run"}, {"top"}, {"team", "run"}])
async def test_siblings_share_what_their_ancestors_may_spend(seed: int, limited: set[str]) -> None:
    release = anyio.Event()

    async def script(call: ModelCall, number: int) -> ModelReply:
        await release.wait()
        return answer(100)

    def limit(name: str) -> Limit:
        return Limit(usd=500 if name in limited else None)

    tree = {
        "top": (None, limit("top")),
        "run": ("top", limit("run")),
        "team": ("run", limit("team")),
    }
    bench = Bench(Server(script), tree, seed=seed)

    async def open_up() -> None:
        await anyio.sleep(1)
        assert len(bench.server.starts) == 5
        release.set()

    found: dict[str, Reply | Exception] = {}
    async with anyio.create_task_group() as group:
        group.start_soon(open_up)
        found = await outcomes(bench, [ask(f"a/{i}", 100, "team") for i in range(8)])
    refused = [value for value in found.values() if isinstance(value, BudgetExhausted)]
    assert len(bench.server.starts) == 5
    assert len(refused) == 3
    assert {error.account for error in refused} <= limited
    assert {error.dimension for error in refused} == {"usd"}
    await bench.end()


@pytest.mark.parametrize("seed", range(10))
async def test_siblings_start_as_settled_holds_free_money(seed: int) -> None:
    async def script(call: ModelCall, number: int) -> ModelReply:
        await anyio.sleep(number + 1)
        return answer(10)

    bench = Bench(Server(script), run_of(Limit(usd=500)), seed=seed)
    found = await outcomes(bench, [ask(f"a/{i}", 100) for i in range(8)])
    assert all(isinstance(value, ModelReply) for value in found.values())
    # Spent 10 of each settled one: the next hold of 100 fits when two have settled, then one each.
    assert [when for when, _ in bench.server.starts] == [0, 0, 0, 0, 0, 2, 3, 4]
    await bench.end()


# --- field case 2 -------------------------------------------------------------------------------


async def test_outstanding_holds_are_part_of_the_comparison() -> None:
    async def script(call: ModelCall, number: int) -> ModelReply:
        await anyio.sleep(1)
        return answer(2)

    bench = Bench(Server(script), run_of(Limit(usd=500)))
    bench.ledger.charge("run", Amount(usd=475))
    found = await outcomes(bench, [ask(f"a/{i}", 9) for i in range(4)])
    assert all(isinstance(value, ModelReply) for value in found.values())
    assert [when for when, _ in bench.server.starts] == [0, 0, 1, 1]
    assert bench.ledger.accounts["run"].spent.usd == 475 + 4 * 2
    assert [e.why for e in bench.events() if isinstance(e, CallWaits)] == ["budget", "budget"]


# --- field case 5 -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
async def test_calls_of_varying_cost_never_pass_the_budget(seed: int) -> None:
    costs = random.Random(seed)

    async def script(call: ModelCall, number: int) -> ModelReply:
        await anyio.sleep(costs.random())
        return answer(costs.choice([1, 100]))

    bench = Bench(Server(script), run_of(Limit(usd=500)), inflight=50, seed=seed)
    found = await outcomes(bench, [ask(f"a/{i}", 100) for i in range(100)])
    assert bench.ledger.accounts["run"].spent.usd <= 500
    assert any(isinstance(value, BudgetExhausted) for value in found.values())
    await bench.end()


# --- field case 10 ------------------------------------------------------------------------------


async def test_every_try_is_in_the_books() -> None:
    async def script(call: ModelCall, number: int) -> ModelReply:
        if number < 2:
            usage = Usage(input=500, output=500)
            raise CallError("protocol", "no JSON", maybe_paid=True, usage=usage)
        return ModelReply("yes", "stop", Usage(input=500, output=500))

    bench = Bench(Server(script), run_of(Limit()))
    await bench.call(ask("a", 1000, text="x" * 500))
    assert bench.ledger.accounts["run"].spent == Amount(usd=1500, tokens=3000, calls=3)
    events = bench.events()
    assert sum(isinstance(e, CallIntended) for e in events) == 3
    assert sum(isinstance(e, CallAnswered) for e in events) == 1
    assert len(set(bench.server.ids)) == 3
    await bench.end()


# --- rates --------------------------------------------------------------------------------------


async def test_rates_of_a_model_are_kept() -> None:
    async def script(call: ModelCall, number: int) -> ModelReply:
        return answer(1)

    bench = Bench(Server(script), run_of(Limit()))
    bench.fleet.add(
        "m",
        [Replica("r", "m", ENDPOINT, "http://fake", "m", 100)],
        Limits(calls=(10, 60.0)),
    )
    await outcomes(bench, [ask(f"a/{i}", 9) for i in range(35)])
    times = [when for when, _ in bench.server.starts]
    for i in range(25):
        assert times[i + 10] - times[i] >= 60
    assert times[-1] == 180
    await bench.end()


# --- verifiers ----------------------------------------------------------------------------------


async def test_the_same_content_is_judged_once_whoever_asks() -> None:
    asked: list[str] = []

    async def verify(call: VerifierCall) -> Verdict:
        asked.append(call.text)
        await anyio.sleep(1)
        return Verdict(float(len(call.text)), True)

    bench = Bench(Server(asked_for_nothing), run_of(Limit(calls=0)), verify=verify)
    async with anyio.create_task_group() as group:
        for i in range(10):
            group.start_soon(bench.do, judge(f"a/{i}", "x" * (1 + i % 2)))
    assert sorted(asked) == ["x", "xx"]
    assert await bench.call(judge("late", "xx")) == VerifierReply(Verdict(2.0, True))
    assert len(asked) == 2
    await bench.end()
    again = Bench(
        Server(asked_for_nothing), run_of(Limit(calls=0)), verify=verify, store=bench.store
    )
    assert await again.call(judge("other", "x")) == VerifierReply(Verdict(1.0, True))
    assert len(asked) == 2


async def test_a_judge_that_is_cancelled_hands_over() -> None:
    asked: list[str] = []

    async def verify(call: VerifierCall) -> Verdict:
        asked.append(call.address)
        await anyio.sleep(10)
        return Verdict(1.0, True)

    bench = Bench(Server(asked_for_nothing), run_of(Limit()), verify=verify)

    async def impatient() -> None:
        with anyio.move_on_after(5):
            await bench.call(judge("a"))

    async with anyio.create_task_group() as group:
        group.start_soon(impatient)
        await anyio.sleep(1)
        group.start_soon(bench.do, judge("b"))
    assert asked == ["a", "b"]
    assert anyio.current_time() == 15
    await bench.end()


async def test_a_verifier_has_a_pool_of_its_own() -> None:
    running, most = 0, 0

    async def verify(call: VerifierCall) -> Verdict:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await anyio.sleep(1)
        running -= 1
        return Verdict(1.0, True)

    bench = Bench(Server(asked_for_nothing), run_of(Limit(usd=0)), verify=verify)
    verifier = replace(judge("a").verifier, inflight=3)
    async with anyio.create_task_group() as group:
        for i in range(9):
            group.start_soon(bench.do, replace(judge(f"a/{i}", str(i)), verifier=verifier))
    assert most == 3
    assert anyio.current_time() == 3
    await bench.end()


async def test_a_verifier_that_errs_once_is_asked_again() -> None:
    asked: list[str] = []

    async def verify(call: VerifierCall) -> Verdict:
        asked.append(call.address)
        if len(asked) % 2:
            raise CallError("verifier", "it broke")
        return Verdict(1.0, True)

    bench = Bench(Server(asked_for_nothing), run_of(Limit()), verify=verify)
    for i in range(5):
        assert isinstance(await bench.call(judge(f"a/{i}", str(i))), VerifierReply)
    assert len(asked) == 10
    await bench.end()


async def test_a_verifier_that_errs_three_times_running_pauses_the_run() -> None:
    async def verify(call: VerifierCall) -> Verdict:
        return Verdict(float("nan"), None)

    bench = Bench(Server(asked_for_nothing), run_of(Limit()), verify=verify)
    with pytest.raises(CallError, match="not a finite number"):
        await bench.call(judge("a", "1"))
    with pytest.raises(VerifierBroken):
        await bench.call(judge("b", "2"))
    assert bench.gate.cause == "verifier"
    with pytest.raises(Interrupted):
        await bench.call(judge("c", "3"))
    await bench.end()


# --- look-up ------------------------------------------------------------------------------------


async def test_an_answered_call_is_free_in_every_later_life() -> None:
    async def script(call: ModelCall, number: int) -> ModelReply:
        return answer(5, text=call.address)

    bench = Bench(Server(script), run_of(Limit()))
    first = [await bench.call(ask(f"a/{i}", 9)) for i in range(3)]
    spent = bench.ledger.accounts["run"].spent
    await bench.end()
    for _ in range(2):
        bench = Bench(Server(asked_for_nothing), run_of(Limit()), store=bench.store)
        assert [await bench.call(ask(f"a/{i}", 9)) for i in range(3)] == first
        assert bench.ledger.accounts["run"].spent == spent
        with pytest.raises(Diverged, match="at a/0"):
            await bench.call(ask("a/0", 9, text="something else"))
        await bench.end()


async def test_restoring_into_a_ledger_that_saw_the_life_changes_nothing() -> None:
    async def script(call: ModelCall, number: int) -> ModelReply:
        return answer(5 if number else 500)

    tree = {"top": (None, Limit()), "run": ("top", Limit()), "run/a": ("run", Limit())}
    bench = Bench(Server(script), tree)
    bench.ledger.open("other", Limit(), "top")
    bench.ledger.charge("other", Amount(usd=7))
    await bench.call(ask("a", 9, "run/a"))
    before = {name: (a.spent, a.overrun) for name, a in bench.ledger.accounts.items()}
    bench.journal.restore(bench.ledger)
    assert {name: (a.spent, a.overrun) for name, a in bench.ledger.accounts.items()} == before
    assert before["top"][0].usd == 507
    assert before["run"][1].usd == 491


# --- fairness and order --------------------------------------------------------------------------


async def test_a_team_that_was_served_less_goes_first() -> None:
    async def script(call: ModelCall, number: int) -> ModelReply:
        await anyio.sleep(1)
        return ModelReply("yes", "stop", Usage(input=270, output=10))

    bench = Bench(Server(script), run_of(Limit()), inflight=1)

    async def many(team: str, count: int) -> None:
        async with anyio.create_task_group() as group:
            for i in range(count):
                group.start_soon(bench.do, ask(f"{team}/{i}", 10))

    async with anyio.create_task_group() as group:
        group.start_soon(many, "big", 20)
        await anyio.sleep(5.5)
        group.start_soon(many, "small", 4)
    order = [address.split("/")[0] for _, address in bench.server.starts]
    # The newcomer alternates with the team that was there; it neither starves nor takes over.
    assert order[6:14].count("small") == 4
    assert order[6:10].count("small") == 2
    await bench.end()


async def test_a_large_call_is_not_overtaken_by_small_ones() -> None:
    async def script(call: ModelCall, number: int) -> ModelReply:
        await anyio.sleep(1)
        return answer(1)

    bench = Bench(Server(script), run_of(Limit(usd=100)))

    async def stream() -> None:
        for i in range(20):
            group.start_soon(bench.do, ask(f"small/{i}", 30))
            await anyio.sleep(0.4)

    async with anyio.create_task_group() as group:
        group.start_soon(stream)
        await anyio.sleep(0.5)
        group.start_soon(bench.do, ask("large", 70))
    position = [address for _, address in bench.server.starts].index("large")
    assert position <= 4
    await bench.end()


async def test_a_thousand_waiting_calls_end_in_order_of_arrival() -> None:
    async def script(call: ModelCall, number: int) -> ModelReply:
        await anyio.sleep(1)
        return answer(1)

    bench = Bench(Server(script), run_of(Limit(usd=1500)), inflight=40)
    async with anyio.create_task_group() as group:
        for i in range(1000):
            group.start_soon(bench.do, ask(f"a/{i}", 50))
    assert bench.ledger.accounts["run"].spent.usd == 1000
    await bench.end()


async def test_a_call_that_does_not_fit_by_its_bytes_is_counted_by_its_server() -> None:
    class Counts(Server):
        async def count(self, call: ModelCall, replica: Replica) -> int | None:
            return 100 if call.address == "a/c1" else None

    async def script(call: ModelCall, number: int) -> ModelReply:
        return ModelReply("yes", "stop", Usage(input=110, output=5))

    bench = Bench(Counts(script), run_of(Limit(tokens=300)))
    with anyio.fail_after(100):
        assert isinstance(await bench.call(ask("a/c1", 100, text="word " * 100)), ModelReply)
        with pytest.raises(BudgetExhausted):
            await bench.call(ask("b/c1", 100, text="word " * 100))
    assert len(bench.server.starts) == 1
    assert bench.ledger.accounts["run"].spent.tokens == 115
    await bench.end()
