"""What a watcher of a run is shown."""

import io

import pytest
from rich.console import Console

from podium.dsl.program import Budget
from podium.engine.call import Usage
from podium.engine.event import (
    CallAnswered,
    CallFailed,
    CallIntended,
    Event,
    Improved,
    NodeEnded,
    NodeStarted,
    RunStarted,
    Stamped,
)
from podium.engine.fold import Fold
from podium.engine.ledger import Amount
from podium.engine.shell.progress import one_line, view
from podium.engine.shell.terminal import Lines, Sturdy, render

SPENT = Amount(2_500_000, 15_000, 1)


def branch(number: int) -> list[Event]:
    at = f"main/parallel/{number}.squad"
    return [
        NodeStarted(at, "team", "squad"),
        CallIntended(f"{at}/r1.m1", 1, "main", "model", "d", SPENT, "fast"),
        CallAnswered(f"{at}/r1.m1", 1, "main", SPENT, Usage(), {}, 1.0),
    ]


def run_of(branches: int, *more: Event) -> list[Event]:
    start: list[Event] = [
        RunStarted(1, 1, "h", "0"),
        NodeStarted("main/parallel", "parallel", "parallel"),
    ]
    for number in range(1, branches + 1):
        start += branch(number)
    return [*start, *more]


def folded(*events: Event) -> Fold:
    fold = Fold()
    for number, event in enumerate(events):
        fold.add(Stamped(number, 100.0, event))
    return fold


def test_each_branch_has_a_line() -> None:
    fold = folded(*run_of(2, NodeEnded("main/parallel/2.squad", "passed", "", 1.0)))
    seen = view(fold, Budget(), 100.0)
    assert [(line.name, line.state, line.score, line.spent) for line in seen.lines] == [
        ("main/parallel/1.squad", "running", "", "$2.50, 15k tokens"),
        ("main/parallel/2.squad", "passed", "1", "$2.50, 15k tokens"),
    ]


def test_above_twenty_branches_only_their_states_are_counted() -> None:
    fold = folded(*run_of(21, NodeEnded("main/parallel/2.squad", "passed", "", 1.0)))
    assert [(line.name, line.state, line.spent) for line in view(fold, Budget(), 0.0).lines] == [
        ("20 branches", "running", "$50.00, 300k tokens"),
        ("1 branch", "passed", "$2.50, 15k tokens"),
    ]


def test_a_budget_is_a_bar_and_its_unit_is_not_said_twice() -> None:
    fold = folded(*run_of(2))
    seen = view(fold, Budget(usd=10_000_000, tokens=60_000, seconds=600.0), 112.0)
    assert [(bar.used, bar.cap, bar.text) for bar in seen.bars] == [
        (5_000_000, 10_000_000, "$5.00 of $10.00"),
        (30_000, 60_000, "30k of 60k tokens"),
    ]
    assert seen.total == "12s of 10m00s, 2 calls"


def test_everything_fits_on_one_line() -> None:
    fold = folded(*run_of(2, Improved("main/parallel/1.squad", 0.5, True, "x")))
    assert one_line(fold, Budget(), 112.0) == (
        "12s, 2 calls, $5.00, 30k tokens  2 running  best 0.5 (passed)"
        "  main/parallel/2.squad: r1.m1 asks fast"
    )


def test_the_line_does_not_tell_of_a_branch_that_has_ended() -> None:
    fold = folded(*run_of(2, NodeEnded("main/parallel/2.squad", "passed", "", 1.0)))
    assert one_line(fold, Budget(), 112.0) == (
        "12s, 2 calls, $5.00, 30k tokens  1 running, 1 passed"
    )


def test_what_a_model_or_server_says_cannot_move_the_cursor() -> None:
    failed = CallFailed(
        "main/parallel/1.squad/r1.m1",
        2,
        "main",
        "server",
        "\x1b[2J[red]\nno",
        SPENT,
        Usage(),
        True,
        1,
    )
    console = Console(file=io.StringIO(), force_terminal=True, width=120, markup=False)
    console.print(render(view(folded(*run_of(1, failed)), Budget(usd=1), 100.0)))
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "\x1b[2J" not in text
    assert "\\x1b[2J[red] no" in text


def test_without_a_terminal_a_line_comes_every_ten_seconds_of_work() -> None:
    fold = Fold()
    console = Console(file=io.StringIO(), width=40)
    lines = Lines(console, fold, Budget())
    for number in range(35):
        stamped = Stamped(number, 100.0 + number, NodeStarted(f"main/{number}", "agent", "a"))
        fold.add(stamped)
        lines.seen(stamped)
    assert isinstance(console.file, io.StringIO)
    printed = console.file.getvalue().splitlines()
    assert [line.split("  ")[1] for line in printed] == ["11 running", "21 running", "31 running"]


class Gone(io.StringIO):
    """A terminal whose window was closed."""

    def write(self, text: str, /) -> int:
        raise OSError(5, "Input/output error")


def test_a_terminal_that_is_gone_ends_no_run() -> None:
    bare = Lines(Console(file=Gone(), width=40), Fold(), Budget())
    screen = Sturdy(Lines(Console(file=Gone(), width=40), Fold(), Budget()))
    first, later = (
        Stamped(number, time, NodeStarted("main/a", "agent", "a"))
        for number, time in ((0, 100.0), (1, 120.0))
    )
    bare.seen(first)
    with pytest.raises(OSError, match="Input/output"):
        bare.seen(later)
    for stamped in (first, later, later):
        screen.seen(stamped)
    screen.tick()
    screen.close()
