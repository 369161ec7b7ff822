"""What scores can be, as far as verifiers say."""

from math import inf

import pytest

from podium.dsl.program import Task, Verifier
from podium.engine.families import families, family
from podium.engine.ranges import ANY, Range, range_of


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("words", Range(0, 1)),
        ("choice", Range(0, 1)),
        ("packing", Range(0, inf)),
        ("golf", Range(1, inf)),
        ("speedup", Range(0, inf)),
        ("repair", Range(0, 1)),
        ("synthetic", ANY),
    ],
)
def test_a_family_says_what_its_scores_can_be(name: str, wanted: Range) -> None:
    assert range_of(family(name, {})) == wanted


def test_the_range_in_numbers_is_the_one_in_words() -> None:
    for one in families().values():
        if one.score in ("0 or 1", "0 to 1"):
            assert (one.least, one.most) == (0, 1)
        else:
            assert one.most is None


def test_of_verifiers_made_of_others_it_spans_theirs() -> None:
    parts = (Verifier("exact", "exact", {}), Verifier("number", "number", {}))
    whole = Verifier("all_of", "all_of", {}, parts=parts)
    assert range_of(Task("t", "", whole)) == Range(0, 1)
    own = Verifier("mine", "python", {"ref": "mine:score"})
    mixed = Verifier("any_of", "any_of", {}, parts=(*parts, own))
    assert range_of(Task("t", "", mixed)) == ANY == range_of(Task("t", "", own))
    assert Range(0, 5).turned() == Range(-5, 0)
