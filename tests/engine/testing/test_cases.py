"""Cases: which there are, that they are the same for ever, and what a file offers to be tried."""

import pytest

from podium.dsl.compile import Choice
from podium.dsl.faults import FAULTS
from podium.dsl.library import MemoryLibrary
from podium.dsl.problem import ProgramError
from podium.dsl.program import Task
from podium.dsl.source import Source
from podium.engine.testing.cases import Subject, case_of, subjects, tried
from podium.engine.testing.checking import File, check, spread
from podium.engine.value import Attempt

FREE = Choice(allow=lambda kind, value: True)

TEXT = """
test calm { flow = agent }
test rough { flow = agent  given = [outage(30s), busy(10s, after = 5s), crash(2 calls), cut(50%)] }
run main { flow = team(2)  task = t  budget = [9k tokens] }
task t { statement = "2 + 2?"  verify = exact("4") }
"""


def several(text: str = TEXT, *names: str) -> tuple[Subject, ...]:
    return subjects(Source("x.team", text), MemoryLibrary(), Choice(), names)[0]


def test_a_file_offers_its_tests_and_then_its_runs() -> None:
    assert [(one.name, one.test is None) for one in several()] == [
        ("calm", False),
        ("rough", False),
        ("main", True),
    ]


def test_those_that_are_named_are_tried_in_that_order() -> None:
    assert [one.name for one in several(TEXT, "main", "calm")] == ["main", "calm"]
    with pytest.raises(KeyError, match="clam"):
        several(TEXT, "clam")


def test_a_wrong_run_is_a_wrong_file() -> None:
    with pytest.raises(ProgramError):
        several(TEXT.replace("budget = [9k tokens]", "budget = 3"))


def test_the_first_case_is_as_it_is_written() -> None:
    calm, rough, main = several()
    assert case_of(calm, 0, 1).faults == ()
    assert rough.test is not None
    assert case_of(rough, 0, 1).faults == rough.test.given
    assert case_of(main, 0, 1).faults == ()


def test_later_cases_draw_only_the_moments_that_a_test_leaves_open() -> None:
    rough = several()[1]
    cases = [case_of(rough, 0, number).faults for number in range(2, 30)]
    assert {tuple(fault.name for fault in faults) for faults in cases} == {
        ("outage", "busy", "crash", "cut")
    }
    assert len({faults[0].args["after"] for faults in cases}) > 9
    assert {faults[1].args["after"] for faults in cases} == {5.0}
    assert {faults[2].args["after"] for faults in cases} == {2}


def test_cases_of_a_run_know_every_fault_of_the_language() -> None:
    main = several()[2]
    cases = [case_of(main, 3, number) for number in range(2, 200)]
    assert {fault.name for case in cases for fault in case.faults} == set(FAULTS)
    assert all(fault.args.keys() == {s.name for s in FAULTS[fault.name].params}
               for case in cases for fault in case.faults)  # fmt: skip


def test_a_case_is_the_same_for_ever_and_no_other_seed_has_it() -> None:
    main = several()[2]
    assert case_of(main, 0, 7) == case_of(several()[2], 0, 7)
    seeds = [case_of(main, seed, n).seed for seed in range(30) for n in range(1, 300)]
    assert len(set(seeds)) == len(seeds)


def test_a_case_ends_as_it_did_before() -> None:
    rough = several()[1]
    one, other = (tried(rough, case_of(rough, 5, 2)) for _ in range(2))
    assert one.simulation.events == other.simulation.events


def test_cases_are_spread_over_what_is_tried_and_all_get_some() -> None:
    assert [one.wanted for one in spread(several(), 10)] == [4, 3, 3]
    assert [one.wanted for one in spread(several(), 1)] == [1, 1, 1]


def test_when_time_is_up_all_have_had_some_and_no_case_is_begun() -> None:
    source, library = Source("x.team", TEXT), MemoryLibrary()
    checks = spread(several(), 30)
    left = iter([True] * 7)
    check(File(source, library, Choice(), {}), checks, 0, goes_on=lambda: next(left, False))
    assert [one.done for one in checks] == [3, 2, 2]
    assert all(one.kept and one.goes_on for one in checks)


def test_a_verifier_that_never_gives_a_verdict_is_no_broken_promise() -> None:
    text = """
test q {
  flow    = parallel(3) of agent
  task    = t
  given   = verifier_error(100%)
  replies = ["1", "2", "3"]
  always  = passed
}
task t { statement = "2 + 2?"  verify = exact("4") }
"""
    (one,) = several(text)
    found = tried(one, case_of(one, 0, 1))
    assert found.broken == ()
    assert "verifier" in found.stuck
    assert found.simulation.lives < 9


def test_a_verifier_of_the_users_own_that_raises_is_told_of() -> None:
    text = """
test q { flow = agent  task = t  never = outcome == failed }
task t { statement = "2 + 2?"  verify = python("my.checks:mine")  pass = score >= 1 }
"""

    def mine(attempt: Attempt, task: Task) -> float:
        raise ValueError(f"{attempt.text!r} is no number")

    (one,) = subjects(Source("x.team", text), MemoryLibrary(), FREE)[0]
    assert "is no number" in tried(one, case_of(one, 0, 1), {"my.checks:mine": mine}).stuck
    assert tried(one, case_of(one, 0, 1)).stuck == ""
