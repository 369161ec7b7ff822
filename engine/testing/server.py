"""A loopback server of the OpenAI protocol that does what a script says, and counts what happens to it.

For tests and measurements of anything that talks HTTP: which requests came, with which headers, which
were answered, which are still worked on after their client has gone. In the same process it is an async
context manager (asyncio), or `in_thread`, beside code that does not wait; as a process of its own it
outlives the one under test:

    python -m podium.engine.testing.server --port 0 --log PATH

prints {"url": …} when it listens, answers every call, and appends a line of JSON to PATH for each request
that starts and each that is answered.
"""

import json
import signal
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal, Self

import anyio
import anyio.from_thread
import click
import orjson
from aiohttp import web
from anyio.abc import TaskGroup

from ..clients.loose import mapping, sequence
from ..value import Json

MODEL = "fake"


@dataclass(frozen=True, slots=True)
class Answer:
    """How one request is answered: by `body` as it is, or, where that is None, by a proper completion.

    text: of the completion, streamed in `pieces` deltas if the request asks for a stream. usage: "counted"
    sends figures that grow with the texts; None sends none. finish: None sends no finish reason. error: an
    error object sent as an event in place of the finish. before: events sent first. body: raw bytes, cut
    into writes of `cut` bytes.
    delay_s: before the first byte; pause_s: between writes. stall: after the last write, nothing, and
    the connection stays open. disconnect: after so many writes the connection is closed. closes: it is
    closed after the whole answer. keep_working: like a server that does not notice its client has gone.
    """

    text: str = "hello"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    usage: Mapping[str, Json] | Literal["counted"] | None = "counted"
    finish: str | None = "stop"
    error: Json = None
    before: tuple[str, ...] = ()
    pieces: int = 2
    done: bool = True
    body: bytes | None = None
    content_type: str | None = None
    cut: int | None = None
    delay_s: float = 0.0
    pause_s: float = 0.0
    stall: bool = False
    disconnect: int | None = None
    closes: bool = False
    keep_working: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it came. headers: names in lower case. body: its JSON, None on a GET."""

    number: int
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


Script = Callable[[Seen], Answer]


def always(answer: Answer) -> Script:
    """The same answer to every call."""
    return lambda seen: answer


def in_turn(*answers: Answer) -> Script:
    """One answer after the other; the last for all that follow."""
    left = list(answers)
    return lambda seen: left.pop(0) if len(left) > 1 else left[0]


class FakeServer:
    """An async context manager. started, answered: calls to /v1/chat/completions; running: being worked on
    now; abandoned: those whose client went away. seen: every request, GETs too, in order.

    models: the answer of /v1/models; routes: answers to other paths. slots: where given, /props tells them.
    """

    def __init__(
        self,
        script: Script | None = None,
        *,
        models: Sequence[Mapping[str, Json]] = ({"id": MODEL, "max_model_len": 8192},),
        routes: Mapping[str, Answer] | None = None,
        slots: int | None = None,
        port: int = 0,
        log: IO[bytes] | None = None,
    ) -> None:
        self.script = script or always(Answer())
        self.routes = dict(routes or {})
        listing: Json = {"object": "list", "data": list(models)}
        self.routes.setdefault("/v1/models", json_answer(listing))
        if slots is not None:
            self.routes.setdefault("/props", json_answer({"total_slots": slots}))
        self.seen: list[Seen] = []
        self.started = self.answered = self.running = self.abandoned = 0
        self.url = ""
        self._port = port
        self._log = log
        self._runner: web.AppRunner | None = None
        self._ghosts: TaskGroup | None = None

    async def __aenter__(self) -> Self:
        self._ghosts = await anyio.create_task_group().__aenter__()
        app = web.Application(client_max_size=1 << 28)
        app.router.add_route("*", "/{path:.*}", self._request)
        self._runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=0.05
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        port: int = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{port}"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._runner is not None
        assert self._ghosts is not None
        with anyio.CancelScope(shield=True):
            await self._runner.cleanup()
        self._ghosts.cancel_scope.cancel()
        await self._ghosts.__aexit__(None, None, None)

    @property
    def calls(self) -> list[Seen]:
        """The requests for completions, in order."""
        return [seen for seen in self.seen if seen.path.endswith("/chat/completions")]

    async def until(self, holds: Callable[[], bool], within_s: float = 5.0) -> None:
        """Wait until holds(); TimeoutError after within_s. For counters that change as others go away."""
        with anyio.fail_after(within_s):
            while not holds():  # noqa: ASYNC110  # counters are plain integers, on purpose
                await anyio.sleep(0.002)

    async def _request(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        seen = Seen(
            number=len(self.seen),
            method=request.method,
            path=request.path,
            headers={name.lower(): value for name, value in request.headers.items()},
            body=_json(raw),
        )
        self.seen.append(seen)
        self._write("started", seen)
        if not seen.path.endswith("/chat/completions"):
            answer = self.routes.get(seen.path, json_answer({"detail": "Not Found"}, status=404))
            return await self._respond(request, answer, [answer.body or b""])
        answer = self.script(seen)
        self.started += 1
        self.running += 1
        ghost = False
        try:
            response = await self._completion(request, answer, seen)
        except (ConnectionError, anyio.get_cancelled_exc_class()):
            self.abandoned += 1
            ghost = answer.keep_working
            raise
        finally:
            if ghost:
                assert self._ghosts is not None
                self._ghosts.start_soon(self._work_on, answer)
            else:
                self.running -= 1
        self.answered += 1
        self._write("answered", seen)
        return response

    async def _work_on(self, answer: Answer) -> None:
        """What a server does that has not noticed: as long as the whole answer would have taken."""
        await anyio.sleep(answer.delay_s + answer.pause_s * answer.pieces)
        self.running -= 1

    async def _completion(
        self, request: web.Request, answer: Answer, seen: Seen
    ) -> web.StreamResponse:
        streamed = bool(mapping(seen.body).get("stream"))
        if answer.content_type is None:
            kind = "text/event-stream" if streamed and answer.status == 200 else "application/json"
            answer = replace(answer, content_type=kind)
        return await self._respond(request, answer, writes(answer, seen, streamed=streamed))

    async def _respond(
        self, request: web.Request, answer: Answer, parts: list[bytes]
    ) -> web.StreamResponse:
        await anyio.sleep(answer.delay_s)
        response = web.StreamResponse(status=answer.status, headers=answer.headers)
        response.content_type = answer.content_type or "application/json"
        response.headers.update(answer.headers)
        await response.prepare(request)
        for i, part in enumerate(parts):
            if i == answer.disconnect:
                break
            if i and answer.pause_s:
                await anyio.sleep(answer.pause_s)
            await response.write(part)
        if answer.stall:
            await anyio.sleep_forever()
        if answer.disconnect is not None and request.transport is not None:
            request.transport.close()  # without the end of the chunked body
            return response
        await response.write_eof()
        if answer.closes and request.transport is not None:
            request.transport.close()
        return response

    def _write(self, event: str, seen: Seen) -> None:
        if self._log is None:
            return
        line = {
            "event": event,
            "number": seen.number,
            "method": seen.method,
            "path": seen.path,
            "headers": dict(seen.headers) if event == "started" else None,
            "body": seen.body if event == "started" else None,
        }
        self._log.write(orjson.dumps(line) + b"\n")
        self._log.flush()


@contextmanager
def in_thread(server: FakeServer) -> Generator[FakeServer]:
    """server, in an event loop and thread of its own, for the block."""
    with (
        anyio.from_thread.start_blocking_portal() as portal,
        portal.wrap_async_context_manager(server),
    ):
        yield server


def json_answer(value: Json, *, status: int = 200) -> Answer:
    """value as JSON, for `routes` or as a refusal."""
    return Answer(status=status, body=orjson.dumps(value), content_type="application/json")


def writes(answer: Answer, seen: Seen, *, streamed: bool) -> list[bytes]:
    """The bytes of answer as they are written, one write each."""
    if answer.body is None:
        parts = _events(answer, seen) if streamed else [_whole(answer, seen)]
        if answer.cut is None:
            return parts
        body = b"".join(parts)
    else:
        body = answer.body
    size = answer.cut or max(1, len(body))
    return [body[i : i + size] for i in range(0, len(body), size)]


def _usage(answer: Answer, seen: Seen) -> Mapping[str, Json] | None:
    """As told; else as a server might count: no tokenizer's figures, but ones that grow as theirs do, and of each
    word one at least. Short texts are 10 tokens read and 5 written."""
    if answer.usage != "counted":
        return answer.usage
    messages = sequence(mapping(seen.body).get("messages"))
    read = max(10, sum(_tokens(str(mapping(one).get("content") or "")) for one in messages))
    wrote = max(5, _tokens(answer.text))
    return {"prompt_tokens": read, "completion_tokens": wrote, "total_tokens": read + wrote}


def _tokens(text: str) -> int:
    return max(len(text.split()), len(text.encode()) // 4)


def _events(answer: Answer, seen: Seen) -> list[bytes]:
    parts = [line.encode() for line in answer.before]
    size = max(1, -(-len(answer.text) // answer.pieces))
    texts = [answer.text[i : i + size] for i in range(0, len(answer.text), size)]
    parts += [_event(seen, [_delta({"content": text})]) for text in texts]
    if answer.error is not None:
        parts.append(_data({"error": answer.error}))
    elif answer.finish is not None:
        parts.append(_event(seen, [_delta({}, answer.finish)]))
    if (usage := _usage(answer, seen)) is not None:
        parts.append(_event(seen, [], usage))
    if answer.done:
        parts.append(b"data: [DONE]\n\n")
    return parts


def _delta(delta: Json, finish: str | None = None) -> Json:
    return {"index": 0, "delta": delta, "finish_reason": finish}


def _event(seen: Seen, choices: list[Json], usage: Mapping[str, Json] | None = None) -> bytes:
    value: dict[str, Json] = {
        "id": f"chatcmpl-{seen.number}",
        "object": "chat.completion.chunk",
        "model": MODEL,
        "choices": choices,
    }
    return _data(value if usage is None else {**value, "usage": usage})


def _data(value: Json) -> bytes:
    return b"data: " + orjson.dumps(value) + b"\n\n"


def _whole(answer: Answer, seen: Seen) -> bytes:
    message: Json = {"role": "assistant", "content": answer.text}
    choice: Json = {"index": 0, "message": message, "finish_reason": answer.finish}
    value: dict[str, Json] = {
        "id": f"chatcmpl-{seen.number}",
        "object": "chat.completion",
        "model": MODEL,
        "choices": [choice],
    }
    usage = _usage(answer, seen)
    return orjson.dumps(value if usage is None else {**value, "usage": usage})


def _json(raw: bytes) -> Any:
    try:
        return json.loads(raw) if raw else None
    except ValueError:
        return None


# --- as a process ---------------------------------------------------------------------------------


def echo(text: str, delay_s: float) -> Script:
    """text after delay_s, with `{hash}` in it replaced by eight digits that the messages determine."""

    def answer(seen: Seen) -> Answer:
        said = orjson.dumps(mapping(seen.body).get("messages"))
        reply = text.replace("{hash}", sha256(said).hexdigest()[:8])
        return Answer(text=reply, delay_s=delay_s)

    return answer


async def serve(script: Script, port: int, log: IO[bytes] | None, slots: int | None) -> None:
    """Print the ready line, then serve until SIGTERM or SIGINT."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async with FakeServer(script, port=port, log=log, slots=slots) as server:
            click.echo(json.dumps({"url": server.url, "model": MODEL}))
            async for _ in signals:
                return


@click.command()
@click.option("--port", default=0, help="0: a free one.")
@click.option("--log", type=click.Path(path_type=Path), help="Append a line of JSON per event.")
@click.option("--text", default="reply {hash}", help="What each call is answered with.")
@click.option("--delay", default=0.0, help="Seconds before the first byte.")
@click.option(
    "--script", type=click.Path(path_type=Path, exists=True), help="A JSON list of answers."
)
@click.option("--slots", type=int, help="Tell of so many slots, as llama.cpp does.")
def main(
    port: int, log: Path | None, text: str, delay: float, script: Path | None, slots: int | None
) -> None:
    """A scripted server of the OpenAI protocol on 127.0.0.1."""
    if script is None:
        answers = echo(text, delay)
    else:
        answers = in_turn(*(Answer(**fields) for fields in json.loads(script.read_bytes())))
    if log is None:
        anyio.run(serve, answers, port, None, slots)
        return
    with log.open("ab") as file:
        anyio.run(serve, answers, port, file, slots)


if __name__ == "__main__":
    main()
