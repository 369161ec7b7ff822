"""JSON from outside, read without trust in its shape: what is not there or of another type is empty."""

import json
from typing import Any

import orjson


def parsed(text: str | bytes) -> Any:
    """The JSON value of text, also with raw control characters or half surrogates in it; None if broken."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(
            text if isinstance(text, str) else text.decode(errors="replace"), strict=False
        )
    except (ValueError, RecursionError):
        return None


def mapping(value: Any) -> dict[str, Any]:
    """value if it is an object of JSON, else an empty one."""
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def sequence(value: Any) -> list[Any]:
    """value if it is an array of JSON, else an empty one."""
    # What is in the array is anybody's guess: this module is the edge where it is looked at.
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]


def count(values: dict[str, Any], *names: str) -> int:
    """The first of the named fields that is a positive integer; 0 where each is null, absent or nonsense."""
    for name in names:
        value = values.get(name)
        if type(value) is int and value > 0:
            return value
    return 0


def string(values: dict[str, Any], *names: str) -> str:
    """The first of the named fields that is a text with something in it; "" where none is."""
    for name in names:
        value = values.get(name)
        if isinstance(value, str) and value:
            return value
    return ""
