"""The family `arithmetic`: one right answer, computed again from the statement."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.tasks.arithmetic import make, reference


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
        ({"level": 1}, "there is no argument .level.; there are digits, terms, seed, hidden"),
    ],
)
def test_a_wrong_argument_is_named(args: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        make(**args)
