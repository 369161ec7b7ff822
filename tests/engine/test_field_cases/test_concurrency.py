"""Field cases of concurrency: cancelling, failing, stragglers.

Case | where it is looked at
12   | here, on virtual time and over a socket, a tool that loops too; a client that leaves: `test_service`
13   | here; `test_interpret.test_too_few_attempts_fail_the_whole_with_the_lowest_branch`
14   | here; `test_interpret.test_a_failed_branch_leaves_its_siblings_alone`
15   | here; nothing is ever asked for twice to be quicker, so the second half has no case
16   | `test_servers.test_one_who_is_cancelled_leaves_the_server_to_the_others`
38   | here; `team/test_drive.test_members_overlap_in_time`
"""

import random
from dataclasses import dataclass, field
from typing import NoReturn

import anyio
import pytest

from podium.engine import Engine, Run
from podium.engine.call import (
    CallError,
    ModelCall,
    ModelReply,
    Replica,
    ToolCall,
    Usage,
    VerifierCall,
)
from podium.engine.event import NodeEnded
from podium.engine.functions import Bindings
from podium.engine.outcome import Cancelled, Failed, Passed
from podium.engine.shell.ending import code_of
from podium.engine.store import Store
from podium.engine.testing import Fail, Say
from podium.engine.testing.server import Answer, FakeServer, always
from podium.engine.value import Verdict

from .bench import Check, Played, Till, compiled, cost, failure, over, play, team_file

NESTED = "parallel(2) of (team(members = [2 of one], ceo = adaptive) -> mend) -> merge -> mend"

# --- case 12 ----------------------------------------------------------------------------------------


TOOLED = """
role worker {
  prompt = \"\"\"{{ task.statement }}\"\"\"
  tools  = [notes, python("loops:on")]
}
"""


@dataclass
class Looping:
    """A tool that never comes to an end."""

    ticks: int = 0
    running: int = 0

    async def on(self) -> NoReturn:
        """Loops on."""
        self.running += 1
        try:
            while True:
                self.ticks += 1
                await anyio.sleep(0.1)
        finally:
            self.running -= 1


def test_cancelling_a_run_reaches_a_tool_that_loops() -> None:
    async def case(seed: int) -> None:
        call = ToolCall("a", "on", {}, "{}")
        till = Till(lambda _, n: Say("", 1.0, usage=Usage(input=5, output=5), calls=(call,)))
        tool, store = Looping(), Store.memory(anyio.current_time)
        engine = Engine(
            store,
            client=till,
            environ={},
            inline=True,
            now=anyio.current_time,
            bindings={"loops:on": tool.on},
        )
        text = team_file("parallel(3) of worker -> merge", rest=TOOLED)
        with anyio.move_on_after(2 + seed):
            async with engine:
                await (await engine.start(compiled(text))).result()
        ticks = tool.ticks
        assert (tool.running, ticks > 0) == (0, True)
        await anyio.sleep(10)
        assert tool.ticks == ticks

    over(range(4), case)


class Ticking(Looping):
    """A verifier that never comes to an end."""

    async def __call__(
        self, call: VerifierCall, bindings: Bindings | None = None, *, inline: bool = False
    ) -> Verdict:
        await self.on()


def test_a_run_cancelled_from_outside_has_ended_when_the_caller_is_told() -> None:
    """At any moment, in the middle of streams, of waits and of a verifier that loops."""

    async def case(seed: int) -> None:
        chance = random.Random(seed)
        till = Till(lambda call, n: cost(9, delay=chance.random() * 5), inflight=3)
        verifier, store = Ticking(), Store.memory(anyio.current_time)
        engine = Engine(
            store,
            client=till,
            environ={},
            inline=True,
            now=anyio.current_time,
            judging=verifier,
        )
        till.above = lambda account: [a.name for a in engine.ledger.accounts[account].upwards()]
        check, before = Check(engine, till), len(anyio.get_running_tasks())
        runs: list[Run] = []
        moment = chance.random() * 25
        with anyio.move_on_after(moment):
            async with engine:
                runs.append(await engine.start(compiled(team_file(NESTED))))
                runs[0].watchers.append(check.seen)
                await runs[0].result()
        now, ticks = anyio.current_time(), verifier.ticks
        assert now == pytest.approx(moment, abs=1e-6)
        assert not till.flying
        assert verifier.running == 0
        assert len(anyio.get_running_tasks()) == before
        await anyio.sleep(10)
        assert (verifier.ticks, len(till.flying)) == (ticks, 0)
        assert not check.wrong
        ends = [s.event for s in store.events(runs[0].id) if isinstance(s.event, NodeEnded)]
        assert len({end.address for end in ends}) == len(ends)
        assert {"cancelled"} >= {end.outcome for end in ends if end.address.count("/") < 2}
        assert runs[0].folded.held == 0
        assert (await runs[0].result()).outcome == Cancelled()

    over(range(12), case)


def test_a_reader_that_leaves_takes_nothing_with_it() -> None:
    """Whoever watches a run owns none of it: the run goes on, and the reader leaves no task."""

    async def case(seed: int) -> None:
        async def during(engine: Engine, run: Run) -> None:
            for wanted in range(seed, seed + 3):
                number = 0
                async for _ in run.events():
                    number += 1
                    if number > wanted:
                        break
            with anyio.move_on_after(0.5):
                async for _ in run.events():
                    pass

        played = await play(
            team_file("parallel(3) of one"), Till(lambda c, n: cost(5)), during=during
        )
        assert len(played.till.seen) == 3

    over(range(4), case)


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_cancelled_run_closes_its_streams_at_the_server_within_a_second(
    anyio_backend: str,
) -> None:
    stalls = Answer(text="yes", finish=None, usage=None, done=False, stall=True)
    async with FakeServer(always(stalls)) as fake:
        before, engine = len(anyio.get_running_tasks()), Engine(Store.memory(), environ={})
        with anyio.CancelScope() as scope:
            async with engine:
                await engine.start(compiled(team_file(NESTED, endpoint=fake.url)))
                await fake.until(lambda: fake.running == 2)  # the chiefs of both teams
                scope.cancel()
        await fake.until(lambda: fake.running == 0, within_s=1.0)
        assert fake.abandoned == 2
        held = [account.held for account in engine.ledger.accounts.values()]
        assert not any(any(amount) for amount in held)
        assert len(anyio.get_running_tasks()) <= before + 1  # the server's own


# --- case 13 ----------------------------------------------------------------------------------------


@dataclass
class Rude(Till):
    """A client that fails again while it is being cancelled, at the addresses given."""

    rude: set[str] = field(default_factory=set[str])

    async def send(self, call: ModelCall, replica: Replica, request_id: str) -> ModelReply:
        try:
            return await Till.send(self, call, replica, request_id)
        except anyio.get_cancelled_exc_class():
            if any(part in call.address for part in self.rude):
                raise CallError("cut", "the clean-up failed", maybe_paid=True) from None
            raise


def failing(call: ModelCall, number: int) -> Say | Fail:
    if "/2.one" in call.address or "/5.one" in call.address:
        where = "2" if "/2.one" in call.address else "5"
        return Fail(CallError("request", f"branch {where}"), 1.0)
    return cost(5, delay=60.0 if "/7.one" in call.address else 1.0, text="no")


def test_which_error_is_told_does_not_depend_on_who_was_first() -> None:
    """Branches 2 and 5 fail in one instant; 7 fails again as time runs out and it is cancelled."""

    async def case(seed: int) -> None:
        flow = "parallel(7, need = 6, budget = [30s]) of one"
        played = await play(team_file(flow), Rude(failing, rude={"/7.one"}))
        ends = played.ends()
        assert [a.split("/")[-1] for a, end in ends.items() if end == "failed"] in (
            ["2.one", "5.one"],
            ["5.one", "2.one"],
        )
        assert ends["main/1.parallel/7.one"] == "exhausted"
        told.add((ends["main/1.parallel"], str(played.result.outcome)))

    told: set[tuple[str, str]] = set()
    over(range(12), case)
    assert len(told) == 1


@pytest.mark.parametrize(
    "flow",
    [
        "parallel(5, stop = first_pass) of one",
        "parallel(2) of parallel(3, stop = first_pass) of one",
        "parallel(3, stop = first_pass) of team(members = [3 of one])",
    ],
)
def test_losers_whose_clean_up_fails_take_nothing_from_who_won(flow: str) -> None:
    async def case(seed: int) -> None:
        chance = random.Random(seed)
        till = Rude(lambda c, n: cost(5, delay=chance.choice((1.0, 1.0, 9.0))), rude={"/"})
        played = await play(team_file(flow), till)
        assert played.result.outcome == Passed()
        assert "failed" not in played.ends().values()

    over(range(6), case)


def test_the_lowest_of_several_failures_is_the_reason_and_the_others_are_kept() -> None:
    async def case(seed: int) -> None:
        played = await play(team_file("parallel(7, need = 6) of one"), Rude(failing))
        outcome = played.result.outcome
        assert isinstance(outcome, Failed)
        assert outcome.message.startswith("branch 2")
        reasons = played.ends("failed")
        assert reasons["main/1.parallel/5.one"] == "request: branch 5"

    over(range(12), case)


# --- case 14 ----------------------------------------------------------------------------------------

STOPS = {"none": 1, "first_pass": 1, "pass(2)": 2}


@pytest.mark.parametrize("stop", STOPS)
def test_failing_branches_cost_their_siblings_neither_answer_nor_outcome(stop: str) -> None:
    """At random, which ones fail, how, when, and which answers pass."""

    async def case(seed: int) -> None:
        chance = random.Random(seed)
        size = chance.randint(2, 6)
        fates = [chance.choice(("fails", "passes", "misses")) for _ in range(size)]
        times = [chance.choice((1.0, 2.0, chance.random())) for _ in range(size)]

        def script(call: ModelCall, number: int) -> Say | Fail:
            branch = int(call.address.split("/")[-2].partition(".")[0]) - 1
            if fates[branch] == "fails":
                kind = chance.choice(("request", "overflow", "model"))
                return failure(kind, delay=times[branch])
            return cost(7, delay=times[branch], text="yes" if fates[branch] == "passes" else "no")

        till = Till(script)
        played = await play(team_file(f"parallel({size}, stop = {stop}) of one"), till)
        _judged(played, fates, stop)

    over(range(20), case)


def _judged(played: Played, fates: list[str], stop: str) -> None:
    ends = [played.ends()[f"main/1.parallel/{n}.one"] for n in range(1, len(fates) + 1)]
    race = stop != "none" and fates.count("passes") >= STOPS[stop]
    for fate, end in zip(fates, ends, strict=True):
        allowed = {"fails": {"failed"}, "passes": {"passed", "finished"}, "misses": {"finished"}}[
            fate
        ]
        assert end in (allowed | {"stopped"} if race else allowed), (fates, ends)
    code = code_of(played.result.folded)
    if "passes" in fates:
        assert played.result.attempt is not None
        assert played.result.attempt.passed
        assert code == 0
    elif "misses" in fates:
        assert played.result.attempt is not None
        assert code == 1
    else:
        assert played.result.attempt is None
        assert code == 4


@pytest.mark.parametrize("need", range(1, 5))
def test_so_many_as_the_file_says_must_succeed(need: int) -> None:
    async def case(seed: int) -> None:
        failed = random.Random(seed).sample(range(1, 5), 2)

        def script(call: ModelCall, number: int) -> Say | Fail:
            hit = any(f"/{branch}.one" in call.address for branch in failed)
            return failure("request") if hit else cost(5)

        played = await play(team_file(f"parallel(4, need = {need}) of one"), Till(script))
        assert list(played.ends().values()).count("finished") >= 2
        assert played.ends()["main/1.parallel"] == ("failed" if need > 2 else "finished")
        assert played.result.attempt is not None  # what was paid for is kept all the same

    over(range(3), case)


# --- case 15 ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("flow", ["parallel(10) of one", "team(members = [5 of one])", NESTED])
def test_a_slow_reply_is_waited_for_and_never_asked_for_again(flow: str) -> None:
    async def case(seed: int) -> None:
        quick = await play(team_file(flow), Till(lambda call, number: cost(5, delay=0.1)))
        slow = await play(team_file(flow), Till(lambda call, number: cost(5, delay=300.0)))
        assert len(slow.till.seen) == len(quick.till.seen)
        assert len({call.address for call in slow.till.seen}) == len(slow.till.seen)
        assert slow.spent == quick.spent

    over(range(2), case)


# --- case 38 ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["together", "solver_first", "solver_last"])
def test_members_that_need_not_wait_for_each_other_do_not(order: str) -> None:
    """Nine critics, or ten members, with a reply of one second take one second."""
    flow = f"team(members = [1 of one, 9 of two], rounds = 1, order = {order})"
    role = 'role two { prompt = """Criticise."""  max_output = 100 tokens }'

    async def case(seed: int) -> None:
        played = await play(team_file(flow, rest=role), Till(lambda call, number: cost(5)))
        phases = len(set(played.till.starts))
        assert played.till.most >= 9
        assert phases <= 3
        assert max(played.till.starts) == phases - 1

    over(range(3), case)
