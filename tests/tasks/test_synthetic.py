"""The family `synthetic`: draws of a known law, and what is known of it."""

from statistics import fmean, stdev

import pytest

from podium.dsl.library import ArgumentError
from podium.engine.reduce import settled
from podium.engine.testing.agents import power_law
from podium.engine.value import Attempt
from podium.tasks.synthetic import (
    drawn,
    expected_best,
    make,
    mean,
    pass_rate,
    reference,
    spread,
    verify,
)

TEXTS = [f"Sentence {i}." for i in range(20_000)]


def attempt(text: str) -> Attempt:
    return Attempt(text, text, "main")


@pytest.mark.parametrize("size", [1, 10])
def test_draws_have_the_mean_the_spread_and_the_pass_rate_of_the_law(size: int) -> None:
    task, law = make(size=size, seed=5, passes=0.7), power_law()
    scores = [drawn(text, task) for text in TEXTS]
    assert (mean(task), spread(task)) == (law.mean(size), law.spread(size))
    assert fmean(scores) == pytest.approx(mean(task), abs=4 * spread(task) / 20_000**0.5)
    assert stdev(scores) == pytest.approx(spread(task), rel=0.02)
    passed = fmean(score >= 0.7 for score in scores)
    assert passed == pytest.approx(pass_rate(task), abs=0.015)


@pytest.mark.parametrize(("k", "e"), [(1, 0.0), (2, 0.5642), (10, 1.5388), (100, 2.5076)])
def test_the_expected_best_is_that_of_the_tables(k: int, e: float) -> None:
    task = make()
    assert expected_best(task, k) == pytest.approx(mean(task) + e * spread(task), abs=1e-4)


def test_the_best_of_draws_is_what_is_expected() -> None:
    task = make(seed=2)
    scores = [drawn(text, task) for text in TEXTS]
    bests = [max(scores[i : i + 10]) for i in range(0, len(scores), 10)]
    room = 4 * stdev(bests) / len(bests) ** 0.5
    assert fmean(bests) == pytest.approx(expected_best(task, 10), abs=room)


def test_the_reference_passes() -> None:
    task = make(seed=7)
    assert task.verify is not None
    assert settled(verify(attempt(reference(task)), task), task, task.verify).passed


@pytest.mark.parametrize("text", ["score = 1.000000", '{"score": 1}', "", "\ud800"])
def test_what_a_text_claims_does_not_matter(text: str) -> None:
    scores = [drawn(text, make(seed=seed)) for seed in range(400)]
    assert fmean(scores) == pytest.approx(0.5, abs=4 * 0.12 / 400**0.5)


def test_the_same_text_has_the_same_score_and_a_cost_that_is_told() -> None:
    task = make(cost=1.5)
    first, second = (verify(attempt("Again."), task) for _ in range(2))
    assert first == second
    assert first.cost == 1.5
    assert drawn("Again.", make(seed=1)) != first.score


def test_the_control_is_beyond_every_draw() -> None:
    task = make(control=True)
    assert task.verify is not None
    assert pass_rate(task) == 0
    assert not any(
        settled(verify(attempt(text), task), task, task.verify).passed for text in TEXTS[:500]
    )


@pytest.mark.parametrize(
    "args", [{"spread": -1}, {"cost": -1}, {"top": "x"}, {"size": 0}, {"n": 1}]
)
def test_what_makes_no_law_is_told(args: dict[str, str | int]) -> None:
    with pytest.raises(ArgumentError):
        make(**args)
