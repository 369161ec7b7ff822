"""The chunks of a stream to a ModelReply. Pure.

Three facts about a stream are kept apart: a finish reason was seen, usage was seen, the terminator was
seen. Only the first makes an answer complete; without the second its tokens are estimated, upwards; the
third alone means nothing. An error may come inside a 200, and is looked for before anything else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..call import CallError, Finish, ModelCall, ModelReply, Replica, Usage
from ..plain import clean, excerpt
from ..tokens import PER_MESSAGE, bound, text_bound
from .classify import refusal_inside
from .dialects import Profile
from .loose import count, mapping, parsed, sequence, string
from .tool_calls import Fragments

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
# Names in use for the text of reasoning.
_REASONING = ("reasoning_content", "reasoning")

# A token of the vocabularies in use is at most 128 characters (runs of spaces); a server that sends
# twice that for each token of the cap has no cap, and would go on for ever.
MOST_PER_TOKEN = 256
SPARE = 4096


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
    _tools: Fragments = field(default_factory=Fragments)
    _length: int = 0  # characters of all three
    _chunks: int = 0  # events of the protocol, errors apart
    _choices: int = 0
    _malformed: str | None = None
    _broke: bool = False  # by an error of the server's own

    @property
    def has_begun(self) -> bool:
        """Whether the first of a reply is there. Comments and bare events come before the prompt was read."""
        return self._choices > 0

    def add(self, data: str) -> None:
        """Take the data of one event. Raises CallError where it is an error of the server's."""
        if value := mapping(parsed(data)):
            self._chunk(value)
        elif data.strip() == "[DONE]":
            self.done = True
        elif data.strip() and self.finish is None:
            self._malformed = excerpt(data, 80)

    def whole(self, body: bytes) -> None:
        """Take the one JSON object of a server that answers without streaming. Raises CallError."""
        self.add(body.decode(errors="replace"))

    def reply(self, replica: Replica) -> ModelReply:
        """The finished reply. Raises CallError where no finish reason was seen, or the prompt was cut."""
        finish = self.finish or ("tool_calls" if self._asks_whole() else None)
        if finish is None or self._malformed is not None:
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
            finish=self._finish(finish),
            usage=usage,
            served=clean(self.served) or replica.served,
            replica=replica.name,
            reasoning=clean("".join(self._reasoning)),
            tool_calls=self._tools.calls(),
        )

    def counted(self) -> Usage | None:
        """The usage the server told so far, if it told any that can be believed.

        Of a stream that has not finished the prompt is known then, and the reply at most its cap.
        """
        usage = self._usage()
        if usage.estimated:
            return None
        if self.finish is None and not self._broke:
            return replace(usage, output=max(usage.output, self.call.max_output), estimated=True)
        return usage

    def _finish(self, word: str) -> Finish:
        """vLLM ends the call of a tool that it was told to call with `stop`, others with words of their own."""
        finish = _FINISH.get(word, "other")
        return "tool_calls" if finish in ("stop", "other") and self._tools else finish

    def _asks_whole(self) -> bool:
        """Whether whole calls of tools came, and the terminator: some servers then give no finish reason."""
        calls = self._tools.calls()
        return self.done and bool(calls) and all(call.arguments is not None for call in calls)

    def _chunk(self, value: dict[str, Any]) -> None:
        if error := value.get("error"):
            self._broke = True
            begun = any(self._text) or any(self._reasoning) or bool(self._tools)
            failure = refusal_inside(
                error, where=self.where, begun=begun, profile=self.profile, secrets=self.secrets
            )
            failure.usage = self.counted()
            raise failure
        self._chunks += 1
        if not self.served:
            self.served = string(value, "model")
        if usage := mapping(value.get("usage")):
            self.usage = usage
        for choice in sequence(value.get("choices")):
            found = mapping(choice)
            self._choices += 1
            if not found.get("index"):  # more than one is never asked for
                self._choice(found)

    def _choice(self, choice: dict[str, Any]) -> None:
        delta = mapping(choice.get("delta") or choice.get("message"))
        added = 0
        if text := string(delta, "content", "refusal"):
            self._text.append(text)
            added += len(text)
        if reasoning := string(delta, self.profile.reasoning, *_REASONING):
            self._reasoning.append(reasoning)
            added += len(reasoning)
        if "tool_calls" in delta or "function_call" in delta:
            added += self._tools.add(delta)
        self._check_length(added)
        self.finish = string(choice, "finish_reason") or self.finish

    def _check_length(self, added: int) -> None:
        self._length += added
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
        if self._choices == 0 and self._malformed is None:
            what = f"{self.where} answered 200 without a choice (`choices: []`)"
            return CallError("empty", what, maybe_paid=True, usage=usage)
        why = "a broken event" if self._malformed else "no finish reason"
        return CallError(
            "cut", f"{self.where} ended the stream with {why}", maybe_paid=True, usage=usage
        )

    def _usage(self) -> Usage:
        told = _told(self.usage, self.profile)
        silent = told.output == 0 and self._length > 0
        if told.input > 0 and not silent:
            return told
        cap = self.call.max_output
        most = text_bound("".join((*self._text, *self._reasoning))) + 1
        most += sum(text_bound(one.name + one.text) + PER_MESSAGE for one in self._tools.calls())
        unseen = self.profile.hides_reasoning or self.finish == "length"
        return Usage(
            input=told.input or bound(self.call),
            cached=told.cached,
            cache_write=told.cache_write,
            output=told.output or (cap if unseen else min(cap, most)),
            reasoning=told.reasoning,
            estimated=True,
            doubtful=told.doubtful,
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
    told = Usage(total, cached, written, output, reasoning)
    return told.believed()
