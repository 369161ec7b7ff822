"""Functions as tools: their schemas from their signatures."""

from collections.abc import Sequence
from typing import Literal

import pytest

from podium.engine.agent.signature import offer_of, schema_of
from podium.engine.schema import misfit


def search(
    query: str, *, most: int = 10, kind: Literal["web", "code"] = "web", near: str | None = None
) -> list[str]:
    """Searches for query.

    More is said here.
    """
    return [query, str(most), kind, near or ""]


def test_a_signature_becomes_a_schema_and_a_docstring_the_description() -> None:
    offer = offer_of("search", search)
    assert offer.description == "Searches for query. More is said here."
    assert offer.parameters == {
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "most": {"type": "integer"},
            "kind": {"enum": ["web", "code"]},
            "near": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["query"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("hint", "fits", "does_not"),
    [
        (list[int], [1, 2], ["a"]),
        (Sequence[str], ["a"], "a"),
        (tuple[str, ...], ["a"], [1]),
        (dict[str, int], {"a": 1}, []),
        (float, 1, "1"),
    ],
)
def test_containers_and_numbers(hint: object, fits: object, does_not: object) -> None:
    schema = schema_of(hint)
    assert misfit(schema, fits) is None  # type: ignore[arg-type]  # JSON
    assert misfit(schema, does_not) is not None  # type: ignore[arg-type]  # JSON


def test_a_parameter_of_another_type_takes_anything() -> None:
    assert schema_of(object) == {}
    assert schema_of(None) == {}


def test_a_parameter_without_a_name_makes_no_tool() -> None:
    with pytest.raises(ValueError, match="'x' cannot be given by name"):
        offer_of("abs", abs)
