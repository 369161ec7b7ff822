"""A Python function as a tool: its schema from its parameters, what it is told to do from its docstring. Pure."""

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from ..call import Offer
from ..plain import excerpt
from ..value import Json

_PLAIN: Mapping[Any, str] = {
    str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"
}  # fmt: skip
_LISTS = (list, tuple, set, frozenset, Sequence)
# A docstring is told as far as this: the rest is for those who read the code.
_LONGEST = 1000


def offer_of(name: str, function: Callable[..., object]) -> Offer:
    """function as a model is told of it, under name. Raises ValueError where it cannot be called by name."""
    hints = get_type_hints(function)
    properties: dict[str, Json] = {}
    required: list[str] = []
    for one in inspect.signature(function).parameters.values():
        if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            continue
        if one.kind is one.POSITIONAL_ONLY:
            raise ValueError(f"its parameter {one.name!r} cannot be given by name")
        properties[one.name] = schema_of(hints.get(one.name))
        if one.default is one.empty:
            required.append(one.name)
    doc = inspect.getdoc(function) or f"Calls {name}."
    return Offer(name, excerpt(doc, _LONGEST), _object(properties, required))


def _object(properties: Mapping[str, Json], required: Sequence[str]) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def schema_of(hint: Any) -> dict[str, Json]:
    """The JSON schema of values of a type; of one that JSON has no word for, anything."""
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"enum": list(parts)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema_of(part) for part in parts]}
    kind = origin or hint
    if kind in _LISTS or (isinstance(kind, type) and issubclass(kind, _LISTS)):
        return {"type": "array", **({"items": schema_of(parts[0])} if parts else {})}
    if isinstance(kind, type) and issubclass(kind, Mapping | dict):
        return {"type": "object"}
    return {}
