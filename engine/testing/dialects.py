"""Fake servers that speak as real kinds do, with their quirks: `dialect("ollama")`.

A token is a word here. The model behind a server says what a `Says` says, in as many tokens as the
request's cap allows, if the cap has the name that this kind of server obeys.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import orjson

from ..clients.loose import mapping
from ..value import Json
from .quirks import DIALECTS, Dialect, Says, refusal
from .server import MODEL, Answer, FakeServer, Script, Seen, json_answer

_FRAME = 4  # tokens that the chat template puts around a message
_Events = list[Json | str]
_Delta = dict[str, Json]
PLAIN = Says()


def dialect(
    name: str,
    say: Says | Callable[[Seen], Says] = PLAIN,
    *,
    context: int = 2048,
    pause_s: float = 0.0,
) -> FakeServer:
    """A server that speaks the dialect of that name, of DIALECTS. say: the same for each call, or by call.

    context: the model's window in tokens. pause_s: between the events of a stream.
    """
    kind = DIALECTS[name]
    tells = {"max_model_len": context} if name in ("vllm", "sglang") else {}
    listed = {"id": MODEL, **kind.listed, **tells}
    routes = {path: json_answer(value) for path, value in kind.routes.items()}
    routes["/v1/models"] = replace(
        json_answer({"object": "list", "data": [listed]}), headers=kind.headers
    )
    return FakeServer(speaking(kind, say, context=context, pause_s=pause_s), routes=routes)


def speaking(
    kind: Dialect,
    say: Says | Callable[[Seen], Says] = PLAIN,
    *,
    context: int = 2048,
    pause_s: float = 0.0,
) -> Script:
    """The script of a server that speaks so: for a FakeServer of one's own."""

    def answer(seen: Seen) -> Answer:
        reply = _Reply(kind, say if isinstance(say, Says) else say(seen), seen.body, context)
        found = reply.refusal() or reply.answer()
        return replace(found, pause_s=pause_s, keep_working=kind.works_on)

    return answer


@dataclass(slots=True)
class _Reply:
    """One answer. body: of the request, an object."""

    kind: Dialect
    says: Says
    body: Any
    context: int

    # --- what is counted

    @property
    def cap(self) -> int | None:
        caps = [self.body[name] for name in self.kind.caps if name in self.body]
        return max(caps, default=None)

    @property
    def prompt(self) -> int:
        """The tokens of the prompt; where the server cuts it, of what is left."""
        sizes = [len((m["content"] or "").split()) + _FRAME for m in self.body["messages"]]
        total = sum(sizes)
        if self.kind.overflow is None:
            for message, size in zip(self.body["messages"][:-1], sizes, strict=False):
                if total > self.context and message["role"] != "system":
                    total -= size
            total = min(total, self.context)
        return total

    def words(self) -> tuple[list[str], bool]:
        """The tokens of the text within the cap, and whether it was cut."""
        every = re.findall(r"\S+\s*|\s+", self.says.text)
        room = None if self.cap is None else max(0, self.cap - len(self.says.reasoning.split()))
        return every[:room], room is not None and len(every) > room

    def usage(self) -> dict[str, Json]:
        made = len(self.words()[0]) + len(self.says.reasoning.split())
        made += sum(len(text) // 4 + 4 for _, text in self.says.tools)
        counts = {"prompt_tokens": self.prompt, "completion_tokens": made}
        return {**counts, "total_tokens": self.prompt + made, **self.kind.usage}

    # --- refusals

    def refusal(self) -> Answer | None:
        kind, body = self.kind, self.body
        for name in kind.refuses:
            if name in body:
                said = f"Unsupported parameter: '{name}' is not supported with this model."
                return refusal(400, said, param=name, code="unsupported_parameter")
        if "stream_options" in body and not body.get("stream") and kind.name == "vllm":
            said = "Stream options can only be defined when `stream=True`."
            return refusal(400, said, type="BadRequestError", param="stream_options", code=400)
        if kind.unknown is not None and body.get("model") != MODEL:
            return kind.unknown(str(body.get("model")))
        if self.says.trouble == "busy" and kind.busy is not None and kind.busy.status != 200:
            return kind.busy
        if kind.overflow is not None:
            return kind.overflow(self.prompt, self.cap or 0, self.context)
        return None

    # --- answers

    def answer(self) -> Answer:
        if not self.body.get("stream"):
            return json_answer(self.whole())
        events = tuple(
            event if isinstance(event, str) else f"data: {orjson.dumps(event).decode()}\n\n"
            for event in self.events()
        )
        plain = Answer(text="", finish=None, usage=None, done=False, before=events)
        plain = replace(plain, headers=self.kind.headers, closes=self.kind.closes)
        if self.says.trouble == "drops":
            return replace(plain, disconnect=len(events) // 2)
        return plain

    def events(self) -> _Events:
        kind, trouble = self.kind, self.says.trouble
        head: _Events = [kind.comment] if kind.comment else []
        if trouble == "busy":  # told inside of a 200
            error: Json = orjson.loads((kind.busy and kind.busy.body) or b"null")
            return [*head, {"error": error}, *self.end(kind.after_error)]
        head.append(self.chunk({"role": "assistant", "content": kind.first}))
        deltas, finish = self.deltas()
        if trouble == "breaks":
            half = [self.chunk(delta) for delta in deltas[: len(deltas) // 2]]
            return [*head, *half, *self.breaking(), *self.end(kind.after_error)]
        if trouble == "ends":
            return [*head, *map(self.chunk, deltas)]
        last = [] if kind.finish_alone or not deltas or "content" not in deltas[-1] else deltas[-1:]
        before = deltas[: len(deltas) - len(last)]
        closing = self.chunk(last[0] if last else {}, finish)
        return [*head, *map(self.chunk, before), closing, *self.end(("usage", "done"))]

    def breaking(self) -> _Events:
        """Ollama loses its error: what comes is an empty delta."""
        if self.kind.broken is None:
            return [self.chunk({"role": "assistant", "content": ""})]
        last = self.chunk({"content": ""}, "error") if self.kind.name == "openrouter" else {}
        return [{**last, "error": self.kind.broken}]

    def end(self, parts: tuple[Literal["usage", "done"], ...]) -> _Events:
        asked = mapping(self.body.get("stream_options")).get("include_usage")
        tells = (asked or self.kind.always_usage) and self.says.trouble != "no_usage"
        found: _Events = []
        if "usage" in parts and tells:
            found.append({**self.chunk(None), "choices": [], "usage": self.usage()})
        return [*found, *(["data: [DONE]\n\n"] if "done" in parts else [])]

    def deltas(self) -> tuple[list[_Delta], str]:
        """The deltas of reasoning, text and tool calls, and the finish reason."""
        words, cut = self.words()
        found: list[_Delta] = []
        if self.kind.reasoning and self.says.reasoning:
            found.append({self.kind.reasoning: self.says.reasoning, "content": None})
        found += [_Delta(content=word) for word in words]
        for index, (name, text) in enumerate(self.says.tools):
            found += [_Delta(tool_calls=[part]) for part in self.tool(index, name, text)]
        if cut:
            return found, "length"
        named = self.kind.name == "vllm" and isinstance(self.body.get("tool_choice"), dict)
        return found, "tool_calls" if self.says.tools and not named else "stop"

    def tool(self, index: int, name: str, text: str) -> list[Json]:
        id_ = f"call_{index}_{name}"
        head: Json = {"name": name, "arguments": text if self.kind.tools == "whole" else ""}
        first: Json = {"index": index, "id": id_, "type": "function", "function": head}
        if self.kind.tools == "whole":
            return [first]
        null: dict[str, Json] = {"id": None} if self.kind.tools == "nulls" else {}
        void: dict[str, Json] = {"name": None} if self.kind.tools == "nulls" else {}
        half = len(text) // 2
        pieces = [piece for piece in (text[:half], text[half:]) if piece]
        return [
            first,
            *({"index": index, **null, "function": {**void, "arguments": p}} for p in pieces),
        ]

    def chunk(self, delta: Mapping[str, Json] | None, finish: str | None = None) -> dict[str, Json]:
        each = mapping(self.body.get("stream_options")).get("continuous_usage_stats")
        usage: dict[str, Json] = {"usage": None} if self.kind.nulls else {}
        if each and self.kind.name in ("vllm", "sglang"):
            usage = {"usage": self.usage()}
        choice: Json = {
            "index": 0,
            "delta": {**self.kind.fixed, **(delta or {})},
            "finish_reason": finish,
        }
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "model": MODEL,
            "choices": [choice],
            **usage,
        }

    def whole(self) -> Json:
        words, _ = self.words()
        message: _Delta = {"role": "assistant", "content": "".join(words)}
        if self.kind.reasoning and self.says.reasoning:
            message[self.kind.reasoning] = self.says.reasoning
        if self.says.tools:
            message["tool_calls"] = [
                _Delta(
                    id=f"call_{index}_{name}",
                    type="function",
                    function={"name": name, "arguments": text},
                )
                for index, (name, text) in enumerate(self.says.tools)
            ]
        choice: Json = {"index": 0, "message": message, "finish_reason": self.deltas()[1]}
        told: _Delta = {} if self.says.trouble == "no_usage" else {"usage": self.usage()}
        head: _Delta = {"id": "chatcmpl-1", "object": "chat.completion", "model": MODEL}
        return {**head, "choices": [choice], **told}
