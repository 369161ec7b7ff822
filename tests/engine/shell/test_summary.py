"""What a person is told when a run is over."""

from dataclasses import replace

import pytest

from podium.engine.call import Usage
from podium.engine.event import (
    CallAnswered,
    CallFailed,
    CallIntended,
    Event,
    Improved,
    NodeEnded,
    NodeStarted,
    RunEnded,
    RunStarted,
    Scored,
    Stamped,
    TaskEnded,
)
from podium.engine.fold import Fold
from podium.engine.ledger import Amount
from podium.engine.shell.summary import (
    best_team,
    closing_lines,
    headline,
    one_agent,
    price_table,
    problems,
    single_scores,
    what_next,
)

SPENT = Amount(1_000_000, 2_000, 1)


def folded(*events: Event, unpriced: frozenset[str] = frozenset()) -> Fold:
    fold = Fold(unpriced)
    for number, event in enumerate(events):
        fold.add(Stamped(number, 100.0 + number, event))
    return fold


def call(address: str, spent: Amount = SPENT) -> list[Event]:
    return [
        CallIntended(address, 1, "main", "model", "d", SPENT, "fast"),
        CallAnswered(address, 1, "main", spent, Usage(), {}, 1.0),
    ]


def squad(number: int, score: float, seats: int = 2) -> list[Event]:
    at = f"main/1.parallel/{number}.squad"
    events: list[Event] = [NodeStarted(at, "team", "squad")]
    for seat in range(1, seats + 1):
        events.append(NodeStarted(f"{at}/r1.m{seat}", "agent", "fixer"))
        events += call(f"{at}/r1.m{seat}")
        events.append(Scored(f"{at}/r1.m{seat}", "tests", score - seat, None))
        events.append(NodeEnded(f"{at}/r1.m{seat}", "finished", "", score - seat))
    return [*events, Scored(at, "tests", score, None), NodeEnded(at, "finished", "", score)]


def ended(outcome: str = "finished", *, resumable: bool = False, reason: str = "") -> RunEnded:
    return RunEnded(outcome, reason, resumable, "x", 4.0, False, 75.0)


def run_of(squads: int, seats: int = 2, *, end: bool = True) -> list[Event]:
    events: list[Event] = [
        RunStarted(1, 1, "h", "0"),
        NodeStarted("main/1.parallel", "parallel", "parallel"),
    ]
    for number in range(1, squads + 1):
        events += squad(number, 3.0 + number, seats)
    events += [
        NodeEnded("main/1.parallel", "finished", ""),
        NodeStarted("main/2.best", "best", "best"),
        Improved("main/1.parallel/1.squad", 4.0, False, "x"),
        NodeEnded("main/2.best", "finished", ""),
    ]
    return [*events, ended()] if end else events


def test_the_headline_says_outcome_reason_score_and_time() -> None:
    assert headline(folded(ended("exhausted", reason="usd budget of main"))) == (
        "Exhausted (dollar budget of main), score 4, after 1m15s"
    )
    assert headline(folded(*run_of(1, end=False))).startswith("Not finished")


def test_a_small_run_is_priced_to_the_last_agent() -> None:
    rows = price_table(folded(*run_of(2)))
    assert [(row.name, row.calls, row.usd) for row in rows] == [
        ("main/1.parallel", "4", "$4.00"),
        ("  1.squad", "2", "$2.00"),
        ("    r1.m1", "1", "$1.00"),
        ("    r1.m2", "1", "$1.00"),
        ("  2.squad", "2", "$2.00"),
        ("    r1.m1", "1", "$1.00"),
        ("    r1.m2", "1", "$1.00"),
        ("main/2.best", "0", "$0.00"),
        ("total", "4", "$4.00"),
    ]


def test_what_does_not_fit_is_one_row_a_name() -> None:
    rows = price_table(folded(*run_of(20)))
    assert [(row.name, row.outcome, row.usd) for row in rows] == [
        ("main/1.parallel", "finished", "$40.00"),
        ("  20 x squad", "20 finished", "$40.00"),
        ("main/2.best", "finished", "$0.00"),
        ("total", "", "$40.00"),
    ]


def test_no_table_has_more_than_twelve_rows_and_its_total() -> None:
    for squads in range(1, 25):
        for seats in (1, 3):
            assert len(price_table(folded(*run_of(squads, seats)))) <= 13


def test_a_price_that_nobody_knows_is_not_shown_as_a_number() -> None:
    rows = price_table(folded(*run_of(1), unpriced=frozenset({"fast"})))
    assert rows[-1].usd == "unknown"
    lost = CallFailed("main/2.best", 1, "main", "lost", "", SPENT, Usage(), True, 0.0)
    assert price_table(folded(NodeStarted("main/2.best", "best", "best"), lost))[-1].usd == (
        "up to $1.00"
    )


def test_a_free_run_costs_nothing_and_still_counts_tokens() -> None:
    rows = price_table(
        folded(NodeStarted("main/a", "agent", "a"), *call("main/a", Amount(0, 7, 1)))
    )
    assert rows[-1] == ("total", "", "1", "7", "$0.00")


def test_one_agent_is_what_members_and_lone_agents_scored_not_what_teams_did() -> None:
    fold = folded(
        *run_of(2), NodeStarted("main/x", "agent", "x"), Scored("main/x", "tests", 9.0, None)
    )
    assert single_scores(fold) == [3.0, 2.0, 4.0, 3.0, 9.0]
    assert one_agent(fold) == "One agent scored 4.2 on average, spread 2.8 (n = 5)."


def test_the_scores_of_a_verifier_that_a_step_names_are_not_mixed_with_the_tasks() -> None:
    fold = Fold(verifiers=frozenset({"tests"}))
    judged = [Scored("main/x", "tests", 9.0, None), Scored("main/x", "style", 0.5, None)]
    for number, event in enumerate([NodeStarted("main/x", "agent", "x"), *judged]):
        fold.add(Stamped(number, 0.0, event))
    assert single_scores(fold) == [9.0]


@pytest.mark.parametrize(
    ("verifiers", "second", "told"),
    [
        ({"golf"}, 70.0, "mean score 35.5 over 2"),
        ({"golf", "exact"}, 0.5, "mean score 0.75 over 2"),
        ({"golf", "exact"}, 70.0, "whose scores are of several scales"),
    ],
)
def test_scores_of_several_scales_have_no_mean(
    verifiers: set[str], second: float, told: str
) -> None:
    fold = Fold(verifiers=frozenset(verifiers))
    names = sorted(verifiers) * 2
    events: list[Event] = []
    for score, name in zip((1.0, second), names, strict=False):
        at = f"main/{len(events)}.row"
        events.append(NodeStarted(f"{at}/a", "agent", "a"))
        events.append(Scored(f"{at}/a", name, score, True))
        events.append(TaskEnded(at, "t", "passed", "", "x", score, True))
    for number, event in enumerate(events):
        fold.add(Stamped(number, 0.0, event))
    assert problems(fold) == f"Problems: 2 of 2 passed, {told}."
    assert bool(one_agent(fold)) is ("mean" in told)


def test_one_score_has_no_spread_and_none_is_said_plainly() -> None:
    one = folded(NodeStarted("main/x", "agent", "x"), Scored("main/x", "tests", 9.0, None))
    assert one_agent(one) == "One agent scored 9 (n = 1)."
    teams = [NodeStarted("main/1.squad", "team", "squad")]
    assert "no attempt" in one_agent(folded(*teams))


def test_what_the_run_knows_nothing_of_has_no_line() -> None:
    alone = folded(NodeStarted("main/x", "agent", "x"), ended())
    assert closing_lines(alone, "r1", podium=".venv/bin/podium") == (
        "Next: .venv/bin/podium show r1 main/x",
    )


def test_tokens_from_caches_are_told_where_there_were_any() -> None:
    intended, answered = call("main/agent/c1")
    assert isinstance(answered, CallAnswered)
    cached = replace(answered, usage=Usage(100, 60, output=20))
    shown = closing_lines(folded(intended, cached), "r1")
    assert "Tokens: input 100 (40 fresh, 60 cached), output 20." in shown


def test_the_headline_says_that_an_answer_did_not_pass() -> None:
    end = replace(ended(), passed=False)
    assert headline(folded(end)).startswith("Finished, not passed, ")
    assert "not passed" not in headline(folded(replace(end, passed=None)))


def test_the_best_team_is_named_with_its_score_and_price() -> None:
    assert best_team(folded(*run_of(2))) == (
        "The best team of 2 scored 5 and cost $2.00, 4k tokens, 2 calls: main/1.parallel/2.squad"
    )
    assert best_team(folded()) == ""


def test_where_less_is_better_the_best_team_is_the_lowest() -> None:
    fold = Fold(better="lower")
    for number, event in enumerate(run_of(2)):
        fold.add(Stamped(number, 100.0, event))
    assert "1.squad" in best_team(fold)


def test_the_next_command_is_resume_where_that_helps_and_show_elsewhere() -> None:
    assert what_next(folded(ended(resumable=True)), "r1") == "Next: podium resume r1"
    assert what_next(folded(*run_of(1, end=False)), "r1") == "Next: podium resume r1"
    assert what_next(folded(*run_of(1)), "r1") == "Next: podium show r1 main/1.parallel/1.squad"
    elsewhere = what_next(folded(*run_of(1)), "r1", store="--store a.db")
    assert elsewhere == "Next: podium show r1 main/1.parallel/1.squad --store a.db"
    assert len(closing_lines(folded(*run_of(1)), "r1")) == 3
