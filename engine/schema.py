"""Whether a JSON value fits a JSON schema: the part of the standard that tools and outputs use. Pure.

Known: type, enum, const, properties, required, additionalProperties, items, anyOf, and the bounds of
numbers, texts and lists. Other words, such as pattern and $ref, are taken as fulfilled.
"""

from collections.abc import Iterator, Mapping, Sequence

from .value import Json

# Deeper values are not looked into: no tool takes such.
DEEPEST = 32
_BOUNDS = (
    ("minimum", "below", False),
    ("maximum", "above", True),
    ("minLength", "shorter than", False),
    ("maxLength", "longer than", True),
    ("minItems", "shorter than", False),
    ("maxItems", "longer than", True),
)


def misfit(schema: Mapping[str, Json], value: Json) -> str | None:
    """The first thing that is wrong with value, as a clause that can be put to a model; None if it fits."""
    return next(_misfits(schema, value, "it", DEEPEST), None)


def _misfits(schema: Mapping[str, Json], value: Json, where: str, depth: int) -> Iterator[str]:
    if depth == 0:
        yield f"{where} is nested too deep"
        return
    kinds = schema.get("type")
    wanted = [kinds] if isinstance(kinds, str) else _items(kinds)
    if wanted and not any(_is(str(kind), value) for kind in wanted):
        yield f"{where} must be of type {' or '.join(map(str, wanted))}"
        return
    yield from _values(schema, value, where, depth)
    yield from _bounds(schema, value, where)
    if isinstance(value, Mapping):
        yield from _members(schema, value, where, depth)
    elif (items := _mapping(schema.get("items"))) and isinstance(value, list | tuple):
        for i, one in enumerate(value):
            yield from _misfits(items, one, f"{where}[{i}]", depth - 1)


def _values(schema: Mapping[str, Json], value: Json, where: str, depth: int) -> Iterator[str]:
    choices = _items(schema.get("enum")) or ([schema["const"]] if "const" in schema else [])
    if choices and not any(_same(value, one) for one in choices):
        yield f"{where} must be one of {', '.join(map(str, choices))}"
    options = [_mapping(one) for one in _items(schema.get("anyOf"))]
    if options and all(next(_misfits(one, value, where, depth - 1), None) for one in options):
        yield f"{where} fits none of the possible forms"


def _bounds(schema: Mapping[str, Json], value: Json, where: str) -> Iterator[str]:
    for word, says, most in _BOUNDS:
        limit, size = schema.get(word), _size(word, value)
        if not isinstance(limit, int | float) or size is None:
            continue
        if (size > limit) if most else (size < limit):
            yield f"{where} is {says} {limit}"


def _size(word: str, value: Json) -> float | None:
    """What a bound of that name is put on; None where it is not on such a value."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value if word in ("minimum", "maximum") else None
    if isinstance(value, str):
        return len(value) if word.endswith("Length") else None
    return len(value) if isinstance(value, list | tuple) and word.endswith("Items") else None


def _members(
    schema: Mapping[str, Json], value: Mapping[str, Json], where: str, depth: int
) -> Iterator[str]:
    known = _mapping(schema.get("properties"))
    for name in _items(schema.get("required")):
        if name not in value:
            yield f"{where} lacks the field {name!r}"
    others = schema.get("additionalProperties")
    for name, one in value.items():
        if name in known or isinstance(others, Mapping):
            part = _mapping(known.get(name, others))
            yield from _misfits(part, one, f"the field {name!r}", depth - 1)
        elif others is False:
            yield f"{where} has no field {name!r}"


def _is(kind: str, value: Json) -> bool:
    match kind:
        case "integer":
            whole = isinstance(value, float) and value.is_integer()
            return whole or (isinstance(value, int) and not isinstance(value, bool))
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
        case "array":
            return isinstance(value, list | tuple)
        case "object":
            return isinstance(value, Mapping)
        case _:
            return True


def _same(one: Json, other: Json) -> bool:
    """1 is no true, which Python takes for the same."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _items(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list | tuple) else []


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}
