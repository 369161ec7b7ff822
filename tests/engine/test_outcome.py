"""Outcomes in words, and back again."""

import pytest

from podium.engine.outcome import (
    Cancelled,
    Exhausted,
    Failed,
    Finished,
    Named,
    Outcome,
    Passed,
    Paused,
    Stopped,
    outcome_of,
    reason,
    word,
)
from podium.engine.rows import joined

RUN = Named("2026-11-30-0c609ab12", "main")


@pytest.mark.parametrize(
    ("account", "shown"),
    [
        (RUN.id, "tokens budget of run main"),
        (f"{RUN.id}/main/1.parallel/3.squad", "tokens budget of main/1.parallel/3.squad"),
        (f"{RUN.id}/main", "tokens budget of main"),
        ("tenant-7", "tokens budget of tenant-7"),
    ],
)
def test_a_budget_is_named_as_people_know_it_and_found_again(account: str, shown: str) -> None:
    outcome = Exhausted(account, "tokens")
    assert reason(outcome, RUN) == shown
    assert outcome_of("exhausted", shown, RUN) == outcome


def test_the_second_budget_around_a_node_is_named_like_the_first() -> None:
    assert reason(Exhausted(f"{RUN.id}/main/2.a'", "time"), RUN) == "time budget of main/2.a"


@pytest.mark.parametrize(
    "outcome",
    [
        Passed(),
        Finished(),
        Cancelled(),
        Stopped("user"),
        Stopped("ceo"),
        Stopped("plateau"),
        Paused("budget"),
        Paused("disk", "full: no: room"),
        Failed("reply", "cut: at its cap"),
    ],
)
def test_the_end_of_a_run_is_read_back_from_its_words(outcome: Outcome) -> None:
    assert outcome_of(word(outcome), reason(outcome, RUN), RUN) == outcome


def test_of_several_tasks_one_that_its_ceo_stopped_does_not_stop_the_others() -> None:
    assert joined([Passed(), Stopped("ceo")]) == Finished()
    assert joined([Stopped("plateau"), Stopped("user")]) == Stopped("user")
