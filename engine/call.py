"""The one thing a program can do to the world: a `Call`, answered by a `Handler` with a `Reply`.

Layers are handlers around handlers. An `Address` is fixed by a call's place in the program, never by timing.

One file of some length, as the contract of all layers: records without behaviour, their JSON forms and digests.
"""

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, field
from typing import Any, Literal, Protocol

import orjson

from podium.dsl.model import Endpoint, Model, Sampling
from podium.dsl.program import Task, Tool, Verifier

from .quick import quick
from .value import Json, Verdict, verdict_body, verdict_from


@quick(frozen=True, slots=True)
class Message:
    """calls: of tools, in an assistant's. answers: the id of the call that a tool's message is the result of."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    calls: tuple["ToolCall", ...] = ()
    answers: str = ""


@quick(frozen=True, slots=True)
class Offer:
    """A tool as a model is told of it. parameters: a JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Json]


def offer(name: str, says: str, required: Sequence[str], /, **properties: Json) -> Offer:
    """An offer that takes properties, each a JSON schema, and nothing else."""
    shape: dict[str, Json] = {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
    return Offer(name, says, shape)


@quick(frozen=True, slots=True)
class ModelCall:
    """One request to a model.

    account: the ledger account it is charged to. group: calls of one group share a prompt prefix and
    belong on one replica. schema: a JSON schema of the wanted reply, None for free text. salt: calls with
    different ones share nothing in a server's prompt cache; it is set as a call is sent. urgency: above 0
    the server is asked to take it before others, below 0 after them, where its profile says how. begun: called,
    by clients that can tell, once the first of the reply is there: the prompt was read. judges: it is one of a
    verifier's.
    """

    address: str
    account: str
    model: str
    messages: tuple[Message, ...]
    max_output: int
    sampling: Sampling = Sampling()
    schema: Mapping[str, Json] | None = None
    group: str = ""
    seed: int | None = None
    salt: str = ""
    urgency: int = 0
    tools: tuple[Offer, ...] = ()
    begun: Callable[[], None] | None = field(default=None, compare=False, repr=False)
    judges: bool = False

    def sent(self, salt: str, begun: Callable[[], None] | None) -> "ModelCall":
        """The call with what is set as it is sent; `replace` would take several times as long."""
        return ModelCall(
            self.address,
            self.account,
            self.model,
            self.messages,
            self.max_output,
            self.sampling,
            self.schema,
            self.group,
            self.seed,
            salt,
            self.urgency,
            self.tools,
            begun,
            self.judges,
        )


@quick(frozen=True, slots=True)
class VerifierCall:
    """Judge answer (the attempt's parsed answer, text its raw reply) with verifier, for task. Costs $0.

    measure: which measurement of the same content it is, where the verifier's scores are random.
    tree: the attempt's files, where the verifier is one that reads them.
    """

    address: str
    account: str
    verifier: Verifier
    task: Task
    answer: Json
    text: str
    measure: int = 1
    tree: str = ""


@quick(frozen=True, slots=True)
class ToolUse:
    """Call name, which is one that tool offers, with arguments that its schema takes. Costs $0.

    tree: of a tool that works on an agent's files, what these are, by the name of a text of the store.
    """

    address: str
    account: str
    tool: Tool
    name: str
    arguments: Mapping[str, Json]
    tree: str = ""


Call = ModelCall | VerifierCall | ToolUse


def is_judging(call: Call) -> bool:
    """Whether call is a verifier, or one of a verifier's."""
    return isinstance(call, VerifierCall) or (isinstance(call, ModelCall) and call.judges)


@quick(frozen=True, slots=True)
class Usage:
    """Tokens as reported. input includes cached and cache_write; output includes reasoning.

    estimated: the server did not say; the figures are upper bounds of ours. doubtful: it told of more input from
    its cache, or written there, than of input; what was over is left out.
    """

    input: int = 0
    cached: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0
    estimated: bool = False
    doubtful: bool = False

    @property
    def fresh(self) -> int:
        """Input that was neither in the server's cache nor written to it."""
        return self.input - self.cached - self.cache_write

    def believed(self) -> "Usage":
        """These figures with none below nothing, and no part larger than what it is part of."""
        least = min(
            self.fresh, self.cached, self.cache_write, self.output - self.reasoning, self.reasoning
        )
        if least >= 0:
            return self
        total, output = max(0, self.input), max(0, self.output)
        cached = min(max(0, self.cached), total)
        written = min(max(0, self.cache_write), total - cached)
        reasoning = min(max(0, self.reasoning), output)
        over = 0 < total < max(0, self.cached) + max(0, self.cache_write)
        doubtful = self.doubtful or over
        return Usage(total, cached, written, output, reasoning, self.estimated, doubtful)

    def plus(self, other: "Usage") -> "Usage":
        return Usage(
            self.input + other.input,
            self.cached + other.cached,
            self.cache_write + other.cache_write,
            self.output + other.output,
            self.reasoning + other.reasoning,
            self.estimated or other.estimated,
            self.doubtful or other.doubtful,
        )


Finish = Literal["stop", "length", "tool_calls", "content_filter", "other"]


@quick(frozen=True, slots=True)
class ToolCall:
    """A call of a tool that a reply asks for. id: the server's, or one of ours. text: the arguments as they came.

    arguments: the object that text is; None where it is none, broken or cut: nothing to call a tool with.
    `schema.misfit` says whether an object is one that the tool takes.
    """

    id: str
    name: str
    arguments: Mapping[str, Json] | None
    text: str


@quick(frozen=True, slots=True)
class ModelReply:
    """A complete stream: finish was seen. served: the model's name as the server gave it."""

    text: str
    finish: Finish
    usage: Usage
    served: str = ""
    replica: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()


@quick(frozen=True, slots=True)
class VerifierReply:
    verdict: Verdict


@quick(frozen=True, slots=True)
class ToolReply:
    """text: for the model, cleaned and of bounded length. failed: the tool says, or is said to have, failed.

    tree: the agent's files afterwards; kept: texts that a store is to keep with it, by name.
    """

    text: str
    failed: bool = False
    tree: str = ""
    kept: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)


Reply = ModelReply | VerifierReply | ToolReply
Handler = Callable[[Call], Awaitable[Reply]]


@quick(frozen=True, slots=True)
class Replica:
    """One place that serves a model: a server, or one slot of a llama.cpp server.

    name is unique in a run and shown to people (`local:8123/2`). inflight: calls it serves at once.
    context: its window in tokens, prompt and reply together; None where the server does not tell.
    slot: pins a call to this slot, where the server has slots. key_mark: differs where another key is used
    there, and says nothing of it. works_on_s: for how long it may still work on a call that was broken off.
    """

    name: str
    model: str
    endpoint: Endpoint
    url: str
    served: str
    inflight: int
    context: int | None = None
    slot: int | None = None
    profile: str = "openai"
    key_mark: str = ""
    works_on_s: float = 0.0

    def __hash__(self) -> int:
        # It is looked up several times a call; an endpoint takes long to hash.
        return hash((self.name, self.url))


class Client(Protocol):
    """The way to servers. Both methods raise CallError, and nothing else, when a server is at fault."""

    async def probe(self, model: Model) -> tuple[Replica, ...]:
        """The replicas that serve model now; starts the embedded server where the model wants it.

        Within seconds: an endpoint that is down, refuses the key or does not know the model raises.
        """
        ...

    async def send(self, call: ModelCall, replica: Replica, request_id: str) -> ModelReply:
        """One try. Cancellation closes the stream; no connection is left behind."""
        ...


FailureKind = Literal[
    "unreachable",  # no connection, or it was refused: nothing was sent
    "cut",  # the stream ended without a finish reason; the work may have been paid
    "empty",  # a whole reply of the protocol, without a choice in it
    "silent",  # nothing arrived for the idle time-out
    "mute",  # silent, and no byte of any reply has ever come from this model there: it is not asked again
    "busy",  # rate limit or full queue: wait and send again
    "server",  # the server failed
    "credentials",  # the key is missing or refused
    "quota",  # the account at the vendor has no money
    "request",  # the server refuses this request as it stands
    "overflow",  # the prompt does not fit the model's window
    "model",  # the server has no such model
    "protocol",  # what came back is no answer in this protocol (HTML, broken JSON)
    "verifier",  # the verifier raised, timed out, or returned no score
    "reply",  # the reply is empty or cut by its cap
    "turns",  # an agent's turns ran out before it answered
    "tool",  # a tool cannot be had: its function or its server is not there
]


class CallError(Exception):
    """A call that got no answer.

    maybe_paid: the server may have worked for it, so the try is charged at its hold.
    retry_after_s: the server's own wish, in seconds. usage: what was reported before it failed. again: whether the
    server says that it is worth sending again; None where it says nothing of it.
    """

    def __init__(
        self,
        kind: FailureKind,
        message: str,
        *,
        maybe_paid: bool = False,
        retry_after_s: float | None = None,
        usage: Usage | None = None,
        again: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind
        self.message = message
        self.maybe_paid = maybe_paid
        self.retry_after_s = retry_after_s
        self.usage = usage
        self.again = again


class BudgetExhausted(Exception):
    """A hold that can never fit.

    account: which budget, as the ledger names it; dimension: usd, tokens or calls.
    """

    def __init__(self, account: str, dimension: str) -> None:
        super().__init__(account, dimension)
        self.account = account
        self.dimension = dimension


class Interrupted(Exception):
    """The run is being stopped or paused: this call was not sent, and no new one will be.

    What is in flight elsewhere goes on to its end. A node whose call meets this ends `Cancelled`.
    """


class Pausing(Interrupted):
    """What the call gets that found out why the run must pause; others then get plain Interrupted.

    cause: as in Paused.
    """

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(message)
        self.cause = cause


class Outage(Pausing):
    """An endpoint that answered before has been down for too long: the run pauses, no node fails."""

    def __init__(self, endpoint: str, seconds: float, message: str) -> None:
        super().__init__("outage", f"{endpoint} has been down for {seconds:.0f} s: {message}")
        self.endpoint = endpoint
        self.seconds = seconds


class VerifierBroken(Pausing):
    """A verifier that erred three times running: the run pauses, no attempt gets a score of zero."""

    def __init__(self, verifier: str, message: str) -> None:
        super().__init__("verifier", f"{verifier} erred three times running: {message}")
        self.verifier = verifier


def usage_body(usage: Usage) -> dict[str, Json]:
    """The usage's JSON form, with `fresh` for those who read events; `usage_of` is its inverse."""
    body: dict[str, Json] = {
        "fresh": usage.fresh,
        "input": usage.input,
        "cached": usage.cached,
        "cache_write": usage.cache_write,
        "output": usage.output,
        "reasoning": usage.reasoning,
        "estimated": usage.estimated,
    }
    if usage.doubtful:  # stores of earlier versions have no such field
        body["doubtful"] = True
    return body


def usage_of(body: Mapping[str, Any]) -> Usage:
    """The usage whose body this is."""
    return Usage(**{name: value for name, value in body.items() if name != "fresh"})


def reply_body(reply: Reply) -> dict[str, Json]:
    """The reply's JSON form, as `CallAnswered.reply` has it; `reply_of` is its inverse."""
    match reply:
        case ModelReply():
            body: dict[str, Json] = {
                "text": reply.text,
                "finish": reply.finish,
                "usage": usage_body(reply.usage),
                "served": reply.served,
                "replica": reply.replica,
                "reasoning": reply.reasoning,
            }
            calls = [asdict(call) for call in reply.tool_calls]
            return body | ({"tool_calls": calls} if calls else {})
        case VerifierReply(verdict=verdict):
            return {"verdict": verdict_body(verdict)}
        case ToolReply(text=text, failed=failed, tree=tree):
            return {"result": text, "failed": failed, "tree": tree}


def reply_of(body: Mapping[str, Any]) -> Reply:
    """The reply whose body this is. Raises TypeError or KeyError on another shape."""
    if "verdict" in body:
        return VerifierReply(verdict_from(body["verdict"]))
    if "result" in body:
        return ToolReply(body["result"], body["failed"], body["tree"])
    values = dict(body)
    values["usage"] = usage_of(values["usage"])
    values["tool_calls"] = tuple(ToolCall(**call) for call in values.get("tool_calls", ()))
    return ModelReply(**values)


# Letters of a SHA-256 that name a request or a text in a store: 128 bits.
DIGEST = 32


def canonical(value: object) -> bytes:
    """JSON with sorted keys and no spaces: the bytes that are hashed."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def digest(value: object) -> str:
    """The SHA-256 of value's canonical JSON, in hex."""
    return hashlib.sha256(canonical(value)).hexdigest()


def request_digest(call: Call) -> str:
    """What makes two calls the same request: everything the answer may depend on, but not address or account."""
    return _digest_of(call)[:DIGEST]


def _digest_of(call: Call) -> str:
    match call:
        case ModelCall():
            offered = {"tools": [asdict(offer) for offer in call.tools]} if call.tools else {}
            return digest(
                {
                    "model": call.model,
                    "messages": [_said(message) for message in call.messages],
                    "max_output": call.max_output,
                    "sampling": call.sampling,
                    "schema": call.schema,
                    "seed": call.seed,
                    **offered,
                }
            )
        case VerifierCall():
            again: dict[str, Json] = {"measure": call.measure} if call.measure > 1 else {}
            again |= {"tree": call.tree} if call.tree else {}
            return digest(
                {
                    "verifier": [call.verifier.kind, dict(call.verifier.args)],
                    "task": call.task.statement,
                    "answer": call.answer,
                    "text": call.text,
                    **again,
                }
            )
        case ToolUse():
            return digest(
                {
                    "tool": [call.tool.kind, dict(call.tool.args)],
                    "name": call.name,
                    "arguments": call.arguments,
                    "tree": call.tree,
                }
            )


def _said(message: Message) -> list[Json]:
    """What a request depends on of message; of one without tools as stores of earlier versions have it."""
    said: list[Json] = [message.role, message.content]
    if message.calls or message.answers:
        said += [[[one.id, one.name, one.text] for one in message.calls], message.answers]
    return said
