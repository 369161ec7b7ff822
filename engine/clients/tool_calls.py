"""Tool calls out of the fragments of a stream, in the forms of all servers. Pure.

Usually the first fragment has id, name and index, and the rest an index and a piece of the arguments. But
SGLang repeats id and name as null, Ollama sends a call whole, some give no index, or index 0 to each
call of several; older servers know one `function_call`, and some send both.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from ..call import ToolCall
from ..plain import clean
from ..value import Json
from .loose import mapping, parsed, sequence, string


@dataclass(slots=True)
class _Slot:
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class Fragments:
    """What has come of the tool calls of one reply. Feed it each delta that has some."""

    _slots: list[_Slot] = field(default_factory=list[_Slot])
    _by_index: dict[int, _Slot] = field(default_factory=dict[int, _Slot])
    _old: _Slot | None = None

    def __bool__(self) -> bool:
        return bool(self._slots or self._old)

    def add(self, delta: dict[str, Any]) -> int:
        """Take the fragments of delta; how many characters they have."""
        size = sum(self._fragment(mapping(one)) for one in sequence(delta.get("tool_calls")))
        if old := mapping(delta.get("function_call")):
            self._old = self._old or _Slot()
            size += _take(self._old, old)
        return size

    def calls(self) -> tuple[ToolCall, ...]:
        """The calls in the order in which they began; `function_call` where there is nothing else."""
        slots = self._slots or ([self._old] if self._old else [])
        return tuple(_call(slot, number) for number, slot in enumerate(slots))

    def _fragment(self, part: dict[str, Any]) -> int:
        slot = self._slot(part.get("index"), string(part, "id"))
        return _take(slot, mapping(part.get("function")))

    def _slot(self, index: Any, id_: str) -> _Slot:
        """The call that a fragment belongs to; a new one where its id is new."""
        index = index if type(index) is int else None
        found = self._by_index.get(index) if index is not None else self._last(id_)
        if found is None or (id_ and found.id and found.id != id_):
            found = _Slot(id_)
            self._slots.append(found)
        found.id = found.id or id_
        if index is not None:
            self._by_index[index] = found
        return found

    def _last(self, id_: str) -> _Slot | None:
        same = (slot for slot in reversed(self._slots) if not id_ or slot.id == id_)
        return next(same, None)


def _take(slot: _Slot, function: dict[str, Any]) -> int:
    slot.name = slot.name or string(function, "name")
    given = function.get("arguments")
    if isinstance(given, Mapping):  # an object in place of its text
        given = orjson.dumps(given, default=str).decode()
    text = given if isinstance(given, str) else ""
    slot.pieces.append(text)
    return len(text)


def _call(slot: _Slot, number: int) -> ToolCall:
    text = "".join(slot.pieces)
    name = clean(slot.name)
    return ToolCall(clean(slot.id) or f"call_{number}", name, arguments(text), clean(text))


def arguments(text: str) -> dict[str, Json] | None:
    """The object that the text of a call's arguments is; None where it is none. Nothing at all is no argument.

    An object written as a JSON string, which some models do, is read as the object.
    """
    if not text.strip():
        return {}
    value = parsed(text)
    if isinstance(value, str):
        value = parsed(value)
    return _cleaned(value) if isinstance(value, dict) else None


def _cleaned(value: Any) -> Any:
    """value without control characters and half surrogates in its texts."""
    match value:
        case str():
            return clean(value)
        case dict():
            return {clean(str(key)): _cleaned(one) for key, one in value.items()}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]  # any JSON
        case list():
            return [_cleaned(one) for one in value]  # pyright: ignore[reportUnknownVariableType]  # any JSON
        case _:
            return value
