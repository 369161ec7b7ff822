"""The families `golf` and `speedup`, as far as nothing is run: problems, arguments, and what is drawn."""

import contextlib
import io
import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest

from podium.dsl.library import ArgumentError
from podium.dsl.program import Compare
from podium.tasks import golf, speedup
from podium.tasks.golf.check import plain, wrong
from podium.tasks.golf.problems import PROBLEMS
from podium.tasks.harness import exchange
from podium.tasks.harness.timing import FLOOR_S, compared
from podium.tasks.speedup import check
from podium.tasks.speedup.problems import PROBLEMS as SLOW


def opening(given: str) -> Callable[[int], io.StringIO]:
    """What stands for `open`, of which programs ask for their input."""
    return lambda number: io.StringIO(given)


@pytest.mark.parametrize("name", golf.names())
@pytest.mark.parametrize("form", ["plain", "short"])
def test_our_programs_print_what_is_expected(
    name: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = compile(getattr(PROBLEMS[name], form), form, "exec")
    for seed in range(40):
        given, expected = PROBLEMS[name].draw(Random(seed))
        monkeypatch.setattr("sys.stdin", io.StringIO(given))
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, {"open": opening(given)})
        assert plain(printed.getvalue()) == plain(expected), given


def test_no_text_is_right_for_most_inputs() -> None:
    for name in golf.names():
        said = [PROBLEMS[name].draw(Random(seed))[1] for seed in range(200)]
        assert max(map(said.count, said)) < 140, name


def test_a_golfed_program_passes_with_as_few_bytes_as_ours_or_as_was_asked() -> None:
    task = golf.make(problem="clap")
    assert task.better == "lower"
    assert task.pass_rule == Compare("score", "<=", golf.size(PROBLEMS["clap"].short))
    assert golf.make(bytes=60).pass_rule == Compare("score", "<=", 60)
    assert golf.size(PROBLEMS["clap"].plain) > golf.size(PROBLEMS["clap"].short)


@pytest.mark.parametrize(
    "args", [{"bytes": 0}, {"problem": "clamp"}, {"problem": "control"}, {"x": 1}]
)
def test_an_argument_that_is_none_is_told(args: dict[str, str | int]) -> None:
    with pytest.raises(ArgumentError):
        golf.make(**args)


def ran(**more: Any) -> dict[str, Any]:
    return {"code": 0, "ended": "exit", "out": "1\n2  \n\n", "err": "", "cut": 0, **more}


def test_blanks_at_the_ends_do_not_matter_and_all_else_does() -> None:
    assert not wrong(ran(), "1\n2")
    for more in ({"out": "1 \n 2"}, {"out": "1\n2\n3"}, {"code": 1}, {"ended": "wall"}, {"cut": 9}):
        assert wrong(ran(**more), "1\n2")


# --- speedup -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SLOW)
def test_our_fast_function_gives_what_the_slow_one_gives(name: str) -> None:
    problem = SLOW[name]
    slow: dict[str, Any] = {}
    fast: dict[str, Any] = {}
    exec(problem.slow, slow)
    exec(problem.fast, fast)
    for seed in range(20):
        args = problem.draw(Random(seed), seed / 1000)
        assert fast[problem.entry](*args) == slow[problem.entry](*args)


def test_times_are_compared_without_what_starting_takes() -> None:
    ratios, floor = compared([0.1, 0.1, 0.1], [0.5, 0.7, 0.3], [0.2, 0.4, 0.3])
    assert ratios == pytest.approx([4, 2, 1])
    assert floor == FLOOR_S


def test_what_cannot_be_told_from_nothing_counts_as_so_much() -> None:
    ratios, floor = compared([0.1, 0.12, 0.08], [0.5, 0.5, 0.05], [0.1, 0.01, 0.2])
    assert floor == pytest.approx(0.04)
    assert ratios == pytest.approx([10, 10, 0.4])
    control, _ = compared([0.1, 0.1, 0.1], [0.1, 0.101, 0.1], [0.01, 0.1, 0.1])
    assert control == [1, 1, 1]


@pytest.mark.parametrize("times", [1, 1.1, 0, -3, True, "fast", float("nan")])
def test_a_target_within_chance_is_refused(times: Any) -> None:
    with pytest.raises(ArgumentError, match="times"):
        speedup.make(times=times)
    assert speedup.make(times=3).pass_rule == Compare("score", ">=", 3.0)


def test_a_speed_is_measured_alone_and_the_best_once_more() -> None:
    verifier = speedup.make().verify
    assert verifier is not None
    assert (verifier.inflight, verifier.finalists) == (1, 3)


def timed(value: int, seconds: float) -> dict[str, Any]:
    out = json.dumps({"id": 0, "value": value})
    return ran(out=out, seconds=seconds)


def told_of(
    monkeypatch: pytest.MonkeyPatch,
    fast: Sequence[dict[str, Any]],
    *,
    slow_s: float = 0.5,
    slow_ended: str = "exit",
) -> dict[str, Any]:
    """What is said of trials in which the reference gives 7, 8, …, and a process that does nothing takes 0.1 s."""
    said: list[dict[str, Any]] = []
    monkeypatch.setattr(exchange, "_say", said.append)
    runs: list[dict[str, Any]] = []
    for at, one in enumerate(fast):
        three = [timed(0, 0.1), timed(7 + at, slow_s) | {"ended": slow_ended}, one]
        runs += three[:: -1 if at % 2 else 1]
    check.measured(runs, [], is_control=False)
    return said[0]


def test_the_middle_of_the_trials_is_the_score(monkeypatch: pytest.MonkeyPatch) -> None:
    times = [0.3, 0.2, 0.1, 0.9, 0.3]
    said = told_of(monkeypatch, [timed(7 + at, one) for at, one in enumerate(times)])
    assert said["score"] == pytest.approx(2)
    assert said["valid"]
    assert "from 0.50 to 100.00" in said["evidence"]
    assert "at least" not in said["evidence"]
    assert "at least 100.00" in told_of(monkeypatch, [timed(7, 0.1)])["evidence"]


def test_one_wrong_answer_in_a_trial_is_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong_one in (
        timed(7, 0.1),
        ran(out="8"),
        ran(ended="wall"),
        ran(out=""),
        ran(code=1, out=""),
    ):
        said = told_of(monkeypatch, [timed(7, 0.1), {"seconds": 0.1, **wrong_one}])
        assert (said["valid"], said["score"], said["passed"]) == (False, None, False)


def test_a_machine_that_is_too_busy_is_an_error_and_no_score(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "too busy" in told_of(monkeypatch, [timed(7, 0.1)], slow_s=0.11)["verifier_error"]
    said = told_of(monkeypatch, [timed(7, 0.1)], slow_ended="wall")
    assert said == {"verifier_error": "of the reference: it took too long"}
