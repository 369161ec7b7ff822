"""What other programs rely on: the JSON of `check`, `run` and `resume`, `--events`, and the exit codes.

Against a real loopback server, so that nothing between the command and the wire is left out.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from podium.engine.event import kind_of
from podium.engine.fates import FATES
from podium.engine.shell.cli import main
from podium.engine.shell.doors import Doors
from podium.engine.shell.exits import Exit
from podium.engine.store import Store
from podium.engine.testing.server import Answer, FakeServer, Seen, always, in_thread, json_answer

PROGRAM = '''
model small {{ endpoint = openai("", base_url = "{url}"){price} }}
role writer {{ prompt = """{{{{ task.statement }}}}"""  max_output = 20 tokens }}
task hello {{ statement = "Say something."  verify = contains("reply") }}
run main {{
  task   = hello
  flow   = parallel(2) of team(2, members = [2 of writer], rounds = 1) -> best
  budget = [$1, 100k tokens, 60 calls, 2m]
}}
run one {{ task = hello, flow = writer, budget = [100k tokens] }}
run free {{ flow = writer, task = open, budget = [100k tokens] }}
task open {{ statement = "Say anything." }}
'''
PRICE = ", price = {{ input = $2 per 1M tokens, cached = $1 per 1M tokens, output = $10 per 1M tokens }}"
USAGE = {
    "prompt_tokens": 10,
    "completion_tokens": 5,
    "total_tokens": 15,
    "prompt_tokens_details": {"cached_tokens": 4},
    "completion_tokens_details": {"reasoning_tokens": 3},
}
POSITION = {"line", "column"}
SPENT = ["usd", "rent_usd", "calls", "tokens", "tries", "unknown_calls", "bounds"]
TOKENS = ["total", "input", "fresh", "cached", "cache_write", "output", "reasoning"]
RESULT = [
    *("schema", "run", "outcome", "reason", "resumable", "answer", "score", "passed"),
    *("artifacts", "baseline", "problems", "suspected", "measured_again", "sandbox"),
    *("seconds", "spent", "budget", "held", "failures", "early", "nodes", "store"),
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def server(folder: Path) -> Iterator[FakeServer]:
    """Answers "reply"; the program that uses it is hello.team."""
    with in_thread(FakeServer(always(Answer(text="reply", usage=USAGE)))) as server:
        write(server)
        yield server


def write(server: FakeServer, price: str = "") -> None:
    Path("hello.team").write_text(PROGRAM.format(url=server.url, price=price.format()))


def podium(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), obj=Doors(environ={}))


# --- check ---------------------------------------------------------------------------------------


def problems(text: str) -> list[dict[str, Any]]:
    """What `check --json` says of text, which `run --json` must say too; its code follows from it."""
    Path("a.team").write_text(text, newline="")
    result = podium("check", "a.team", "--json")
    shown = json.loads(result.stdout)
    assert (list(shown), shown["schema"], result.stderr) == (["schema", "problems"], 1, "")
    wrong = any(problem["severity"] == "error" for problem in shown["problems"])
    assert result.exit_code == (Exit.USAGE if wrong else Exit.PASSED)
    if wrong:
        ran = podium("run", "a.team", "--json")
        assert (ran.exit_code, ran.stdout, ran.stderr) == (Exit.USAGE, result.stdout, "")
    found: list[dict[str, Any]] = shown["problems"]
    return found


def test_every_problem_has_exactly_the_keys_of_the_contract() -> None:
    found = problems("modle x {}\nrun main { flow = parallell(2) of agent }\nflow a = nobody\n")
    assert len(found) >= 3
    for problem in found:
        assert list(problem) == [
            *("code", "severity", "message", "file", "start", "end", "help", "edits")
        ]
        assert problem["file"] == "a.team"
        assert (set(problem["start"]), set(problem["end"])) == (POSITION, POSITION)
        assert all(set(edit) == {"start", "end", "new"} for edit in problem["edits"])


@pytest.mark.parametrize("break_", ["\n", "\r\n"])
def test_lines_and_columns_count_from_1_in_code_points(break_: str) -> None:
    before = 'task t { statement = "\U0001f980e\u0301\u00df\t"   verify = '
    (problem,) = problems(f"## \U0001f980{break_}{before}nobodi(1) }}{break_}")
    assert problem["start"] == {"line": 2, "column": len(before) + 1}
    assert problem["end"] == {"line": 2, "column": len(before) + 1 + len("nobodi")}


def test_an_edit_that_is_offered_mends_the_text() -> None:
    text = '## \U0001f980\nrun main { task = t, flow = agnet, budget = [$1] }\ntask t { statement = "x" }\n'
    (problem,) = problems(text)
    (edit,) = problem["edits"]
    lines = text.split("\n")
    row, start, end = edit["start"]["line"] - 1, edit["start"]["column"], edit["end"]["column"]
    lines[row] = lines[row][: start - 1] + edit["new"] + lines[row][end - 1 :]
    assert problems("\n".join(lines)) == []


def test_warnings_alone_are_exit_0() -> None:
    found = problems('role unused { prompt = """x""" }\nrun main { flow = agent, budget = [$1] }\n')
    assert {problem["severity"] for problem in found} == {"warning"}


@pytest.mark.parametrize("raw", [None, b"\xff", b"#" * 1_000_001], ids=["absent", "bytes", "long"])
def test_a_text_that_cannot_be_had_is_a_problem_like_any_other(raw: bytes | None) -> None:
    if raw is not None:
        Path("b.team").write_bytes(raw)
    result = podium("check", "b.team", "--json")
    (problem,) = json.loads(result.stdout)["problems"]
    assert (result.exit_code, problem["code"], problem["file"]) == (2, "E104", "b.team")
    assert problem["start"] == {"line": 1, "column": 1}
    assert podium("run", "b.team", "--json").stdout == result.stdout


def test_a_budget_too_small_for_one_call_is_such_a_problem(server: FakeServer) -> None:
    result = podium("run", "hello.team", "one", "--max-tokens", "20", "--json")
    (problem,) = json.loads(result.stdout)["problems"]
    assert (result.exit_code, problem["code"], problem["severity"]) == (2, "E311", "error")
    assert server.started == 0


# --- run and resume ------------------------------------------------------------------------------


def check_result(shown: dict[str, Any]) -> None:
    """The exact keys and types of the one object."""
    assert list(shown) == RESULT
    assert shown["schema"] == 1
    spent = [shown["spent"], *(node["spent"] for node in shown["nodes"])]
    assert all(list(one) == SPENT and list(one["tokens"]) == TOKENS for one in spent)
    assert list(shown["budget"]) == ["usd", "tokens", "calls", "seconds"]
    nodes = shown["nodes"]
    assert all(list(node) == ["address", "kind", "outcome", "reason", "spent"] for node in nodes)
    assert len({node["address"] for node in nodes}) == len(nodes)
    assert (type(shown["held"]), type(shown["resumable"])) == (int, bool)


def test_the_result_of_a_run_is_one_object_with_the_sums_of_the_server(server: FakeServer) -> None:
    write(server, PRICE)
    result = podium("run", "hello.team", "--json", "--store", "deep/er/runs.db")
    assert result.exit_code == 0, result.stderr
    shown = json.loads(result.stdout)
    check_result(shown)
    calls = len(server.calls)
    assert (shown["outcome"], shown["answer"], shown["score"]) == ("passed", "reply", 1)
    assert (shown["passed"], shown["resumable"], shown["held"]) == (True, False, 0)
    assert shown["store"] == "deep/er/runs.db"
    assert shown["budget"] == {"usd": 1, "tokens": 100_000, "calls": 60, "seconds": 120}
    kinds = {"total": 15, "input": 10, "fresh": 6, "cached": 4, "cache_write": 0, "output": 5}
    tokens = {kind: count * calls for kind, count in {**kinds, "reasoning": 3}.items()}
    assert list(shown["spent"]["tries"]) == list(FATES)
    assert sum(shown["spent"]["tries"].values()) == calls
    usd = calls * (6 * 2 + 4 * 1 + 5 * 10) / 1e6
    assert shown["spent"] == {
        "usd": pytest.approx(usd),
        "rent_usd": 0,
        "calls": calls,
        "tokens": tokens,
        "tries": shown["spent"]["tries"],
        "unknown_calls": 0,
        "bounds": {"usd": 0, "tokens": 0},
    }
    assert shown["nodes"][0]["spent"] == shown["spent"]


def test_resume_prints_the_same_object_and_only_what_was_in_flight_is_paid_again(
    folder: Path,
) -> None:
    def script(seen: Seen) -> Answer:
        if len(server.calls) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return Answer(text="reply", usage=USAGE)

    with in_thread(FakeServer(script)) as server:
        write(server)
        first = podium("run", "hello.team", "--json")
        before = json.loads(first.stdout)
        check_result(before)
        assert (first.exit_code, before["outcome"]) == (Exit.INTERRUPTED, "paused")
        assert (before["reason"], before["resumable"], before["held"]) == ("user", True, 0)
        second = podium("resume", before["run"], "--json")
    after = json.loads(second.stdout)
    check_result(after)
    assert (second.exit_code, after["outcome"], after["run"]) == (0, "passed", before["run"])
    assert after["spent"]["calls"] == len(server.calls) == 6
    assert after["spent"]["tokens"]["input"] == 60
    assert json.loads(podium("show", after["run"], "--json").stdout) == {**after, "notes": []}


# --- events --------------------------------------------------------------------------------------


def events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_events_are_written_in_order_as_they_happen(folder: Path) -> None:
    path = folder / "e.jsonl"
    seen_by_then: list[int] = []

    def script(seen: Seen) -> Answer:
        told = events(path.read_text())
        seen_by_then.append(sum(event["kind"] == "call_intended" for event in told))
        return Answer(text="reply")

    with in_thread(FakeServer(script)) as server:
        write(server)
        assert podium("run", "hello.team", "--events", "e.jsonl").exit_code == 0
    # Each call's intent could be read when the call arrived.
    assert len(seen_by_then) == 6
    assert all(count > number for number, count in enumerate(seen_by_then))
    told = events(path.read_text())
    assert [event["number"] for event in told] == list(range(len(told)))
    assert all(list(event)[:3] == ["number", "time", "kind"] for event in told)
    assert [event["time"] for event in told] == sorted(event["time"] for event in told)
    assert (told[0]["kind"], told[-1]["kind"]) == ("run_started", "run_ended")
    with closing(Store.open(folder / ".podium" / "runs.db")) as store:
        stored = list(store.events(store.runs()[0].id))
    assert [(e["number"], e["time"], e["kind"]) for e in told] == [
        (s.number, s.time, kind_of(s.event)) for s in stored
    ]
    open_: set[tuple[str, int]] = set()
    for event in told:
        if event["kind"] == "call_intended":
            open_.add((event["address"], event["try"]))
        if event["kind"] in ("call_answered", "call_failed"):
            open_.remove((event["address"], event["try"]))
    assert open_ == set()


def test_events_of_a_resumed_run_are_all_of_it(folder: Path) -> None:
    def script(seen: Seen) -> Answer:
        if len(server.calls) == 1:
            os.kill(os.getpid(), signal.SIGINT)
        return Answer(text="reply")

    with in_thread(FakeServer(script)) as server:
        write(server)
        podium("run", "hello.team", "--events", "first.jsonl")
        assert podium("resume", "--events", "second.jsonl").exit_code == 0
    first, second = (events(Path(f"{name}.jsonl").read_text()) for name in ("first", "second"))
    assert second[: len(first)] == first
    assert [event["number"] for event in second] == list(range(len(second)))
    assert [event["kind"] for event in second].count("run_started") == 2


# --- exit codes ----------------------------------------------------------------------------------

LONG = Answer(text="no", usage={"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30})
REFUSED = json_answer({"error": {"message": "bad key", "code": "invalid_api_key"}}, status=401)


@pytest.mark.parametrize(
    ("code", "answer", "words"),
    [
        (Exit.PASSED, Answer(text="reply"), ["one"]),
        (Exit.PASSED, Answer(text="anything"), ["free"]),
        (Exit.NOT_PASSED, Answer(text="no"), ["one"]),
        (Exit.USAGE, Answer(), ["none"]),
        (Exit.USAGE, Answer(), ["one", "--max-tokens", "20"]),
        (Exit.EXHAUSTED, LONG, ["main", "--max-tokens", "400"]),
        (Exit.EXHAUSTED, Answer(delay_s=60), ["one", "--max-time", "0.3s"]),
        (Exit.FAILED, REFUSED, ["one"]),
    ],
)
def test_the_exit_code_and_the_json_agree(code: Exit, answer: Answer, words: list[str]) -> None:
    with in_thread(FakeServer(always(answer))) as server:
        write(server)
        result = podium("run", "hello.team", *words, "--json")
    assert result.exit_code == code, result.stdout + result.stderr
    if code != Exit.USAGE:
        shown = json.loads(result.stdout)
        check_result(shown)
        assert shown["held"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGHUP"])
def test_a_signal_is_exit_130_and_the_resume_command(folder: Path, name: str) -> None:
    def script(seen: Seen) -> Answer:
        if len(server.calls) == 1:
            process.send_signal(getattr(signal, name))
        return Answer(text="reply")

    with in_thread(FakeServer(script)) as server:
        write(server)
        code = "from podium.engine.shell.cli import main; main()"
        words = [sys.executable, "-c", code, "run", "hello.team", "--json"]
        environ = {"PATH": os.environ["PATH"]}
        with subprocess.Popen(
            words, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            out, err = process.communicate(timeout=30)
    assert process.returncode == Exit.INTERRUPTED, err
    shown = json.loads(out)
    check_result(shown)
    assert (shown["outcome"], shown["resumable"], shown["held"]) == ("paused", True, 0)
    assert f"podium resume {shown['run']}" in err


def test_a_run_that_could_not_begin_is_an_object_too(folder: Path) -> None:
    (folder / "hello.team").write_text(PROGRAM.format(url="http://127.0.0.1:1", price=""))
    ended = CliRunner().invoke(main, ["run", "hello.team", "--json"])
    assert ended.exit_code == Exit.FAILED
    shown = json.loads(ended.stdout)
    assert list(shown) == RESULT
    assert (shown["run"], shown["outcome"], shown["resumable"]) == (None, "failed", False)
    assert "127.0.0.1:1" in shown["reason"]
    assert shown["reason"] in ended.stderr
