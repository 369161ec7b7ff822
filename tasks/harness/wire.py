"""Python values as JSON and back: what tests send to a candidate's functions, and what these return.

Only builtin types come out of `decoded`, so that nothing of a candidate's runs where values are compared.
Runs in the sandbox, on its Python: nothing but the standard library is imported.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

# Larger integers go as hexadecimal digits: read in linear time, and without Python's limit on decimal ones.
_PLAIN = 10**18
# Deeper values are told from no other: none of a test is so deep.
DEEPEST = 100
LISTS = (list, tuple, set, frozenset)


class Opaque:
    """Stands for a value of a type that is not sent. It is equal to nothing but itself."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<{self.name}>"


def dumped(value: Any) -> str:
    """value as one line of JSON, in ASCII."""
    return json.dumps(encoded(value))


def encoded(value: Any, deep: int = 0) -> Any:
    """value as JSON: lists stay lists, every other collection is an object that says what it is."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str | float | int):
        return _scalar(value)
    if deep >= DEEPEST:
        return {"opaque": "value too deep"}
    if among(value, dict):
        pairs = value.items()
        return {"dict": [[encoded(k, deep + 1), encoded(v, deep + 1)] for k, v in pairs]}
    if among(value, *LISTS):
        items = [encoded(one, deep + 1) for one in value]
        return items if isinstance(value, list) else {_kind(value): items}
    if isinstance(value, bytes | bytearray):
        return {"bytes": value.hex()}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    return {"opaque": type(value).__name__}


def among(value: object, *kinds: type) -> bool:
    """isinstance, of which type checkers conclude nothing: what is in the collections of others is of any type."""
    return isinstance(value, kinds)


def _scalar(value: str | float) -> Any:
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float):
        return float.__float__(value)
    whole = int.__int__(value)
    return whole if -_PLAIN < whole < _PLAIN else {"int": hex(whole)}


def _kind(value: Any) -> str:
    return next(kind.__name__ for kind in (tuple, frozenset, set) if isinstance(value, kind))


def decoded(data: Any) -> Any:
    """The value that data, read from JSON, stands for. Raises ValueError where it stands for none."""
    if among(data, list):
        return [decoded(one) for one in data]
    if not among(data, dict):
        return data
    [(kind, content)] = data.items()  # ValueError where there are more
    try:
        return _KINDS[kind](content)
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"there is no value of {kind}") from error


def _dict(pairs: Any) -> dict[Any, Any]:
    return {decoded(key): decoded(value) for key, value in pairs}


def _complex(parts: Any) -> complex:
    real, imaginary = parts
    return complex(float(real), float(imaginary))


_KINDS: dict[str, Callable[[Any], Any]] = {
    "int": lambda digits: int(digits, 16),
    "tuple": lambda items: tuple(decoded(items)),
    "set": lambda items: set(decoded(items)),
    "frozenset": lambda items: frozenset(decoded(items)),
    "bytes": bytes.fromhex,
    "complex": _complex,
    "dict": _dict,
    "opaque": lambda name: Opaque(str(name)),
}


def parsed(line: str) -> dict[str, Any] | None:
    """The JSON object in line, which anybody may have written; None where there is none."""
    try:
        found: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if among(found, dict) else None
