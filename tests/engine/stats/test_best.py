"""Best of k and pass@k against hand-checked numbers, brute force and what must hold of any scores."""

from itertools import combinations
from math import isnan
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.engine.stats import (
    all_pass_at,
    best_at,
    beta_pass,
    jackknife_se,
    jeffreys_pass,
    leave_one_out,
    majority_at,
    pass_at,
    quantile_at,
    selected_at,
    weights,
    with_flags,
)

TEN = [0.12, 0.31, 0.31, 0.45, 0.58, 0.60, 0.74, 0.81, 0.90, 0.97]
SCORES = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=7)


@pytest.mark.parametrize(
    ("k", "best", "se"),
    [
        (1, 0.579, 0.088674812),
        (2, 0.747555556, 0.087833333),
        (3, 0.828083333, 0.082873528),
        (5, 0.905753968, 0.073205768),
        (9, 0.963, 0.063),
    ],
)
def test_best_and_its_error_are_those_worked_out_by_hand(k: int, best: float, se: float) -> None:
    assert best_at(TEN, k) == pytest.approx(best, abs=1e-9)
    assert jackknife_se(TEN, k) == pytest.approx(se, abs=1e-9)


def test_the_best_of_all_runs_has_no_error_that_one_could_know() -> None:
    assert best_at(TEN, 10) == pytest.approx(0.97)
    with pytest.raises(ValueError, match="more than 10 are needed"):
        jackknife_se(TEN, 10)


def test_weights_and_left_out_values_of_four_scores() -> None:
    assert weights(4, 2) == pytest.approx([0, 1 / 6, 2 / 6, 3 / 6])
    assert leave_one_out([4, 2, 3, 1], 2) == pytest.approx([11 / 3, 11 / 3, 10 / 3, 8 / 3])
    assert jackknife_se([1, 2, 3, 4], 2) == pytest.approx(0.5**0.5)


def test_weights_of_many_runs_still_sum_to_one() -> None:
    assert weights(100_000, 700).sum() == pytest.approx(1, abs=1e-13)


@given(SCORES, st.integers(1, 7))
def test_best_is_the_mean_over_all_choices_of_k_runs(scores: list[float], k: int) -> None:
    if k > len(scores):
        assert isnan(best_at(scores, k))
        return
    wanted = fmean(max(some) for some in combinations(scores, k))
    assert best_at(scores, k) == pytest.approx(wanted, abs=1e-9)


@given(SCORES, st.integers(1, 6))
def test_a_left_out_value_is_the_best_of_the_others(scores: list[float], k: int) -> None:
    if k >= len(scores):
        return
    ordered = sorted(scores)
    wanted = [best_at(ordered[:i] + ordered[i + 1 :], k) for i in range(len(ordered))]
    assert leave_one_out(scores, k) == pytest.approx(wanted, abs=1e-9)


def test_pass_at_k_agrees_with_best_of_ones_and_zeros_and_keeps_its_digits() -> None:
    assert pass_at(3, 20, 5) == pytest.approx(0.6008771929824561, abs=1e-15)
    assert best_at([0] * 17 + [1] * 3, 5) == pytest.approx(0.6008771929824561, abs=1e-15)
    assert pass_at(1, 1_000_000, 10) == pytest.approx(1e-5, rel=1e-12)


def test_pass_at_k_needs_k_runs_and_is_sure_where_too_few_fail() -> None:
    assert isnan(pass_at(1, 3, 4))
    assert pass_at(2, 3, 2) == 1.0
    assert all_pass_at(2, 3, 2) == pytest.approx(1 / 3)


@given(SCORES, SCORES, st.integers(1, 7))
def test_what_is_picked_by_true_scores_is_the_best(
    scores: list[float], others: list[float], k: int
) -> None:
    n = min(len(scores), len(others))
    found = selected_at(scores[:n], scores[:n], k)
    assert found == pytest.approx(best_at(scores[:n], k), abs=1e-9, nan_ok=True)
    blind = selected_at([0.0] * n, others[:n], k)
    assert isnan(blind) or blind == pytest.approx(fmean(others[:n]), abs=1e-9)


def test_a_quantile_of_the_best_of_many_normal_scores() -> None:
    scores = np.random.default_rng(1).standard_normal(200_000)
    # The median of the best of 10 standard normals is where their distribution function is 0.5^(1/10).
    assert quantile_at(scores, 10, 0.5) == pytest.approx(1.499, abs=0.03)


def test_the_vote_of_three_of_four_is_worked_out_by_hand() -> None:
    # a a b wins, twice; a b c and a b c are three-way ties.
    assert majority_at(["a", "a", "b", "c"], "a", 3) == pytest.approx((1 + 1 + 1 / 3 + 1 / 3) / 4)
    heavy = majority_at(["a", "a", "b", "c"], "b", 3, votes=[1, 1, 5, 1])
    assert heavy == pytest.approx(3 / 4)
    assert isnan(majority_at(["a"], "a", 2))


def test_a_vote_of_many_is_drawn_close_to_the_truth() -> None:
    # 24 of 40 are right; hypergeometric: P(6 or more right of 11) = 0.7816
    answers = ["yes"] * 24 + ["no"] * 16
    assert majority_at(answers, "yes", 11) == pytest.approx(0.782, abs=0.02)


@pytest.mark.parametrize(
    ("a", "b", "k", "wanted"),
    [(0.5, 2, 10, 0.612235), (0.5, 2, 100, 0.868214), (0.3, 3, 1, 0.090909),
     (0.3, 3, 50, 0.591455), (1, 1, 9, 0.9)],
)  # fmt: skip
def test_passes_over_tasks_of_beta_rates(a: float, b: float, k: int, wanted: float) -> None:
    assert beta_pass(a, b, k) == pytest.approx(wanted, abs=1e-6)


def test_the_predicted_passes_of_one_task() -> None:
    assert jeffreys_pass(3, 20, 5) == pytest.approx(0.563569, abs=1e-6)


def test_suspected_runs_are_told_apart() -> None:
    found = with_flags([0.9, 0.2, 0.4], [True, False, False], lambda scores: best_at(scores, 2))
    assert found == pytest.approx((best_at([0.9, 0.2, 0.4], 2), 0.4, 1 / 3))
    assert isnan(with_flags([0.9, 0.2], [True, False], lambda s: best_at(s, 2)).unflagged)


def test_scores_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        best_at([0.1, float("nan")], 1)
