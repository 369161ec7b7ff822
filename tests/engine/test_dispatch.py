"""The promises of the path of a call, against a scripted fleet on virtual time."""

import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

import anyio
import pytest
import trio.testing

from podium.dsl.model import Endpoint, Limits, Model, Price
from podium.dsl.program import Task, Verifier
from podium.engine.admit import Admission
from podium.engine.call import (
    BudgetExhausted,
    Call,
    CallError,
    Handler,
    Interrupted,
    Message,
    ModelCall,
    ModelReply,
    Outage,
    Replica,
    Reply,
    Usage,
    VerifierBroken,
    VerifierCall,
    VerifierReply,
)
from podium.engine.dispatch import CallPath, Gate, handler
from podium.engine.event import CallAnswered, CallFailed, CallIntended, CallWaits, Event
from podium.engine.fleet import Fleet
from podium.engine.journal import Diverged, Journal
from podium.engine.ledger import NOTHING, Amount, Ledger, Limit
from podium.engine.store import RunRecord, Store
from podium.engine.value import Verdict

pytestmark = pytest.mark.anyio
ENDPOINT = Endpoint("openai", "m", "http://fake")
# One output token costs a micro-dollar, input is free: a call's worst case is its cap.
MODEL = Model("m", (ENDPOINT,), Price(output=1_000_000))


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


Script = Callable[[ModelCall, int], Awaitable[ModelReply]]


def answer(output: int, text: str = "yes") -> ModelReply:
    return ModelReply(text, "stop", Usage(input=1, output=output))


@dataclass
class Server:
    """Answers as script says; script gets the call and how many requests came before it."""

    script: Script
    starts: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    ids: list[str] = field(default_factory=list[str])
    running: int = 0
    most: int = 0
    bill: int = 0

    async def probe(self, model: Model) -> tuple[Replica, ...]:
        return ()

    async def send(self, call: ModelCall, replica: Replica, request_id: str) -> ModelReply:
        number = len(self.starts)
        self.starts.append((anyio.current_time(), call.address))
        self.ids.append(request_id)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            reply = await self.script(call, number)
            self.bill += min(reply.usage.output, call.max_output)
            return reply
        finally:
            self.running -= 1


@dataclass
class Bench:
    """A run with its doors. After every event the ledger's rule is checked, against the server's bill."""

    server: Server
    limits: Mapping[str, tuple[str | None, Limit]]
    inflight: int = 100
    model: Model = MODEL
    verify: Callable[[VerifierCall], Awaitable[Verdict]] | None = None
    store: Store = field(default_factory=Store.memory)
    seed: int = 0
    journal: Journal = field(init=False)
    ledger: Ledger = field(init=False)
    fleet: Fleet = field(init=False)
    gate: Gate = field(default_factory=Gate)
    call: Handler = field(init=False)

    def __post_init__(self) -> None:
        if not self.store.runs():
            self.journal = self.store.create(RunRecord("r1", "main", 0.0, "run"))
        else:
            self.journal = self.store.take("r1")
        self.ledger = Ledger()
        for name, (parent, limit) in self.limits.items():
            self.ledger.open(name, limit, parent)
        self.journal.restore(self.ledger)
        self.fleet = Fleet(random.Random(self.seed))
        self.fleet.add("m", [Replica("r", "m", ENDPOINT, "http://fake", "m", self.inflight)])
        self.journal.watchers.append(lambda _: self.check())
        path = CallPath(
            journal=self.journal,
            admission=Admission(self.ledger, self.fleet),
            client=self.server,
            models={"m": self.model},
            verify=self.verify or refuse,
            chance=random.Random(self.seed),
            gate=self.gate,
        )
        self.call = handler(path)

    async def do(self, call: Call) -> None:
        await self.call(call)

    def check(self) -> None:
        run = self.ledger.accounts["run"]
        assert self.server.bill <= run.spent.usd + run.held.usd
        for account in self.ledger.accounts.values():
            taken = account.spent.plus(account.held).minus(account.overrun)
            for have, limit in zip(taken, account.limit, strict=True):
                assert limit is None or have <= limit, account

    def events(self) -> list[Event]:
        return [stamped.event for stamped in self.store.events("r1")]

    async def end(self) -> None:
        await self.journal.close()
        self.check()
        assert all(account.held == NOTHING for account in self.ledger.accounts.values())
        assert self.server.running == 0
        total = NOTHING
        for event in self.events():
            if isinstance(event, CallAnswered | CallFailed):
                total = total.plus(event.spent)
        assert total == self.ledger.accounts["run"].spent


async def refuse(call: VerifierCall) -> Verdict:
    raise AssertionError("nothing is verified here")


def ask(address: str, cap: int, account: str = "run", text: str = "go") -> ModelCall:
    return ModelCall(address, account, "m", (Message("user", text),), cap)


def judge(address: str, text: str = "a", name: str = "v") -> VerifierCall:
    verifier = Verifier(name, "python", {"ref": name})
    return VerifierCall(address, "run", verifier, Task("t", "do it"), text, text)


def run_of(limit: Limit) -> dict[str, tuple[str | None, Limit]]:
    return {"run": (None, limit)}


async def outcomes(bench: Bench, calls: list[ModelCall]) -> dict[str, Reply | Exception]:
    """Make the calls at once, in an order of the bench's seed; what each came to."""
    found: dict[str, Reply | Exception] = {}

    async def one(call: ModelCall) -> None:
        try:
            found[call.address] = await bench.call(call)
        except (CallError, BudgetExhausted, Interrupted) as error:
            found[call.address] = error

    random.Random(bench.seed).shuffle(calls)
    async with anyio.create_task_group() as group:
        for call in calls:
            group.start_soon(one, call)
    return found


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
    again = Bench(Server(_never), tree, verify=verify, store=bench.store)
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

    bench = Bench(Server(_never), run_of(Limit(calls=0)), verify=verify)
    async with anyio.create_task_group() as group:
        for i in range(10):
            group.start_soon(bench.do, judge(f"a/{i}", "x" * (1 + i % 2)))
    assert sorted(asked) == ["x", "xx"]
    assert await bench.call(judge("late", "xx")) == VerifierReply(Verdict(2.0, True))
    assert len(asked) == 2
    await bench.end()
    again = Bench(Server(_never), run_of(Limit(calls=0)), verify=verify, store=bench.store)
    assert await again.call(judge("other", "x")) == VerifierReply(Verdict(1.0, True))
    assert len(asked) == 2


async def _never(call: ModelCall, number: int) -> ModelReply:
    raise AssertionError("no model is called here")


async def test_a_judge_that_is_cancelled_hands_over() -> None:
    asked: list[str] = []

    async def verify(call: VerifierCall) -> Verdict:
        asked.append(call.address)
        await anyio.sleep(10)
        return Verdict(1.0, True)

    bench = Bench(Server(_never), run_of(Limit()), verify=verify)

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

    bench = Bench(Server(_never), run_of(Limit(usd=0)), verify=verify)
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

    bench = Bench(Server(_never), run_of(Limit()), verify=verify)
    for i in range(5):
        assert isinstance(await bench.call(judge(f"a/{i}", str(i))), VerifierReply)
    assert len(asked) == 10
    await bench.end()


async def test_a_verifier_that_errs_three_times_running_pauses_the_run() -> None:
    async def verify(call: VerifierCall) -> Verdict:
        return Verdict(float("nan"), None)

    bench = Bench(Server(_never), run_of(Limit()), verify=verify)
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
        bench = Bench(Server(_never), run_of(Limit()), store=bench.store)
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
