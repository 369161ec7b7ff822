"""An agent with tools: prompt, reply, calls, results, and so on, until it answers or its turns run out.

What is to be done is decided by the pure functions of `calls` and `history`; here it is put in order. Requests are
numbered by turn, `address/t3`, and so are the calls of each, `address/t3.1`, so that a later life of the run finds
them. A reply without calls is the answer, whatever its finish says.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Protocol

import orjson

from podium.dsl.program import Role

from ..call import CallError, Message, ModelCall, ModelReply, Offer, ToolCall
from ..value import Attempt
from .calls import MOST_CALLS, Step, result, said, share, steps
from .history import (
    History,
    as_told,
    dropped,
    is_full,
    restarted,
    summarised,
    to_go,
)
from .prompt import fit_tokens
from .shape import schema

# How long a summary of what was left out may be, in tokens; in a small window an eighth of it.
SUMMARY = 1024
_ANSWER_NOW = "[This is your last turn: give your answer now, and call no tool.]"

Ask = Callable[[ModelCall], Awaitable[ModelReply]]
# A request of the turn, by the end of its address and its messages; offers are those of the agent's tools.
Answered = tuple[ModelReply, tuple[Message, ...]]
Request = Callable[[str, tuple[Message, ...], tuple[Offer, ...]], ModelCall]


class Bench(Protocol):
    """An agent's tools, and what they came to. Made anew for each agent, and used by it alone.

    given: the best of what was submitted, None where nothing was. is_done: what was submitted passed.
    notes: the agent's own, as it is shown them. tree: its files, as of Attempt.
    """

    @property
    def offers(self) -> tuple[Offer, ...]: ...

    @property
    def given(self) -> Attempt | None: ...

    @property
    def is_done(self) -> bool: ...

    @property
    def notes(self) -> str: ...

    @property
    def tree(self) -> str: ...

    async def use(self, call: ToolCall, address: str) -> str:
        """What came of a call that fits its offer; what went wrong in the tool too is told so."""
        ...


@dataclass(frozen=True, slots=True)
class Work:
    """What an agent works with. reply: the cap of its replies, window: of its model, in tokens.

    most: how many calls of one reply are run.
    """

    role: Role
    ask: Ask
    request: Request
    bench: Bench
    address: str
    window: int
    reply: int
    most: int = MOST_CALLS

    @property
    def tools(self) -> int:
        return fit_tokens(orjson.dumps(self.bench.offers).decode())


async def worked(work: Work, head: tuple[Message, ...]) -> Answered | None:
    """The reply with which the agent answers, and what it had before it; None where what it gave is its answer.

    Raises CallError: `turns` where they ran out before it answered, `overflow` where the window did and its role
    keeps its context.
    """
    history, turns = History(_told(work.role, head)), work.role.turns
    for number in range(1, turns + 1):
        history = await _with_room(work, history, number)
        reply, history = await _asked(work, history, number)
        if not reply.tool_calls:
            return reply, history.messages()
        if number == turns:
            return _out_of_turns(work, reply, history)
        history = await _answered(work, history, reply, number)
        if work.bench.is_done:
            return None
    raise AssertionError("the last turn returns")


def _told(role: Role, head: tuple[Message, ...]) -> tuple[Message, ...]:
    """The prompt, with the shape of the answer in words: a schema field would forbid calls on some servers."""
    *first, prompt = head
    parts = [prompt.content]
    if role.output is not None:
        shape = orjson.dumps(schema(role.output)).decode()
        parts.append(f"Give your answer as one JSON object of this schema:\n{shape}")
    if role.turns == 1:
        parts.append(_ANSWER_NOW)
    return (*first, replace(prompt, content="\n\n".join(parts)))


async def _asked(work: Work, history: History, number: int) -> tuple[ModelReply, History]:
    """The reply of a turn. A server that says that the prompt is too long is asked once more, with less."""
    try:
        return await work.ask(_call(work, f"t{number}", history)), history
    except CallError as error:
        if error.kind != "overflow" or work.role.context == "keep" or not history.exchanges:
            raise
    history = await _shorter(work, history, f"t{number}.shorter")
    return await work.ask(_call(work, f"t{number}.shorter", history)), history


def _call(work: Work, segment: str, history: History) -> ModelCall:
    return work.request(segment, history.messages(), work.bench.offers)


async def _answered(work: Work, history: History, reply: ModelReply, number: int) -> History:
    """The history with the reply and what came of its calls, one after another."""
    found = steps(reply, work.bench.offers, history.ids(), work.most)
    room = share(work.window, len(found))
    results: list[Message] = []
    for place, step in enumerate(found, 1):
        text = step.refusal or await _used(work, step, f"{work.address}/t{number}.{place}")
        results.append(result(step, text, room))
        if work.bench.is_done:
            break
    if number == work.role.turns - 1:
        results[-1] = replace(results[-1], content=f"{results[-1].content}\n{_ANSWER_NOW}")
    return history.plus((said(reply, found), *results))


async def _used(work: Work, step: Step, address: str) -> str:
    return await work.bench.use(step.call, address)


def _out_of_turns(work: Work, reply: ModelReply, history: History) -> Answered | None:
    """What is left at the end of the turns: what was submitted, else what the last reply says beside its calls."""
    if work.bench.given is not None:
        return None
    if reply.text.strip():
        return reply, history.messages()
    turns = work.role.turns
    raise CallError(
        "turns", f"no answer in {turns} turn{'s' if turns > 1 else ''}: it called tools"
    )


# --- room ----------------------------------------------------------------------------------------


async def _with_room(work: Work, history: History, number: int) -> History:
    """history, shorter where the window has no room for it and a reply. Kept as it is where the role says so."""
    full = is_full(history, work.window, work.reply, work.tools)
    if work.role.context == "keep" or not full or not history.exchanges:
        return history
    return await _shorter(work, history, f"t{number}")


async def _shorter(work: Work, history: History, segment: str) -> History:
    if work.role.context == "restart":
        return restarted(history, work.bench.notes)
    count = max(to_go(history, work.window // 2), int(len(history.exchanges) > 1))
    if work.role.context == "summarise" and count:
        summary = await _summary(work, history, count, segment)
        if summary:
            return summarised(history, count, summary)
    return dropped(history, count)


async def _summary(work: Work, history: History, count: int, segment: str) -> str:
    """What the model makes of the oldest exchanges, on the agent's own budget; nothing where it cannot be had."""
    call = work.request(f"{segment}.summary", as_told(history, count, work.window // 3), ())
    cap = min(SUMMARY, work.window // 8, call.max_output)
    try:
        reply = await work.ask(replace(call, max_output=max(1, cap), schema=None))
    except CallError:
        return ""
    return reply.text.strip()
