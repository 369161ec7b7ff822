"""Field cases of rate limits and HTTP: waiting, retrying, connections, silence.

Case | where it is looked at
17   | here, on virtual time and over a socket; headers `clients/test_classify`; `test_dispatch`
18   | here, over a socket, through all layers; tries by kind `test_dispatch`, `test_retry`
19   | here; `clients/test_http.test_cancelled_calls_close_their_streams_and_give_their_connections_back`
20   | here; `clients/test_http`: slow streams, comments, dead streams
"""

import math
import random
import time
from email.utils import formatdate

import anyio
import orjson
import pytest

from podium.engine import Engine
from podium.engine.call import ModelCall
from podium.engine.event import CallFailed, CallIntended
from podium.engine.outcome import Cancelled, Failed
from podium.engine.result import RunResult
from podium.engine.store import Store
from podium.engine.testing import Fail, Say
from podium.engine.testing.server import Answer, FakeServer, Script, Seen, always, in_turn

from .bench import FLAT, Till, compiled, cost, failure, over, play, team_file

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


# --- case 17 ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [30.0, 0.5, 0.0, None, 1e9, math.inf])
def test_a_refusal_is_obeyed_by_all_who_share_the_endpoint_and_they_come_back_spread(
    asked: float | None,
) -> None:
    """Fifty callers, two models of one endpoint; some bursts of refusals, at random."""
    lasts = {None: 1.0, 1e9: 600.0, math.inf: 600.0}.get(asked, asked)
    assert lasts is not None
    rest = (
        f'model n {{ endpoint = openai("other", base_url = "http://127.0.0.1:1")  price = {FLAT} }}\n'
        'role two { prompt = """Go"""  model = n  max_output = 100 tokens }'
    )

    async def case(seed: int) -> None:
        chance = random.Random(seed)
        refusals = chance.randint(1, 12)
        busy: list[float] = []

        def script(call: ModelCall, number: int) -> Say | Fail:
            if number < refusals:
                busy.append(anyio.current_time() + 0.01)
                return failure("busy", delay=0.01, retry_after_s=asked)
            return cost(5, delay=1.0 + chance.random())

        flow = "parallel of [25 of one, 25 of two]"
        till = Till(script, inflight=20)
        text = team_file(flow, rest=rest).replace("task = t", "task = t  model = m")
        played = await play(text, till)
        assert len(till.seen) == 50 + refusals
        assert not played.ends("failed")
        began = busy[0]
        early = [at for at in till.starts if began < at < began + lasts]
        assert not early, (early, began, lasts)
        later = [at for at in till.starts if at >= began + lasts]
        assert len(set(later[:10])) == 10  # not all at once
        assert till.most <= 40  # twenty for each of two models

    over(range(3), case)


def after(seconds: float, how: str) -> dict[str, str]:
    """A wish to wait, in one of the ways that servers have."""
    match how:
        case "seconds":
            return {"Retry-After": str(seconds)}
        case "milliseconds":
            return {"retry-after-ms": str(seconds * 1000), "Retry-After": "0"}
        case "reset":
            return {
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-requests": f"{int(seconds * 1000)}ms",
            }
        case _:
            return {"Retry-After": formatdate(time.time() + seconds, usegmt=True)}


async def run_at(fake: FakeServer, flow: str, more: str = "") -> RunResult:
    async with Engine(Store.memory(), environ={}) as engine:
        run = await engine.start(compiled(team_file(flow, endpoint=fake.url, more=more)))
        result = await run.result()
    assert result.folded.held == 0
    assert fake.running == 0
    intended = sum(isinstance(s.event, CallIntended) for s in run.past())
    answered = sum(1 for s in run.past() if isinstance(s.event, CallIntended) and s.event.model)
    assert intended >= answered == fake.started, "one layer resends, and it keeps count"
    return result


@pytest.mark.slow
@pytest.mark.parametrize("how", ["seconds", "milliseconds", "reset", "date"])
async def test_a_wish_to_wait_is_understood_in_every_form(how: str) -> None:
    wish = 1.9 if how == "date" else 0.3  # a date has whole seconds
    refused: list[float] = []
    times: list[float] = []

    def script(seen: Seen) -> Answer:
        times.append(anyio.current_time())
        if len(times) <= 3:
            refused.append(times[-1])
            return Answer(status=429, headers=after(wish, how), body=b"{}")
        return Answer(text="yes")

    async with FakeServer(script) as fake:
        result = await run_at(fake, "parallel(3) of one")
    assert result.attempt is not None
    assert len(times) == 6
    assert min(times[3:]) - max(refused) >= (0.8 if how == "date" else wish - 0.05)


# --- case 18 ----------------------------------------------------------------------------------------


def error(status: int, **fields: str) -> Answer:
    return Answer(status=status, body=orjson.dumps({"error": {"message": "no", **fields}}))


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (error(400), "request"),
        (error(401), "credentials"),
        (error(402), "quota"),
        (error(403), "credentials"),
        (error(404), "request"),
        (error(413), "overflow"),
        (error(422), "request"),
        (error(429, code="insufficient_quota"), "quota"),
        (error(429, code="billing_hard_limit_reached"), "quota"),
        (error(400, code="context_length_exceeded"), "overflow"),
        (error(404, code="model_not_found"), "model"),
    ],
)
async def test_what_waiting_cannot_help_is_asked_once_by_all_layers_together(
    answer: Answer, kind: str
) -> None:
    async with FakeServer(always(answer)) as fake:
        result = await run_at(fake, "one")
        assert fake.started == 1
    assert isinstance(result.outcome, Failed)
    assert result.outcome.kind == kind


@pytest.mark.parametrize("code", ["insufficient_quota", "invalid_api_key"])
async def test_an_empty_account_is_asked_once_whoever_waits_behind(code: str) -> None:
    async with FakeServer(always(error(429, code=code))) as fake:
        result = await run_at(fake, "parallel(6) of one", "limits = { inflight = 1 }")
        assert fake.started == 1
    assert isinstance(result.outcome, Failed)
    assert len(result.folded.nodes) >= 7


@pytest.mark.slow
async def test_a_busy_server_is_asked_as_often_as_the_table_says_and_no_more() -> None:
    """Tries are not multiplied by layers: eight of them, each with a hold and a line of its own."""
    refusal = Answer(status=429, headers={"Retry-After-Ms": "10"}, body=b"{}")
    async with FakeServer(always(refusal)) as fake:
        result = await run_at(fake, "one")
        assert fake.started == 8
    assert isinstance(result.outcome, Failed)
    assert result.outcome.kind == "busy"
    assert result.folded.total.amount.calls == 8


# --- case 19 ----------------------------------------------------------------------------------------


async def test_an_engine_whose_run_was_aborted_in_the_midst_of_streams_serves_the_next_one() -> (
    None
):
    stalls = Answer(finish=None, usage=None, done=False, stall=True)
    async with (
        FakeServer(in_turn(*[stalls] * 5, Answer(text="yes"))) as fake,
        Engine(Store.memory(), environ={}) as engine,
    ):
        # It is told that the server works on nothing whose client has gone: no slot waits for it.
        more = "limits = { inflight = 5 }, profile = { works_on_s = 0 }"
        text = team_file("parallel(5) of one", endpoint=fake.url, more=more)
        first = await engine.start(compiled(text))
        await fake.until(lambda: fake.running == 5)
        first.abort()
        assert (await first.result()).outcome == Cancelled()
        with anyio.fail_after(2):
            second = await engine.start(compiled(text))
            assert (await second.result()).attempt is not None
        await fake.until(lambda: (fake.running, fake.abandoned) == (0, 5))
        assert fake.started == 10


# --- case 20 ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [601.0, 7200.0, 86_400.0])
def test_a_reply_may_take_as_long_as_it_takes(seconds: float) -> None:
    async def case(seed: int) -> None:
        played = await play(team_file("one -> mend"), Till(lambda c, n: cost(9, delay=seconds)))
        assert len(played.till.seen) == 2
        assert played.result.seconds == pytest.approx(2 * seconds)

    over([0], case)


STALLED = Answer(finish=None, usage=None, done=False, stall=True)


@pytest.mark.slow
async def test_a_dead_stream_is_one_failed_try_that_is_charged_at_its_worst() -> None:
    script: Script = in_turn(STALLED, Answer(text="yes"))
    async with FakeServer(script) as fake, Engine(Store.memory(), environ={}) as engine:
        more = "profile = { idle_s = 0.1, first_s = 0.3 }"
        run = await engine.start(compiled(team_file("one", endpoint=fake.url, more=more)))
        result = await run.result()
        events = [stamped.event for stamped in run.past()]
        assert fake.started == 2
        await fake.until(lambda: fake.running == 0)
    [failed] = [event for event in events if isinstance(event, CallFailed)]
    [held, _] = [e.held for e in events if isinstance(e, CallIntended) and e.model]
    assert (failed.kind, failed.spent, failed.estimated) == ("silent", held, True)
    assert result.folded.total.unknown == 1
