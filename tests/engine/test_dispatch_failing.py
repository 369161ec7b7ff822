"""The path of a call where servers are busy, broken or gone, and where calls are cut off; on virtual time."""

import random

import anyio
import pytest
import trio.testing

from podium.engine.call import (
    BudgetExhausted,
    CallError,
    Interrupted,
    ModelCall,
    ModelReply,
    Outage,
    Reply,
    Usage,
    VerifierCall,
)
from podium.engine.event import CallAnswered, CallFailed, CallIntended
from podium.engine.ledger import NOTHING, Limit
from podium.engine.value import Verdict

from .doors import (
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


# --- field case 17 ------------------------------------------------------------------------------


@pytest.mark.parametrize(("asked", "paused"), [(30.0, 30.0), (0.0, 1.0), (1e9, 600.0)])
async def test_a_busy_endpoint_is_left_alone_by_everyone(asked: float, paused: float) -> None:
    async def script(call: ModelCall, number: int) -> ModelReply:
        await anyio.sleep(0.001)
        if number < 20:
            raise CallError("busy", "slow down", retry_after_s=asked)
        await anyio.sleep(1)
        return answer(1)

    bench = Bench(Server(script), run_of(Limit()), inflight=20)
    found = await outcomes(bench, [ask(f"a/{i}", 9) for i in range(50)])
    assert all(isinstance(value, ModelReply) for value in found.values())
    later = [when for when, _ in bench.server.starts[20:]]
    assert min(later) >= paused
    # Spread, not all at the same instant, and half as many at a time.
    assert len(set(later[:10])) == 10
    assert later[9] - later[0] > (1.5 if asked else 0.15)
    assert sum(when < later[0] + 1 for when in later) <= 10
    assert bench.server.most <= 20
    assert len(bench.server.starts) == 70
    await bench.end()


async def test_a_busy_endpoint_without_a_wish_is_left_alone_for_a_second() -> None:
    async def script(call: ModelCall, number: int) -> ModelReply:
        if number == 0:
            raise CallError("busy", "slow down")
        return answer(1)

    bench = Bench(Server(script), run_of(Limit()))
    await bench.call(ask("a", 9))
    assert 1 <= bench.server.starts[1][0] <= 1.5
    await bench.end()


# --- field case 18 ------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "tries"), [("busy", 8), ("server", 5), ("silent", 5)])
async def test_a_call_is_tried_so_often_and_no_more(kind: str, tries: int) -> None:
    async def script(call: ModelCall, number: int) -> ModelReply:
        raise CallError(kind, "no", maybe_paid=kind == "server")  # type: ignore[arg-type]  # a kind of failure

    bench = Bench(Server(script), run_of(Limit()))
    with pytest.raises(CallError, match="no"):
        await bench.call(ask("a", 9))
    assert len(bench.server.starts) == tries
    assert bench.ledger.accounts["run"].spent.calls == tries
    await bench.end()


@pytest.mark.parametrize("kind", ["request", "model", "overflow", "reply"])
async def test_a_hopeless_call_is_tried_once(kind: str) -> None:
    async def script(call: ModelCall, number: int) -> ModelReply:
        raise CallError(kind, "no")  # type: ignore[arg-type]  # a kind of failure

    bench = Bench(Server(script), run_of(Limit()))
    with pytest.raises(CallError, match="no"):
        await bench.call(ask("a", 9))
    assert len(bench.server.starts) == 1


@pytest.mark.parametrize("kind", ["quota", "credentials"])
async def test_an_empty_account_refuses_all_that_is_queued(kind: str) -> None:
    async def script(call: ModelCall, number: int) -> ModelReply:
        await anyio.sleep(1)
        raise CallError(kind, "no money")  # type: ignore[arg-type]  # a kind of failure

    bench = Bench(Server(script), run_of(Limit()), inflight=1)
    found = await outcomes(bench, [ask(f"a/{i}", 9) for i in range(10)])
    assert len(bench.server.starts) == 1
    assert {value.kind for value in found.values() if isinstance(value, CallError)} == {kind}
    assert len(found) == 10
    await bench.end()


# --- outage -------------------------------------------------------------------------------------


async def test_an_endpoint_that_never_answered_fails_at_once() -> None:
    async def script(call: ModelCall, number: int) -> ModelReply:
        raise CallError("unreachable", "refused")

    bench = Bench(Server(script), run_of(Limit()))
    found = await outcomes(bench, [ask(f"a/{i}", 9) for i in range(200)])
    assert all(isinstance(value, CallError) for value in found.values())
    assert len(bench.server.starts) <= 100
    assert anyio.current_time() == 0
    assert bench.ledger.accounts["run"].spent == NOTHING
    await bench.end()


@pytest.mark.parametrize("kind", ["unreachable", "server"])
async def test_an_endpoint_that_comes_back_costs_no_call(kind: str) -> None:
    async def script(call: ModelCall, number: int) -> ModelReply:
        await anyio.sleep(0.1)
        if 10 < anyio.current_time() < 900:
            raise CallError(kind, "down")  # type: ignore[arg-type]  # a kind of failure
        return answer(1)

    bench = Bench(Server(script), run_of(Limit()), inflight=10)
    await bench.call(ask("first", 9))
    await anyio.sleep(10)
    found = await outcomes(bench, [ask(f"a/{i}", 9) for i in range(40)])
    assert all(isinstance(value, ModelReply) for value in found.values())
    # One call at a time asks whether it is back, a minute apart in the end.
    assert len(bench.server.starts) < 150
    assert 900 <= anyio.current_time() < 1000
    await bench.end()


async def test_an_endpoint_that_stays_away_pauses_the_run() -> None:
    async def script(call: ModelCall, number: int) -> ModelReply:
        if anyio.current_time() > 10:
            raise CallError("unreachable", "refused")
        return answer(1)

    bench = Bench(Server(script), run_of(Limit()), inflight=10)
    await bench.call(ask("first", 9))
    await anyio.sleep(20)
    found = await outcomes(bench, [ask(f"a/{i}", 9) for i in range(40)])
    assert all(isinstance(value, Interrupted) for value in found.values())
    assert any(isinstance(value, Outage) for value in found.values())
    assert bench.gate.cause == "outage"
    assert anyio.current_time() == pytest.approx(20 + 1800, abs=90)
    await bench.end()


# --- cancellation, interruption ------------------------------------------------------------------


async def test_a_cancelled_call_is_charged_at_its_hold_and_leaves_nothing() -> None:
    async def script(call: ModelCall, number: int) -> ModelReply:
        await anyio.sleep_forever()
        raise AssertionError

    bench = Bench(Server(script), run_of(Limit(usd=100)), inflight=1)
    with anyio.move_on_after(5):
        await outcomes(bench, [ask(f"a/{i}", 9) for i in range(3)])
    assert len(bench.server.starts) == 1
    assert bench.ledger.accounts["run"].spent.usd == 9
    await bench.end()
    (failed,) = [e for e in bench.events() if isinstance(e, CallFailed)]
    assert (failed.kind, failed.estimated, failed.spent.usd) == ("cancelled", True, 9)


async def test_an_interrupted_run_lets_what_is_in_flight_end_and_sends_no_more() -> None:
    async def script(call: ModelCall, number: int) -> ModelReply:
        await anyio.sleep(10)
        return answer(1)

    bench = Bench(Server(script), run_of(Limit()), inflight=2)

    async def interrupt() -> None:
        await anyio.sleep(5)
        bench.gate.interrupt("user")

    found: dict[str, Reply | Exception] = {}
    async with anyio.create_task_group() as group:
        group.start_soon(interrupt)
        found = await outcomes(bench, [ask(f"a/{i}", 9) for i in range(6)])
    assert sum(isinstance(value, ModelReply) for value in found.values()) == 2
    assert sum(isinstance(value, Interrupted) for value in found.values()) == 4
    assert len(bench.server.starts) == 2
    await bench.end()


@pytest.mark.parametrize("seed", range(40))
async def test_whatever_fails_or_is_cancelled_the_books_are_right(seed: int) -> None:
    chance = random.Random(seed)
    kinds = ["busy", "server", "cut", "silent", "protocol", "request", "unreachable"]

    async def script(call: ModelCall, number: int) -> ModelReply:
        await anyio.sleep(chance.choice([0, 0.5, 3]))
        if number and chance.random() < 0.3:
            kind = chance.choice(kinds)
            paid = kind in ("server", "cut", "silent")
            raise CallError(kind, "no", maybe_paid=paid)  # type: ignore[arg-type]  # a kind of failure
        return answer(chance.randint(0, call.max_output))

    async def verify(call: VerifierCall) -> Verdict:
        await anyio.sleep(chance.random())
        if chance.random() < 0.1:
            raise CallError("verifier", "no")
        return Verdict(1.0, True)

    tree = {"run": (None, Limit(usd=chance.choice([None, 300]))), "run/a": ("run", Limit(usd=200))}
    bench = Bench(Server(script), tree, inflight=4, verify=verify, seed=seed)

    async def one(index: int) -> None:
        await anyio.sleep(chance.random() * 20)
        with anyio.move_on_after(chance.choice([0.2, 5, 1000])):
            try:
                await bench.call(
                    ask(f"a/{index}", chance.randint(1, 60), chance.choice(list(tree)))
                )
                await bench.call(judge(f"v/{index}", str(index % 7)))
            except (CallError, BudgetExhausted, Interrupted):
                pass

    with anyio.move_on_after(chance.choice([10, 10_000])):
        async with anyio.create_task_group() as group:
            for index in range(40):
                group.start_soon(one, index)
    await bench.end()
    intents = [e for e in bench.events() if isinstance(e, CallIntended)]
    ends = [e for e in bench.events() if isinstance(e, CallAnswered | CallFailed)]
    assert sorted((e.address, e.try_) for e in intents) == sorted((e.address, e.try_) for e in ends)
    before = bench.ledger.accounts["run"].spent
    again = Bench(Server(asked_for_nothing), tree, verify=verify, store=bench.store)
    assert again.ledger.accounts["run"].spent == before
    assert not any(e.kind == "lost" for e in again.events() if isinstance(e, CallFailed))


# --- overrun ------------------------------------------------------------------------------------


async def test_an_endpoint_that_exceeds_its_cap_gets_no_more() -> None:
    async def script(call: ModelCall, number: int) -> ModelReply:
        return answer(50_000)

    bench = Bench(Server(script), run_of(Limit(usd=100)))
    reply = await bench.call(ask("a", 9))
    assert isinstance(reply, ModelReply)
    assert bench.ledger.accounts["run"].overrun.usd == 50_000 - 9
    bench.ledger.accounts["run"].limit = Limit()
    with pytest.raises(CallError, match="used 50001 tokens"):
        await bench.call(ask("b", 9))
    assert len(bench.server.starts) == 1
    await bench.end()


async def test_a_reply_without_usage_is_charged_at_an_estimate_within_its_hold() -> None:
    async def script(call: ModelCall, number: int) -> ModelReply:
        return ModelReply("four", "stop", Usage())

    bench = Bench(Server(script), run_of(Limit()))
    reply = await bench.call(ask("a", 9))
    assert isinstance(reply, ModelReply)
    assert reply.usage.estimated
    assert reply.usage.output == 4
    assert bench.ledger.accounts["run"].spent.usd == 4
    assert bench.ledger.accounts["run"].overrun == NOTHING
