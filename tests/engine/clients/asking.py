"""What tests of the client ask a scripted server."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import anyio
import anyio.abc
import pytest

from podium.dsl.model import Endpoint, EnvRef, Model
from podium.engine.call import CallError, Message, ModelCall, Replica
from podium.engine.clients.http import HttpClient
from podium.engine.testing.server import Answer, FakeServer, json_answer

from .recorded import SERVERS

CALL = ModelCall("main/agent", "run", "fast", (Message("user", "hi"),), max_output=20)


def model(*urls: str, name: str = "", key: str | None = None, **fields: Any) -> Model:
    named = None if key is None else EnvRef(key)
    return Model("fast", tuple(Endpoint("openai", name, url, named) for url in urls), **fields)


async def probed(client: HttpClient, server: FakeServer, **fields: Any) -> Replica:
    return (await client.probe(model(server.url, **fields)))[0]


async def failure(client: HttpClient, replica: Replica, call: ModelCall = CALL) -> CallError:
    with pytest.raises(CallError) as caught:
        await client.send(call, replica, "id")
    return caught.value


async def refused(client: HttpClient, which: Model) -> CallError:
    with anyio.fail_after(4), pytest.raises(CallError) as caught:
        await client.probe(which)
    return caught.value


def recorded(server: str) -> FakeServer:
    """A server that says of itself what a real one said."""
    routes: dict[str, Answer] = {}
    for name, path in (("GET /v1/models", "/v1/models"), ("GET /props", "/props")):
        status, headers, body = SERVERS[server][name]
        kept = {key: value for key, value in headers.items() if key.lower() == "server"}
        routes[path] = replace(json_answer(None, status=status), headers=kept, body=body.encode())
    return FakeServer(routes=routes)


Talk = Callable[[anyio.abc.SocketStream], Awaitable[None]]


@asynccontextmanager
async def listening(talk: Talk) -> AsyncGenerator[str]:
    """A raw TCP server on loopback that talks so with each client, while the block runs."""

    async def guarded(stream: anyio.abc.SocketStream) -> None:
        with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
            await talk(stream)

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(listener.serve, guarded)
        yield f"http://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}"
        tasks.cancel_scope.cancel()
