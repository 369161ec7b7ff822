"""One agent: a prompt, one call, or as many as its tools take, an attempt. A structured reply that cannot be read
is asked for once more.

A reply that is empty is a failure. One that was cut by its cap makes an attempt, marked `cut`: its text may
still be scored, but only a verifier can make it a success.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import orjson

from podium.dsl.model import Sampling
from podium.dsl.program import Program, Role

from ..call import BudgetExhausted, CallError, Message, ModelCall, ModelReply, Offer
from ..value import Attempt, Json
from .history import prompt_tokens
from .prompt import View, clip, fit_tokens, render
from .shape import Unreadable, failure_value, parse, schema
from .work import Ask, Bench, Work, worked

DEFAULT_SYSTEM = "You are a careful problem solver."
# Where neither the file nor the server says how much a model can read, in tokens.
DEFAULT_WINDOW = 8192
DEFAULT_OUTPUT = 2048
# With less room than this a reply is not worth its price; the server then says that the prompt is too long.
LEAST_OUTPUT = 64


@dataclass(frozen=True, slots=True)
class Turn:
    """Where an agent acts and with what: address and ledger account, model, its window and cap in tokens; group
    and urgency as of ModelCall."""

    address: str
    account: str
    model: str
    window: int
    max_output: int
    sampling: Sampling
    seed: int
    group: str = ""
    urgency: int = 0


def window_of(program: Program, windows: Mapping[str, int], model: str) -> int:
    """The model's window in tokens: as its replicas told, else as declared, else 8k."""
    declared = program.models[model].context if model in program.models else None
    return windows.get(model) or declared or DEFAULT_WINDOW


def cap_of(role: Role, window: int, effort: int | None = None) -> int:
    """A reply's cap in tokens: the role's, else 2k or a quarter of the window; effort only lowers it."""
    cap = role.max_output or min(DEFAULT_OUTPUT, window // 4)
    return max(1, min(cap, window, effort or cap))


@lru_cache(maxsize=256)  # asked once a call, of the few that a program has
def merged(role: Sampling, model: Sampling) -> Sampling:
    """The role's sampling over the model's."""
    return Sampling(
        role.temperature if role.temperature is not None else model.temperature,
        role.top_p if role.top_p is not None else model.top_p,
        role.top_k if role.top_k is not None else model.top_k,
        role.min_p if role.min_p is not None else model.min_p,
        role.stop or model.stop,
    )


def seed_of(seed: int, address: str) -> int:
    """A 31-bit seed that depends on the run's seed and the address alone."""
    raw = hashlib.sha256(f"{seed}:{address}".encode()).digest()
    return int.from_bytes(raw[:4], "big") & 0x7FFF_FFFF


def messages_of(role: Role, view: View) -> tuple[Message, ...]:
    """The role's prompts with view's values. A system message is always sent."""
    system = DEFAULT_SYSTEM if role.system is None else render(role.system, view)
    return (Message("system", system), Message("user", render(role.prompt, view)))


async def act(
    ask: Ask, role: Role, messages: tuple[Message, ...], turn: Turn, bench: Bench | None = None
) -> Attempt:
    """The agent's attempt. Raises CallError (`reply` where there is none to be read) and BudgetExhausted.

    Calls are numbered: `address/c1`, and `address/c2` where a structured reply is asked for again. A reply that
    stays unreadable, or that no budget has room to ask for again, is what the program declares for it. A cap
    that would not fit into the window beside this prompt is lowered to what is left, down to 64 tokens.
    bench: of an agent with tools, whose attempt is the best of what it submitted, if it did.
    """
    if bench is not None:
        found = await worked(_work(ask, role, turn, bench), messages)
        if bench.given is not None:
            return bench.given
        assert found is not None, "an agent that is done has given something"
        reply, messages = found
    else:
        reply = await ask(call_of(role, messages, turn, 1))
    tree = "" if bench is None else bench.tree
    if role.output is None:
        return _free(reply, turn, tree)
    answer, declared = parse(role.output, reply.text), failure_value(role.output)
    if isinstance(answer, Unreadable):
        tools, segment = ((), "c2") if bench is None else (bench.offers, "again")
        complaint = _complain(messages, reply, answer)
        try:
            reply = await ask(request(role, complaint, turn, segment, tools))
        except BudgetExhausted:
            if declared is None:
                raise
        else:
            answer = parse(role.output, reply.text)
    if isinstance(answer, Unreadable):
        if declared is None:
            raise CallError("reply", f"the reply cannot be read: {answer.why}")
        answer = declared
    return _attempt(answer, reply, turn, tree)


def _free(reply: ModelReply, turn: Turn, tree: str) -> Attempt:
    if not reply.text.strip():
        raise CallError("reply", f"the reply is empty (it ended with {reply.finish!r})")
    return _attempt(reply.text.strip(), reply, turn, tree)


def _attempt(answer: Json, reply: ModelReply, turn: Turn, tree: str) -> Attempt:
    return Attempt(answer, reply.text, turn.address, cut=reply.finish != "stop", tree=tree)


def _work(ask: Ask, role: Role, turn: Turn, bench: Bench) -> Work:
    def made(segment: str, messages: tuple[Message, ...], tools: tuple[Offer, ...]) -> ModelCall:
        return request(role, messages, turn, segment, tools)

    return Work(role, ask, made, bench, turn.address, turn.window, turn.max_output)


def call_of(role: Role, messages: tuple[Message, ...], turn: Turn, number: int = 1) -> ModelCall:
    """The call number (from 1) of this turn."""
    return request(role, messages, turn, f"c{number}")


def request(
    role: Role,
    messages: tuple[Message, ...],
    turn: Turn,
    segment: str,
    tools: tuple[Offer, ...] = (),
) -> ModelCall:
    """The call at segment below the turn's address. Of an agent with tools the answer's shape is in its prompt."""
    address = f"{turn.address}/{segment}"
    taken = prompt_tokens(messages) + (fit_tokens(orjson.dumps(tools).decode()) if tools else 0)
    room = max(LEAST_OUTPUT, turn.window - taken)
    return ModelCall(
        address=address,
        account=turn.account,
        model=turn.model,
        messages=messages,
        max_output=min(turn.max_output, room),
        sampling=merged(role.sampling, turn.sampling),
        schema=None if role.output is None or tools else schema(role.output),
        group=turn.group,
        urgency=turn.urgency,
        seed=seed_of(turn.seed, address),
        tools=tools,
    )


def _complain(
    messages: tuple[Message, ...], reply: ModelReply, problem: Unreadable
) -> tuple[Message, ...]:
    """The same question once more. A repeat of the reply is clipped: it must not push the task out."""
    said = clip(reply.text, 200)
    shown = (Message("assistant", said),) if said.strip() else ()
    last = messages[-1]
    if not shown:  # two user messages in a row are refused by some servers
        text = f"{last.content}\n\nYour last reply was empty. Answer with the JSON object alone."
        return (*messages[:-1], replace(last, content=text))
    text = f"That cannot be used: {problem.why}. Answer again, with the JSON object alone."
    return (*messages, *shown, Message("user", text))
