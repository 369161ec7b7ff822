"""Intervals, comparisons and sequential evidence: known values, and how often they are right."""

from math import hypot

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.engine.stats import (
    best_at,
    bootstrap_t,
    detectable,
    difference,
    evidence,
    fewest_pairs,
    paired,
    pass_interval,
    prob_best,
    runs_needed,
    sign_test,
    unpaired_p,
    win_interval,
)

SCORES = st.lists(st.integers(0, 5).map(float), min_size=2, max_size=6)


def test_one_replicate_has_no_interval() -> None:
    with pytest.raises(ValueError, match="one replicate; no interval possible"):
        bootstrap_t([0.1, 0.2, 0.3], 3)


def test_equal_scores_have_no_interval() -> None:
    with pytest.raises(ValueError, match="do not differ"):
        bootstrap_t([0.5] * 8, 2)


def test_an_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    chance = np.random.default_rng(7)
    inside = 0
    for seed in range(80):
        found = bootstrap_t(chance.standard_normal(20).tolist(), 5, draws=300, seed=seed)
        inside += found.low <= 1.16296 <= found.high
    assert 68 <= inside <= 80


def test_groups_are_averaged_with_their_errors() -> None:
    one, other = [0.1, 0.2, 0.4, 0.5], [0.9, 0.5, 0.6]
    found = bootstrap_t([one, other])
    assert found.estimate == pytest.approx((np.mean(one) + np.mean(other)) / 2)
    errors = [bootstrap_t(one).se, bootstrap_t(other).se]
    assert found.se == pytest.approx(hypot(*errors) / 2)


def test_a_difference_is_that_of_the_estimates() -> None:
    one, other = [[0.1, 0.2, 0.4, 0.5]], [[0.9, 0.5, 0.6]]
    found = difference(one, other, 2)
    assert found.estimate == pytest.approx(best_at(one[0], 2) - best_at(other[0], 2))
    assert found.low < found.estimate < found.high


def test_pass_at_one_has_the_exact_interval() -> None:
    found = pass_interval(10, 12)
    assert (found.low, found.high) == pytest.approx((0.5159, 0.9791), abs=1e-4)
    assert pass_interval(10, 12, 3).high == pytest.approx(1 - (1 - 0.9791) ** 3, abs=1e-4)


def test_what_can_be_told_apart_at_eighty_percent_power() -> None:
    # 50 runs of each arm, best of 10: an error of 0.239 sd of each.
    assert detectable(0.239, 0.239) == pytest.approx(0.947, abs=0.002)
    assert runs_needed(0.5, 0.947, 50) == 180
    assert runs_needed(2.0, 0.947, 50) == 50
    assert runs_needed(0.0, 0.947, 50) == float("inf")
    assert runs_needed(0.1 + 0.2 - 0.3, 0.947, 50) == float("inf")
    assert runs_needed(0.0, 0.0, 50) == float("inf")


@pytest.mark.parametrize(
    ("wins", "losses", "p", "low", "high"),
    [(10, 2, 0.03857421875, 0.5159, 0.9791), (4, 0, 0.125, 0.3976, 1), (6, 6, 1, 0.2109, 0.7891)],
)
def test_the_claims_of_the_paper_as_counts_of_wins(
    wins: int, losses: int, p: float, low: float, high: float
) -> None:
    found = sign_test(wins, losses)
    assert (found.p, found.low, found.high) == pytest.approx((p, low, high), abs=1e-4)


def test_a_count_without_decisions_says_nothing() -> None:
    assert sign_test(0, 0).p == 1


def test_the_best_of_more_runs_beats_as_worked_out_by_hand() -> None:
    assert prob_best([1, 3], 1, [2, 4], 1) == pytest.approx(0.25)
    assert prob_best([1, 3], 2, [2, 4], 1) == pytest.approx(0.5)


@given(SCORES, SCORES, st.integers(1, 2), st.integers(1, 2))
def test_one_arm_or_the_other_wins(a: list[float], b: list[float], ka: int, kb: int) -> None:
    there, back = prob_best(a, ka, b, kb), prob_best(b, kb, a, ka)
    assert there + back == pytest.approx(1)
    if (ka, kb) == (1, 1):
        wins = [1.0 if x > y else 0.5 if x == y else 0.0 for x in a for y in b]
        assert there == pytest.approx(np.mean(wins))


def test_pairs_that_all_agree_are_told_apart_exactly() -> None:
    scores = [0.1, 0.5, 0.3, 0.9, 0.2, 0.4]
    found = paired([s + 0.2 + s / 10 for s in scores], scores)
    assert found.p == pytest.approx(2 / 2**6)
    assert (found.wins.wins, found.ties) == (6, 0)
    assert paired(scores, scores).p == 1
    assert paired([0.9], [0.1]).p == 1


def test_arms_that_nothing_pairs_are_dealt_anew() -> None:
    one = [0.1, 0.2, 0.3, 0.4, 0.5]
    assert unpaired_p(one, one) == 1
    assert unpaired_p(one, [s + 5 for s in one]) < 0.02


def test_evidence_grows_with_wins_on_one_side_alone() -> None:
    assert evidence(0, 0).e == pytest.approx(1)
    assert evidence(7, 7).e < 1
    assert not evidence(6, 1).tells(0.95)
    assert evidence(10, 0).tells(0.95)
    low, high = win_interval(10, 0)
    assert 0.5 < low < 1 == high


def test_looking_after_every_pair_seldom_tells_equal_arms_apart() -> None:
    chance = np.random.default_rng(3)
    wrong = 0
    for _ in range(300):
        wins = np.cumsum(chance.random(100) < 0.5)
        wrong += any(evidence(int(w), n - int(w)).tells(0.95) for n, w in enumerate(wins, 1))
    assert wrong <= 15


@pytest.mark.parametrize(
    ("scores", "k"),
    [
        ([0.5, 1.0], 1),
        ([0.0, 0.0, 0.0, 1.0], 1),
        ([1.0, 0.5, 0.5, 0.5, 0.5], 1),
        ([0.75] * 9 + [1.0], 1),
        ([0.1, 0.2, 0.3, 0.4], 3),
    ],
)
def test_no_interval_ends_at_its_own_estimate(scores: list[float], k: int) -> None:
    with pytest.raises(ValueError, match="no interval possible"):
        bootstrap_t(scores, k)


def test_no_fewer_pairs_tell_arms_apart_than_a_sign_test_could() -> None:
    fewest = fewest_pairs(0.05)
    assert sign_test(fewest, 0).p <= 0.05 < sign_test(fewest - 1, 0).p
