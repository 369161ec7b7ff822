"""Structured replies: the JSON schema of a role's `output`, and reading a reply against it. Pure."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NoReturn, cast

from podium.dsl.program import OutputField

from ..plain import clean
from ..value import Json

# A reply with more braces than this is not searched further: each costs a parse.
_STARTS = 100
_FENCE = re.compile(r"```[\w-]*\n(.*?)```", re.DOTALL)
_LINE = re.compile(r"^\s*(?:\d{1,4}[.)]|[-*•])\s+(\S.*?)\s*$", re.MULTILINE)
_NAMES = {"text": "string", "int": "integer", "float": "number", "bool": "boolean"}


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a reply is not what was asked for: a clause that can be put to the model."""

    why: str


def schema(output: tuple[OutputField, ...]) -> dict[str, Json]:
    """The JSON schema of an object with the fields of output."""
    return {
        "type": "object",
        "properties": {field.name: _field_schema(field) for field in output},
        "required": [field.name for field in output if field.required],
        "additionalProperties": False,
    }


def parse(output: tuple[OutputField, ...], text: str) -> dict[str, Json] | Unreadable:
    """The first object in text that has output's fields; missing ones are filled with their defaults.

    The object may stand in a fenced block or between other words. `"16,384"` is read as an int, `"LOW"` as "low".
    """
    problem = Unreadable("it holds no JSON object")
    for found in objects(text):
        read = _read(output, found)
        if not isinstance(read, Unreadable):
            return read
        problem = read
    bare = _bare(output, text)
    return problem if bare is None else {output[0].name: bare}


def failure_value(output: tuple[OutputField, ...]) -> dict[str, Json] | None:
    """What the program declares for a reply that cannot be read: all defaults, if each field has one."""
    if any(field.required and field.default is None for field in output):
        return None
    return {field.name: field.default for field in output}


def whole_number(value: Json) -> int | None:
    """The integer meant by 16384, 16384.0, "16,384" or "16384 tokens"; of a range, the lower end; else None."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if not isinstance(value, str):
        return None
    found = re.match(r"\W*(\d{1,3}(?:,\d{3})+|\d{1,15})(?![\d.,]*\d)", value.strip())
    sign = -1 if value.strip().startswith("-") else 1
    return sign * int(found[1].replace(",", "")) if found else None


def _field_schema(field: OutputField) -> Json:
    one: Json = (
        {"type": "string", "enum": list(field.type)}
        if isinstance(field.type, tuple)
        else {"type": _NAMES[field.type]}
    )
    return {"type": "array", "items": one} if field.is_list else one


def objects(text: str) -> Iterator[Mapping[str, Json]]:
    """The JSON objects in text: fenced ones first, then from each opening brace on."""
    decoder = json.JSONDecoder(parse_constant=_refuse)
    for part in (*_FENCE.findall(text), text):
        start = part.find("{")
        for _ in range(_STARTS):
            if start < 0:
                break
            end = start + 1
            try:
                found, end = decoder.raw_decode(part, start)
                yield cast(Mapping[str, Json], found)  # it began with a brace
            except (ValueError, RecursionError):
                pass
            start = part.find("{", end)


def _bare(output: tuple[OutputField, ...], text: str) -> Json:
    """The value of an only field that a reply gives without an object: a choice alone, or a list in lines."""
    if len(output) != 1:
        return None
    field = output[0]
    if isinstance(field.type, tuple) and not field.is_list:
        return _as_choice(field.type, text.strip().strip("`*_\"'.!: "))
    if field.type == "text" and field.is_list:
        return _LINE.findall(text) or None
    return None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _read(
    output: tuple[OutputField, ...], found: Mapping[str, Json]
) -> dict[str, Json] | Unreadable:
    values: dict[str, Json] = {}
    for field in output:
        if found.get(field.name) is None:
            if field.required and field.default is None:
                return Unreadable(f"the field {field.name!r} is missing")
            values[field.name] = field.default
            continue
        value = _field_value(field, found[field.name])
        if isinstance(value, Unreadable):
            return value
        values[field.name] = value
    return values


def _field_value(field: OutputField, value: Json) -> Json | Unreadable:
    if not field.is_list:
        return _scalar(field, value)
    if isinstance(value, str) or not isinstance(value, list):
        return Unreadable(f"the field {field.name!r} is no list")
    items: list[Json] = []
    for one in value:
        item = _scalar(field, one)
        if isinstance(item, Unreadable):
            return item
        items.append(item)
    return items


def _scalar(field: OutputField, value: Json) -> Json | Unreadable:
    read = (
        _as_choice(field.type, value) if isinstance(field.type, tuple) else _as(field.type, value)
    )
    if read is None:
        want = " or ".join(field.type) if isinstance(field.type, tuple) else field.type
        return Unreadable(f"the field {field.name!r} must be {want}, not {json.dumps(value)[:60]}")
    return read


def _as_choice(choices: tuple[str, ...], value: Json) -> str | None:
    if not isinstance(value, str):
        return None
    plain = value.strip().casefold()
    return next((choice for choice in choices if choice.casefold() == plain), None)


def _as(kind: str, value: Json) -> Json:
    match kind:
        case "int":
            return whole_number(value)
        case "float":
            return _as_float(value)
        case "bool":
            words: dict[Json, bool] = {"true": True, "yes": True, "false": False, "no": False}
            plain = value.strip().casefold() if isinstance(value, str) else None
            return value if isinstance(value, bool) else words.get(plain)
        case _:
            # An escape in the JSON may stand for what no text here may hold.
            return clean(value) if isinstance(value, str) else json.dumps(value)


def _as_float(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value.replace(",", "") if isinstance(value, str) else value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
