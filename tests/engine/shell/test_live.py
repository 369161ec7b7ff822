"""Live runs from another shell: detach, ps, watch, pause, stop, topup; and who is told of what happens."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from click.testing import CliRunner, Result

from podium.engine.event import Event, Improved, NodeStarted, RunEnded, RunStarted, Stamped
from podium.engine.shell.cli import main
from podium.engine.shell.doors import Doors
from podium.engine.shell.exits import Exit, ShellError
from podium.engine.shell.notify import Notifier, news_of
from podium.engine.store import RunRecord, Store
from podium.engine.testing.server import Answer, FakeServer, Seen, in_thread

PROGRAM = '''
model small {{ endpoint = openai("", base_url = "{url}") }}
role writer {{ prompt = """{{{{ task.statement }}}}"""  max_output = 20 tokens }}
role mender {{ prompt = """Mend {{{{ attempt.answer }}}}"""  max_output = 20 tokens }}
task hello {{ statement = "Say something."  verify = contains("reply") }}
run main {{
  task         = hello
  flow         = writer -> repeat(100, until = passed) of mender
  budget       = [100k tokens, 5 calls]
  on_exhausted = pause
}}
'''


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def podium(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), obj=Doors(environ={}))


def answer_of(*words: str) -> dict[str, Any]:
    result = podium(*words, "--json")
    assert result.exit_code == 0, result.stderr
    shown: dict[str, Any] = json.loads(result.stdout)
    return shown


@pytest.fixture
def server() -> Iterator[FakeServer]:
    """Answers "no" after a tenth of a second; the program that uses it is hello.team."""

    def script(seen: Seen) -> Answer:
        return Answer(text="no", delay_s=0.1)

    with in_thread(FakeServer(script)) as server:
        Path("hello.team").write_text(PROGRAM.format(url=server.url))
        yield server


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.02)  # another process works meanwhile


def is_live() -> bool:
    return bool(answer_of("ps")["runs"])


@pytest.mark.slow
def test_a_detached_run_is_listed_topped_up_paused_resumed_and_stopped(
    server: FakeServer,
) -> None:
    text = Path("hello.team").read_text()
    Path("hello.team").write_text(text.replace("5 calls", "500 calls"))
    started = answer_of("run", "hello.team", "--detach")
    assert Path(started["log"]) == Path(f".podium/logs/{started['run']}.log")
    [listed] = answer_of("ps")["runs"]
    assert (listed["run"], listed["pid"]) == (started["run"], started["pid"])
    assert answer_of("topup", started["run"], "[10 calls]")["taken"]
    assert answer_of("drain", "elsewhere:8000", started["run"])["taken"]
    back = podium("drain", "http://elsewhere:8000/v1", "--back")
    assert "uses elsewhere:8000 again" in back.stdout
    place = server.url.removeprefix("http://")
    assert "has used no replica elsewhere:8000 so far, but" in back.stderr
    assert place in back.stderr
    assert podium("drain", place, "--back").stderr == ""
    assert answer_of("pause")["taken"]
    until(lambda: not is_live())
    asked = len(server.calls)
    assert podium("watch", started["run"]).exit_code == Exit.EXHAUSTED
    resumed = answer_of("resume", "--detach")
    assert resumed["run"] == started["run"]
    until(lambda: len(server.calls) > asked + 2)
    assert answer_of("stop")["taken"]
    watched = podium("watch", started["run"], "--json")
    assert watched.exit_code == Exit.NOT_PASSED
    shown = json.loads(watched.stdout)
    assert (shown["outcome"], shown["reason"], shown["resumable"]) == ("stopped", "user", False)
    assert (shown["answer"], shown["held"]) == ("no", 0)
    assert shown["budget"]["calls"] == 510
    assert shown["spent"]["calls"] == len(server.calls)


@pytest.mark.slow
def test_a_detached_run_that_cannot_begin_says_why_here(folder: Path) -> None:
    (folder / "wrong.team").write_text("run main { flow = nobody }\n")
    result = podium("run", "wrong.team", "--detach")
    assert result.exit_code == Exit.USAGE
    assert "nobody" in result.stderr
    assert list((folder / ".podium/logs").iterdir()) == []


def test_standard_input_cannot_be_detached() -> None:
    result = podium("run", "-", "--detach")
    assert result.exit_code == Exit.USAGE
    assert "needs a file" in result.stderr


# --- orders --------------------------------------------------------------------------------------


def test_a_paused_run_is_topped_up_and_says_how_to_resume(server: FakeServer) -> None:
    first = podium("run", "hello.team", "--json")
    assert first.exit_code == Exit.EXHAUSTED
    run = json.loads(first.stdout)["run"]
    result = podium("topup", run, "2 calls")
    assert (result.exit_code, result.stdout) == (
        0,
        f"Run {run} has 2 calls more.\nResume: podium resume {run}\n",
    )
    resumed = json.loads(podium("resume", "--json").stdout)
    assert (resumed["outcome"], resumed["spent"]["calls"]) == ("paused", 7)
    assert len(server.calls) == 7


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["topup", "2026-a", "[$5]"], "has ended"),
        (["pause", "2026-a"], "has ended"),
        (["pause", "2026-b"], "nobody runs 2026-b now"),
        (["stop"], "no run of this store is live"),
        (["topup", "2026-b", "five"], "five is no budget; write '[$5"),
        (["topup", "2026-b", "5"], "5 is no budget: a number needs a unit; write '[$5"),
        (["topup", "[$1]"], "no run of this store is live"),
        (["topup", "2026-b"], "2026-b is no budget; write '[$5"),
        (["topup"], "Missing argument '[RUN] BUDGET'"),
        (["topup", "2026-b", "[$1]", "[$2]"], "unexpected extra argument ([$2])"),
        (["topup", "2026-b", "[]"], "nothing to add"),
        (["topup", "2026-b", "[$5]"], "no limit in dollars"),
        (["watch", "2026-b"], "without its text"),
        (["pause", "2026-c"], "there is no run 2026-c"),
    ],
)
@pytest.mark.anyio
async def test_an_order_that_cannot_be_given_says_why(words: list[str], said: str) -> None:
    await two_runs()
    result = podium(*words)
    assert result.exit_code == Exit.USAGE
    assert said in result.stderr


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


async def two_runs() -> None:
    """Run `2026-a`, which ended, and `2026-b`, which died."""
    store = Store.open(Path(".podium/runs.db"), inline=True, clock=lambda: 1000.0)
    ended = store.create(RunRecord("2026-a", "main", 1000.0, ""))
    await ended.end(RunEnded("passed", "", False, "42", 1.0, True, 12.0))
    await ended.close()
    died = store.create(RunRecord("2026-b", "main", 2000.0, ""))
    died.emit(RunStarted(1, 1, "h", "0"))
    await died.close()
    store.close()


def test_without_live_runs_ps_says_so_and_its_json_is_empty() -> None:
    Store.open(Path(".podium/runs.db"), inline=True).close()
    assert "no run is live" in podium("ps").stderr
    assert answer_of("ps") == {"schema": 1, "runs": []}


# --- notify --------------------------------------------------------------------------------------

BETTER = Improved("main/1.writer", 0.5, False, "a \x1b[2J b")


def stamped(event: Event) -> Stamped:
    return Stamped(0, 7.0, event)


def test_what_is_news_and_what_is_not() -> None:
    better = news_of(stamped(BETTER), "r")
    assert better is not None
    assert (better["event"], better["score"], better["address"]) == (
        "improved",
        0.5,
        "main/1.writer",
    )
    paused = news_of(stamped(RunEnded("paused", "budget", True, None, None, None, 3.0)), "r")
    assert paused is not None
    assert (paused["event"], paused["reason"], paused["resumable"]) == ("paused", "budget", True)
    ended = news_of(stamped(RunEnded("passed", "", False, "x", 1.0, True, 3.0)), "r")
    assert ended is not None
    assert (ended["event"], ended["answer"], ended["passed"]) == ("ended", "x", True)
    assert news_of(stamped(NodeStarted("main", "agent", "a")), "r") is None


async def told(command: str, *events: Event, before: Sequence[Event] = ()) -> list[str]:
    said: list[str] = []
    notifier = Notifier(command, "r", said.append)
    for event in before:
        notifier.known(stamped(event))
    async with anyio.create_task_group() as tasks:
        for event in events:
            notifier.seen(stamped(event))
        notifier.close()
        tasks.start_soon(notifier.work)
    return said


APPEND = "import sys; open('told', 'a').write(sys.stdin.read())"


def told_lines() -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path("told").read_text().splitlines()]


@pytest.mark.anyio
async def test_the_command_gets_json_and_of_many_improvements_the_latest() -> None:
    end = RunEnded("passed", "", False, "x", 1.0, True, 3.0)
    first = Improved("main/1.writer", 0.25, False, "worse")
    assert await told(f'{sys.executable} -c "{APPEND}"', first, BETTER, end) == []
    assert [one["event"] for one in told_lines()] == ["ended"]
    assert await told(f'{sys.executable} -c "{APPEND}"', BETTER) == []
    assert told_lines()[-1]["answer"] == "a \x1b[2J b"


@pytest.mark.anyio
async def test_a_life_that_follows_tells_no_improvement_again() -> None:
    better = replace(BETTER, score=0.75)
    command = f'{sys.executable} -c "{APPEND}"'
    assert await told(command, BETTER, better, before=[BETTER]) == []
    assert [one["score"] for one in told_lines()] == [0.75]


@pytest.mark.anyio
async def test_a_command_that_fails_is_said_once_and_disturbs_nothing() -> None:
    end = RunEnded("passed", "", False, "x", 1.0, True, 3.0)
    said = await told("/no/such/command", end, end)
    assert said == ["--notify /no/such/command: No such file or directory"]
    failing = await told(f'{sys.executable} -c "raise SystemExit(3)"', end)
    assert failing == [f"--notify {sys.executable}: ended with code 3"]


@pytest.mark.anyio
async def test_a_command_that_does_not_read_what_it_is_told_breaks_nothing() -> None:
    long = RunEnded("passed", "", False, "x" * 1_000_000, 1.0, True, 3.0)  # more than a pipe holds
    assert await told("true", long) == []
    assert await told("false", long, long) == ["--notify false: ended with code 1"]


@pytest.mark.parametrize("command", ["'", " "])
def test_what_is_no_command_is_refused_before_anything_runs(command: str) -> None:
    with pytest.raises(ShellError, match="notify"):
        Notifier(command, "r", print)


def test_a_run_tells_its_command_of_the_pause(server: FakeServer) -> None:
    Path("append.py").write_text(APPEND)
    words = ("--notify", f"{sys.executable} append.py", "--max-tokens", "50k")
    assert podium("run", "hello.team", *words).exit_code == Exit.EXHAUSTED
    last = told_lines()[-1]
    assert last["event"] == "paused"
    assert last["run"] in podium("show").stdout
