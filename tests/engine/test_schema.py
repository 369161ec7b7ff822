"""Values against schemas: what fits is let through, and what does not is told in a clause."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.dsl.program import OutputField
from podium.engine.agent import schema
from podium.engine.schema import misfit

WEATHER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 1},
        "days": {"type": "integer", "minimum": 1, "maximum": 7},
        "unit": {"enum": ["C", "F"]},
        "at": {"type": "array", "items": {"type": "number"}, "maxItems": 2},
        "when": {"anyOf": [{"type": "null"}, {"type": "string"}]},
    },
    "required": ["city"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"city": "Paris"}, None),
        ({"city": "Paris", "days": 3, "unit": "C", "at": [1, 2.5], "when": None}, None),
        ({"city": "Paris", "days": 3.0}, None),
        ("Paris", "it must be of type object"),
        ({}, "it lacks the field 'city'"),
        ({"city": 7}, "the field 'city' must be of type string"),
        ({"city": ""}, "the field 'city' is shorter than 1"),
        ({"city": "P", "days": 9}, "the field 'days' is above 7"),
        ({"city": "P", "days": True}, "the field 'days' must be of type integer"),
        ({"city": "P", "days": 2.5}, "the field 'days' must be of type integer"),
        ({"city": "P", "unit": "K"}, "the field 'unit' must be one of C, F"),
        ({"city": "P", "at": [1, "x"]}, "the field 'at'[1] must be of type number"),
        ({"city": "P", "at": [1, 2, 3]}, "the field 'at' is longer than 2"),
        ({"city": "P", "when": 7}, "the field 'when' fits none of the possible forms"),
        ({"city": "P", "town": "Q"}, "it has no field 'town'"),
    ],
)
def test_what_does_not_fit_is_told(value: Any, says: str | None) -> None:
    assert misfit(WEATHER, value) == says


def test_a_value_nested_without_end_is_no_argument() -> None:
    value: Any = 1
    for _ in range(100):
        value = {"a": value}
    deep: dict[str, Any] = {"type": "object"}
    deep["additionalProperties"] = deep
    assert "nested too deep" in (misfit(deep, value) or "")


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@given(json)
def test_no_schema_lets_everything_through(value: Any) -> None:
    assert misfit({}, value) is None
    assert misfit({"const": value}, value) is None


@given(st.integers(), st.sampled_from(["low", "high"]), st.lists(st.text(max_size=3)))
def test_what_an_output_describes_fits_its_own_schema(n: int, risk: str, items: list[str]) -> None:
    output = (
        OutputField("n", "int"),
        OutputField("risk", ("low", "high")),
        OutputField("items", "text", is_list=True, required=False),
    )
    value: Any = {"n": n, "risk": risk, "items": items}
    assert misfit(schema(output), value) is None
    del value["items"]
    assert misfit(schema(output), value) is None
    assert misfit(schema(output), {**value, "risk": "none"}) is not None
