"""Chat completions: a ModelCall to a request body, the chunks of a stream to a ModelReply. Pure.

Three facts about a stream are kept apart: a finish reason was seen, usage was seen, the terminator was
seen. Only the first makes an answer complete; without the second its tokens are estimated, upwards; the
third alone means nothing. An error may come inside a 200, and is looked for before anything else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..call import CallError, Finish, ModelCall, ModelReply, Replica, Usage
from ..tokens import bound, text_bound
from ..value import Json
from .classify import refusal_inside
from .loose import count, mapping, parsed, sequence, string
from .profile import Profile, sampling_fields
from .sse import clean, excerpt

_FINISH: Mapping[str, Finish] = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}
# Words of vLLM, SGLang and OpenRouter for a reply that the server itself gave up.
_GIVEN_UP = frozenset(("error", "abort"))

# A token of the vocabularies in use is at most 128 characters (runs of spaces); a server that sends
# twice that for each token of the cap has no cap, and would go on for ever.
MOST_PER_TOKEN = 256
SPARE = 4096

# Fields that may be left out once a server has refused them, and what then stands in their place.
OPTIONAL = ("stream_options", "top_k", "min_p", "top_p", "temperature", "seed")


def request(call: ModelCall, replica: Replica, profile: Profile) -> dict[str, Json]:
    """The body of a streaming request. Raises CallError where the profile cannot say what is asked."""
    try:
        sampling = sampling_fields(profile, call.sampling)
    except ValueError as problem:
        raise CallError("request", f"{call.model}: {problem}") from None
    body: dict[str, Json] = {
        "model": replica.served,
        "messages": [{"role": m.role, "content": m.content} for m in call.messages],
        "stream": True,
        "stream_options": {"include_usage": True},
        profile.cap: call.max_output,
        **sampling,
    }
    if call.sampling.stop:
        body["stop"] = list(call.sampling.stop)
    if call.seed is not None and profile.seed:
        body["seed"] = call.seed
    if call.schema is not None and profile.schema == "response_format":
        body["response_format"] = _response_format(call.schema)
    if profile.salt and call.salt:
        body["cache_salt"] = call.salt
    if profile.slots and replica.slot is not None:
        body["id_slot"] = replica.slot
    return body


def without(body: Mapping[str, Json], name: str) -> dict[str, Json] | None:
    """body without the field a server refused; a cap takes its other name. None where nothing can be done."""
    rest = {key: value for key, value in body.items() if key != name}
    if name in OPTIONAL and name in body:
        return rest
    other = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
    if name in other and name in body:
        return {**rest, other[name]: body[name]}
    return None


def droppable(call: ModelCall, body: Mapping[str, Json]) -> tuple[str, ...]:
    """The fields of body that may be sent otherwise: sampling the program did not ask for, the cap's name,
    and the seed, which no server promises anything for."""
    wanted = {
        "temperature": call.sampling.temperature,
        "top_p": call.sampling.top_p,
        "top_k": call.sampling.top_k,
        "min_p": call.sampling.min_p,
    }
    names = ("max_tokens", "max_completion_tokens", *OPTIONAL)
    return tuple(name for name in names if name in body and wanted.get(name) is None)


def _response_format(schema: Mapping[str, Json]) -> Json:
    return {
        "type": "json_schema",
        "json_schema": {"name": "reply", "schema": schema, "strict": _is_strict(schema)},
    }


def _is_strict(schema: Json) -> bool:
    """Whether the vendor's strict mode takes it: each object closed, with all its properties required."""
    if isinstance(schema, Mapping):
        if schema.get("type") == "object":
            names, required = schema.get("properties"), schema.get("required")
            if schema.get("additionalProperties") is not False:
                return False
            if not isinstance(names, Mapping) or not isinstance(required, list | tuple):
                return False
            if set(names) != set(required):
                return False
        return all(_is_strict(part) for part in schema.values())
    if isinstance(schema, list | tuple):
        return all(_is_strict(part) for part in schema)
    return True


# --- answers --------------------------------------------------------------------------------------


@dataclass(slots=True)
class Collector:
    """Adds up the events of one stream. where: the replica, as people read it."""

    call: ModelCall
    profile: Profile
    where: str
    secrets: tuple[str, ...] = ()
    finish: str | None = None
    usage: dict[str, Any] = field(default_factory=dict[str, Any])
    done: bool = False
    served: str = ""
    _text: list[str] = field(default_factory=list[str])
    _reasoning: list[str] = field(default_factory=list[str])
    _length: int = 0  # characters of both
    _chunks: int = 0  # events of the protocol, errors apart
    _malformed: str | None = None

    def add(self, data: str) -> None:
        """Take the data of one event. Raises CallError where it is an error of the server's."""
        if data.strip() == "[DONE]":
            self.done = True
        elif value := mapping(parsed(data)):
            self._chunk(value)
        elif data.strip() and self.finish is None:
            self._malformed = excerpt(data, 80)

    def whole(self, body: bytes) -> None:
        """Take the one JSON object of a server that answers without streaming. Raises CallError."""
        self.add(body.decode(errors="replace"))

    def reply(self, replica: Replica) -> ModelReply:
        """The finished reply. Raises CallError where no finish reason was seen, or the prompt was cut."""
        if self.finish is None or self._malformed is not None:
            raise self._unfinished()
        if self.finish in _GIVEN_UP:
            raise CallError(
                "server",
                f"{self.where} gave up the reply ({self.finish})",
                maybe_paid=True,
                usage=self.counted(),
            )
        usage = self._usage()
        self._check_prompt(usage)
        return ModelReply(
            text=clean("".join(self._text)),
            finish=_FINISH.get(self.finish, "other"),
            usage=usage,
            served=self.served or replica.served,
            replica=replica.name,
            reasoning=clean("".join(self._reasoning)),
        )

    def counted(self) -> Usage | None:
        """The usage the server told so far, if it told any that can be believed."""
        usage = self._usage()
        return None if usage.estimated else usage

    def _chunk(self, value: dict[str, Any]) -> None:
        if error := value.get("error"):
            begun = any(self._text) or any(self._reasoning)
            failure = refusal_inside(error, where=self.where, begun=begun, secrets=self.secrets)
            failure.usage = self.counted()
            raise failure
        self._chunks += 1
        self.served = clean(string(value, "model")) or self.served
        self.usage = mapping(value.get("usage")) or self.usage
        for choice in map(mapping, sequence(value.get("choices"))):
            if not choice.get("index"):  # more than one is never asked for
                self._choice(choice)

    def _choice(self, choice: dict[str, Any]) -> None:
        delta = mapping(choice.get("delta") or choice.get("message"))
        text = string(delta, "content") + string(delta, "refusal")
        reasoning = string(delta, "reasoning_content", "reasoning")
        self._text.append(text)
        self._reasoning.append(reasoning)
        self._check_length(text + reasoning)
        self.finish = string(choice, "finish_reason") or self.finish

    def _check_length(self, added: str) -> None:
        self._length += len(added)
        if self._length > MOST_PER_TOKEN * self.call.max_output + SPARE:
            raise CallError(
                "protocol",
                f"{self.where} does not keep to the cap of {self.call.max_output} tokens:"
                f" it has sent {self._length} characters and was cut off",
                maybe_paid=True,
            )

    def _unfinished(self) -> CallError:
        usage = self.counted()
        if self._chunks == 0:
            said = f": {self._malformed!r}" if self._malformed else ""
            what = f"{self.where} answered 200 with nothing of the chat protocol{said}"
            return CallError("protocol", what, maybe_paid=True)
        why = "a broken event" if self._malformed else "no finish reason"
        return CallError(
            "cut", f"{self.where} ended the stream with {why}", maybe_paid=True, usage=usage
        )

    def _usage(self) -> Usage:
        text, reasoning = "".join(self._text), "".join(self._reasoning)
        told = _told(self.usage, self.profile)
        silent = told.output == 0 and bool(text or reasoning)
        if told.input > 0 and not silent:
            return told
        cap = self.call.max_output
        most = text_bound(text) + text_bound(reasoning) + 1
        unseen = self.profile.hides_reasoning or self.finish == "length"
        return Usage(
            input=told.input or bound(self.call.messages, self.call.schema),
            cached=told.cached,
            cache_write=told.cache_write,
            output=told.output or (cap if unseen else min(cap, most)),
            reasoning=told.reasoning,
            estimated=True,
        )

    def _check_prompt(self, usage: Usage) -> None:
        if not self.profile.cuts_prompts or usage.estimated:
            return
        words = _words(self.call)
        if usage.input * 1.1 < words:
            raise CallError(
                "overflow",
                f"{self.where} cut the prompt: it counted {usage.input} tokens of at least {words};"
                " give its model a larger window",
                maybe_paid=True,
                usage=usage,
            )


def _words(call: ModelCall) -> int:
    """A lower bound of the prompt's tokens: tokenizers in use make at least one of each word."""
    return sum(len(message.content.split()) for message in call.messages)


def _told(usage: dict[str, Any], profile: Profile) -> Usage:
    """The server's figures in our buckets: cached and written input inside input, reasoning inside output."""
    inside = mapping(usage.get("prompt_tokens_details"))
    outside = mapping(usage.get("completion_tokens_details"))
    total = count(usage, "prompt_tokens", "input_tokens")
    cached = count(inside, "cached_tokens") or count(
        usage, "cache_read_input_tokens", "prompt_cache_hit_tokens", "cached_tokens"
    )
    written = count(inside, "cache_write_tokens", "cache_creation_tokens") or count(
        usage, "cache_creation_input_tokens"
    )
    if not profile.input_has_cached:
        total += cached + written
    output = count(usage, "completion_tokens", "output_tokens")
    reasoning = count(outside, "reasoning_tokens") or count(usage, "reasoning_tokens")
    cached = min(cached, total)
    return Usage(
        input=total,
        cached=cached,
        cache_write=min(written, total - cached),
        output=output,
        reasoning=min(reasoning, output),
    )
