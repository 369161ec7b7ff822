"""Generated programs, on virtual time: no account is ever overspent, and every run ends with clean books.

At every event of every run, at every account: bill <= spent + held <= limit.
"""

import itertools
import json
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

from podium.dsl.compile import Choice, compile_run
from podium.dsl.program import Program
from podium.engine import Engine
from podium.engine.call import CallError, ModelCall, Usage
from podium.engine.event import Event, NodeEnded, NodeStarted, Stamped
from podium.engine.result import RunResult
from podium.engine.testing import Fail, Say, Schedule, ScriptedClient
from podium.engine.testing.agents import power_law, shaped
from podium.engine.testing.judging import SimulatedJudging
from podium.engine.testing.strategies import Generated, programs
from podium.engine.testing.tools import SimulatedTools
from podium.engine.testing.weather import Weather

CAPS = st.sampled_from([None, "3 calls", "7 calls", "9m"])


@dataclass
class Server:
    """Answers at chance, in the form that was asked for, never above its cap; knows what it would bill."""

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
        if call.schema is not None and chance.random() < 0.9:
            text = json.dumps(shaped(call.schema, text, chance))
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


async def played(
    folder: Path, program: Program, cap: str | None, seed: int
) -> tuple[RunResult, Books, list[Event]]:
    server = Server(random.Random(seed))
    client = ScriptedClient(server.answer, inflight=6)
    engine = Engine(
        folder / "runs.db",
        client=client,
        environ={},
        inline=True,
        judging=SimulatedJudging(power_law(), Weather(Schedule(seed)), seed),
        tools=SimulatedTools(seed),
    )
    books = Books(engine, server)
    async with engine:
        run = await engine.start(program, budget=cap, seed=seed)
        run.watchers.append(books.seen)
        result = await run.result()
        events = [stamped.event for stamped in run.past()]
    assert not client.flying
    return result, books, events


@pytest.mark.parametrize(
    "count",
    [pytest.param(60, marks=pytest.mark.slow), pytest.param(300, marks=pytest.mark.long)],
)
def test_no_account_is_overspent_at_any_event(tmp_path: Path, count: int) -> None:
    numbers = itertools.count()

    @settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(made=programs(), cap=CAPS, seed=st.integers(0, 1000))
    def each(made: Generated, cap: str | None, seed: int) -> None:
        check(tmp_path / str(next(numbers)), made, cap, seed)

    each()


def check(folder: Path, made: Generated, cap: str | None, seed: int) -> None:
    program, _ = compile_run(made.source, made.library, Choice())
    clock = trio.testing.MockClock(autojump_threshold=0)
    options: dict[str, Any] = {"clock": clock}
    work = partial(played, folder, program, cap, seed)
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
