"""Reading a CEO's reply: the meant value, or the settings in force."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.engine.team.ceo import LEAST_EFFORT, Settings, read

ALL = frozenset({"size", "direction", "effort", "assignment", "stop"})
NOW = Settings(size=4, direction="go on", effort=500, assignment=((1, "x"),))


def settings(text: str) -> Settings:
    return read(text, ALL, NOW, seats=10)[0]


def stops(text: str) -> bool:
    return read(text, ALL, NOW, seats=10)[1]


@pytest.mark.parametrize(
    ("value", "effort"),
    [
        ('"16,384"', 16384),
        ('"16384 tokens"', 16384),
        ("16384", 16384),
        ("16384.0", 16384),
        ('"about a lot"', 500),
        ('"2048-4096"', 2048),
        ('"16.5"', 500),
        ("0", 500),
        ("-5", 500),
        ("1e999", 500),
        ("null", 500),
        ("[1]", 500),
        ("5", LEAST_EFFORT),
        ('"low"', 256),
        ('"high"', None),
    ],
)
def test_a_cap_is_what_was_meant_or_stays(value: str, effort: int | None) -> None:
    assert settings(f'{{"effort": {value}}}').effort == effort


@pytest.mark.parametrize(
    ("value", "size"), [("3", 3), ('"2-3"', 2), ("99", 10), ("0", 4), ('"many"', 4), ("true", 4)]
)
def test_a_size_stays_within_its_bounds(value: str, size: int) -> None:
    assert settings(f'{{"size": {value}}}').size == size


@pytest.mark.parametrize(
    ("text", "stop"),
    [
        ('{"stop": true}', True),
        ('{"stop": false}', False),
        ('{"stop": "no"}', False),
        ('{"decision": "Stop, do not continue"}', True),
        ('{"decision": "Continue, do not stop"}', False),
        ('{"decision": "Do not stop"}', False),
        ("### Decision\nStop", True),
        ("**Decision:** Stop", True),
        ("Decision: continue", False),
        ("stop", False),
        ("We should stop worrying", False),
        ('{"stop": "maybe"}', False),
        ('{"stop": 1}', False),
    ],
)
def test_only_a_clear_stop_stops(text: str, stop: bool) -> None:
    assert stops(text) is stop


def test_published_headings_are_read_in_any_order_and_dress() -> None:
    text = (
        "**Maximum Tokens**: 8,192\n### Recruit Number\n2\n\n"
        "## Direction:\nUse induction.\nThen check.\n# Decision #\nContinue"
    )
    found, stop = read(text, ALL, NOW, seats=10)
    assert (found.size, found.effort, found.direction) == (2, 8192, "Use induction. Then check.")
    assert not stop


@pytest.mark.parametrize(
    "value", [["add", "check"], {"1": "add", "2": "check"}, "1: add\n#2 - check"]
)
def test_assignments_come_as_list_object_or_lines(value: object) -> None:
    text = json.dumps({"assignment": value})
    assert settings(text).assignment == ((1, "add"), (2, "check"))


def test_what_is_not_set_by_this_ceo_is_not_read() -> None:
    text = '{"size": 1, "direction": "left", "stop": true}'
    found, stop = read(text, frozenset({"direction"}), NOW, seats=10)
    assert (found.size, found.direction, stop) == (4, "left", False)


@given(st.text(max_size=300))
def test_no_reply_breaks_it_or_leaves_the_bounds(text: str) -> None:
    found, _ = read(text, ALL, NOW, seats=10)
    assert 1 <= found.size <= 10
    assert found.effort is None or found.effort >= LEAST_EFFORT
    assert all(1 <= seat <= 10 for seat, _ in found.assignment)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(sorted(ALL)), JSON))
def test_no_object_breaks_it_or_leaves_the_bounds(fields: dict[str, object]) -> None:
    found, _ = read(json.dumps(fields), ALL, NOW, seats=10)
    assert 1 <= found.size <= 10
    assert found.effort is None or found.effort >= LEAST_EFFORT
    assert all(1 <= seat <= 10 for seat, _ in found.assignment)
