"""How real kinds of servers differ from each other, as data: what `.dialects` imitates.

Each quirk was read in the server's source or seen in its recorded answers.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from ..value import Json
from .server import Answer, json_answer

Trouble = Literal["none", "busy", "breaks", "ends", "drops", "no_usage"]


@dataclass(frozen=True, slots=True)
class Says:
    """What the model says. tools: calls it makes, each a name and its arguments as text.

    trouble: `busy`, a full queue; `breaks`, an error of the server's after half of the text; `ends`, no
    finish reason; `drops`, the connection is cut; `no_usage`, whatever was asked.
    """

    text: str = "hello"
    reasoning: str = ""
    tools: tuple[tuple[str, str], ...] = ()
    trouble: Trouble = "none"


@dataclass(frozen=True, slots=True)
class Dialect:
    """The quirks of one kind of server.

    listed: of its entry in /v1/models. caps: the names of a cap it obeys. refuses: fields it answers with
    400. first: the content of the first delta. reasoning: the field it stands in, "" where it is hidden.
    fixed: in each delta. finish_alone: the finish reason has a chunk of its own. nulls: each chunk has a null
    usage. tools: how calls are streamed. comment: sent before the first token. usage: of each, beside the
    three counts. always_usage: also unasked. after_error: what follows an error in a stream. closes: the
    connection, after each stream. overflow: of prompt, cap and window, in tokens; None: old messages are
    dropped without a word. busy: a status of 200 tells it inside the stream. broken: its error in the middle
    of a stream; None: it is lost.
    """

    name: str
    listed: Mapping[str, Json]
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    routes: Mapping[str, Json] = field(default_factory=dict[str, Json])
    caps: tuple[str, ...] = ("max_tokens", "max_completion_tokens")
    refuses: tuple[str, ...] = ()
    first: str | None = ""
    reasoning: str = "reasoning_content"
    fixed: Mapping[str, Json] = field(default_factory=dict[str, Json])
    finish_alone: bool = True
    nulls: bool = False
    tools: Literal["pieces", "nulls", "whole"] = "pieces"
    comment: str = ""
    usage: Mapping[str, Json] = field(default_factory=dict[str, Json])
    always_usage: bool = False
    after_error: tuple[Literal["usage", "done"], ...] = ()
    closes: bool = False
    works_on: bool = False
    overflow: Callable[[int, int, int], Answer | None] | None = None
    unknown: Callable[[str], Answer] | None = None
    busy: Answer | None = None
    broken: Json = None


def refusal(status: int, message: str, **fields: Json) -> Answer:
    """An error in the shape that most have: `{"error": {"message": …}}`."""
    return json_answer({"error": {"message": message, **fields}}, status=status)


def _openai_overflow(prompt: int, cap: int, context: int) -> Answer | None:
    if prompt + cap <= context:
        return None
    said = f"This model's maximum context length is {context} tokens. However, you requested"
    said += f" {prompt + cap} tokens ({prompt} in the messages, {cap} in the completion)."
    code = "context_length_exceeded"
    return refusal(400, said, type="invalid_request_error", param="messages", code=code)


def _vllm_overflow(prompt: int, cap: int, context: int) -> Answer | None:
    if cap > context:
        said, param = (
            f"max_tokens={cap} cannot be greater than max_model_len={context}",
            "max_tokens",
        )
    elif prompt >= context:
        said = f"This model's maximum context length is {context} tokens. However, your request has"
        said, param = f"{said} at least {context + 1} input tokens.", "input_tokens"
    else:
        return None
    return refusal(400, said, type="BadRequestError", param=param, code=400)


def _sglang_overflow(prompt: int, cap: int, context: int) -> Answer | None:
    if prompt > context:
        said = f"The input ({prompt} tokens) is longer than the model's context length ({context} tokens)."
    elif prompt + cap > context:
        said = "Requested token count exceeds the model's maximum context length of"
        said += f" {context} tokens. You requested a total of {prompt + cap} tokens."
    else:
        return None
    return json_answer(_flat(said, "BadRequestError", 400), status=400)


def _flat(message: str, kind: str, code: int) -> Json:
    return {"object": "error", "message": message, "type": kind, "param": None, "code": code}


def _llama_overflow(prompt: int, cap: int, context: int) -> Answer | None:
    if prompt < context:
        return None
    said = f"the request exceeds the available context size ({context} tokens), try increasing it"
    kind = "exceed_context_size_error"
    return refusal(400, said, code=400, type=kind, n_prompt_tokens=prompt, n_ctx=context)


def _openrouter_overflow(prompt: int, cap: int, context: int) -> Answer | None:
    if prompt + cap <= context:
        return None
    said = (
        f"This endpoint's maximum context length is {context} tokens. However, you requested about"
    )
    return refusal(
        400, f"{said} {prompt + cap} tokens.", code=400, metadata={"provider_name": None}
    )


_TABLE = (
    Dialect(
        "openai",
        {"owned_by": "system"},
        caps=("max_completion_tokens",),
        refuses=("max_tokens", "top_k", "min_p", "cache_salt", "id_slot"),
        reasoning="",
        fixed={"refusal": None},
        nulls=True,
        usage={
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "rejected_prediction_tokens": 0},
        },
        overflow=_openai_overflow,
        unknown=lambda name: refusal(
            404,
            f"The model `{name}` does not exist or you do not have access to it.",
            type="invalid_request_error",
            param=None,
            code="model_not_found",
        ),
        busy=replace(
            refusal(
                429, "Rate limit reached for requests", type="requests", code="rate_limit_exceeded"
            ),
            headers={"retry-after-ms": "1500", "x-ratelimit-remaining-requests": "0"},
        ),
        broken={"message": "The server had an error", "type": "server_error", "code": None},
    ),
    Dialect(
        "vllm",
        {"owned_by": "vllm"},
        routes={"/version": {"version": "0.33.0"}},
        reasoning="reasoning",
        finish_alone=False,
        after_error=("done",),
        overflow=_vllm_overflow,
        unknown=lambda name: refusal(
            404,
            f"The model `{name}` does not exist.",
            type="NotFoundError",
            param="model",
            code=404,
        ),
        busy=refusal(
            503,
            "The engine is currently busy. Please try again later.",
            type="ServiceUnavailableError",
            param=None,
            code=503,
        ),
        broken={
            "message": "EngineCore encountered an issue.",
            "type": "InternalServerError",
            "param": None,
            "code": 500,
        },
    ),
    Dialect(
        "sglang",
        {"owned_by": "sglang"},
        fixed={"reasoning_content": None},
        nulls=True,
        tools="nulls",
        usage={"prompt_tokens_details": None, "reasoning_tokens": 0},
        after_error=("usage", "done"),
        works_on=True,
        overflow=_sglang_overflow,
        busy=json_answer(_flat("The request queue is full.", "ServiceUnavailableError", 503)),
        broken=_flat("Internal error", "InternalServerError", 500),
    ),
    Dialect(
        "llama.cpp",
        {"owned_by": "llamacpp", "meta": {"n_ctx": 2048}},
        headers={"Server": "llama.cpp", "Keep-Alive": "timeout=5, max=100"},
        routes={"/props": {"total_slots": 4}, "/health": {"status": "ok"}},
        first=None,
        comment=":\n\n",
        usage={"prompt_tokens_details": {"cached_tokens": 0}},
        closes=True,
        overflow=_llama_overflow,
        busy=refusal(503, "Loading model", type="unavailable_error", code=503),
        broken={"code": 500, "message": "context shift failed", "type": "server_error"},
    ),
    Dialect(
        "ollama",
        {"owned_by": "library"},
        caps=("max_tokens",),
        reasoning="reasoning",
        tools="whole",
        unknown=lambda name: refusal(
            404, f'model "{name}" not found, try pulling it first', type="not_found_error"
        ),
        busy=refusal(
            503,
            "server busy, please try again.  maximum pending requests exceeded",
            type="api_error",
        ),
    ),
    Dialect(
        "openrouter",
        {"owned_by": "", "context_length": 2048},
        reasoning="reasoning",
        comment=": OPENROUTER PROCESSING\n\n",
        usage={"cost": 0.0001, "cost_details": {"upstream_inference_cost": None}},
        always_usage=True,
        overflow=_openrouter_overflow,
        unknown=lambda name: refusal(400, f"{name} is not a valid model ID", code=400),
        busy=replace(
            refusal(
                402,
                "Your in-flight requests use up your credits",
                code=402,
                metadata={"limit_source": "openrouter_in_flight_budget"},
            ),
            headers={"Retry-After": "2"},
        ),
        broken={"code": 502, "message": "Provider returned error", "metadata": {"raw": "boom"}},
    ),
)
DIALECTS: Mapping[str, Dialect] = MappingProxyType({one.name: one for one in _TABLE})
