"""What a server's own lists say: its models, their windows, its slots. Pure."""

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from ..call import CallError
from ..plain import clean, excerpt
from .loose import count, mapping, parsed, sequence, string


@dataclass(frozen=True, slots=True)
class Served:
    """One entry of /v1/models. names: its id and aliases. context: tokens, None where it does not say."""

    id: str
    names: tuple[str, ...]
    owned_by: str = ""
    context: int | None = None


def listed(body: bytes) -> tuple[Served, ...] | None:
    """The models in the answer of /v1/models; None where it is no such answer."""
    value = parsed(body)
    entries = mapping(value).get("data", value)
    if not isinstance(entries, list):
        return None
    return tuple(_served(e) for e in map(mapping, sequence(entries)) if string(e, "id"))


def _served(entry: dict[str, Any]) -> Served:
    aliases = [name for name in sequence(entry.get("aliases")) if isinstance(name, str)]
    window = count(entry, "max_model_len") or count(mapping(entry.get("meta")), "n_ctx")
    return Served(
        id=string(entry, "id"),
        names=(string(entry, "id"), *aliases),
        owned_by=string(entry, "owned_by"),
        context=window or count(entry, "context_length", "context_window") or None,
    )


_HOW = "(its name goes into the endpoint, or behind the URL: --model URL#NAME)"


def choose(models: tuple[Served, ...] | None, name: str, where: str) -> Served:
    """The model that name means; "" is the only one. Raises CallError("model") with what there is."""
    known = models or ()
    if not name:
        if len(known) == 1:
            return known[0]
        if not known:
            raise CallError("model", f"{where} serves no model")
        raise CallError(
            "model", f"{where} serves several models; choose one: {_names(known)} {_HOW}"
        )
    for model in known:
        if name in model.names or f"{name}:latest" in model.names:
            return model
    near = get_close_matches(name, [n for model in known for n in model.names], n=3)
    hint = (
        f"did you mean {' or '.join(clean(n) for n in near)}?"
        if near
        else f"it serves {_names(known)}"
    )
    raise CallError("model", f"{where} serves no model {name!r}; {hint}")


def _names(models: tuple[Served, ...], most: int = 10) -> str:
    names = ", ".join(excerpt(model.id, 80) for model in models[:most])
    left = len(models) - most
    return (names or "none") + (f" and {left} more" if left > 0 else "")


def slots_of(props: dict[str, Any]) -> int | None:
    """How many slots a llama.cpp server has, from its /props."""
    return count(props, "total_slots") or None


def knows_tools(props: dict[str, Any]) -> bool:
    """Whether the model's template has a place for tools, by llama.cpp's /props. Where it has none the server
    takes them, and tells the model nothing of them."""
    return mapping(props.get("chat_template_caps")).get("supports_tools") is not False


def context_of(model: Served, props: dict[str, Any]) -> int | None:
    """The window of model in tokens: from the list, else from llama.cpp's /props or Ollama's /api/ps."""
    if model.context is not None:
        return model.context
    running = map(mapping, sequence(props.get("models")))
    sizes = [count(entry, "context_length") for entry in running if entry.get("name") == model.id]
    return (
        count(mapping(props.get("default_generation_settings")), "n_ctx")
        or max(sizes, default=0)
        or None
    )
