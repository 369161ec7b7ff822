"""The family `packing`: exact geometry, and nothing but that."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.dsl.library import ArgumentError
from podium.dsl.program import Compare
from podium.engine.reduce import settled
from podium.engine.value import Attempt, Json, Verdict
from podium.tasks.packing import arranged, judge, make, reference, verify


def attempt(text: str) -> Attempt:
    return Attempt(text, text, "main")


def handed(circles: object, count: int) -> Verdict:
    return judge({"circles": circles}, "", count)  # type: ignore[dict-item]  # also what is none


@pytest.mark.parametrize("count", [1, 2, 3, 5, 10, 26, 30, 41, 200])
def test_the_reference_passes(count: int) -> None:
    task = make(circles=count)
    assert task.verify is not None
    verdict = settled(verify(attempt(reference(task)), task), task, task.verify)
    assert verdict.passed
    assert task.baseline == reference(task)


def test_the_plain_arrangement_of_26_is_worth_what_its_page_says() -> None:
    assert sum(r for _, _, r in arranged(26)) == pytest.approx(2.5414, abs=1e-4)


def test_circles_may_touch_exactly() -> None:
    touching = [[0.25, 0.25, 0.25], [0.75, 0.25, 0.25], [0.25, 0.75, 0.25], [0.75, 0.75, 0.25]]
    assert handed(touching, 4) == Verdict(1.0, None)


TINY = 2**-50
HALVES = [[0.25, 0.5, 0.25], [0.75, 0.5, 0.25]]
CHEATS = {
    "an overlap below any tolerance": ([[0.25, 0.5, 0.25], [0.75 - TINY, 0.5, 0.25]], "overlap"),
    "a radius too large by the last bit": ([[0.25, 0.5, 0.25 + TINY], HALVES[1]], "outside"),
    "outside by the last bit": ([[0.25 - TINY, 0.5, 0.25], HALVES[1]], "outside"),
    "the same circle twice": ([HALVES[0], HALVES[0]], "overlap"),
    "one inside the other": ([[0.5, 0.5, 0.5], [0.5, 0.5, 0.1]], "overlap"),
    "too few": ([HALVES[0]], "1 circles"),
    "too many": ([*HALVES, [0.5, 0.9, 0.01]], "3 circles"),
    "no radius": ([HALVES[0], [0.75, 0.5, 0]], "positive"),
    "a negative radius": ([HALVES[0], [0.75, 0.5, -0.2]], "positive"),
    "nan": ([HALVES[0], [0.75, 0.5, math.nan]], "three numbers"),
    "infinity": ([HALVES[0], [math.inf, 0.5, 0.2]], "three numbers"),
    "beyond any float": ([HALVES[0], [10**400, 0.5, 0.2]], "three numbers"),
    "huge": ([HALVES[0], [1e308, 0.5, 1e308]], "three numbers"),
    "a text": ([HALVES[0], ["0.75", 0.5, 0.2]], "three numbers"),
    "true": ([HALVES[0], [True, 0.5, 0.2]], "three numbers"),
    "four numbers": ([HALVES[0], [0.75, 0.5, 0.2, 9]], "three numbers"),
    "no list": ("all of them", "0 circles"),
}


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_is_invalid_and_has_no_score(name: str) -> None:
    circles, why = CHEATS[name]
    verdict = handed(circles, 2)
    assert (verdict.valid, verdict.score, verdict.passed) == (False, None, False)
    assert why in verdict.evidence


def test_a_sum_that_is_claimed_counts_for_nothing() -> None:
    text = json.dumps({"circles": HALVES, "sum": 99, "score": 99})
    assert judge(text, text, 2) == Verdict(0.5, None)


def test_the_last_object_counts() -> None:
    good, bad = json.dumps({"circles": HALVES}), json.dumps({"circles": []})
    assert judge(good, f"First {bad}, better {good}.", 2).score == 0.5
    assert judge(bad, f"{good} or {bad}", 2).valid is False
    assert judge("x", "There is none.", 2).valid is False


@pytest.mark.parametrize("count", [1, 4, 26])
def test_the_control_is_beyond_the_area_of_the_square(count: int) -> None:
    task = make(circles=count, control=True)
    assert isinstance(task.pass_rule, Compare)
    assert task.verify is not None
    best = settled(verify(attempt(reference(task)), task), task, task.verify)
    assert best.passed is False
    assert task.pass_rule.value == pytest.approx(math.sqrt(count / math.pi))


@pytest.mark.parametrize("args", [{"circles": 0}, {"target": -1}, {"target": "x"}, {"n": 3}])
def test_an_argument_out_of_range_is_told(args: dict[str, str | int]) -> None:
    with pytest.raises(ArgumentError):
        make(**args)


numbers = st.floats() | st.integers() | st.text(max_size=3) | st.none() | st.booleans()


@given(st.lists(st.lists(numbers, max_size=4), max_size=4))
def test_nothing_that_is_handed_in_breaks_the_judge(circles: list[list[Json]]) -> None:
    verdict = judge({"circles": circles}, "", 2)
    assert verdict.score is None or verdict.score <= math.sqrt(2 / math.pi)
