"""What trials say: pairs, lost and failed runs, directions, flags."""

from dataclasses import replace

import numpy as np
import pytest

from podium.engine.compare import Trial, trial_of
from podium.engine.compare.arm_result import Spent
from podium.engine.compare.front import front
from podium.engine.compare.judge import compare, is_clear
from podium.engine.event import RunEnded, Stamped
from podium.engine.fold import Fold
from podium.engine.ranges import Range
from podium.engine.shell.compare_view import as_csv, as_html, rows, sentences
from podium.engine.stats import best_at


def trial(arm: str, repeat: int, score: float | None, *, usd: float = 1.0) -> Trial:
    return Trial(arm, "t", repeat, "r", "finished", score, score, False, usd, 10, 1, 1.0)


def trials(arm: str, scores: list[float]) -> list[Trial]:
    return [trial(arm, i, score) for i, score in enumerate(scores)]


LOW = [0.10, 0.12, 0.09, 0.14, 0.11, 0.13, 0.10, 0.12]
HIGH = [score + 0.3 + i / 100 for i, score in enumerate(LOW)]


def test_an_arm_that_always_wins_is_better() -> None:
    found = compare([*trials("a", LOW), *trials("b", HIGH)], ["a", "b"])
    pair = found.pairs[0]
    assert (pair.winner, pair.wins, pair.losses) == ("b", 0, 8)
    assert pair.chance == 0
    assert pair.p == pytest.approx(2 / 2**8)


def test_where_lower_is_better_the_same_scores_name_the_other_arm() -> None:
    found = compare([*trials("a", LOW), *trials("b", HIGH)], ["a", "b"], k=2, better="lower")
    assert found.pairs[0].winner == "a"
    arm = found.arms[0]
    assert arm.best < float(np.mean(LOW))
    assert arm.interval is not None
    assert arm.interval.low < arm.best < arm.interval.high


def test_a_run_without_a_score_loses_and_a_failed_one_is_left_out() -> None:
    lost = [trial("a", i, None) for i in range(8)]
    found = compare([*lost, *trials("b", HIGH)], ["a", "b"], sequential=True)
    assert (found.pairs[0].losses, found.arms[0].scored) == (8, 0)
    failed = [replace(one, failed=True) for one in lost]
    found = compare([*failed, *trials("b", HIGH)], ["a", "b"], sequential=True)
    assert (found.pairs[0].losses, found.arms[0].failed) == (0, 8)


def test_equal_arms_are_seldom_told_apart() -> None:
    chance = np.random.default_rng(4)
    wrong = 0
    for _ in range(40):
        both = [*trials("a", chance.random(10).tolist()), *trials("b", chance.random(10).tolist())]
        wrong += compare(both, ["a", "b"]).pairs[0].winner is not None
    assert wrong <= 7


def test_what_is_clear_is_asked_after_each_block() -> None:
    both = [*trials("a", LOW), *trials("b", HIGH)]
    assert not is_clear(both[:4] + both[8:12], ["a", "b"], 0.95, "higher")
    assert is_clear(both, ["a", "b"], 0.95, "higher")


def test_suspected_bests_are_counted_and_left_out_beside() -> None:
    cheat = replace(trial("a", 8, 9.0), unflagged=0.2)
    found = compare([*trials("a", LOW), cheat, *trials("b", HIGH)], ["a", "b"])
    arm = found.arms[0]
    assert arm.flagged == 1
    assert arm.best > 1 > arm.best_unflagged
    assert any("1 best looks like a cheat" in line for line in sentences(found))


def test_the_front_has_no_arm_that_another_beats_for_less() -> None:
    dear = [trial("dear", i, s, usd=5.0) for i, s in enumerate(LOW)]
    found = compare([*trials("a", LOW), *trials("b", HIGH), *dear], ["a", "b", "dear"])
    assert front(found.arms, "higher") == ("b",)


def test_where_all_are_free_the_front_is_one_of_tokens() -> None:
    free = [replace(one, usd=0.0, tokens=9) for one in trials("a", LOW)]
    more = [replace(one, usd=0.0, tokens=20) for one in trials("b", HIGH)]
    found = compare([*free, *more], ["a", "b"])
    assert front(found.arms, "higher") == ("a", "b")


def test_names_are_text_in_a_page_and_no_formula_in_a_sheet() -> None:
    name = "=1<script>"
    both = [*trials(name, LOW), *trials("b", HIGH)]
    page = as_html(name, compare(both, [name, "b"]), [])
    assert "<script" not in page
    assert "=1&lt;script&gt;" in page
    assert as_csv(both).splitlines()[1].startswith("'=1<script>")


def test_a_page_has_the_frame_of_all_pages_and_lets_nothing_be_run_or_loaded() -> None:
    page = as_html(
        "a and b",
        compare([*trials("a", LOW), *trials("b", HIGH)], ["a", "b"]),
        [b"<?xml?><svg></svg>"],
    )
    assert "default-src 'none'" in page
    assert '<div class="drawn"><svg></svg></div>' in page


def test_best_after_a_spend_is_of_runs_one_after_the_other() -> None:
    both = [*trials("a", LOW), *trials("b", HIGH)]
    found = compare(both, ["a", "b"], spent=Spent("usd", 2.5))
    assert found.arms[0].after == pytest.approx(best_at(LOW, 2), abs=0.003)
    assert np.isnan(compare(both, ["a", "b"], spent=Spent("usd", 8.0)).arms[0].after)
    down = compare(both, ["a", "b"], spent=Spent("seconds", 2.5), better="lower")
    assert down.arms[0].after < compare(both, ["a", "b"]).arms[0].best


def test_a_reply_that_was_cut_is_the_arms_own_failure() -> None:
    assert not failed_by("reply: the reply was cut by its cap")
    assert failed_by("server: it is down")


def failed_by(reason: str) -> bool:
    ended = [Stamped(0, 0.0, RunEnded("failed", reason, False, None, None, None, 0.0))]
    return trial_of("r", ended, Fold(), arm="a", task="t", repeat=0).failed


def test_the_best_may_be_clear_where_the_others_are_alike() -> None:
    alike = [trial("c", i, score) for i, score in enumerate(LOW)]
    three = [*trials("a", LOW), *trials("b", [9.0] * 12), *alike]
    three += [trial(arm, i, 0.1) for arm in ("a", "c") for i in range(8, 12)]
    names = ["a", "b", "c"]
    assert not is_clear(three, names, 0.95, "higher")
    assert is_clear(three, names, 0.95, "higher", best_only=True)
    assert not is_clear(three, names, 0.95, "lower", best_only=True)


def test_one_run_has_no_interval_though_it_scored_nothing() -> None:
    one, many = (compare([trial("a", i, 0.0) for i in range(n)], ["a"]).arms[0] for n in (1, 6))
    assert one.interval is None
    assert many.interval is not None
    assert many.interval.high < 0.6


def test_scores_of_0_have_the_interval_of_a_rate_only_where_they_can_be_one() -> None:
    zeros = trials("a", [0.0] * 6) + trials("b", [0.0] * 6)
    rate = compare(zeros, ["a", "b"]).arms[0].interval
    assert rate is not None
    assert (rate.low, round(rate.high, 3)) == (0.0, 0.459)
    assert compare(zeros, ["a", "b"], within=Range(0.0, 1.0)).arms[0].interval == rate
    assert compare(zeros, ["a", "b"], within=Range(0.0)).arms[0].interval is None
    lower = compare(zeros, ["a", "b"], better="lower")
    assert lower.arms[0].interval is None
    assert next(rows(lower))[2] == "0"


def test_no_chance_is_told_of_as_many_runs_as_the_best_is_of() -> None:
    # b wins all blocks but one, and a has the one best run: of all six "chance 1.00" would be said for a.
    both = trials("a", [0.1, 0.2, 0.3, 0.4, 0.5, 1.0]) + trials("b", [0.6, 0.6, 0.6, 0.7, 0.7, 0.8])
    found = compare(both, ["a", "b"], k=6)
    assert np.isnan(found.pairs[0].chance)
    assert next(sentences(found)).startswith("a has no interval")
    assert any(line.startswith("a and b: they cannot be told apart") for line in sentences(found))
    assert compare(both, ["a", "b"], k=5).pairs[0].chance > 0.5
