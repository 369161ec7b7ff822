"""Each flow of the standard library, as its own page shows it, on the real small model.

One model serves them all. What it says is its own, and replies are short, so nothing is said of answers; but each
run comes to an end of its own, its books are right, and nothing of it is left at the server or in this process.
"""

import os
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import reduce

import anyio
import pytest

from podium.dsl.doc import page_of
from podium.dsl.doc_text import examples
from podium.dsl.library import MemoryLibrary, modules, standard
from podium.dsl.model import Endpoint, Model
from podium.engine import Engine
from podium.engine.call import ModelCall, ModelReply, Replica
from podium.engine.clients.http import HttpClient
from podium.engine.event import CallAnswered, CallFailed
from podium.engine.ledger import Amount
from podium.engine.outcome import Finished, Passed, Stopped
from podium.engine.spend import total_of
from podium.engine.store import Store
from podium.engine.testing.invariants import books, violations

pytestmark = [pytest.mark.server, pytest.mark.anyio]

# Caps of replies in tokens: of free text, which ends with its first sentence, and of JSON, which has to be closed.
SHORT, SHAPED = 60, 200
STOPS = (".", "\n")
CALLS = 40
PROGRAM = """
import std.agentverse
import std.flows
import std.mas_tts
import std.roles
import std.search
model m {{ endpoint = local("")  price = none }}
task sum {{ statement = "What is 2 + 2? Answer with the number."  verify = contains("4") }}
run main {{ task = sum  flow = {}  budget = [{} calls, 100k tokens, 1m] }}
"""
FLOWS = [
    example
    for name in modules()
    for entry in page_of(standard(name), MemoryLibrary()).entries
    if entry.kind == "flow"
    for example in examples(entry.doc)
]


class Brief(HttpClient):
    """Asks for short replies, whatever a role says."""

    async def send(self, call: ModelCall, replica: Replica, request_id: str) -> ModelReply:
        if call.schema is None:
            sampling = replace(call.sampling, stop=STOPS)
            call = replace(call, sampling=sampling, max_output=min(call.max_output, SHORT))
        cap = min(call.max_output, SHAPED)
        return await super().send(replace(call, max_output=cap), replica, request_id)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def client() -> AsyncIterator[Brief]:
    async with Brief(dict(os.environ)) as client:
        yield client


async def at_work(client: Brief) -> float:
    """How many requests the server is at work on, by its own count."""
    replicas = await client.probe(Model("m", (Endpoint("local", ""),)))
    loads = [await client.load(replica) for replica in replicas]
    return sum(load.running or 0.0 for load in loads if load is not None)


@pytest.mark.parametrize("flow", FLOWS)
async def test_it_ends_by_itself_pays_what_its_books_say_and_leaves_nothing_running(
    client: Brief, flow: str
) -> None:
    store = Store.memory(anyio.current_time)
    async with Engine(store, client=client) as engine:
        run = await engine.start(PROGRAM.format(flow, CALLS))
        result = await run.result()
        events, ledger = tuple(run.past()), books(engine.ledger.accounts)
    assert isinstance(result.outcome, Passed | Finished | Stopped), (result.outcome, flow)
    assert violations(events, ledger, run=run.id) == ()
    ends = [one.event for one in events if isinstance(one.event, CallAnswered | CallFailed)]
    assert 0 < len(ends) <= CALLS
    folded = result.folded
    totals, below = folded.totals(), folded.tree()
    for address, node in folded.nodes.items():
        children = total_of(totals[child.address] for child in below.get(address, []))
        assert totals[address] == node.own.plus(children)
    tops = [totals[node.address] for node in below[None]]
    assert total_of([*tops, folded.outside]) == folded.total
    assert reduce(Amount.plus, (one.spent for one in ends)) == folded.total.amount
    with anyio.fail_after(5):
        while await at_work(client):  # noqa: ASYNC110  # another process
            await anyio.sleep(0.05)
