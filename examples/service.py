"""A web service around the engine: starts runs, streams their events, pauses, stops and resumes them.

    PODIUM_TOKEN=… python service.py --store runs.db --port 8080

It listens on this machine only. Every request needs `Authorization: Bearer TOKEN`; without a PODIUM_TOKEN in
the environment it makes one up and prints it. At SIGINT or SIGTERM its runs are paused; the next start takes
them up, and those of a service that was killed.
"""

import argparse
import hmac
import json
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

import anyio
from aiohttp import web

from podium.dsl.problem import ProgramError
from podium.engine import CallError, Engine, NotResumable, Run, RunOwned
from podium.engine.event import Stamped

ENGINE = web.AppKey("engine", Engine)
TOKEN = web.AppKey("token", str)
# The reason of the pause of a run that goes on at the next start.
RESTART = "restart"
# How the keys of runs begin that last as long as the connection of their client.
STREAMED = "streamed "
# How long calls in flight may take to end when the service does; then they are cancelled, and paid twice.
GRACE_S = 10.0
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
routes = web.RouteTableDef()


@web.middleware
async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Let in who knows the token; tell mistakes of the request as JSON."""
    given = request.headers.get("Authorization", "")
    wanted = f"Bearer {request.app[TOKEN]}"
    if not hmac.compare_digest(given.encode(), wanted.encode()):
        return refused(401, "the token is missing or wrong")
    try:
        return await handler(request)
    except KeyError as error:
        return refused(404, f"there is no {error}")
    except (NotResumable, RunOwned) as error:
        return refused(409, str(error))
    except CallError as error:
        return refused(502, error.message)
    except ProgramError as error:
        problems = [f"{problem.code}: {problem.message}" for problem in error.problems]
        return refused(422, "; ".join(problems))


def refused(status: int, why: str) -> web.Response:
    return web.json_response({"error": why}, status=status)


@routes.post("/runs")
async def start(request: web.Request) -> web.Response:
    """{"program": text, "budget": "[$1]"}; with an Idempotency-Key, a second request gives the first one's run."""
    run = await started(request, request.headers.get("Idempotency-Key"))
    return web.json_response({"run": run.id}, status=201)


async def started(request: web.Request, key: str | None) -> Run:
    asked = await asked_of(request)
    return await request.app[ENGINE].start(
        asked["program"],
        run=asked.get("run"),
        task=asked.get("task"),
        budget=asked.get("budget"),
        key=key,
    )


async def asked_of(request: web.Request) -> Mapping[str, str]:
    try:
        sent: Mapping[str, object] = await request.json()
        asked = {name: str(value) for name, value in sent.items() if value is not None}
        asked["program"]
    except (ValueError, LookupError, AttributeError):
        text = json.dumps({"error": 'send JSON, {"program": "…text of a .team file…"}'})
        raise web.HTTPBadRequest(text=text, content_type="application/json") from None
    return asked


@routes.post("/answers")
async def answer(request: web.Request) -> web.StreamResponse:
    """As POST /runs, with the events in the reply, to the run's end. A client that goes away cancels the run."""
    run = await started(request, f"{STREAMED}{secrets.token_hex(8)}")
    try:
        return await streamed(request, run.events())
    finally:
        run.abort()  # nothing is left to cancel of a run that has ended
        with anyio.CancelScope(shield=True):
            await run.result()


@routes.get("/runs")
async def runs(request: web.Request) -> web.Response:
    found = request.app[ENGINE].runs()
    listed = [
        {"run": one.id, "name": one.name, "status": one.status, "outcome": one.outcome}
        for one in found
    ]
    return web.json_response({"runs": listed})


@routes.get("/runs/{run}/events")
async def events(request: web.Request) -> web.StreamResponse:
    """Every event as a server-sent one, until the run ends; after `Last-Event-ID`, where that is sent."""
    last = request.headers.get("Last-Event-ID", "")
    after = int(last) if last.isdecimal() else -1
    return await streamed(request, request.app[ENGINE].events(request.match_info["run"], after))


async def streamed(request: web.Request, found: AsyncIterator[Stamped]) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Cache-Control": "no-store"})
    response.content_type = "text/event-stream"
    await response.prepare(request)
    async for stamped in found:
        line = json.dumps(stamped.as_json())
        # A client that reads slowly makes this wait, and nothing else.
        await response.write(f"id: {stamped.number}\ndata: {line}\n\n".encode())
    return response


@routes.post("/runs/{run}/pause")
async def pause(request: web.Request) -> web.Response:
    live(request).pause()
    return web.json_response({})


@routes.post("/runs/{run}/stop")
async def stop(request: web.Request) -> web.Response:
    """End the run for good, with its best so far."""
    live(request).stop()
    return web.json_response({})


def live(request: web.Request) -> Run:
    run = request.app[ENGINE].run(request.match_info["run"])
    if run is None:
        raise NotResumable("the run is not live: it ended, or it is paused")
    return run


@routes.post("/runs/{run}/resume")
async def resume(request: web.Request) -> web.Response:
    run = await request.app[ENGINE].resume(request.match_info["run"])
    return web.json_response({"run": run.id})


async def take_up(engine: Engine) -> None:
    """Go on with what the last service left: what it paused on leaving, and what it was killed in."""
    for record in engine.runs():
        reason = (record.outcome or {}).get("reason")
        if (record.key or "").startswith(STREAMED):
            continue  # its client is gone
        if record.status in ("running", "interrupted") or reason == RESTART:
            try:
                await engine.resume(record.id)
            except (RunOwned, NotResumable, CallError) as error:
                tell(f"run {record.id} stays as it is: {error}")


async def put_down(engine: Engine) -> None:
    """Pause all runs: what is in flight may end, within limits."""
    left = [run for record in engine.runs() if (run := engine.run(record.id)) is not None]
    for run in left:
        run.pause(RESTART)
    with anyio.move_on_after(GRACE_S):
        for run in left:
            await run.result()
    for run in left:
        run.abort()


def tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def serve(store: str, port: int, token: str) -> None:
    application = web.Application(middlewares=[guarded])
    application.add_routes(routes)
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with Engine(store, environ={}) as engine:
            application[ENGINE], application[TOKEN] = engine, token
            runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=1)
            await runner.setup()
            try:
                await take_up(engine)
                await web.TCPSite(runner, "127.0.0.1", port).start()
                tell(f"http://127.0.0.1:{runner.addresses[0][1]}")
                async for _ in signals:
                    break
                await put_down(engine)
            finally:
                with anyio.CancelScope(shield=True):
                    await runner.cleanup()


def main() -> None:
    options = argparse.ArgumentParser(description="Runs of Podium over HTTP, on this machine.")
    options.add_argument("--store", default="runs.db")
    options.add_argument("--port", type=int, default=8080)
    chosen = options.parse_args()
    token = os.environ.get("PODIUM_TOKEN")
    if not token:
        token = secrets.token_urlsafe()
        tell(f"token: {token}")
    anyio.run(serve, chosen.store, chosen.port, token)


if __name__ == "__main__":
    main()
