"""The tools of a run that work outside of its agents: what they offer, and what a call of one comes to.

What a tool raises, and that it took too long, is its result, for the model to read: it fails no node. What it
offers is decided once in a run, so that a later life asks models the same without loading anything.
"""

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol, cast

import anyio
import anyio.to_thread
import orjson

from podium.dsl.draft import tools_of
from podium.dsl.program import Program, Tool

from .agent.signature import offer_of
from .call import CallError, Offer, ToolReply, ToolUse
from .functions import Function, load
from .handiwork import Handiwork
from .plain import clean, excerpt
from .sandbox import Sandbox
from .servers import Servers, served

# A result beyond this is kept neither on disk nor in memory; a model is shown far less of it.
MOST_BYTES = 1 << 20


class Toolbox(Protocol):
    """The tools of a run, while it lives."""

    def offers(self, tool: Tool) -> tuple[Offer, ...]:
        """What tool offers to models. Raises CallError("tool") where it is not there."""
        ...

    async def use(self, call: ToolUse) -> ToolReply:
        """What a call comes to, within the tool's time-out. Raises CallError("tool") where it is not there."""
        ...


def _nothing(name: str) -> str:
    raise KeyError(name)


@dataclass(frozen=True, slots=True)
class Means:
    """What tools and judges of a run are made from.

    bindings: functions of the user's, by the name that `python("name")` uses.
    inline: no threads, as of Engine. sandbox: for programs that they run. kept: a text of the run's store.
    """

    bindings: Mapping[str, Function] = field(default_factory=dict[str, Function])
    inline: bool = False
    sandbox: Sandbox | None = None
    kept: Callable[[str], str] = _nothing


class Open(Protocol):
    """What `open_tools` is, or stands for it under simulation."""

    def __call__(self, program: Program, means: Means) -> AbstractAsyncContextManager[Toolbox]: ...


class NoTools:
    """Of a run that calls none, as all it asks is recorded, or where none is at hand."""

    def offers(self, tool: Tool) -> tuple[Offer, ...]:
        raise CallError("tool", f"no tool {tool.name} is at hand here")

    async def use(self, call: ToolUse) -> ToolReply:
        raise CallError("tool", f"no tool {call.name} is at hand here")


NO_TOOLS = NoTools()


@dataclass(frozen=True, slots=True)
class Functions:
    """Functions of the user's as tools: async ones here, others in a thread, which a time-out, or cancelling the
    run, abandons but cannot stop. inline: those too run here, for a clock that jumps."""

    bindings: Mapping[str, Function]
    inline: bool = False

    def offers(self, tool: Tool) -> tuple[Offer, ...]:
        function = load(_ref(tool), self.bindings, "tool")
        try:
            return (offer_of(tool.name, function),)
        except (ValueError, TypeError, NameError) as error:
            raise CallError("tool", f"python({_ref(tool)!r}) is no tool: {error}") from error

    async def use(self, call: ToolUse) -> ToolReply:
        function = load(_ref(call.tool), self.bindings, "tool")
        seconds = call.tool.timeout_s
        with anyio.move_on_after(seconds):
            return await self._called(function, call)
        return ToolReply(f"{call.name} took longer than {seconds:g} s and was stopped", failed=True)

    async def _called(self, function: Function, call: ToolUse) -> ToolReply:
        called = partial(function, **call.arguments)
        try:
            if self.inline or inspect.iscoroutinefunction(function):
                result = called()
            else:
                result = await anyio.to_thread.run_sync(called, abandon_on_cancel=True)
            if inspect.isawaitable(result):
                result = await cast(Awaitable[object], result)  # the question does not say of what
            return ToolReply(told(result))
        except Exception as error:  # what a tool raises is told to the model that called it
            said = excerpt(str(error), 1000)
            return ToolReply(f"{call.name} failed: {type(error).__name__}: {said}", failed=True)


def told(result: object) -> str:
    """What a function returned, as text: a text as it is, all else as JSON where it has such a form."""
    if isinstance(result, str):
        return result
    if result is None:
        return "done"
    try:
        return orjson.dumps(result, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode()
    except orjson.JSONEncodeError:
        return str(result)


def bounded(text: str) -> str:
    """text, or its beginning and end where it is longer than anybody keeps."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= MOST_BYTES:
        return text
    half = MOST_BYTES // 2
    head, tail = raw[:half].decode(errors="ignore"), raw[-half:].decode(errors="ignore")
    return f"{head}\n… [{len(raw) - 2 * half} bytes were not kept] …\n{tail}"


def _ref(tool: Tool) -> str:
    return str(tool.args.get("ref", ""))


@asynccontextmanager
async def no_tools(program: Program, means: Means) -> AsyncGenerator[Toolbox]:
    """In place of `open_tools` where nothing is to be called."""
    yield NO_TOOLS


@dataclass(frozen=True, slots=True)
class Tools:
    """All kinds of tools, each in its own part."""

    functions: Functions
    handiwork: Handiwork
    servers: Servers

    def offers(self, tool: Tool) -> tuple[Offer, ...]:
        return self._of(tool).offers(tool)

    async def use(self, call: ToolUse) -> ToolReply:
        """Of bounded length, without control codes: so it is kept, and so it is read by models and people."""
        reply = await self._of(call.tool).use(call)
        return replace(reply, text=bounded(clean(reply.text)))

    def _of(self, tool: Tool) -> Toolbox:
        match tool.kind:
            case "function":
                return self.functions
            case "mcp":
                return self.servers
            case _:
                return self.handiwork


@asynccontextmanager
async def open_tools(program: Program, means: Means) -> AsyncGenerator[Toolbox]:
    """The tools that program's agents may call. Raises CallError("tool") where one is not there."""
    functions = Functions(means.bindings, means.inline)
    used = tools_of(program.flow)
    for tool in used:
        if tool.kind == "function":
            functions.offers(tool)
    async with served([tool for tool in used if tool.kind == "mcp"]) as servers:
        yield Tools(functions, Handiwork(means.sandbox, means.kept), servers)


def needs_sandbox(program: Program) -> bool:
    """Whether one of its agents may run programs."""
    return any(tool.kind in ("shell", "python") for tool in tools_of(program.flow))
