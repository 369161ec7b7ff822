"""Schemas of structured replies, and reading replies against them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.dsl.program import OutputField
from podium.engine.agent import Unreadable, parse, schema, whole_number
from podium.engine.agent.shape import failure_value
from podium.engine.plain import clean

FIELDS = (
    OutputField("answer", "text"),
    OutputField("count", "int", required=False, default=7),
    OutputField("share", "float", required=False),
    OutputField("sure", "bool", required=False, default=False),
    OutputField("risk", ("low", "high"), required=False, default="low"),
    OutputField("items", "int", is_list=True, required=False),
)
DEFAULTS = {"count": 7, "share": None, "sure": False, "risk": "low", "items": None}


def test_a_schema_names_types_choices_lists_and_what_is_required() -> None:
    made = schema(FIELDS)
    assert made["required"] == ["answer"]
    assert made["additionalProperties"] is False
    assert made["properties"] == {
        "answer": {"type": "string"},
        "count": {"type": "integer"},
        "share": {"type": "number"},
        "sure": {"type": "boolean"},
        "risk": {"type": "string", "enum": ["low", "high"]},
        "items": {"type": "array", "items": {"type": "integer"}},
    }


@pytest.mark.parametrize(
    "text",
    [
        '{"answer": "x"}',
        'Sure!\n```json\n{"answer": "x"}\n```\nDone.',
        'First {not json} and {"other": 1}, then {"answer": "x"} and more }',
        '{"answer": "x", "extra": [1, 2]}',
    ],
)
def test_the_object_may_stand_between_other_words(text: str) -> None:
    assert parse(FIELDS, text) == {"answer": "x", **DEFAULTS}


def test_values_are_read_as_meant() -> None:
    text = (
        '{"answer": 5, "count": "16,384", "share": "0.5", "sure": "yes",'
        ' "risk": " HIGH", "items": [1, "2", 3.0]}'
    )
    assert parse(FIELDS, text) == {
        "answer": "5",
        "count": 16384,
        "share": 0.5,
        "sure": True,
        "risk": "high",
        "items": [1, 2, 3],
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nothing", "no JSON object"),
        ('{"answer": ', "no JSON object"),
        ('{"count": 1}', "'answer' is missing"),
        ('{"answer": null}', "'answer' is missing"),
        ('{"answer": "x", "risk": "medium"}', "low or high"),
        ('{"answer": "x", "items": "1"}', "no list"),
        ('{"answer": "x", "count": 1.5}', "must be int"),
        ('{"answer": "x", "share": NaN}', "no JSON object"),
    ],
)
def test_what_cannot_be_read_says_why(text: str, why: str) -> None:
    found = parse(FIELDS, text)
    assert isinstance(found, Unreadable)
    assert why in found.why


def test_an_only_choice_or_list_may_come_bare() -> None:
    choice = (OutputField("choice", ("easy", "hard")),)
    assert parse(choice, " **Hard**. ") == {"choice": "hard"}
    assert isinstance(parse(choice, "hard or easy"), Unreadable)
    parts = (OutputField("parts", "text", is_list=True),)
    assert parse(parts, "Here:\n1. one\n 2) two \n- three\n") == {"parts": ["one", "two", "three"]}


def test_a_failure_value_needs_a_default_everywhere() -> None:
    assert failure_value(FIELDS) is None
    assert failure_value(FIELDS[1:]) == DEFAULTS


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (3, 3),
        (3.0, 3),
        (3.5, None),
        (float("inf"), None),
        (True, None),
        (None, None),
        ("1,234,567", 1234567),
        ("12,34", None),
        ("-4", -4),
        ("4 to 6", 4),
        ("four", None),
        ("9" * 400, None),
        ([1], None),
    ],
)
def test_whole_numbers_are_read_or_refused(value: object, number: int | None) -> None:
    assert whole_number(value) == number  # type: ignore[arg-type]  # any JSON


@given(st.text(alphabet='{}[]",:` \njson"a1', max_size=200))
def test_no_text_breaks_the_reader(text: str) -> None:
    found = parse(FIELDS, text)
    assert isinstance(found, Unreadable) or set(found) == {field.name for field in FIELDS}


def test_deep_nesting_is_unreadable_and_quick() -> None:
    assert isinstance(parse(FIELDS, '{"a":' * 20_000), Unreadable)


@given(
    st.fixed_dictionaries(
        {"answer": st.text().map(clean)},
        optional={
            "count": st.integers(-(10**15), 10**15),
            "sure": st.booleans(),
            "risk": st.sampled_from(["low", "high"]),
            "items": st.lists(st.integers(-100, 100)),
        },
    )
)
def test_what_follows_the_schema_is_read_as_it_is(values: dict[str, object]) -> None:
    assert parse(FIELDS, json.dumps(values)) == {**DEFAULTS, **values}


def test_an_escape_in_a_reply_brings_nothing_that_cannot_be_kept_or_shown() -> None:
    reply = r'{"answer": "a\ud800b\u001b[2J\ud834\udd1e"}'
    found = parse(FIELDS, reply)
    assert isinstance(found, dict)
    assert found["answer"] == "a�b[2J𝄞"
