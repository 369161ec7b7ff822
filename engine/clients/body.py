"""A ModelCall to the body and headers of a request, in the server's dialect. Pure.

A cap that the server obeys is in every body. What only some servers know goes through the profile; what
a server then refuses is sent otherwise or left out, unless the program asked for it.
"""

from collections.abc import Mapping
from dataclasses import replace

import orjson

from ..call import CallError, Message, ModelCall, Offer, Replica, ToolCall, digest
from ..value import Json
from .dialects import Profile
from .loose import parsed
from .profile import sampling_fields
from .textual import as_text

# Fields that may be left out once a server has refused them.
OPTIONAL = (
    "stream_options",
    "top_k",
    "min_p",
    "top_p",
    "temperature",
    "seed",
    "prompt_cache_key",
    "priority",
    "response_format",
    "tools",
)
_CAPS = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}


def request(call: ModelCall, replica: Replica, profile: Profile) -> dict[str, Json]:
    """The body of a streaming request. Raises CallError where the profile cannot say what is asked."""
    try:
        sampling = sampling_fields(profile, call.sampling)
    except ValueError as problem:
        raise CallError("request", f"{call.model}: {problem}") from None
    if profile.tools == "text":
        call = as_text(call)
    messages = call.messages
    if call.schema is not None and profile.schema != "response_format":
        messages = told(messages, call.schema)
    body: dict[str, Json] = {
        "model": replica.served,
        "messages": _said(messages),
        "stream": True,
        profile.cap: call.max_output,
        **sampling,
    }
    if call.sampling.stop:
        body["stop"] = list(call.sampling.stop)
    if call.schema is not None and profile.schema != "none":
        body["response_format"] = _response_format(call.schema, profile)
    if call.tools:  # an empty list is refused by some
        body["tools"] = [_offered(offer) for offer in call.tools]
    return body | _extras(call, replica, profile)


def _extras(call: ModelCall, replica: Replica, profile: Profile) -> dict[str, Json]:
    """What the profile alone decides on."""
    found: dict[str, Json] = {}
    if profile.usage != "unasked":
        each = {"continuous_usage_stats": True} if profile.usage == "each" else {}
        found["stream_options"] = {"include_usage": True, **each}
    if call.seed is not None and profile.seed:
        found["seed"] = call.seed
    if profile.salt and call.salt:
        found["cache_salt"] = call.salt
    if profile.slots and replica.slot is not None:
        found["id_slot"] = replica.slot
    if profile.cache_key and call.group:
        found["prompt_cache_key"] = together(call)
    if profile.priority != "none" and call.urgency:
        found["priority"] = call.urgency if profile.priority == "higher" else -call.urgency
    return found


def headers(call: ModelCall, profile: Profile) -> dict[str, str]:
    """The headers of a request that depend on its call: the same for all calls of one prompt prefix."""
    return {profile.affinity: together(call)} if profile.affinity and call.group else {}


def together(call: ModelCall) -> str:
    """The same for calls that share a prompt prefix and may share a cache; it tells nothing of either."""
    return digest([call.model, call.group, call.salt])[:32]


def without(body: Mapping[str, Json], name: str, call: ModelCall) -> dict[str, Json] | None:
    """body without the field a server refused; a cap takes its other name, and a schema goes into the
    prompt. None where nothing can be done."""
    if name not in body:
        return None
    rest = {key: value for key, value in body.items() if key != name}
    if name == "response_format" and call.schema is not None:
        plain = call if "tools" in body else as_text(call)
        return {**rest, "messages": _said(told(plain.messages, call.schema))}
    if name == "tools":
        messages = as_text(call).messages
        if call.schema is not None and "response_format" not in body:
            messages = told(messages, call.schema)
        return {**rest, "messages": _said(messages)}
    if name in OPTIONAL:
        return rest
    return {**rest, _CAPS[name]: body[name]} if name in _CAPS else None


def droppable(call: ModelCall, body: Mapping[str, Json]) -> tuple[str, ...]:
    """The fields of body that may be sent otherwise: sampling the program did not ask for, the cap's name,
    the schema, since replies are checked against it anyway, and the seed, which no server promises
    anything for."""
    wanted = {
        "temperature": call.sampling.temperature,
        "top_p": call.sampling.top_p,
        "top_k": call.sampling.top_k,
        "min_p": call.sampling.min_p,
    }
    names = (*_CAPS, *OPTIONAL)
    return tuple(name for name in names if name in body and wanted.get(name) is None)


def told(messages: tuple[Message, ...], schema: Mapping[str, Json]) -> tuple[Message, ...]:
    """The messages, the last one followed by the schema in words. Its bytes are in the call's bound."""
    last = messages[-1]
    text = f"{last.content}\n\nAnswer with one JSON object of this schema:\n{orjson.dumps(schema).decode()}"
    return (*messages[:-1], replace(last, content=text))


def _said(messages: tuple[Message, ...]) -> list[Json]:
    return [_message(message) for message in messages]


def _message(message: Message) -> Json:
    said: dict[str, Json] = {"role": message.role, "content": message.content}
    if message.calls:
        said["content"] = message.content or None
        said["tool_calls"] = [_called(call) for call in message.calls]
    if message.answers:
        said["tool_call_id"] = message.answers
    return said


def _called(call: ToolCall) -> Json:
    """Templates parse the arguments again, so what is no object cannot be said as it came."""
    whole = isinstance(parsed(call.text), dict)
    text = call.text if whole else orjson.dumps(call.arguments or {}).decode()
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name or "unnamed", "arguments": text},
    }


def _offered(offer: Offer) -> Json:
    function: dict[str, Json] = {
        "name": offer.name,
        "description": offer.description,
        "parameters": offer.parameters,
    }
    return {"type": "function", "function": function}


def _response_format(schema: Mapping[str, Json], profile: Profile) -> Json:
    if profile.schema == "json_object":
        return {"type": "json_object"}
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
