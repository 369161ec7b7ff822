"""Rules against facts."""

import pytest

from podium.dsl.program import AllOf, AnyOf, Compare, Condition, Flag, Not, Plateau
from podium.engine.condition import Facts, fired, holds, names, needs_spent, needs_verdict
from podium.engine.ledger import Amount

HALF = Compare("score", ">=", 0.5)


@pytest.mark.parametrize(
    ("sign", "met"),
    [("==", False), ("!=", True), ("<=", True), (">=", False), ("<", True), (">", False)],
)
def test_each_comparison(sign: str, met: bool) -> None:
    rule = Compare("score", sign, 0.5)  # type: ignore[arg-type]  # a sign
    assert holds(rule, Facts(score=0.4)) is met


@pytest.mark.parametrize("sign", ["==", "!=", "<=", ">=", "<", ">"])
def test_no_score_meets_nothing(sign: str) -> None:
    rule = Compare("score", sign, 0.0)  # type: ignore[arg-type]  # a sign
    assert not holds(rule, Facts())


def test_flags_rounds_plateaus_and_spending() -> None:
    facts = Facts(passed=True, round=3, stale=2, spent=Amount(10, 20, 30), consensus=True)
    met: list[Condition] = [
        Flag("passed"),
        Flag("consensus"),
        Plateau(2),
        Compare("round", "==", 3),
        Compare("spent_usd", ">=", 10),
        Compare("spent_tokens", "<", 21),
        Compare("spent_calls", ">", 29),
        Not(Flag("accepted")),
        AllOf((Flag("passed"), Plateau(1))),
        AnyOf((Flag("accepted"), Flag("passed"))),
    ]
    assert all(holds(rule, facts) for rule in met)
    assert not any(holds(Not(rule), facts) for rule in met)


def test_an_unknown_fact_is_a_mistake_of_ours() -> None:
    with pytest.raises(ValueError, match="weather"):
        holds(Compare("weather", ">", 1), Facts())


def test_what_a_condition_needs() -> None:
    rule = AnyOf((Not(Flag("passed")), AllOf((Compare("spent_usd", ">", 1), Plateau(3)))))
    assert names(rule) == {"passed", "spent_usd", "plateau"}
    assert needs_verdict(rule)
    assert needs_spent(rule)
    assert not needs_verdict(Flag("consensus"))
    assert not needs_spent(None)


def test_which_part_fired() -> None:
    rule = AnyOf((HALF, Flag("consensus"), Plateau(1)))
    assert fired(rule, Facts(score=0.9)) == "score"
    assert fired(rule, Facts(consensus=True)) == "consensus"
    assert fired(rule, Facts(stale=1)) == "plateau"
    assert fired(AllOf((HALF, Flag("passed"))), Facts()) == "score and passed"
    assert fired(Not(Flag("passed")), Facts()) == "not passed"
