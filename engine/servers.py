"""Tools of MCP servers, by the official SDK: each server in one task of its own, reached through a queue.

A connection that is opened by one task and closed by another breaks the scopes of both. So its task opens it as
the run begins, serves what it is sent, and closes it as the run ends, whoever was cancelled meanwhile; a server
that was started is then gone.
"""

import math
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.abc
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from podium.dsl.program import Tool

from .call import CallError, Offer, ToolReply, ToolUse
from .plain import excerpt

if TYPE_CHECKING:
    from mcp import Client

# How long a server may take to begin.
READY_S = 30.0


@dataclass(slots=True, eq=False)
class _Asked:
    """A call on its way. scope: around what is done for it; done: set once reply is there."""

    name: str
    arguments: dict[str, Any]
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    done: anyio.Event = field(default_factory=anyio.Event)
    reply: ToolReply | None = None


@dataclass(slots=True, eq=False)
class _Server:
    """tool: as the program has it. offers: what it told as it began. gone: why it takes nothing more."""

    tool: Tool
    offers: tuple[Offer, ...] = ()
    gone: str = ""
    wrong: CallError | None = None
    send: MemoryObjectSendStream[_Asked] = field(init=False)
    receive: MemoryObjectReceiveStream[_Asked] = field(init=False)
    open_: set[_Asked] = field(default_factory=set[_Asked])

    def __post_init__(self) -> None:
        self.send, self.receive = anyio.create_memory_object_stream[_Asked](0)

    async def own(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        """The server's own task, until it is cancelled."""
        starting = anyio.CancelScope(deadline=anyio.current_time() + READY_S)
        try:
            with starting:
                async with self.send, self.receive, _client(self.tool) as client:
                    self.offers = await _offers(client)
                    starting.deadline = math.inf
                    task_status.started()
                    await self._serve(client)
        except Exception as error:  # whatever a server does ends itself, never the run
            self.gone = _why(error)
        finally:
            for asked in self.open_:
                asked.reply = asked.reply or self._is_gone()
                asked.done.set()
        if starting.deadline < math.inf:
            why = self.gone or f"it did not begin within {READY_S:.0f} s"
            self.wrong = CallError("tool", f"the server {self.tool.name} cannot be had: {why}")
            task_status.started()

    async def _serve(self, client: "Client") -> None:
        async with anyio.create_task_group() as calls:
            async for asked in self.receive:
                calls.start_soon(self._answer, client, asked)

    async def _answer(self, client: "Client", asked: _Asked) -> None:
        with asked.scope:
            try:
                asked.reply = _told(await client.call_tool(asked.name, asked.arguments))
            except Exception as error:  # its words are for the model that called it
                said = excerpt(str(error), 1000) or type(error).__name__
                asked.reply = ToolReply(f"{asked.name} failed: {said}", failed=True)
        asked.done.set()

    async def use(self, call: ToolUse) -> ToolReply:
        asked = _Asked(call.name, dict(call.arguments))
        self.open_.add(asked)
        try:
            with anyio.move_on_after(call.tool.timeout_s):
                await self.send.send(asked)
                await asked.done.wait()
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return self._is_gone()
        finally:
            self.open_.discard(asked)
            asked.scope.cancel()
        seconds = call.tool.timeout_s
        late = f"{call.name} took longer than {seconds:g} s and was stopped"
        return asked.reply or ToolReply(late, failed=True)

    def _is_gone(self) -> ToolReply:
        why = f": {self.gone}" if self.gone else ""
        return ToolReply(f"the server {self.tool.name} is gone{why}", failed=True)


@dataclass(frozen=True, slots=True)
class Servers:
    """The servers of a run that are up."""

    found: dict[str, _Server]

    def offers(self, tool: Tool) -> tuple[Offer, ...]:
        return self.found[repr(tool)].offers

    async def use(self, call: ToolUse) -> ToolReply:
        return await self.found[repr(call.tool)].use(call)


@asynccontextmanager
async def served(tools: Sequence[Tool]) -> AsyncGenerator[Servers]:
    """The servers of these tools, while the block runs. Raises CallError("tool") where one cannot be had."""
    servers = {repr(tool): _Server(tool) for tool in tools}
    if not servers:
        yield Servers(servers)
        return
    wrong: Exception | None = None
    async with anyio.create_task_group() as owners:
        try:
            for server in servers.values():
                await owners.start(server.own)
            wrong = next((one.wrong for one in servers.values() if one.wrong is not None), None)
            if wrong is None:
                yield Servers(servers)
        except Exception as error:  # it goes on as it is, and not in the group of the owners
            wrong = error
        finally:
            owners.cancel_scope.cancel()
    if wrong is not None:
        raise wrong


@asynccontextmanager
async def _client(tool: Tool) -> AsyncGenerator["Client"]:
    try:
        from mcp import Client, StdioServerParameters, stdio_client
    except ImportError as error:
        told = "tools of MCP servers need the SDK: pip install 'podium[mcp]'"
        raise CallError("tool", told) from error
    if url := tool.args.get("url"):
        async with Client(str(url)) as client:
            yield client
        return
    argv = tool.args["command"]
    words = [str(word) for word in (argv if isinstance(argv, tuple) else (argv,))]
    # What a server says beside the protocol is nobody's: a terminal shows no text that was not cleaned.
    with Path(os.devnull).open("w") as nothing:  # noqa: ASYNC230  # a device, which does not block
        how = StdioServerParameters(command=words[0], args=words[1:])
        async with Client(stdio_client(how, errlog=nothing)) as client:
            yield client


def _why(error: BaseException) -> str:
    bottom = _bottom(error)
    if isinstance(bottom, CallError):
        return bottom.message
    return f"{type(bottom).__name__}: {excerpt(str(bottom))}"


def _bottom(error: BaseException) -> BaseException:
    """The error at the bottom of groups of one."""
    if isinstance(error, BaseExceptionGroup):
        group = cast(BaseExceptionGroup[BaseException], error)  # isinstance loses the parameter
        return _bottom(group.exceptions[0]) if len(group.exceptions) == 1 else group
    return error


async def _offers(client: "Client") -> tuple[Offer, ...]:
    found: list[Offer] = []
    cursor: str | None = None
    while True:
        listed = await client.list_tools(cursor=cursor)
        found += [
            Offer(one.name, excerpt(one.description or one.name, 1000), one.input_schema)
            for one in listed.tools
        ]
        cursor = listed.next_cursor
        if not cursor:
            return tuple(found)


def _told(result: Any) -> ToolReply:
    """The texts of a result; what is no text is named by its kind."""
    parts = [getattr(one, "text", None) or f"[{one.type}]" for one in result.content]
    text = "\n".join(parts) or "done"
    return ToolReply(text, failed=bool(result.is_error))
