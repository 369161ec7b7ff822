"""One run at the terminal, with a fake run in the place of a real one."""

import json
import os
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.dsl.model import Endpoint, Model
from podium.dsl.program import Agent, Budget, Program, Role, Template
from podium.dsl.source import Place, Source, Span
from podium.engine.call import CallError, Usage
from podium.engine.event import (
    CallFailed,
    CallIntended,
    Event,
    Improved,
    NodeEnded,
    NodeStarted,
    RunEnded,
    RunStarted,
    Stamped,
)
from podium.engine.fold import Fold
from podium.engine.ledger import Amount
from podium.engine.outcome import Paused
from podium.engine.result import RunResult
from podium.engine.shell.ending import conclude
from podium.engine.shell.exits import Exit, ShellError
from podium.engine.shell.session import Ended, RunningRun, Viewing, Watch, carry, translated
from podium.engine.store import StoreError

AT = Place(Source("a.team", ""), Span(0, 0))
PROGRAM = Program(
    "main",
    Agent("poet", AT, Role("poet", Template(()))),
    (),
    {"m": Model("m", (Endpoint("openai", "m"),), price=None)},
    "m",
    budget=Budget(usd=1_000_000),
)
BEGUN: list[Event] = [RunStarted(1, 1, "h", "0"), NodeStarted("main/poet", "agent", "poet")]
FINISHED: list[Event] = [
    Improved("main/poet", None, None, "a haiku\x1b[2J"),
    NodeEnded("main/poet", "finished", ""),
    RunEnded("finished", "", False, "a haiku\x1b[2J", None, None, 3.0),
]
PAUSED = RunEnded("paused", "user", True, None, None, None, 3.0)
ABORTED = RunEnded("cancelled", "", True, None, None, None, 3.0)


@dataclass
class FakeRun:
    """Emits its events, then does what body says. stopped and aborted remember the calls."""

    body: Callable[["FakeRun"], Awaitable[None]]
    id: str = "r1"
    program: Program = PROGRAM
    watchers: list[Callable[[Stamped], None]] = field(
        default_factory=list[Callable[[Stamped], None]]
    )
    events: list[Stamped] = field(default_factory=list[Stamped])
    stopped: anyio.Event = field(default_factory=anyio.Event)
    aborted: anyio.Event = field(default_factory=anyio.Event)

    def past(self) -> list[Stamped]:
        return list(self.events)

    async def written(self) -> None:
        await anyio.lowlevel.checkpoint()

    def emit(self, event: Event) -> None:
        stamped = Stamped(len(self.events), 100.0 + len(self.events), event)
        self.events.append(stamped)
        for watcher in self.watchers:
            watcher(stamped)

    def pause(self, cause: str = "user") -> None:
        self.stopped.set()

    def abort(self) -> None:
        self.aborted.set()

    async def result(self) -> RunResult:
        await self.body(self)
        return RunResult(self.id, Paused("disk"), True, (), 3.0, Path("runs.db"), Fold())


@asynccontextmanager
async def no_engine() -> AsyncGenerator[None, None]:
    yield


def carried(
    body: Callable[[FakeRun], Awaitable[None]],
    viewing: Viewing,
    make: Callable[[], AbstractAsyncContextManager[None]] = no_engine,
) -> Ended:
    async def begin(_: None) -> RunningRun:
        run = FakeRun(body)
        for event in BEGUN:
            run.emit(event)
        return run

    return carry(make, begin, viewing)


async def finish(run: FakeRun) -> None:
    for event in FINISHED:
        run.emit(event)


def test_a_run_whose_end_could_not_be_written_still_says_how_it_ended(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def body(run: FakeRun) -> None:
        pass

    viewing = Viewing("runs.db")
    assert conclude(carried(body, viewing), viewing) == Exit.EXHAUSTED
    assert "Paused (disk), after 3s" in capsys.readouterr().err


def strike() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_the_answer_goes_to_stdout_and_the_rest_to_stderr(
    capsys: pytest.CaptureFixture[str],
) -> None:
    viewing = Viewing("runs.db")
    assert conclude(carried(finish, viewing), viewing) == Exit.PASSED
    out, err = capsys.readouterr()
    assert out == "a haiku\\x1b[2J\n"
    assert "Finished, after 3s" in err
    assert "Run r1 in runs.db" in err
    assert "Next: podium show r1 main/poet" in err
    assert "\x1b[2J" not in err


@pytest.mark.parametrize("calls", [0, 1])
def test_of_a_failed_run_what_failed_comes_before_the_table_and_no_table_has_only_zeros(
    capsys: pytest.CaptureFixture[str], calls: int
) -> None:
    async def fail(run: FakeRun) -> None:
        spent = Amount(calls=calls)
        run.emit(CallIntended("main/poet/1", 0, "r1", "model", "d", spent, "m"))
        run.emit(
            CallFailed("main/poet/1", 0, "r1", "model", "no such model", spent, Usage(), False, 1.0)
        )
        run.emit(NodeEnded("main/poet", "failed", "model: no such model"))
        run.emit(RunEnded("failed", "model: no such model", True, None, None, None, 3.0))

    viewing = Viewing("runs.db")
    conclude(carried(fail, viewing), viewing)
    lines = capsys.readouterr().err.splitlines()
    assert lines[1] == "main/poet failed: model: no such model"
    assert [line.startswith("node") for line in lines].count(True) == calls


def test_quiet_says_nothing_of_a_run_that_went_well(capsys: pytest.CaptureFixture[str]) -> None:
    viewing = Viewing("runs.db", quiet=True)
    conclude(carried(finish, viewing), viewing)
    assert capsys.readouterr().err == ""


def test_json_is_one_object_with_the_exact_answer(capsys: pytest.CaptureFixture[str]) -> None:
    viewing = Viewing("runs.db", as_json=True)
    conclude(carried(finish, viewing), viewing)
    out = capsys.readouterr().out
    assert "\x1b" not in out
    result = json.loads(out)
    assert (result["run"], result["answer"], result["store"]) == ("r1", "a haiku\x1b[2J", "runs.db")


def test_what_happened_before_the_watcher_came_is_in_the_log_too(tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    carried(finish, Viewing("runs.db", events=str(events), out=str(tmp_path / "out"), quiet=True))
    lines = [json.loads(line) for line in events.read_text().splitlines()]
    assert [line["number"] for line in lines] == [0, 1, 2, 3, 4]
    assert lines[0]["kind"] == "run_started"
    assert (tmp_path / "out" / "answer.txt").read_text() == "a haiku\x1b[2J"


def test_one_signal_stops_the_run_and_prints_how_to_resume(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def body(run: FakeRun) -> None:
        strike()
        await run.stopped.wait()
        run.emit(PAUSED)

    viewing = Viewing("runs.db")
    ended = carried(body, viewing)
    assert conclude(ended, viewing) == Exit.INTERRUPTED
    assert "Next: podium resume r1" in capsys.readouterr().err


def test_two_signals_abort_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    async def body(run: FakeRun) -> None:
        strike()
        await run.stopped.wait()
        strike()
        await run.aborted.wait()
        run.emit(ABORTED)

    viewing = Viewing("runs.db", quiet=True)
    assert conclude(carried(body, viewing), viewing) == Exit.INTERRUPTED
    assert "podium resume r1" in capsys.readouterr().err


def test_three_signals_leave_at_once_even_if_the_run_does_not() -> None:
    async def body(run: FakeRun) -> None:
        strike()
        await run.stopped.wait()
        strike()
        await run.aborted.wait()
        strike()
        await anyio.sleep_forever()

    assert carried(body, Viewing("runs.db", quiet=True)).interrupted


def test_a_signal_before_the_run_began_leaves_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    @asynccontextmanager
    async def make() -> AsyncGenerator[None, None]:
        strike()
        await anyio.sleep_forever()
        yield

    viewing = Viewing("runs.db")
    assert conclude(carried(finish, viewing, make), viewing) == Exit.INTERRUPTED
    assert "nothing was sent" in capsys.readouterr().err


@given(st.integers(0, 40), st.data())
def test_a_watcher_passes_on_every_event_once_and_in_order(total: int, data: st.DataObject) -> None:
    events = [Stamped(number, 0.0, NodeStarted("main/a", "agent", "a")) for number in range(total)]
    came = data.draw(st.integers(0, total), label="told of events from this one on")
    lag = data.draw(st.integers(0, total), label="how far reading lies behind")
    on_disk: list[Stamped] = []
    seen: list[Stamped] = []
    watch = Watch(lambda: on_disk, [seen.append])
    for number, event in enumerate(events):
        on_disk = events[: max(0, number - lag)]
        if number == came:
            watch.catch_up()
        if number >= came:
            watch.seen(event)
    on_disk = events
    watch.catch_up()
    assert seen == events


def test_a_server_that_is_down_is_exit_4_and_no_traceback() -> None:
    async def body(run: FakeRun) -> None:
        raise CallError("unreachable", "no connection to http://127.0.0.1:9")

    with pytest.raises(ShellError, match=r"127\.0\.0\.1:9") as caught:
        carried(body, Viewing("runs.db", quiet=True))
    assert caught.value.code == Exit.FAILED


def test_a_store_that_cannot_be_used_is_exit_2_and_a_bug_stays_a_bug() -> None:
    store = translated(StoreError("cannot open the store"))
    assert isinstance(store, ShellError)
    assert store.code == Exit.USAGE
    assert translated(KeyError("x")) is None
