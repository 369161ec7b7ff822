"""Tokens and money of one call: what it may cost at most, and what it did cost. Pure, in integers.

A byte is at least a token's worth: byte-level tokenizers gave at most 1.000 tokens per byte of the
normalised text over 3,000 random Unicode strings, and normalising first can make a text longer, so
the bound takes the longest of the raw, NFC and NFKC forms.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple
from unicodedata import normalize

import orjson

from podium.dsl.model import Price

from .call import CallError, Message, ModelCall, ModelReply, Offer, Usage
from .ledger import NOTHING, Amount

# Role markers cost 3 to 8 tokens, the start and the generation prompt 20, hidden system texts of
# some templates about 100.
PER_MESSAGE = 16
PER_CALL = 256
# Templates write a schema out again with indentation.
SCHEMA_FACTOR = 2
# What is said of how tools are called, where a server or a template does not know them by itself.
PER_TOOLS = 1024
# Beyond what a server counts: a template may put in the date, or the start of the reply.
SPARE = 32
_MILLION = 1_000_000
# The usage of a try that a server told nothing of.
UNTOLD = Usage()


def text_bound(text: str) -> int:
    """At most so many tokens, whatever the model's tokenizer."""
    if text.isascii():
        return len(text)
    # A lone surrogate has no UTF-8 form; it counts as the three bytes it would be.
    forms = (text, normalize("NFC", text), normalize("NFKC", text))
    return max(len(form.encode("utf-8", "surrogatepass")) for form in forms)


def bound(call: ModelCall) -> int:
    """At most so many input tokens: texts, template, schema and tools."""
    texts = sum(map(message_bound, call.messages))
    extra = 0 if call.schema is None else SCHEMA_FACTOR * len(orjson.dumps(call.schema))
    return texts + extra + tools_bound(call.tools) + PER_CALL


def message_bound(message: Message) -> int:
    """At most so many tokens of a message, with what a template puts around it and around calls of tools."""
    found = text_bound(message.content) + text_bound(message.answers) + PER_MESSAGE
    for call in message.calls:
        found += text_bound(call.id) + text_bound(call.name) + PER_MESSAGE
        found += SCHEMA_FACTOR * text_bound(call.text)
    return found


def tools_bound(tools: Sequence[Offer]) -> int:
    """At most so many tokens for telling a model of tools, in the server's form or in words."""
    return SCHEMA_FACTOR * len(orjson.dumps(tools)) + PER_TOOLS if tools else 0


def worst(call: ModelCall, price: Price | None, counted: int | None = None) -> Amount:
    """The most one try of call can cost; 0 dollars where the price is unknown or the model free. counted: the
    tokens of its prompt, where its server counted them."""
    into = bound(call) if counted is None else min(bound(call), counted + SPARE)
    usd = 0
    if price is not None:
        usd = max(_dearest(into, call.max_output, rates) for rates in price.within(0, into))
    return Amount(usd=usd, tokens=into + call.max_output, calls=1)


def _dearest(into: int, out: int, rates: Price) -> int:
    dearest = max(rates.input, rates.cached, rates.cache_write)
    return micro_of(into * dearest + out * rates.output)


def cost(usage: Usage, price: Price | None) -> int:
    """Micro-dollars for usage, rounded up. What is cached or written beyond the input is not believed."""
    if price is None:
        return 0
    used = usage.believed()
    rates = price.at(used.input)
    return micro_of(
        used.fresh * rates.input
        + used.cached * rates.cached
        + used.cache_write * rates.cache_write
        + used.output * rates.output
    )


def spent(usage: Usage, price: Price | None) -> Amount:
    """What one answered try cost: dollars, tokens in and out, one call."""
    tokens = max(0, usage.input) + max(0, usage.output)
    return Amount(usd=cost(usage, price), tokens=tokens, calls=1)


def with_usage(call: ModelCall, reply: ModelReply) -> ModelReply:
    """The reply, with an estimate of what the server did not report, and no part above its whole."""
    used, said = reply.usage.believed(), bool(reply.text or reply.reasoning or reply.tool_calls)
    if used.input and (used.output or not said):
        return reply if used is reply.usage else replace(reply, usage=used)
    guess = estimate(call, reply.text, reply.reasoning)
    told = replace(guess, input=used.input or guess.input, output=used.output or guess.output)
    told = replace(told, cached=used.cached, cache_write=used.cache_write, reasoning=used.reasoning)
    told = replace(told, doubtful=used.doubtful)
    return replace(reply, usage=told.believed())


class Charged(NamedTuple):
    """What a try is charged, the usage behind it, and whether that is a bound of ours."""

    amount: Amount = NOTHING
    usage: Usage = UNTOLD
    estimated: bool = False


def charged(error: CallError, held: Amount, price: Price | None) -> Charged:
    """What a try of a model call is charged that failed so: what the server told, else all that was held if it
    may have worked for it, else a call, if it was reached."""
    if error.usage is not None:
        return Charged(spent(error.usage, price), error.usage, error.usage.estimated)
    if error.maybe_paid:
        return Charged(held, estimated=True)
    return Charged() if error.kind == "unreachable" else Charged(Amount(calls=1))


def micro_of(tokens_times_rate: int) -> int:
    """Micro-dollars, rounded up, for tokens times their rate in micro-dollars per million."""
    return -(-tokens_times_rate // _MILLION)


def estimate(call: ModelCall, text: str, reasoning: str = "") -> Usage:
    """The usage of a reply whose server did not tell, rounded up; never above the call's worst case."""
    output = min(call.max_output, text_bound(text) + text_bound(reasoning))
    return Usage(input=bound(call), output=output, estimated=True)
