"""How long deadlines have been live over the lives of a run: dead time never counts."""

from podium.engine.call import Usage
from podium.engine.event import (
    AccountOpened,
    CallFailed,
    CallIntended,
    Decided,
    Event,
    NodeEnded,
    RunEnded,
    RunStarted,
    Stamped,
)
from podium.engine.fold import fold
from podium.engine.ledger import Amount
from podium.engine.lives import idle_of, lived

AMOUNT = Amount(0, 5, 1)


def started(life: int) -> RunStarted:
    return RunStarted(life, 1, "here", "0")


def opened(name: str) -> AccountOpened:
    return AccountOpened(name, "", None, None, None, 60.0)


def at(*events: tuple[float, Event]) -> list[Stamped]:
    return [Stamped(number, time, event) for number, (time, event) in enumerate(events)]


# Killed at 10 with a call in flight; taken up at 1000, where that call is noted as lost; killed at 1005.
KILLED = at(
    (0.0, started(1)),
    (0.0, opened("r")),
    (2.0, opened("r/main/1.a")),
    (10.0, CallIntended("main/1.a/c1", 0, "r", "model", "d", AMOUNT)),
    (1000.0, CallFailed("main/1.a/c1", 0, "r", "lost", "", AMOUNT, Usage(), True, 0.0)),
    (1001.0, started(2)),
    (1005.0, CallIntended("main/1.a/c1", 1, "r", "model", "d", AMOUNT)),
)


def test_dead_time_does_not_count_though_the_next_life_notes_what_was_lost() -> None:
    assert lived("r", KILLED) == {"r": 14.0, "r/main/1.a": 12.0}
    assert fold(KILLED).seconds == 14.0


def test_a_team_at_work_counts_live_time_since_its_last_entry_whatever_is_recorded_then() -> None:
    notes = at(
        (0.0, started(1)),
        (3.0, Decided("main/team", "at work 0", {})),
        (5.0, Decided("main/team", "at work 1", {})),
        (9.0, Decided("main/team/r1", "left", [])),
        (100.0, started(2)),
        (102.0, Decided("main/other", "at work 0", {})),
    )
    assert lived("r", notes) == {idle_of("main/team"): 6.0, idle_of("main/other"): 0.0}


def test_what_is_noted_as_lost_right_now_adds_nothing() -> None:
    assert lived("r", KILLED[:5]) == {"r": 10.0, "r/main/1.a": 8.0}
    assert fold(KILLED[:5]).seconds == 10.0


def test_a_deadline_stops_with_its_node_and_all_stop_with_the_run() -> None:
    ends = at(
        (0.0, started(1)),
        (0.0, opened("r")),
        (1.0, opened("r/main/1.a")),
        (1.0, opened("r/main/1.a'")),
        (4.0, NodeEnded("main/1.a", "finished", "")),
        (6.0, RunEnded("paused", "user", True, None, None, None, 6.0)),
    )
    assert lived("r", ends) == {"r": 6.0, "r/main/1.a": 3.0, "r/main/1.a'": 3.0}
