"""The client against a scripted server on loopback: what it sends, what it takes, how it fails."""

import gc
from collections.abc import Awaitable, Callable
from dataclasses import replace

import anyio
import anyio.abc
import orjson
import pytest

from podium.dsl.model import Sampling
from podium.engine.call import CallError, ModelReply, Usage
from podium.engine.clients.http import HttpClient
from podium.engine.clients.wire import Wire
from podium.engine.testing.server import Answer, FakeServer, Seen, always, in_turn

from .asking import CALL, failure, listening, model, probed
from .recorded import SERVERS

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


# --- one try -------------------------------------------------------------------------------------


async def test_a_call_is_answered_with_text_usage_and_names(client: HttpClient) -> None:
    async with FakeServer() as fake:
        replica = await probed(client, fake)
        reply = await client.send(CALL, replica, "run-1/main/agent.1")
        sent = fake.calls[0]
    assert reply == ModelReply("hello", "stop", Usage(10, output=5), "fake", replica.name)
    assert sent.body["max_tokens"] == 20
    assert len(sent.headers["x-request-id"]) == 36


@pytest.mark.parametrize("cut", [1, 7, 64])
async def test_an_answer_is_the_same_however_the_network_cuts_it(
    client: HttpClient, cut: int
) -> None:
    async with FakeServer(always(Answer(text="grüße 𝄞 und mehr", cut=cut))) as fake:
        assert (
            await client.send(CALL, await probed(client, fake), "id")
        ).text == "grüße 𝄞 und mehr"


async def test_usage_is_exact_estimated_or_exact_after_one_downgrade(client: HttpClient) -> None:
    body = {"error": {"message": "unknown field", "param": "stream_options", "code": 400}}
    refusal = Answer(status=400, body=orjson.dumps(body))
    script = in_turn(Answer(), Answer(usage=None), refusal, Answer())
    async with FakeServer(script) as fake:
        replica = await probed(client, fake)
        replies = [await client.send(CALL, replica, "id") for _ in range(4)]
        asked = ["stream_options" in seen.body for seen in fake.calls]
    assert [reply.usage.estimated for reply in replies] == [False, True, False, False]
    assert asked == [True, True, True, False, False]  # one request more, once


async def test_calls_that_meet_the_same_refusal_at_once_all_get_through(client: HttpClient) -> None:
    body = {"error": {"message": "not supported", "param": "max_tokens"}}
    refusal = Answer(status=400, body=orjson.dumps(body), delay_s=0.02)

    def script(seen: Seen) -> Answer:
        return refusal if "max_tokens" in seen.body else Answer()

    async with FakeServer(script) as fake:
        replica = await probed(client, fake)
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(client.send, CALL, replica, "id")
        await client.send(CALL, replica, "id")
        assert [seen.body.get("max_completion_tokens") for seen in fake.calls] == [None] * 3 + [
            20
        ] * 4


async def test_a_field_the_program_asked_for_is_not_dropped(client: HttpClient) -> None:
    body = {"error": {"message": "Unsupported value", "param": "temperature"}}
    call = replace(CALL, sampling=Sampling(temperature=0.3))
    async with FakeServer(always(Answer(status=400, body=orjson.dumps(body)))) as fake:
        problem = await failure(client, await probed(client, fake), call)
        assert (problem.kind, fake.started) == ("request", 1)


async def test_a_server_that_refuses_everything_is_asked_only_a_few_times(
    client: HttpClient,
) -> None:
    body = {
        "error": {
            "message": "max_tokens and max_completion_tokens, top_p, temperature not supported"
        }
    }
    async with FakeServer(always(Answer(status=400, body=orjson.dumps(body)))) as fake:
        await failure(client, await probed(client, fake))
        assert fake.started < 8


@pytest.mark.parametrize(
    ("answer", "kind", "paid"),
    [
        (Answer(error={"message": "boom"}, finish=None), "server", True),
        (Answer(error={"message": "boom"}, text="", finish=None), "server", True),
        (Answer(finish=None), "cut", True),
        (Answer(text="", finish=None, usage=None, done=False), "protocol", True),
        (Answer(disconnect=1), "cut", True),
        (Answer(body=b"<html>hello</html>", content_type="text/html"), "protocol", True),
        (Answer(body=b"{broken", content_type="application/json"), "protocol", True),
        (Answer(body=b'{"choices":[]}', content_type="application/json"), "empty", True),
        (Answer(status=429, body=b"{}"), "busy", False),
        (Answer(status=502, body=b"<html>Bad Gateway</html>"), "server", True),
        (Answer(status=400, body=b""), "protocol", False),
    ],
)
async def test_what_is_no_answer_is_a_typed_failure(
    client: HttpClient, answer: Answer, kind: str, paid: bool
) -> None:
    async with FakeServer(always(answer)) as fake:
        replica = await probed(client, fake)
        problem = await failure(client, replica)
    assert (problem.kind, problem.maybe_paid) == (kind, paid)
    assert replica.name in problem.message


async def test_a_connection_lost_after_the_finish_loses_nothing_but_usage(
    client: HttpClient,
) -> None:
    async with FakeServer(always(Answer(pieces=1, disconnect=2))) as fake:
        reply = await client.send(CALL, await probed(client, fake), "id")
    assert (reply.text, reply.usage.estimated) == ("hello", True)


async def test_an_unstreamed_answer_is_taken(client: HttpClient) -> None:
    body = SERVERS["vllm-0.32.0"]["chat"].body.encode()
    async with FakeServer(always(Answer(body=body, content_type="application/json"))) as fake:
        assert (await client.send(CALL, await probed(client, fake), "id")).text


async def test_a_server_gone_before_sending_cost_nothing(client: HttpClient) -> None:
    async with FakeServer() as fake:
        replica = await probed(client, fake)
    problem = await failure(client, replica)
    assert (problem.kind, problem.maybe_paid) == ("unreachable", False)


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nnot a size\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\ndata: {}\n\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
        b"\x16\x03\x01\x00",
        b"",
    ],
)
async def test_bad_http_is_a_typed_failure(client: HttpClient, raw: bytes) -> None:
    async def talk(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(raw)

    async with FakeServer() as fake, listening(talk) as url:
        replica = replace(await probed(client, fake), url=f"{url}/v1")
        with anyio.fail_after(2):
            problem = await failure(client, replica)
    assert problem.kind in ("cut", "protocol")
    assert problem.maybe_paid


# --- time ----------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_a_slow_stream_is_healthy_however_long_it_takes(client: HttpClient) -> None:
    answer = Answer(text="x" * 9, pieces=9, pause_s=0.05)
    async with FakeServer(always(answer)) as fake:
        replica = await probed(client, fake, profile={"idle_s": 0.3})
        assert (await client.send(CALL, replica, "id")).text == "x" * 9


@pytest.mark.slow
async def test_comments_show_that_a_silent_server_lives(client: HttpClient) -> None:
    answer = Answer(before=(": keep-alive\n\n",) * 8, pause_s=0.05)
    async with FakeServer(always(answer)) as fake:
        replica = await probed(client, fake, profile={"idle_s": 0.3})
        assert (await client.send(CALL, replica, "id")).text == "hello"


STALLED = Answer(finish=None, usage=None, done=False, stall=True)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [(Answer(delay_s=5), "mute"), (replace(STALLED, text=""), "mute"), (STALLED, "silent")],
)
async def test_a_dead_stream_is_one_failure_that_may_have_been_paid(
    client: HttpClient, answer: Answer, kind: str
) -> None:
    limits = {"idle_s": 0.1, "first_s": 0.1}
    async with FakeServer(always(answer)) as fake:
        problem = await failure(client, await probed(client, fake, profile=limits))
        assert fake.started == 1
        await fake.until(lambda: fake.running == 0)
    assert (problem.kind, problem.maybe_paid) == (kind, True)


# --- the first byte ------------------------------------------------------------------------------


def hanging(remarks: list[str], **wire: float) -> HttpClient:
    return HttpClient({}, tell=remarks.append, wire=Wire(**wire))


def gets(fake: FakeServer) -> int:
    """How often the models were asked for, after the probe."""
    return sum(seen.path == "/v1/models" for seen in fake.seen) - 1


async def test_an_endpoint_that_only_lists_its_models_is_told_of_and_named() -> None:
    remarks: list[str] = []
    limits = {"first_s": 0.2, "check_s": 0.05}
    async with FakeServer(always(Answer(delay_s=9))) as fake, hanging(remarks) as client:
        problem = await failure(client, await probed(client, fake, profile=limits))
    where = fake.url.removeprefix("http://")
    assert problem.kind == "mute"
    assert problem.message.startswith(f"{where} sent no byte of a reply in 0 s")
    assert "`profile = { first_s = 0 }` in its `model` block" in problem.message
    (remark,) = remarks
    assert remark.startswith(f"{where} has not begun to answer after 0 s; it lists its models.")
    assert gets(fake) == 1


async def test_the_limit_of_the_first_byte_is_not_that_of_the_stream() -> None:
    slow = {"first_s": 5, "idle_s": 0.1, "check_s": 0}
    script = in_turn(Answer(delay_s=0.2), STALLED, Answer(delay_s=5))
    async with FakeServer(script) as fake, hanging([]) as client:
        replica = await probed(client, fake, profile=slow)
        assert (await client.send(CALL, replica, "id")).text == "hello"
        with anyio.fail_after(2):
            assert [(await failure(client, replica)).kind for _ in range(2)] == ["silent"] * 2
        assert gets(fake) == 0


async def test_a_stream_that_stops_after_its_first_byte_does_not_get_the_longer_limit() -> None:
    limits = {"first_s": 5, "idle_s": 0.1}
    async with FakeServer(always(STALLED)) as fake, hanging([]) as client:
        replica = await probed(client, fake, profile=limits)
        with anyio.fail_after(2):
            assert (await failure(client, replica)).kind == "silent"


async def test_an_endpoint_that_stops_listing_its_models_is_down_after_two_checks() -> None:
    remarks: list[str] = []
    limits = {"first_s": 60, "check_s": 0.05}
    async with (
        FakeServer(always(Answer(delay_s=9))) as fake,
        hanging(remarks, probe_s=0.05) as client,
    ):
        replica = await probed(client, fake, profile=limits)
        fake.routes["/v1/models"] = Answer(body=b"", stall=True)
        found: list[CallError] = []

        async def one() -> None:
            found.append(await failure(client, replica))

        with anyio.fail_after(2):
            async with anyio.create_task_group() as tasks:
                for _ in range(4):
                    tasks.start_soon(one)
        await fake.until(lambda: fake.running == 0)
        assert gets(fake) == 2
    assert {(problem.kind, problem.maybe_paid) for problem in found} == {("unreachable", True)}
    assert "no longer lists its models" in found[0].message
    assert "`profile = { check_s = 0 }`" in found[0].message
    assert len(found) == 4
    assert len(remarks) == 1


async def test_a_check_that_is_missed_once_proves_nothing() -> None:
    limits = {"first_s": 60, "check_s": 0.05}
    async with (
        FakeServer(always(Answer(delay_s=0.3))) as fake,
        hanging([], probe_s=0.05) as client,
    ):
        replica = await probed(client, fake, profile=limits)
        listing, fake.routes["/v1/models"] = fake.routes["/v1/models"], Answer(delay_s=9)

        async def heal() -> None:
            await fake.until(lambda: gets(fake) == 1)
            fake.routes["/v1/models"] = listing

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(heal)
            assert (await client.send(CALL, replica, "id")).text == "hello"


async def test_cancelling_a_call_that_waits_for_its_first_byte_leaves_the_others_waiting() -> None:
    limits = {"check_s": 0.02}
    async with (
        FakeServer(in_turn(Answer(delay_s=9), Answer(delay_s=0.2))) as fake,
        hanging([]) as client,
    ):
        replica = await probed(client, fake, profile=limits)
        texts: list[str] = []

        async def two() -> None:
            texts.append((await client.send(CALL, replica, "id")).text)

        async with anyio.create_task_group() as tasks:
            with anyio.move_on_after(0.1):
                tasks.start_soon(anyio.sleep, 0)
                tasks.start_soon(_later, fake, two)
                await client.send(CALL, replica, "id")
        await fake.until(lambda: fake.running == 0)
    assert texts == ["hello"]


async def _later(fake: FakeServer, then: Callable[[], Awaitable[None]]) -> None:
    await fake.until(lambda: fake.running == 1)
    await then()


async def test_cancelled_calls_close_their_streams_and_give_their_connections_back(
    client: HttpClient,
) -> None:
    script = in_turn(*[Answer(stall=True, finish=None)] * 5, Answer())
    async with FakeServer(script) as fake:
        replica = await probed(client, fake)
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(client.send, CALL, replica, "id")
            await fake.until(lambda: fake.running == 5)
            tasks.cancel_scope.cancel()
        with anyio.fail_after(1):
            await client.send(CALL, replica, "id")
        await fake.until(lambda: (fake.running, fake.abandoned, fake.answered) == (0, 5, 1))


async def test_a_client_left_by_cancellation_leaves_nothing_open() -> None:
    async with FakeServer(always(Answer(stall=True, finish=None))) as fake:
        with anyio.move_on_after(5) as scope:
            async with HttpClient({}) as client, anyio.create_task_group() as tasks:
                tasks.start_soon(client.send, CALL, await probed(client, fake), "id")
                await fake.until(lambda: fake.running == 1)
                scope.cancel()
        await fake.until(lambda: fake.running == 0)
    gc.collect()  # an unclosed session warns, and warnings are errors


async def test_a_request_whose_connection_ends_without_an_answer_is_not_sent_again_unseen(
    client: HttpClient,
) -> None:
    posts: list[int] = []
    listing = b'{"data": [{"id": "m", "owned_by": "vllm"}]}'
    stream = (
        b'data: {"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    )

    async def talk(connection: anyio.abc.SocketStream) -> None:
        async with connection:
            while True:
                asked = await connection.receive()
                while b"\r\n\r\n" not in asked or (b"POST" in asked and not asked.endswith(b"}")):
                    asked += await connection.receive()
                body, kind = (listing, b"application/json")
                if b"POST" in asked:
                    body, kind = (stream, b"text/event-stream")
                    posts.append(len(posts))
                if len(posts) == 2:
                    return  # it got the request, and perhaps read the prompt
                head = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n"
                await connection.send(head % (kind, len(body)) + body)

    async with listening(talk) as url:
        replica = (await client.probe(model(url)))[0]
        await client.send(CALL, replica, "id")
        with pytest.raises(CallError) as caught:
            await client.send(CALL, replica, "id")
    assert (caught.value.kind, caught.value.maybe_paid) == ("cut", True)
    assert len(posts) == 2


def test_under_trio_the_client_says_that_it_needs_asyncio() -> None:
    async def enter() -> None:
        async with HttpClient({}):
            pass

    with pytest.raises(RuntimeError, match="under asyncio only, not under trio"):
        anyio.run(enter, backend="trio")
