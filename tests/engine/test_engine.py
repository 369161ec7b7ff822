"""The engine as a service embeds it: starts, accounts, keys, stops, resumes; on trio's jumping clock."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from sqlite3 import connect
from typing import Any

import anyio
import pytest
import trio.testing

import podium.engine
from podium.dsl.model import Model
from podium.dsl.problem import ProgramError
from podium.engine import Engine, Run
from podium.engine.call import CallError, ModelCall, ModelReply, Replica
from podium.engine.event import CallAnswered, NodeEnded
from podium.engine.fold import fold
from podium.engine.outcome import Cancelled, Exhausted, Failed, Passed
from podium.engine.result import RunResult
from podium.engine.run import NotResumable
from podium.engine.store import Store
from podium.engine.testing import Fail, Say, ScriptedClient

PROGRAM = """
model paid {
  endpoint = openai("paid", base_url = "http://127.0.0.1:1")
  price    = { input = $1 per 1M tokens, output = $1 per 1M tokens }
}
role writer {
  prompt     = \"\"\"{{ task.statement }}\"\"\"
  max_output = 100 tokens
}
task hello {
  statement = "Say yes."
  verify    = contains("yes")
}
run main {
  task   = hello
  flow   = parallel(4) of writer -> best
  budget = [$1, 20 calls]
}
"""


@pytest.fixture
def anyio_backend() -> Any:
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


pytestmark = pytest.mark.anyio


def engine(store: Path, client: ScriptedClient, **more: Any) -> Engine:
    return Engine(store, client=client, environ={}, inline=True, **more)


async def to_end(store: Path, client: ScriptedClient, **how: Any) -> RunResult:
    async with engine(store, client) as opened:
        run = await opened.start(PROGRAM, **how)
        return await run.result()


async def test_a_run_ends_with_its_best_answer_and_nothing_held(tmp_path: Path) -> None:
    client = ScriptedClient(["no", "yes", "no", "no"])
    result = await to_end(tmp_path / "runs.db", client)
    assert result.outcome == Passed()
    assert result.attempt is not None
    assert result.attempt.answer == "yes"
    assert result.folded.held == 0
    assert not client.flying
    assert result.folded.total.amount.calls == 4


async def test_a_second_start_with_the_same_key_gives_the_first_run(tmp_path: Path) -> None:
    client = ScriptedClient(lambda call: Say("yes", delay=5))
    async with engine(tmp_path / "runs.db", client) as opened:
        first = await opened.start(PROGRAM, key="order-1")
        second = await opened.start(PROGRAM, key="order-1")
        assert second is first
        await first.result()
        assert len(opened.runs()) == 1
    assert len(client.seen) == 4


async def test_a_key_of_a_run_that_ended_gives_its_result_without_a_call(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    first = await to_end(store, ScriptedClient(["yes"] * 4), key="order-1")
    silent = ScriptedClient([])
    again = await to_end(store, silent, key="order-1")
    assert (again.run, again.outcome) == (first.run, first.outcome)
    assert again.attempt is not None
    assert again.attempt.answer == "yes"
    assert silent.seen == []


async def test_runs_of_an_account_share_its_limit(tmp_path: Path) -> None:
    client = ScriptedClient(lambda call: Say("no"))
    async with engine(tmp_path / "runs.db", client) as opened:
        tenant = opened.account("tenant-7", limit="[6 calls]")
        first = await opened.start(PROGRAM, account=tenant)
        await first.result()
        second = await opened.start(PROGRAM, account=tenant)
        result = await second.result()
    assert result.outcome == Exhausted("tenant-7", "calls")
    assert len(client.seen) == 6


async def test_what_an_account_spent_counts_after_a_restart(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    async with engine(store, ScriptedClient(lambda call: Say("no"))) as opened:
        run = await opened.start(PROGRAM, account=opened.account("tenant-7"))
        await run.result()
    client = ScriptedClient(lambda call: Say("no"))
    async with engine(store, client) as opened:
        tenant = opened.account("tenant-7", limit="[5 calls]")
        run = await opened.start(PROGRAM, account=tenant)
        await run.result()
    assert len(client.seen) == 1


async def test_cancelling_the_scope_stops_the_run_and_leaves_nothing_held(tmp_path: Path) -> None:
    client = ScriptedClient(lambda call: Say("yes", delay=60))
    opened = engine(tmp_path / "runs.db", client)
    runs: list[Run] = []
    with anyio.move_on_after(10):
        async with opened:
            runs.append(await opened.start(PROGRAM))
            await runs[0].result()
    assert not client.flying
    assert runs[0].folded.held == 0
    store = Store.open(tmp_path / "runs.db", inline=True)
    [record] = store.runs()
    assert record.status == "interrupted"
    ends = [s.event for s in store.events(record.id) if isinstance(s.event, NodeEnded)]
    assert {end.outcome for end in ends} == {"cancelled"}
    store.close()


async def test_a_stopped_run_keeps_what_is_in_flight_and_resumes_without_paying_it_again(
    tmp_path: Path,
) -> None:
    client = ScriptedClient(lambda call: Say("no", delay=60), inflight=2)
    async with engine(tmp_path / "runs.db", client) as opened:
        run = await opened.start(PROGRAM)
        await anyio.sleep(90)  # two answered, two in flight
        run.pause()
        result = await run.result()
        assert result.resumable
        assert result.folded.total.amount.calls == 4
    async with engine(tmp_path / "runs.db", client) as opened:
        again = await opened.resume()
        result = await again.result()
    assert len(client.seen) == 4
    assert result.attempt is not None
    assert result.folded.lives == 2


async def test_an_aborted_run_charges_what_was_in_flight_at_its_hold(tmp_path: Path) -> None:
    client = ScriptedClient(lambda call: Say("no", delay=60), inflight=2)
    async with engine(tmp_path / "runs.db", client) as opened:
        run = await opened.start(PROGRAM)
        await anyio.sleep(30)
        run.abort()
        result = await run.result()
    assert result.outcome == Cancelled()
    assert result.folded.held == 0
    assert result.folded.total.unknown == 2


async def test_a_program_given_as_text_reads_no_environment_file_or_code(tmp_path: Path) -> None:
    refused = {
        "E503": PROGRAM.replace('"http://127.0.0.1:1")', '"http://127.0.0.1:1", key = env("K"))'),
        "E501": PROGRAM.replace('contains("yes")', 'python("os:getcwd")'),
        "E502": PROGRAM.replace('"Say yes."', 'file("secret.txt")'),
        "E505": PROGRAM.replace("127.0.0.1:1", "models.example.org"),
    }
    (tmp_path / "secret.txt").write_text("secret")
    async with engine(tmp_path / "runs.db", ScriptedClient([])) as opened:
        for code, text in refused.items():
            with pytest.raises(ProgramError) as caught:
                await opened.start(text)
            assert code in {problem.code for problem in caught.value.problems}
        assert opened.runs() == []


async def test_a_budget_too_small_for_one_call_is_refused_before_anything_is_sent(
    tmp_path: Path,
) -> None:
    client = ScriptedClient(["yes"] * 4)
    async with engine(tmp_path / "runs.db", client) as opened:
        with pytest.raises(ProgramError, match="E311"):
            await opened.start(PROGRAM, budget="[50 tokens]")
        assert opened.runs() == []
    assert client.seen == []


async def test_two_starts_at_once_with_one_key_are_one_run(tmp_path: Path) -> None:
    client = ScriptedClient(lambda call: Say("yes", delay=5))
    found: list[Run] = []
    async with engine(tmp_path / "runs.db", client) as opened:

        async def start() -> None:
            found.append(await opened.start(PROGRAM, key="order-1"))

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(start)
        assert len(opened.runs()) == 1
    assert {run.id for run in found} == {found[0].id}
    assert len(client.seen) == 4


async def test_ids_that_chance_made_twice_are_two_runs(tmp_path: Path) -> None:
    client = ScriptedClient(lambda call: Say("yes", delay=5))
    async with engine(tmp_path / "runs.db", client, now=lambda: 0.0) as opened:
        ids: set[str] = set()
        for _ in range(2):
            opened._chance.seed(1)  # pyright: ignore[reportPrivateUsage]  # ids must meet
            ids.add((await opened.start(PROGRAM)).id)
        assert len(ids) == 2


async def test_a_tenant_with_one_agent_does_not_wait_behind_another_with_a_hundred(
    tmp_path: Path,
) -> None:
    client = ScriptedClient(lambda call: Say("no", delay=1), inflight=2)
    crowd = PROGRAM.replace("parallel(4)", "parallel(50)").replace("20 calls", "100 calls")
    single = PROGRAM.replace("parallel(4) of writer -> best", "writer")
    async with engine(tmp_path / "runs.db", client) as opened:
        many, one = opened.account("many"), opened.account("one")
        others = [await opened.start(crowd, account=many) for _ in range(2)]
        await anyio.sleep(10.5)
        began = anyio.current_time()
        await (await opened.start(single, account=one)).result()
        # One turn to wait for a slot, one of its own, and none of the 80 that were there before it.
        assert anyio.current_time() - began <= 2.5
        made = [run.folded.total.amount.calls for run in others]
        assert abs(made[0] - made[1]) <= 4  # two turns, and what was in flight as the second began
        for run in others:
            run.abort()


async def test_tenants_whose_programs_name_one_model_differently_take_turns_on_its_slots(
    tmp_path: Path,
) -> None:
    client = OnePlace(lambda call: Say("no", delay=1), inflight=2)
    crowd = PROGRAM.replace("parallel(4)", "parallel(50)").replace("20 calls", "100 calls")
    single = PROGRAM.replace("parallel(4) of writer -> best", "writer").replace("paid", "named")
    async with engine(tmp_path / "runs.db", client) as opened:
        other = await opened.start(crowd, account=opened.account("many"))
        await anyio.sleep(10.5)
        began = anyio.current_time()
        await (await opened.start(single, account=opened.account("one"))).result()
        assert anyio.current_time() - began <= 2.5
        assert client.most == 2
        other.abort()


class OnePlace(ScriptedClient):
    """One server, whatever its model is called. most: calls that it had at once."""

    most = 0

    async def probe(self, model: Model) -> tuple[Replica, ...]:
        found = await ScriptedClient.probe(self, model)
        return tuple(
            replace(one, name=f"{model.name}@there", url="there", served="it") for one in found
        )

    async def send(self, call: ModelCall, replica: Replica, request_id: str) -> ModelReply:
        self.most = max(self.most, len(self.flying) + 1)
        return await ScriptedClient.send(self, call, replica, request_id)


class Slow(ScriptedClient):
    """Takes a second to say what serves a model."""

    async def probe(self, model: Model) -> tuple[Replica, ...]:
        await anyio.sleep(1)
        return await ScriptedClient.probe(self, model)


async def test_two_models_of_one_name_are_never_taken_for_each_other(tmp_path: Path) -> None:
    client = Slow(lambda call: Say("yes", delay=5))
    asked: set[tuple[str, str]] = set()
    send = client.send

    async def noted(call: ModelCall, replica: Replica, request_id: str) -> ModelReply:
        asked.add((call.messages[-1].content, replica.endpoint.name))
        return await send(call, replica, request_id)

    client.send = noted  # type: ignore[method-assign]  # to look on
    other = PROGRAM.replace('openai("paid"', 'openai("other"').replace("Say yes.", "Say other.")
    async with engine(tmp_path / "runs.db", client) as opened, anyio.create_task_group() as tasks:
        for text in (PROGRAM, other):
            tasks.start_soon(opened.start, text)
    assert asked == {("Say yes.", "paid"), ("Say other.", "other")}


async def test_an_ended_run_leaves_one_account_and_no_pool_of_its_verifier(tmp_path: Path) -> None:
    client = ScriptedClient(lambda call: Say("no"))
    even = PROGRAM.replace("parallel(4) of", "parallel(4, split = even) of")
    async with engine(tmp_path / "runs.db", client) as opened:
        tenant = opened.account("tenant-7")
        for _ in range(2):
            run = await opened.start(even, account=tenant)
            await run.result()
        await anyio.sleep(1)
        assert len(opened.ledger.accounts) == 1 + 2
        assert opened.ledger.accounts["tenant-7"].spent.calls == 8


async def test_a_stopped_run_that_is_resumed_is_charged_to_its_tenant_once(tmp_path: Path) -> None:
    client = ScriptedClient(lambda call: Say("no", delay=60), inflight=2)
    even = PROGRAM.replace("parallel(4) of", "parallel(4, split = even) of")
    async with engine(tmp_path / "runs.db", client) as opened:
        run = await opened.start(even, account=opened.account("tenant-7"))
        await anyio.sleep(30)
        run.pause()
        await run.result()
        await anyio.sleep(1)
        again = await opened.resume(run.id)
        await again.result()
        assert opened.ledger.accounts["tenant-7"].spent == again.folded.total.amount
    assert len(client.seen) == 4


async def test_a_reason_names_the_run_and_not_its_id(tmp_path: Path) -> None:
    client = ScriptedClient(lambda call: Say("no"))
    result = await to_end(tmp_path / "runs.db", client, budget="[2 calls]")
    assert result.folded.ended is not None
    assert result.folded.ended.reason == "calls budget of run main"
    reasons = {node.reason for node in result.folded.nodes.values()}
    assert not any(result.run in reason for reason in reasons)
    assert result.outcome == Exhausted(result.run, "calls")


async def test_what_a_call_of_unknown_price_cost_is_unknown(tmp_path: Path) -> None:
    text = PROGRAM.replace(
        "  price    = { input = $1 per 1M tokens, output = $1 per 1M tokens }\n", ""
    )
    text = text.replace("127.0.0.1:1", "models.example.org").replace("[$1, 20 calls]", "[20 calls]")
    client = ScriptedClient(lambda call: Say("yes"))
    async with engine(tmp_path / "runs.db", client, allow=["host:models.example.org"]) as opened:
        result = await (await opened.start(text)).result()
    assert result.folded.total.usd is None


async def test_an_endpoint_that_refuses_the_key_ends_the_run_as_failed(tmp_path: Path) -> None:
    client = ScriptedClient(lambda call: Fail(CallError("credentials", "the key is refused")))
    result = await to_end(tmp_path / "runs.db", client)
    assert isinstance(result.outcome, Failed)
    assert result.outcome.kind == "credentials"


async def test_a_run_that_ended_cannot_be_resumed(tmp_path: Path) -> None:
    result = await to_end(tmp_path / "runs.db", ScriptedClient(["yes"] * 4))
    async with engine(tmp_path / "runs.db", ScriptedClient([])) as opened:
        with pytest.raises(NotResumable, match="has ended"):
            await opened.resume(result.run)


async def test_events_reach_a_reader_in_order_without_a_gap(tmp_path: Path) -> None:
    client = ScriptedClient(lambda call: Say("yes", delay=1))
    async with engine(tmp_path / "runs.db", client) as opened:
        run = await opened.start(PROGRAM)
        seen = [stamped async for stamped in run.events()]
    assert [stamped.number for stamped in seen] == list(range(len(seen)))
    assert sum(isinstance(stamped.event, CallAnswered) for stamped in seen) >= 4


ROWS = PROGRAM.replace(
    'task hello {\n  statement = "Say yes."\n  verify    = contains("yes")\n}',
    'task hello = rows("set.jsonl") with { statement = row.ask, verify = contains(row.want) }',
)


async def test_rows_run_one_below_the_other_under_one_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = ['{"ask": "Say a.", "want": "a"}', '{"ask": "Say b.", "want": "b"}']
    (tmp_path / "set.jsonl").write_text("\n".join(lines))
    client = ScriptedClient(lambda call: Say(call.messages[-1].content[4:5]))
    async with engine(tmp_path / "runs.db", client, allow=["file:set.jsonl"]) as opened:
        run = await opened.start(ROWS)
        result = await run.result()
    assert result.outcome == Passed()
    assert [attempt and attempt.answer for attempt in result.attempts] == ["a", "b"]
    assert result.folded.total.amount.calls == 8


async def test_cancelled_rows_end_as_one_node_each_and_so_does_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = ['{"ask": "Say a.", "want": "a"}', '{"ask": "Say b.", "want": "b"}']
    (tmp_path / "set.jsonl").write_text("\n".join(lines))
    client = ScriptedClient(lambda call: Say("a", delay=60))
    async with engine(tmp_path / "runs.db", client, allow=["file:set.jsonl"]) as opened:
        run = await opened.start(ROWS)
        await anyio.sleep(10)
        run.abort()
        result = await run.result()
    assert {node.outcome for node in result.folded.nodes.values()} == {"cancelled"}


def test_asyncio_gives_the_same_result(tmp_path: Path) -> None:
    client = ScriptedClient(["no", "yes", "no", "no"])

    async def main() -> RunResult:
        async with Engine(tmp_path / "runs.db", client=client, environ={}) as opened:
            run = await opened.start(PROGRAM)
            return await run.result()

    assert anyio.run(main).outcome == Passed()


async def test_a_run_that_died_is_folded_with_what_it_lost_and_without_its_dead_time(
    tmp_path: Path,
) -> None:
    client = ScriptedClient(lambda call: Say("no", delay=60), inflight=2)
    async with engine(tmp_path / "runs.db", client, now=anyio.current_time) as opened:
        run = await opened.start(PROGRAM)
        await anyio.sleep(90)  # two answered, two in flight
        with (
            closing(connect(tmp_path / "runs.db")) as db,
            closing(connect(tmp_path / "b.db")) as to,
        ):
            db.backup(to)
        await run.result()
    await anyio.sleep(5000)
    async with engine(tmp_path / "b.db", client, now=anyio.current_time) as opened:
        again = await opened.resume()
        result = await again.result()
        events = list(again.past())
    assert result.folded.lost == 2
    assert result.folded.held == 0
    assert result.folded.total == fold(events).total
    assert result.seconds == 60 + 60


def test_every_name_the_engine_offers_is_there() -> None:
    assert [name for name in podium.engine.__all__ if not hasattr(podium.engine, name)] == []
    assert podium.engine.__all__ == sorted(podium.engine.__all__)


async def test_a_run_that_a_broken_verifier_failed_goes_on_once_it_is_mended(
    tmp_path: Path,
) -> None:
    text = PROGRAM.replace('contains("yes")', 'python("checks:judge")').replace(
        "parallel(4) of writer -> best", "writer"
    )
    client = ScriptedClient(lambda call: Say("yes"))

    def broken(attempt: object, task: object) -> bool:
        raise ValueError("units")

    async with engine(tmp_path / "runs.db", client, bindings={"checks:judge": broken}) as opened:
        first = await (await opened.start(text, allow=["python:checks:judge"])).result()
        assert isinstance(first.outcome, Failed)
        assert first.resumable

    def mended(attempt: object, task: object) -> bool:
        return True

    async with engine(tmp_path / "runs.db", client, bindings={"checks:judge": mended}) as opened:
        result = await (await opened.resume()).result()
    assert result.outcome == Passed()
    assert len(client.seen) == 1
