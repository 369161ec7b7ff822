"""Verifiers made of others: what they say of an attempt, and how they are called."""

from typing import Any

import pytest
import trio.testing

from podium.dsl.program import Task, Verifier
from podium.engine.call import CallError, VerifierCall
from podium.engine.combine import combined, named_parts
from podium.engine.value import Verdict
from podium.engine.verify import judge


@pytest.fixture
def anyio_backend() -> Any:
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


RIGHT, WRONG, OPEN = Verdict(None, True), Verdict(None, False), Verdict(0.4, None)


def of(kind: str, *verdicts: Verdict, weights: tuple[float, ...] = ()) -> Verdict:
    parts = tuple(Verifier(f"p{i}", "python", {}) for i, _ in enumerate(verdicts))
    args = {"weights": weights} if weights else {}
    return combined(Verifier("c", kind, args, parts=parts), verdicts, "higher")


@pytest.mark.parametrize(
    ("kind", "verdicts", "score", "passed"),
    [
        ("all_of", (RIGHT, Verdict(0.7, True)), 0.7, True),
        ("all_of", (RIGHT, WRONG), 0.0, False),
        ("all_of", (RIGHT, OPEN), 0.4, None),
        ("all_of", (WRONG, OPEN), 0.0, False),
        ("any_of", (WRONG, Verdict(0.7, True)), 0.7, True),
        ("any_of", (WRONG, OPEN), 0.4, None),
        ("any_of", (RIGHT, OPEN), 1.0, True),
    ],
)
def test_the_worst_of_all_and_the_best_of_any(
    kind: str, verdicts: tuple[Verdict, ...], score: float, passed: bool | None
) -> None:
    told = of(kind, *verdicts)
    assert (told.score, told.passed) == (score, passed)


def test_a_weighted_mean_says_nothing_of_passing() -> None:
    told = of("weighted", RIGHT, OPEN, weights=(1.0, 3.0))
    assert told.score == pytest.approx(0.55)
    assert told.passed is None


def test_where_lower_is_better_the_greatest_is_the_worst() -> None:
    parts = (Verifier("a", "python", {}), Verifier("b", "python", {}))
    verdicts = (Verdict(3.0, None), Verdict(5.0, None))
    assert combined(Verifier("c", "all_of", {}, parts=parts), verdicts, "lower").score == 5.0
    assert combined(Verifier("c", "any_of", {}, parts=parts), verdicts, "lower").score == 3.0


def test_what_one_part_cannot_score_is_invalid_unless_another_will_do() -> None:
    invalid = Verdict(None, False, valid=False)
    assert of("all_of", RIGHT, invalid) == Verdict(None, False, valid=False)
    assert of("weighted", RIGHT, invalid, weights=(1.0, 1.0)).valid is False
    assert of("any_of", RIGHT, invalid).score == 1.0


def test_evidence_flags_and_costs_of_all_parts_are_kept() -> None:
    told = of(
        "all_of",
        Verdict(1.0, True, "fine", flags=("odd",), cost=1.0),
        Verdict(1.0, True, flags=("odd", "fast"), cost=2.5),
    )
    assert (told.evidence, told.flags, told.cost) == ("p0: fine", ("odd", "fast"), 3.5)


@pytest.mark.anyio
async def test_a_part_that_errs_is_an_error_of_the_whole_and_no_score() -> None:
    parts = (
        Verifier("exact", "exact", {"expected": "a"}),
        Verifier("exact", "python", {"ref": "f"}),
    )
    whole = Verifier("both", "all_of", {}, parts=parts)
    one = VerifierCall("a/v", "run", whole, Task("t", "s"), "a", "a")
    assert (await judge(one, {"f": _right}, inline=True)).passed is True
    with pytest.raises(CallError, match="no such module"):
        await judge(one, {"f": _broken}, inline=True)


def _right(attempt: object, task: object) -> bool:
    return True


def _broken(attempt: object, task: object) -> bool:
    raise ValueError("no such module")


def test_no_two_parts_have_the_same_name() -> None:
    part = Verifier("exact", "exact", {})
    inner = Verifier("any_of", "any_of", {}, parts=(part, part))
    whole = Verifier("all", "all_of", {}, parts=(part, inner))
    names = [leaf.name for p in named_parts(whole) for leaf in (named_parts(p) or (p,))]
    assert len(set(names)) == 3
