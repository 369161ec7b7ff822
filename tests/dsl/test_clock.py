"""`07:00` and `2026-12-01 07:00`: from the text to the program, and back through the formatter."""

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.dsl.compile import Choice, check, compile_run
from podium.dsl.format import format_text
from podium.dsl.library import MemoryLibrary
from podium.dsl.model import Endpoint, Model
from podium.dsl.problem import ProgramError, apply
from podium.dsl.program import Clock
from podium.dsl.source import Source

SEVEN = Clock(7, 0)
CLOCKS = st.builds(
    Clock, st.integers(0, 23), st.integers(0, 59), st.none() | st.dates(date(1970, 1, 1))
)


def text(by: str) -> str:
    task = 'task t { statement = "?", verify = exact("a") }\n'
    return f"{task}run main {{ task = t, flow = agent, by = {by}, seed = 3 }}\n"


def compiled(program: str, choice: Choice = Choice()) -> tuple[Clock, ...]:  # noqa: B008, it is frozen
    return compile_run(Source("x.team", program), MemoryLibrary(), choice)[0].by


@given(CLOCKS)
def test_every_moment_is_read_as_it_is_written_and_survives_the_formatter(clock: Clock) -> None:
    assert compiled(text(str(clock))) == (clock,)
    wide = Source("x.team", text(str(clock).replace(" ", " \t ")))
    assert format_text(wide) == format_text(Source("x.team", text(str(clock))))
    assert f"by = {clock}," in format_text(wide)


@pytest.mark.parametrize(
    ("wrong", "message", "mended"),
    [
        ("25:00", "`25:00` is no time of day", None),
        ("24:00", "`24:00` is no time of day", None),
        ("07:60", "`07:60` is no time of day", None),
        ("07:00:30", "`07:00:30` is no time of day", None),
        ("7:00pm", "`7:00pm` is no time of day", None),
        ("7:5", "`7:5` is no time of day", "07:05"),
        ("7:00", "`7:00` is no time of day", "07:00"),
        ("2026-02-30 07:00", "`2026-02-30` is no date", None),
        ("2026-2-3 07:00", "`2026-2-3` is no date", "2026-02-03 07:00"),
    ],
)
def test_what_is_no_moment_is_told_with_what_to_write(
    wrong: str, message: str, mended: str | None
) -> None:
    source = Source("x.team", text(wrong))
    [problem] = check(source, MemoryLibrary())
    assert (problem.code, problem.message) == ("T006", message)
    assert "is written `" in problem.help
    if mended is None:
        assert not problem.edits
    else:
        assert apply(source.text, problem.edits) == text(mended)


@pytest.mark.parametrize(
    ("wrong", "code"), [("30m", "E308"), ('"07:00"', "E120"), ("none", "E120"), ("7", "E120")]
)
def test_what_is_no_time_of_day_at_all_does_not_fit(wrong: str, code: str) -> None:
    [problem] = check(Source("x.team", text(wrong)), MemoryLibrary())
    assert problem.code == code
    assert problem.message.startswith("a time of day is wanted here")
    assert "`07:00`" in problem.help


def test_a_day_without_a_time_is_the_subtraction_that_it_was() -> None:
    program = text("07:00").replace("seed = 3", "seed = 2026-12-01")
    assert compile_run(Source("x.team", program), MemoryLibrary(), Choice())[0].seed == 2013


def test_a_budget_says_where_a_deadline_by_the_clock_belongs() -> None:
    program = text("07:00").replace("seed = 3", "budget = [07:00]")
    [problem] = check(Source("x.team", program), MemoryLibrary())
    assert (problem.code, "`by = 07:00`" in problem.help) == ("E308", True)


def test_a_parameter_may_be_a_moment() -> None:
    program = "param end: Clock = 07:00\n" + text("end")
    assert compiled(program) == (SEVEN,)
    assert compiled(program, Choice(params={"end": ("08:30", "--set")})) == (Clock(8, 30),)
    with pytest.raises(ProgramError, match="E122"):
        compiled(program, Choice(params={"end": ("25:00", "--set")}))


def test_one_from_outside_is_kept_beside_the_runs_own() -> None:
    assert compiled(text("07:00"), Choice(by=Clock(6, 0))) == (SEVEN, Clock(6, 0))
    assert compiled(text("07:00").replace(", by = 07:00", ""), Choice(by=SEVEN)) == (SEVEN,)


def test_with_gives_a_run_another_one() -> None:
    program = text("07:00") + "run late = main with { by = 2026-12-01 09:00 }\n"
    found = compile_run(Source("x.team", program), MemoryLibrary(), Choice(run="late"))[0].by
    assert found == (replace(SEVEN, hour=9, day=date(2026, 12, 1)),)


def test_a_run_that_is_paid_and_ends_by_the_clock_is_bounded_as_by_a_time() -> None:
    paid = Model("paid", (Endpoint("openai", "m", "http://127.0.0.1:1"),))
    by_time = text("07:00").replace("by = 07:00", "budget = [30m]")
    for program in (text("07:00"), by_time):
        compiled(program, Choice(default_model=paid))
    with pytest.raises(ProgramError, match="E310"):
        compiled(text("07:00").replace(", by = 07:00", ""), Choice(default_model=paid))
