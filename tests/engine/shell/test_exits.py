"""The table of exit codes."""

import pytest

from podium.engine.shell.exits import Exit, exit_of


@pytest.mark.parametrize(
    ("outcome", "passed", "judged", "code"),
    [
        ("passed", True, True, 0),
        ("finished", None, False, 0),
        ("finished", False, True, 1),
        ("finished", None, True, 1),
        ("stopped", None, False, 0),
        ("stopped", True, True, 0),
        ("stopped", False, True, 1),
        ("exhausted", None, False, 3),
        ("exhausted", True, True, 3),
        ("paused", None, False, 3),
        ("failed", None, False, 4),
        ("cancelled", None, False, 130),
        (None, None, False, 130),
    ],
)
def test_the_exit_code_follows_from_the_outcome(
    outcome: str | None, passed: bool | None, judged: bool, code: int
) -> None:
    assert exit_of(outcome, passed=passed, judged=judged) == code


def test_an_interrupted_run_that_can_be_resumed_says_so() -> None:
    ends = [
        exit_of("paused", passed=None, judged=False, interrupted=True, resumable=True),
        exit_of("finished", passed=None, judged=False, interrupted=True, resumable=True),
    ]
    assert ends == [Exit.INTERRUPTED, Exit.INTERRUPTED]


def test_a_run_that_passed_before_the_signal_took_effect_has_passed() -> None:
    code = exit_of("passed", passed=True, judged=True, interrupted=True, resumable=False)
    assert code == Exit.PASSED


def test_a_budget_that_fails_a_run_is_exhausted() -> None:
    code = exit_of("failed", passed=None, judged=True, reason="budget: the token budget is up")
    assert code == Exit.EXHAUSTED
    assert exit_of("failed", passed=None, judged=True, reason="model: gone") == Exit.FAILED
