"""Every request to a model is a line in the books, with what became of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from podium.engine import Engine
from podium.engine.call import (
    CallError,
    Finish,
    ModelCall,
    ModelReply,
    Usage,
    reply_body,
    reply_of,
)
from podium.engine.event import (
    CallAnswered,
    CallFailed,
    CallIntended,
    Event,
    Stamped,
    body,
    from_body,
)
from podium.engine.fates import FATES, NO_TRIES, Tries, one
from podium.engine.fold import fold
from podium.engine.ledger import NOTHING, Amount
from podium.engine.shell.books import books
from podium.engine.shell.calls import tries
from podium.engine.store import Store
from podium.engine.testing import Fail, Say, ScriptedClient

PROGRAM = """
model paid {
  endpoint = openai("paid", base_url = "http://127.0.0.1:1")
  price    = { input = $1 per 1M tokens, output = $1 per 1M tokens }
  limits   = { inflight = 1 }
}
role writer {
  prompt     = \"\"\"{{ task.statement }}\"\"\"
  output     = { answer: int }
  max_output = 2k tokens
}
role poet { prompt = \"\"\"{{ task.statement }}\"\"\"  max_output = 2k tokens }
task sum { statement = "2 + 2?" }
run main { flow = writer  task = sum  budget = [$1, 20 calls] }
run plain { flow = poet  task = sum  budget = [$1, 20 calls] }
"""
EACH = Usage(input=500, output=500)
Script = Callable[[ModelCall], Say | Fail]


@pytest.fixture
def anyio_backend() -> Any:
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


async def ran(path: Path, answers: list[Say | Fail], run: str = "main") -> list[Stamped]:
    client = ScriptedClient(lambda call: answers[len(client.seen) - 1])
    async with Engine(path, client=client, environ={}, inline=True) as engine:
        begun = await engine.start(PROGRAM, run=run)
        await begun.result()
        return list(begun.past())


def became(events: list[Stamped]) -> list[str]:
    return [tried.became for tried in tries(events, ())]


@pytest.mark.anyio
async def test_a_reply_that_cannot_be_read_is_paid_for_and_said_to_be_repaired(
    tmp_path: Path,
) -> None:
    # Field case 10: what two calls used stands in the books, of which one gave the answer.
    said = [Say("four", usage=EACH), Say('{"answer": 4}', usage=EACH)]
    events = await ran(tmp_path / "runs.db", list(said))
    total = fold(events).total
    assert became(events) == ["repaired", "answered"]
    assert total.tries == Tries(answered=1, repaired=1)
    assert (total.amount.tokens, total.amount.calls) == (2_000, 2)
    assert "Tries: 1 answered, 1 repaired." in books(total)


@pytest.mark.anyio
async def test_tries_that_fail_are_retried_until_the_last_one_has_failed(tmp_path: Path) -> None:
    busy = Fail(CallError("busy", "later", retry_after_s=1))
    refused = Fail(CallError("request", "never"))
    events = await ran(tmp_path / "a.db", [busy, busy, Say("{}", usage=EACH), refused], "main")
    assert became(events) == ["retried", "retried", "repaired", "failed"]
    assert fold(events).total.tries == Tries(retried=2, repaired=1, failed=1)
    (_, again, *_), shown = tries(events, ()), [tried.told for tried in tries(events, ())]
    assert (again.number, shown[:2]) == (1, ["retried: busy", "retried: busy"])
    assert shown[2:] == ["repaired", "failed: request"]


@pytest.mark.anyio
async def test_a_reply_at_its_cap_is_cut_and_one_in_the_air_is_cancelled(tmp_path: Path) -> None:
    events = await ran(tmp_path / "a.db", [Say("half", finish="length")], "plain")
    assert became(events) == ["cut"]
    client = ScriptedClient(lambda _: Say("late", delay=60))
    with anyio.move_on_after(5):
        async with Engine(tmp_path / "b.db", client=client, environ={}, inline=True) as engine:
            run = await engine.start(PROGRAM, run="plain")
            await run.result()
    store = Store.open(tmp_path / "b.db", inline=True)
    left = list(store.events(store.runs()[0].id))
    store.close()
    assert became(left) == ["cancelled"]
    total = fold(left).total
    assert total.unknown == 1
    assert total.bounds == total.amount
    assert "Not known: what 1 call used" in books(total)[-1]


calls = st.sampled_from(["main/a/c1", "main/a/c2", "main/b/c1", "main/a/v.tests"])
ends = st.sampled_from(["stop", "length", "busy", "cancelled", "lost", "reused"])


def lines(plan: list[tuple[str, str]]) -> list[Event]:
    """One try after the other, numbered by address."""
    count: dict[str, int] = {}
    events: list[Event] = []
    for address, end in plan:
        number = count[address] = count.get(address, -1) + 1
        held = NOTHING if end == "reused" else Amount(9, 9, 1)
        kind = "verifier" if "/v." in address else "model"
        events.append(CallIntended(address, number, "main", kind, "d", held, "m"))
        if end in ("stop", "length", "reused"):
            finish: Finish = "length" if end == "length" else "stop"
            reply = reply_body(ModelReply("", finish, Usage()))
            events.append(CallAnswered(address, number, "main", held, Usage(), reply, 1.0))
        else:
            events.append(CallFailed(address, number, "main", end, "", held, Usage(), True, 1.0))
    return events


@given(st.lists(st.tuples(calls, ends), max_size=12))
def test_each_try_counts_once_whatever_follows_and_show_and_fold_agree(
    plan: list[tuple[str, str]],
) -> None:
    stamped = [Stamped(number, 0.0, event) for number, event in enumerate(lines(plan))]
    counted = fold(stamped).total.tries
    shown = NO_TRIES
    for tried in tries(stamped, ()):
        shown = shown.plus(one(tried.became)) if tried.became in FATES else shown
    assert counted == shown
    assert min(counted) >= 0
    assert sum(counted) == sum("/v." not in address for address, _ in plan)


@given(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99), st.integers(0, 99))
def test_kinds_of_input_are_disjoint_and_events_say_each(
    total: int, cached: int, written: int, thought: int
) -> None:
    usage = Usage(total, cached, written, 50, thought).believed()
    assert usage.fresh + usage.cached + usage.cache_write == usage.input == total
    assert min(usage.fresh, usage.cached, usage.cache_write, usage.reasoning) >= 0
    assert usage.reasoning <= usage.output
    event = CallAnswered("a", 0, "main", NOTHING, usage, {}, 1.0)
    assert body(event)["usage"]["fresh"] == usage.fresh
    assert from_body("call_answered", body(event)) == event
    assert reply_of(reply_body(ModelReply("", "stop", usage))) == ModelReply("", "stop", usage)
