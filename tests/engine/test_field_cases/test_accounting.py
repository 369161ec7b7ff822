"""Field cases of accounting: usage that is missing, cached input, attempts, nested agents.

Case | where it is looked at
8    | here, over a socket; `clients/test_http.test_usage_is_exact_estimated_or_exact_after_one_downgrade`
9    | here; `clients/test_chat.test_cached_input_is_counted_once_in_either_convention`, `test_tokens`
10   | here, from the language; `test_dispatch.test_every_try_is_in_the_books`
11   | here; over generated programs `test_promises`, `test_fold`
39   | here (regression of MAS-TTS)
"""

import random
from collections.abc import Mapping, Sequence

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.engine import Engine
from podium.engine.call import Message, ModelCall, Replica, Usage
from podium.engine.clients.chat import Collector
from podium.engine.clients.dialects import PROFILES
from podium.engine.clients.profile import adjusted
from podium.engine.event import CallAnswered, Event
from podium.engine.ledger import Amount
from podium.engine.outcome import Failed, Finished
from podium.engine.shell.books import books
from podium.engine.store import Store
from podium.engine.testing import Fail, Say
from podium.engine.testing.invariants import sum_of
from podium.engine.testing.server import Answer, FakeServer, Script, Seen, always
from podium.engine.tokens import spent, worst
from podium.engine.value import Json

from .bench import ENDPOINT, REAL, Till, compiled, cost, failure, over, play, team_file

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def models_of(events: Sequence[Event]) -> list[CallAnswered]:
    """The answers of models, those of verifiers left out."""
    return [e for e in events if isinstance(e, CallAnswered) and "text" in e.reply]


# --- case 8 -----------------------------------------------------------------------------------------

REFUSAL = {"error": {"message": "unknown field", "param": "stream_options", "code": 400}}
TOLD = Usage(input=10, output=5)


def asks_no_usage(seen: Seen) -> Answer:
    """A server that knows no `stream_options`, and tells usage only to who does not send them."""
    if "stream_options" in seen.body:
        return Answer(status=400, body=orjson.dumps(REFUSAL))
    return Answer(text="yes")


WHOLE = orjson.dumps(
    {
        "choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5},
    }
)


ZEROS: dict[str, Json] = {"prompt_tokens": 0, "completion_tokens": 0}


@pytest.mark.parametrize(
    ("script", "requests", "estimated"),
    [
        (always(Answer(text="yes")), 1, False),
        (always(Answer(text="yes", usage=None)), 1, True),
        (always(Answer(text="yes", usage={})), 1, True),
        (always(Answer(text="yes", usage=ZEROS)), 1, True),
        (always(Answer(body=WHOLE, content_type="application/json")), 1, False),
        (asks_no_usage, 2, False),
    ],
)
async def test_streamed_usage_is_exact_or_estimated_upward_and_a_downgrade_is_no_failure(
    script: Script, requests: int, estimated: bool
) -> None:
    async with FakeServer(script) as fake, Engine(Store.memory(), environ={}) as engine:
        run = await engine.start(compiled(team_file("one", price=REAL, endpoint=fake.url)))
        result = await run.result()
        events = [stamped.event for stamped in run.past()]
        assert fake.started == requests
    total = result.folded.total
    assert result.folded.total.amount.calls == 1
    assert total.unknown == int(estimated)
    assert result.folded.held == 0
    [answer] = models_of(events)
    assert answer.usage.estimated == estimated
    assert estimated or answer.usage == TOLD
    assert answer.usage.input >= TOLD.input
    assert answer.spent.usd >= TOLD.input + 5 * TOLD.output - 5 * 2 * estimated


# --- case 9 -----------------------------------------------------------------------------------------

PRICE = compiled(team_file("one", price=REAL)).models["m"].price
INCLUDED = PROFILES["openai"]
APART = adjusted(PROFILES["openai"], {"input_has_cached": False})
CALL = ModelCall("a", "run", "m", (Message("user", "x" * 40_000),), 1000)


def dollars(usage: Mapping[str, Json], *, apart: bool) -> Usage:
    """What a stream with this usage object is taken to have used."""
    collector = Collector(CALL, APART if apart else INCLUDED, "here")
    chunk = {"choices": [{"index": 0, "delta": {"content": "yes"}, "finish_reason": "stop"}]}
    collector.add(orjson.dumps({**chunk, "usage": usage}).decode())
    return collector.reply(Replica("r", "m", ENDPOINT, "", "m", 1)).usage


@given(
    fresh=st.integers(1, 10_000),
    cached=st.integers(0, 20_000),
    written=st.integers(0, 2_000),
    output=st.integers(1, 1000),
)
def test_cached_and_written_input_cost_the_same_dollars_in_every_convention(
    fresh: int, cached: int, written: int, output: int
) -> None:
    whole = fresh + cached + written
    openai: dict[str, Json] = {
        "prompt_tokens": whole,
        "completion_tokens": output,
        "prompt_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
    }
    anthropic: dict[str, Json] = {
        "input_tokens": fresh,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": written,
        "output_tokens": output,
    }
    costs = {
        spent(dollars(openai, apart=False), PRICE),
        spent(dollars(anthropic, apart=True), PRICE),
    }
    exact = -(-(fresh * 20 + cached * 2 + written * 25 + output * 100) // 20)
    assert costs == {Amount(exact, whole + output, 1)}
    if whole <= 40_000:
        assert exact <= worst(CALL, PRICE).usd


@given(
    usage=st.fixed_dictionaries(
        {},
        optional={
            "prompt_tokens": st.integers(-5, 30_000) | st.none() | st.just("9"),
            "completion_tokens": st.integers(-5, 1000) | st.none() | st.floats(),
            "cached_tokens": st.integers(-5, 60_000),
            "cache_creation_input_tokens": st.integers(-5, 60_000),
            "prompt_tokens_details": st.none()
            | st.fixed_dictionaries({"cached_tokens": st.integers(-5, 60_000) | st.none()}),
            "completion_tokens_details": st.none()
            | st.fixed_dictionaries({"reasoning_tokens": st.integers(-5, 60_000) | st.none()}),
        },
    )
)
def test_no_usage_object_costs_less_than_nothing_or_more_than_its_tokens(
    usage: dict[str, Json],
) -> None:
    found = dollars(usage, apart=False)
    parts = (found.cached, found.cache_write, found.input - found.cached - found.cache_write)
    assert min(*parts, found.output, found.reasoning, found.output - found.reasoning) >= 0
    assert 0 <= spent(found, PRICE).usd <= -(-(found.input * 5 + found.output * 20) // 4)


async def test_more_cached_than_sent_is_told_once_and_shown_with_the_run() -> None:
    told: list[str] = []
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "cached_tokens": 500}
    async with (
        FakeServer(always(Answer(text="yes", usage=usage))) as fake,
        Engine(Store.memory(), environ={}, tell=told.append) as engine,
    ):
        text = team_file("parallel(3) of one", endpoint=fake.url, price=REAL)
        run = await engine.start(compiled(text))
        result = await run.result()
    assert [line for line in told if "cached" in line] == told[-1:]
    assert result.folded.total.usage == Usage(30, 30, 0, 15, doubtful=True)
    assert "In doubt" in books(result.folded.total)[-1]
    assert all(e.usage.doubtful for e in models_of([s.event for s in run.past()]))


# --- case 10 ----------------------------------------------------------------------------------------

FORM = 'role form { prompt = """Go"""  output = { answer: text }  max_output = 900 tokens }'


def test_every_attempt_is_a_line_whether_it_failed_was_repaired_or_answered() -> None:
    """At random: server errors that tell their usage, streams that are cut, objects that cannot be read."""

    async def case(seed: int) -> None:
        chance = random.Random(seed)
        used = Usage(input=100, output=900)
        bad, tries = chance.randint(0, 1), chance.randint(0, 4)

        def script(call: ModelCall, number: int) -> Say | Fail:
            if number < tries:
                return failure(chance.choice(("server", "cut")), paid=True, usage=used)
            text = "{broken" if call.address.endswith("c1") and bad else '{"answer": "yes"}'
            return Say(text, 1.0, usage=used)

        till = Till(script, price=REAL)
        played = await play(team_file("form", rest=FORM, price=REAL), till)
        assert played.spent == Amount(
            (100 + 4500) * len(till.seen), 1000 * len(till.seen), len(till.seen)
        )
        assert len(till.seen) == tries + 1 + bad
        assert len(played.failed()) == tries
        assert len(models_of(played.events)) == 1 + bad
        assert played.result.attempt is not None

    over(range(10), case)


# --- case 11 ----------------------------------------------------------------------------------------


def test_a_total_has_what_was_spent_six_levels_down_also_where_that_failed() -> None:
    """The check of every case: what a node cost is its own and its children's; here the deepest one fails."""
    flow = "one"
    for level in range(6):
        flow = f"parallel({1 + level % 2}) of ({flow} -> mend)"

    async def case(seed: int) -> None:
        chance = random.Random(seed)
        failing = {chance.randint(0, 30) for _ in range(seed)}

        def script(call: ModelCall, number: int) -> Say | Fail:
            if number in failing:
                return failure("request", usage=Usage(input=40, output=7))
            return cost(chance.randint(1, 100), text="no")

        till = Till(script, price=REAL)
        played = await play(team_file(flow, price=REAL), till)
        totals = played.result.folded.totals()
        below = [total for address, total in totals.items() if address == "main"]
        assert sum_of(total.amount for total in below) == till.bill[played.result.run]
        assert len(played.failed()) == len(failing & set(range(len(till.seen))))
        assert isinstance(played.result.outcome, Finished | Failed)

    over(range(6), case)


# --- case 39 ----------------------------------------------------------------------------------------

CRITICS = """
role chief { prompt = \"\"\"Lead.\"\"\" }
role scout { prompt = \"\"\"Write the personas.\"\"\" }
"""


def test_what_members_that_were_dropped_have_cost_stays_in_the_total() -> None:
    """A chief makes the team smaller from round to round; some calls fail on the way."""
    flow = "team(4, ceo = chief, recruit = scout, rounds = 3, order = solver_first)"

    async def case(seed: int) -> None:
        chance = random.Random(seed)

        def script(call: ModelCall, number: int) -> Say | Fail:
            if ".ceo" in call.address:
                return cost(chance.randint(1, 60), text=f'{{"size": {chance.randint(1, 4)}}}')
            if chance.random() < 0.15:
                told = chance.choice((None, Usage(input=3, output=chance.randint(1, 50))))
                return failure("request", usage=told)
            return cost(chance.randint(1, 100))

        till = Till(script, price=REAL)
        played = await play(team_file(flow, price=REAL, rest=CRITICS), till)
        assert till.exact
        total = played.result.folded.totals()["main/team"].amount
        assert total == played.spent == till.bill[played.result.run]

    over(range(10), case)
