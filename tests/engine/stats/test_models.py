"""Normal maxima, noisy verifiers, likeness of runs and best after a spend."""

from math import isnan

import numpy as np
import pytest

from podium.engine.stats import (
    accepted_right,
    best_after,
    best_at,
    best_so_far,
    effective_k,
    icc,
    largest,
    largest_sd,
    mean_curve,
    noise_sd,
    true_rate,
    winner_true,
)

TEN = [0.12, 0.31, 0.31, 0.45, 0.58, 0.60, 0.74, 0.81, 0.90, 0.97]


@pytest.mark.parametrize(
    ("k", "mean", "sd"),
    [
        (1, 0, 1), (2, 0.5642, 0.8256), (3, 0.8463, 0.7480), (4, 1.0294, 0.7012), (5, 1.1630, 0.6690),
        (8, 1.4236, 0.6107), (10, 1.5388, 0.5868), (16, 1.7660, 0.5431), (20, 1.8675, 0.5251),
        (25, 1.9653, 0.5084), (32, 2.0697, 0.4915), (50, 2.2491, 0.4644), (64, 2.3437, 0.4511),
        (100, 2.5076, 0.4294),
    ],
)  # fmt: skip
def test_the_largest_of_k_normals(k: int, mean: float, sd: float) -> None:
    assert (largest(k), largest_sd(k)) == pytest.approx((mean, sd), abs=6e-5)


def test_the_largest_of_thousands_of_normals() -> None:
    assert (largest(1_000), largest(10_000)) == pytest.approx((3.2414, 3.8516), abs=6e-5)


def test_the_winner_of_a_noisy_verifier_is_worth_less_than_it_scored() -> None:
    seen = (1 + 0.49) ** 0.5
    assert seen * largest(10) == pytest.approx(1.878, abs=5e-4)
    assert winner_true(0, seen, 0.7, 10) == pytest.approx(1.261, abs=5e-4)
    assert winner_true(0.5, seen, 0.0, 10) == pytest.approx(0.5 + seen * largest(10))


def test_the_noise_is_found_from_two_scores_of_each_answer() -> None:
    chance = np.random.default_rng(2)
    truth = chance.standard_normal(4_000)
    twice = [(truth + 0.3 * chance.standard_normal(4_000)).tolist() for _ in range(2)]
    assert noise_sd(*twice) == pytest.approx(0.3, rel=0.05)


def test_a_verifier_that_errs_is_corrected() -> None:
    seen = 0.3 * (1 - 0.2) + 0.7 * 0.1
    assert true_rate(seen, false_accepts=0.1, false_rejects=0.2) == pytest.approx(0.3)
    with pytest.raises(ValueError, match="says nothing"):
        true_rate(0.5, false_accepts=0.5, false_rejects=0.5)
    assert accepted_right(0.02, 0.08) == pytest.approx(0.2)


def test_runs_of_one_host_that_are_alike_are_found_out() -> None:
    chance = np.random.default_rng(5)
    alike = [(chance.normal() + chance.standard_normal(8) * 1.5).tolist() for _ in range(400)]
    assert icc(alike) == pytest.approx(1 / (1 + 2.25), abs=0.05)
    apart = [chance.standard_normal(8).tolist() for _ in range(400)]
    assert icc(apart) == pytest.approx(0, abs=0.03)


def test_runs_that_are_alike_count_for_fewer() -> None:
    # The expected best of 10 that correlate by 0.3 is 1.287.
    assert 0.7**0.5 * largest(10) == pytest.approx(1.287, abs=5e-4)
    assert largest(effective_k(10, 0.3)) == pytest.approx(1.2874, abs=5e-4)
    assert (effective_k(10, 0), effective_k(10, 1)) == (10, 1)


def test_best_after_a_spend_that_buys_three_equal_runs_is_best_of_three() -> None:
    found = best_after([0.1] * 10, TEN, 0.3, draws=20_000)
    assert found == pytest.approx(best_at(TEN, 3), abs=0.01)


def test_the_run_that_crosses_the_line_gives_no_score_and_ends_the_search() -> None:
    # Spending 1 of a cheap run and a dear, better one: the dear one never ends, and hides what follows it.
    found = best_after([1.0, 5.0], [0.2, 0.9], 1.0, floor=0.0)
    assert found == pytest.approx(0.1, abs=0.01)
    assert isnan(best_after([1.0, 5.0], [0.2, 0.9], 6.0))
    assert isnan(best_after([1.0, 5.0], [0.2, 0.9], 0.5))


def test_curves_are_averages_of_steps() -> None:
    assert best_so_far([1, 2, 4], [0.5, 0.3, 0.8], [0, 1, 3, 4, 9]) == pytest.approx(
        [np.nan, 0.5, 0.5, 0.8, 0.8], nan_ok=True
    )
    curve = mean_curve([([1], [0.4]), ([2], [0.8])], [1, 2])
    assert curve == pytest.approx([np.nan, 0.6], nan_ok=True)
