"""Choosing among attempts: ranks, votes, samples, and the order of addresses."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.dsl.program import Compare, Task, Verifier
from podium.engine.reduce import ballot, best, order, rank, sample, settled, top
from podium.engine.value import Attempt, Json, Verdict

VERIFIER = Verifier("v", "python", {})


def made(
    answer: Json, score: float | None = None, passed: bool | None = None, *, at: str = "a"
) -> Attempt:
    judged = score is not None or passed is not None
    return Attempt(answer, str(answer), at, Verdict(score, passed) if judged else None)


def test_passed_goes_before_score_and_no_verdict_comes_last() -> None:
    ordered = [
        made(1, 0.9, True),
        made(2, 0.1, True),
        made(3, 0.99, None),
        made(4, 0.5, None),
        made(5, 0.5, False),
        made(6, None, False),
        made(7),
    ]
    shuffled = list(ordered)
    random.Random(3).shuffle(shuffled)
    assert [a.answer for a in top(shuffled, 9, "higher")] == [1, 2, 3, 4, 5, 6, 7]


def test_a_lower_score_may_be_better() -> None:
    attempts = [made("a", 3.0), made("b", 1.0), made("c", 2.0), made("d")]
    assert best(attempts, "lower").answer == "b"
    assert [a.answer for a in top(attempts, 2, "lower")] == ["b", "c"]


def test_ties_go_to_the_earliest() -> None:
    attempts = [made("a", 1.0), made("b", 1.0)]
    assert best(attempts, "higher").answer == "a"
    assert [a.answer for a in top(attempts, 2, "higher")] == ["a", "b"]


def test_of_equal_verdicts_a_whole_reply_is_before_one_that_was_cut() -> None:
    cut, whole = (
        Attempt("x", "x", "a", Verdict(0.0, False), cut=True),
        Attempt("x", "x", "b", Verdict(0.0, False)),
    )
    better_one = Attempt("x", "x", "c", Verdict(0.5, False), cut=True)
    assert best((cut, whole), "higher") is whole
    assert top((cut, whole), 2, "higher") == (whole, cut)
    assert best((whole, better_one), "higher") is better_one


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("Four\n four", "four  FOUR", True),
        ({"b": 1, "a": 2}, {"a": 2, "b": 1}, True),
        ({"answer": "4", "why": "x"}, {"answer": " 4", "why": "y"}, True),
        ({"answer": None, "why": "x"}, {"answer": None, "why": "y"}, False),
        ([1, 2], [2, 1], False),
        ("4", 4, False),
    ],
)
def test_which_answers_are_the_same(first: Json, second: Json, same: bool) -> None:
    assert (ballot(first) == ballot(second)) is same


@given(st.integers(0, 20), st.integers(1, 25), st.integers())
def test_a_sample_is_without_replacement_in_the_old_order(size: int, k: int, seed: int) -> None:
    attempts = [made(i) for i in range(size)]
    drawn = [attempt.answer for attempt in sample(attempts, k, seed)]
    assert len(drawn) == min(k, size)
    assert drawn == sorted(set(drawn), key=str) or drawn == sorted(set(map(int, map(str, drawn))))
    assert sample(attempts, k, seed) == sample(attempts, k, seed)


def test_a_pass_rule_says_passed_for_the_tasks_own_verifier_alone() -> None:
    task = Task("t", "s", VERIFIER, Compare("score", ">=", 2))
    assert settled(Verdict(2.0, None), task, VERIFIER).passed is True
    assert settled(Verdict(1.0, None), task, VERIFIER).passed is False
    assert settled(Verdict(1.0, True), task, VERIFIER).passed is True
    assert settled(Verdict(None, None), task, VERIFIER).passed is None
    assert settled(Verdict(2.0, None), task, Verifier("w", "python", {})).passed is None


def test_addresses_sort_by_number_and_parents_first() -> None:
    addresses = ["m/p/10.a", "m/p/9.a/r2.m1", "m/p/9.a", "m/p/9.a/r10.m1", "m/p", "m/p2"]
    assert sorted(addresses, key=order) == [
        "m/p",
        "m/p/9.a",
        "m/p/9.a/r2.m1",
        "m/p/9.a/r10.m1",
        "m/p/10.a",
        "m/p2",
    ]


def test_a_rank_of_nothing_is_below_all() -> None:
    assert rank(None, "higher") < rank(Verdict(None, False), "higher")
