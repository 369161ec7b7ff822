"""`podium verify --serve`: a verifier over HTTP, for `http(...)` in a program on another machine.

Every request needs the token. An answer is judged by the verifier of the served task that has the statement sent
along, or by that of the only task there is; what the request says of a verifier counts for nothing.
"""

import secrets
import signal
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from hmac import compare_digest

import anyio
import click
import orjson
from aiohttp import web

from podium.dsl.program import Task, Verifier

from ..admit import VERIFIER_INFLIGHT
from ..call import CallError, VerifierCall
from ..clients.loose import mapping, parsed
from ..reduce import settled
from ..sandbox import Sandbox
from ..value import Json
from ..verify import judge
from ..workspace import TooLarge, from_json, name_of, written

TOKEN = "PODIUM_VERIFY_TOKEN"
# An attempt's files are part of it, as text or base64.
LARGEST_REQUEST = 48 << 20
# When a stopped server lets go of requests that are still judged, in seconds.
_PATIENCE_S = 2.0


@dataclass(frozen=True, slots=True)
class Service:
    """tasks: each with a verifier. environ: where the tokens of services that these use are looked up. sandbox:
    where those that are programs run."""

    tasks: Sequence[Task]
    token: str
    environ: Mapping[str, str]
    sandbox: Sandbox | None = None
    slots: dict[str, anyio.Semaphore] = field(default_factory=dict[str, anyio.Semaphore])

    async def answer(self, request: web.Request) -> web.Response:
        """The verdict on what is posted, or why there is none."""
        given = request.headers.get("Authorization", "").encode()
        if not compare_digest(given, f"Bearer {self.token}".encode()):
            return _json({"verifier_error": "the token is missing or wrong"}, 401)
        asked = mapping(parsed(await request.read()))
        if "answer" not in asked and "text" not in asked:
            return _json({"verifier_error": "the request has neither answer nor text"}, 400)
        task = self._task(str(mapping(asked.get("task")).get("statement", "")))
        if task is None or task.verify is None:
            return _json({"verifier_error": "no task with this statement is served here"}, 404)
        return await self._judged(asked, task, task.verify)

    def _task(self, statement: str) -> Task | None:
        if len(self.tasks) == 1:
            return self.tasks[0]
        return next((task for task in self.tasks if task.statement == statement), None)

    async def _judged(
        self, asked: Mapping[str, Json], task: Task, verifier: Verifier
    ) -> web.Response:
        answer, text = asked.get("answer"), asked.get("text")
        text = text if isinstance(text, str) else answer if isinstance(answer, str) else ""
        measure = asked.get("measure")
        number = measure if isinstance(measure, int) else 1
        try:
            files = written(from_json(mapping(asked.get("files"))))
        except (TooLarge, ValueError) as error:
            return _json({"verifier_error": f"`files`: {error}"}, 400)
        tree = name_of(files) if asked.get("files") else ""
        call = VerifierCall("served", "", verifier, task, answer, text, number, tree)
        most = verifier.inflight or VERIFIER_INFLIGHT
        async with self.slots.setdefault(verifier.name, anyio.Semaphore(most)):
            try:
                said = await judge(
                    call, environ=self.environ, sandbox=self.sandbox, kept=lambda _: files
                )
                verdict = settled(said, task, verifier)
            except CallError as error:
                return _json({"verifier_error": error.message}, 500)
        return _json(asdict(verdict), 200)


def _json(body: Mapping[str, object], status: int) -> web.Response:
    return web.Response(body=orjson.dumps(body), status=status, content_type="application/json")


@asynccontextmanager
async def served(service: Service, host: str, port: int) -> AsyncGenerator[str]:
    """service at host and port (0: any that is free), for as long as the block lasts; gives its address.

    Raises OSError where it cannot listen there.
    """
    app = web.Application(client_max_size=LARGEST_REQUEST)
    app.router.add_post("/", service.answer)
    runner = web.AppRunner(app, shutdown_timeout=_PATIENCE_S)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        await site.start()
        name = f"[{host}]" if ":" in host else host
        yield f"http://{name}:{runner.addresses[0][1]}/"
    finally:
        with anyio.CancelScope(shield=True):
            await runner.cleanup()


async def serve(
    tasks: Sequence[Task],
    environ: Mapping[str, str],
    host: str,
    port: int,
    sandbox: Sandbox | None = None,
) -> None:
    """Serve until a signal asks to stop; the address to standard output, a token of ours to standard error."""
    token = environ.get(TOKEN) or secrets.token_urlsafe(24)
    async with served(Service(tasks, token, environ, sandbox), host, port) as url:
        if not environ.get(TOKEN):
            click.echo(f"token (set {TOKEN} to choose it): {token}", err=True)
        click.echo(url)
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for _ in signals:
                break
