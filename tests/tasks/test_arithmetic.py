"""The family `arithmetic`: one right answer, computed again from the statement."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.engine.value import Attempt
from podium.tasks.arithmetic import judge, make, reference, verify
from podium.tasks.words import make as make_words

PROBLEM = "7 + 9"


def expected(**args: int | bool) -> int:
    verifier = make(**args).verify
    assert verifier is not None
    value = verifier.args["expected"]
    assert isinstance(value, int)
    return value


@given(digits=st.integers(1, 9), terms=st.integers(2, 20), seed=st.integers(0, 10**6))
def test_the_reference_works_the_statement_out_to_the_expected_number(
    digits: int, terms: int, seed: int
) -> None:
    task = make(digits=digits, terms=terms, seed=seed)
    assert reference(task) == str(expected(digits=digits, terms=terms, seed=seed))


@given(digits=st.integers(1, 9), terms=st.integers(2, 20), seed=st.integers(0, 10**6))
def test_the_reference_passes_and_so_does_the_problem_worked_out(
    digits: int, terms: int, seed: int
) -> None:
    task = make(digits=digits, terms=terms, seed=seed)
    right = reference(task)
    problem = task.statement.removeprefix("What is ").partition("?")[0]
    for text in (right, f"{problem} = {right}", f"{problem.replace('*', 'x')}={right}."):
        assert verify(Attempt(text, text, "main"), task).passed is True
        assert verify(Attempt({"answer": text}, "{}", "main"), task).passed is True
    wrong = str(int(right) + 1)
    assert verify(Attempt(wrong, wrong, "main"), task).passed is False


@pytest.mark.parametrize(
    "text",
    [
        "16",
        " 16.\n",
        "**16**",
        "+16",
        "16.0",
        "The answer is 16, of course.",
        "7 + 9 = 16",
        "7+9=16",
        "What is 7 + 9? 16",
        "7 + 9 is 16",
        "The sum of the problem 7 + 9 equals **16**",
    ],
)
def test_an_honest_answer_passes(text: str) -> None:
    assert judge(text, 16, PROBLEM).passed is True


CHEATS = {
    "a list of guesses": "14, 15, 16, 17",
    "a list that ends in the right number": "13 14 15 16",
    "a list in lines": "15\n16",
    "a list behind the problem": "7 + 9 = 15, 16",
    "a range": "15-16",
    "a range in words": "from 1 to 16",
    "a range from the right number": "16 to 99",
    "an interval": "16 \u00b1 5",
    "the right number beside another one": "15 or 16",
    "the right number after another one": "It is 15. No, it is 16.",
    "too large a number beside it": "1e999 16",
    "too large a number": "1e99999999999999999999",
    "an expression": "8 * 2",
    "an expression that ends in the value": "0 + 16",
    "another problem worked out": "8 + 8 = 16",
    "a chain behind the problem": "7 + 9 = 10 + 6 = 16",
    "the problem continued": "7 + 9 + 16",
    "the problem inside another": "17 + 9 = 16",
    "a fraction": "16/1",
    "the problem repeated": "7 + 9",
    "the statement repeated": "What is 7 + 9? Answer with just the number.",
    "the right number in words": "sixteen",
    "nothing": "",
    "not a number": "nan",
    "infinity": "inf 1e999",
}


@pytest.mark.parametrize("name", CHEATS)
def test_a_known_cheat_fails(name: str) -> None:
    verdict = judge(CHEATS[name], 16, PROBLEM)
    assert (verdict.score, verdict.passed) == (0.0, False)
    assert "16" not in verdict.evidence


@given(
    guesses=st.lists(st.integers(-30, 30), min_size=2), joint=st.sampled_from([", ", "\n", " or "])
)
def test_no_list_of_two_or_more_numbers_passes(guesses: list[int], joint: str) -> None:
    assert judge(joint.join(map(str, guesses)), guesses[-1], PROBLEM).passed is False


@given(st.text())
def test_any_text_gets_a_verdict(text: str) -> None:
    score = judge(text, 16, PROBLEM).score
    assert score is not None
    assert math.isfinite(score)


def test_a_product_beyond_the_floats_is_judged_to_its_last_digit() -> None:
    assert judge("122025135153311670", 122025135153311670, PROBLEM).passed is True
    assert judge("122025135153311671", 122025135153311670, PROBLEM).passed is False


def test_a_task_of_another_family_is_refused() -> None:
    with pytest.raises(ValueError, match="needs expected"):
        verify(Attempt("1", "1", "main"), make_words())


def test_scores_are_hidden_from_members_until_the_end() -> None:
    verifier = make().verify
    assert verifier is not None
    assert verifier.use == "final"


def test_the_control_asks_for_the_same_number_without_telling_one_of_them() -> None:
    open_, hidden = make(digits=5, seed=1), make(digits=5, seed=1, hidden=True)
    assert expected(digits=5, seed=1, hidden=True) == expected(digits=5, seed=1)
    assert open_.statement.split()[2] not in hidden.statement
    with pytest.raises(ValueError, match="secret"):
        reference(hidden)


def test_seeds_give_different_problems_of_every_kind() -> None:
    statements = {make(seed=seed).statement for seed in range(60)}
    assert len(statements) > 40
    assert all(any(f" {sign} " in text for text in statements) for sign in "+-*")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"digits": 10}, "digits is 10; 1 to 9 is possible"),
        ({"terms": 1}, "terms is 1; 2 to 20 is possible"),
        ({"hidden": 1}, "hidden is 1; true or false is needed"),
        ({"level": 1}, "there is no argument `level`"),
    ],
)
def test_a_wrong_argument_is_named(args: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        make(**args)
