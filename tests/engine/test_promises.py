"""Generated programs, on virtual time: no account is ever overspent, and every run ends with clean books.

At every event of every run, at every account: bill <= spent + held <= limit.
"""

import random
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
import trio.testing
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podium.engine import Engine
from podium.engine.call import CallError, ModelCall, Usage
from podium.engine.event import Event, NodeEnded, NodeStarted, Stamped
from podium.engine.result import RunResult
from podium.engine.testing import Fail, Say, ScriptedClient

HEADER = """
model paid {
  endpoint = openai("paid", base_url = "http://127.0.0.1:1")
  price    = { input = $20 per 1M tokens, output = $80 per 1M tokens }
}
role writer {
  prompt     = \"\"\"{{ task.statement }}\"\"\"
  max_output = 60 tokens
}
role reviser {
  prompt     = \"\"\"Better than: {{ attempt.answer }}\"\"\"
  max_output = 40 tokens
}
task hello {
  statement = "Say yes."
  verify    = contains("yes", "no")
}
"""

LEAVES = st.sampled_from(["writer", "team(2, rounds = 1)", "team(3, ceo = adaptive, rounds = 2)"])
BUDGETS = st.sampled_from(
    ["", ", budget = [900 tokens]", ", budget = [3 calls]", ", budget = [30%]"]
)
POLICIES = st.sampled_from(["", ", on_exhausted = vote", ", on_exhausted = shrink"])


@st.composite
def wrapped(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    """A form around inner that gives an attempt for a task."""
    flow = draw(inner)
    copies, rounds = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    budget, policy = draw(BUDGETS), draw(POLICIES)
    extra = budget + (policy if budget else "")
    stop = draw(st.sampled_from(["", ", stop = first_pass", ", split = even", ", inflight = 2"]))
    return draw(
        st.sampled_from(
            [
                f"(parallel({copies}{stop}{extra}) of {flow} -> best)",
                f"(parallel of [2 of {flow}, writer] -> vote)",
                f"({flow} -> repeat({rounds}, until = passed{extra}) of reviser)",
                f"(fallback of [{flow}, writer])",
                f"(parallel({copies}) of {flow} -> top(2) -> reviser -> best)",
            ]
        )
    )


FLOWS = st.recursive(LEAVES, wrapped, max_leaves=3)
RUN_BUDGETS = st.sampled_from(["6k tokens", "12 calls", "$0.40", "9k tokens, 25 calls, $0.80, 3m"])


@dataclass
class Server:
    """Answers at chance, never above the cap it was sent; knows what it would bill."""

    chance: random.Random
    tokens: int = 0
    calls: int = 0

    def answer(self, call: ModelCall) -> Say | Fail:
        chance = random.Random(f"{self.chance.random()} {call.address}")
        if chance.random() < 0.1:
            return Fail(CallError("busy", "slow down"), delay=chance.random())
        used = Usage(input=chance.randint(1, 30), output=chance.randint(1, call.max_output))
        self.tokens += used.input + used.output
        self.calls += 1
        text = chance.choice(["yes", "no", "yes and no", "neither"])
        return Say(text, delay=chance.uniform(0, 90), usage=used)


@dataclass
class Books:
    """Looks at every account at every event."""

    engine: Engine
    server: Server

    def seen(self, stamped: Stamped) -> None:
        for account in self.engine.ledger.accounts.values():
            for limit, spent, held in zip(account.limit, account.spent, account.held, strict=True):
                assert spent >= 0
                assert held >= 0
                assert limit is None or spent + held <= limit, f"{account} at {stamped}"


async def played(folder: Path, text: str, seed: int) -> tuple[RunResult, Books, list[Event]]:
    server = Server(random.Random(seed))
    client = ScriptedClient(server.answer, inflight=6)
    engine = Engine(folder / "runs.db", client=client, environ={}, inline=True)
    books = Books(engine, server)
    async with engine:
        run = await engine.start(text, seed=seed)
        run.watchers.append(books.seen)
        result = await run.result()
        events = [stamped.event for stamped in run.past()]
    assert not client.flying
    return result, books, events


@pytest.mark.slow
@settings(
    max_examples=200,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(flow=FLOWS, budget=RUN_BUDGETS, seed=st.integers(0, 1000))
def test_no_account_is_overspent_at_any_event(
    tmp_path_factory: pytest.TempPathFactory, flow: str, budget: str, seed: int
) -> None:
    text = f"{HEADER}run main {{\n  task = hello\n  flow = {flow}\n  budget = [{budget}]\n}}\n"
    clock = trio.testing.MockClock(autojump_threshold=0)
    options: dict[str, Any] = {"clock": clock}
    work = partial(played, tmp_path_factory.mktemp("run"), text, seed)
    result, books, events = anyio.run(work, backend="trio", backend_options=options)
    root = books.engine.ledger.accounts[result.run]
    assert all(
        held == 0 for account in books.engine.ledger.accounts.values() for held in account.held
    )
    assert root.spent.calls == result.folded.total.amount.calls
    assert root.spent.tokens >= books.server.tokens
    started = [event.address for event in events if isinstance(event, NodeStarted)]
    ended = [event.address for event in events if isinstance(event, NodeEnded)]
    assert sorted(started) == sorted(ended)
    assert len(set(ended)) == len(ended)
