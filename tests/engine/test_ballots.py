"""The vote: what attempts are counted by."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.dsl.program import Verifier
from podium.engine.ballots import vote, voted
from podium.engine.value import Attempt, Json

NUMBER = Verifier("number", "number", {"expected": ("4",)})
CHOICE = Verifier("choice", "choice", {"expected": ("B",)})


def made(answer: Json, *, at: str = "a") -> Attempt:
    return Attempt(answer, str(answer), at)


@given(st.lists(st.sampled_from(["x", "y", "z", " X "]), min_size=1, max_size=9))
def test_the_vote_is_a_commonest_answer_and_the_first_of_its_kind(answers: list[str]) -> None:
    chosen = vote([made(answer, at=str(i)) for i, answer in enumerate(answers)])
    plain = [answer.strip().casefold() for answer in answers]
    mine = plain[int(chosen.address)]
    assert plain.count(mine) == max(map(plain.count, plain))
    assert int(chosen.address) == plain.index(mine)


def test_cut_replies_vote_only_among_themselves() -> None:
    cut = Attempt("x", "x", "1", cut=True)
    assert vote([cut, cut, made("y")]).answer == "y"
    assert vote([cut]).answer == "x"


@pytest.mark.parametrize(
    ("verifier", "first", "second", "same"),
    [
        (NUMBER, "2 and 2 make 4", "I count: 1, 2, 3, 4.0", True),
        (NUMBER, "So it is -5", "So it is 5", False),
        (NUMBER, "I do not know", "I do not  KNOW", True),
        (NUMBER, {"answer": "it is 4", "why": "x"}, "4", True),
        (CHOICE, "Either way:\nthe answer is (B)", "B", True),
        (CHOICE, "A", "B", False),
        (None, "I add them.\n\n**Answer:** Four.", "By counting\nfour", True),
        (None, "The final answer is four", "four", True),
        (None, "-5", "5", False),
        (None, "four\nfive", "four", False),
        (None, "...", "...", True),
        (None, "```\na = 1\nreturn a\n```", "```\na = 2\nreturn a\n```", False),
        (None, {"answer": "4", "why": "x"}, {"answer": " 4", "why": "y"}, True),
        (None, ["a\nb"], ["c\nb"], False),
    ],
)
def test_attempts_vote_for_what_they_come_to(
    verifier: Verifier | None, first: Json, second: Json, same: bool
) -> None:
    assert (voted(made(first), verifier) == voted(made(second), verifier)) is same


def test_reasons_that_differ_do_not_keep_a_majority_apart() -> None:
    said = ["I guess:\n5", "2 + 2 =\n4", "counting up\n**4**"]
    assert vote([made(one) for one in said]).answer == said[1]
