"""The commands on real files, with the real engine and a scripted client in the place of servers."""

import json
import os
import re
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from podium.engine.call import CallError, ModelCall, Usage
from podium.engine.run import Engine
from podium.engine.shell.cli import main
from podium.engine.shell.doors import Doors
from podium.engine.shell.exits import Exit
from podium.engine.testing.scripted import Fail, Say, Script, ScriptedClient

SUM = '''edition 2026

## What is asked.
param question: text = "What is 2 + 2?"
param teams: int(1 to 9) = 2

model m { endpoint = openai("m", base_url = "http://127.0.0.1:9/v1"), price = none }

task sum {
  statement = """{{ question }}"""
  verify    = number(4)
}

run main { task = sum, flow = parallel(teams) of team(2, rounds = 1) -> best, budget = [50k tokens] }

run one { task = sum, flow = agent, budget = [50k tokens] }
'''
RIGHT: Script = {"": "It is 4."}
WRONG: Script = {"": "It is 5."}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, made the current one, with sum.team in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sum.team").write_text(SUM)
    return tmp_path


def podium(
    *words: str,
    script: Script = RIGHT,
    environ: Mapping[str, str] | None = None,
    given: str | bytes | None = None,
) -> Result:
    """One command, its model calls answered by script."""
    client = ScriptedClient(script)
    doors = Doors(
        engine=lambda store: Engine(store, client=client, environ={}), environ=environ or {}
    )
    return CliRunner().invoke(main, list(words), obj=doors, input=given)


# --- check and fmt -----------------------------------------------------------------------------


def test_a_right_program_checks_in_silence_on_stdout() -> None:
    result = podium("check", "sum.team")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "no mistakes" in result.stderr


def test_a_wrong_program_is_reported_and_exit_2(folder: Path) -> None:
    (folder / "bad.team").write_text("run main { flow = parallel(2 of agent }\n")
    result = podium("check", "bad.team")
    assert result.exit_code == Exit.USAGE
    assert re.search(r"error\[[A-Z]\d+\]", result.stderr)
    assert "bad.team:1:" in result.stderr


def test_problems_as_json_keep_their_contract(folder: Path) -> None:
    (folder / "bad.team").write_text("modle x {}\nrun main { flow = nobody }\n")
    checked = podium("check", "bad.team", "--json")
    assert checked.exit_code == Exit.USAGE
    shown = json.loads(checked.stdout)
    assert shown["schema"] == 1
    assert {"code", "severity", "message", "file", "start", "end", "help", "edits"} <= set(
        shown["problems"][0]
    )
    ran = podium("run", "bad.team", "--json")
    assert (ran.exit_code, json.loads(ran.stdout)) == (Exit.USAGE, shown)


def test_no_problems_as_json_is_an_empty_list() -> None:
    result = podium("check", "sum.team", "--json")
    assert (result.exit_code, json.loads(result.stdout)) == (0, {"schema": 1, "problems": []})


DEEP = "run main { flow = " + "(" * 10_000 + "agent" + ")" * 10_000 + " }\n"


@pytest.mark.parametrize("command", ["check", "run", "fmt", "graph"])
@pytest.mark.parametrize(
    ("text", "word"),
    [
        (b"\xff\xfe", "UTF-8"),
        (b"#" * 10_000_000, "longer than a program may be"),
        (DEEP.encode(), "bad.team"),
    ],
    ids=["not UTF-8", "10 MB", "10,000 levels deep"],
)
def test_bad_text_is_exit_2_with_a_message(
    folder: Path, command: str, text: bytes, word: str
) -> None:
    (folder / "bad.team").write_bytes(text)
    result = podium(command, "bad.team")
    assert result.exit_code == Exit.USAGE
    assert word in result.stderr
    assert len(result.stderr) < 3_000


@pytest.mark.parametrize("command", ["check", "run", "fmt", "graph"])
def test_a_missing_file_is_exit_2_with_a_message(command: str) -> None:
    result = podium(command, "gone.team")
    assert result.exit_code == Exit.USAGE
    assert 'podium: there is no file "gone.team"' in result.stderr


def test_an_empty_file_has_nothing_to_run(folder: Path) -> None:
    (folder / "empty.team").write_text("")
    assert podium("check", "empty.team").exit_code == 0
    result = podium("run", "empty.team")
    assert result.exit_code == Exit.USAGE
    assert "no run" in result.stderr


def test_fmt_changes_the_file_once(folder: Path) -> None:
    path = folder / "ugly.team"
    path.write_text("edition 2026\nrun   main{flow=agent}\n")
    assert podium("fmt", "--check", "ugly.team").exit_code == Exit.NOT_PASSED
    assert path.read_text() == "edition 2026\nrun   main{flow=agent}\n"
    diff = podium("fmt", "--diff", "ugly.team")
    assert diff.exit_code == Exit.NOT_PASSED
    assert "-run   main{flow=agent}\n" in diff.stdout
    assert podium("fmt", "ugly.team").exit_code == 0
    assert path.read_text() != "edition 2026\nrun   main{flow=agent}\n"
    assert podium("fmt", "--check", "ugly.team").exit_code == 0


def test_fmt_of_standard_input_goes_to_standard_output() -> None:
    result = podium("fmt", "-", given="run   main{flow=agent}\n")
    assert result.exit_code == 0
    assert result.stdout.startswith("run main {")


def test_fmt_leaves_what_it_cannot_read(folder: Path) -> None:
    (folder / "bad.team").write_text("run main {\n")
    assert podium("fmt", "bad.team", "sum.team").exit_code == Exit.USAGE
    assert (folder / "bad.team").read_text() == "run main {\n"


def test_colour_is_for_those_who_ask_for_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "bad.team").write_text("run main {\n")
    assert "\x1b[" not in podium("check", "bad.team").stderr
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in podium("check", "bad.team").stderr
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in podium("check", "bad.team").stderr


# --- run ---------------------------------------------------------------------------------------


def test_the_answer_alone_is_on_stdout_and_passing_is_exit_0() -> None:
    result = podium("run", "sum.team", "one")
    assert (result.exit_code, result.stdout) == (0, "It is 4.\n")
    for part in ("Passed, score 1", "total", "in .podium/runs.db", "Next: podium show"):
        assert part in result.stderr


def test_not_passing_is_exit_1() -> None:
    result = podium("run", "sum.team", "one", script=WRONG)
    assert (result.exit_code, result.stdout) == (Exit.NOT_PASSED, "It is 5.\n")


def test_the_result_as_json_keeps_its_contract() -> None:
    result = podium("run", "sum.team", "--json")
    assert result.exit_code == 0
    shown = json.loads(result.stdout)
    keys = (
        "schema run outcome reason resumable answer score passed artifacts baseline problems suspected"
        " measured_again sandbox seconds spent budget held"
        " failures early nodes"
    )
    assert " ".join(shown) == f"{keys} store"
    assert (shown["outcome"], shown["passed"], shown["held"]) == ("passed", True, 0)
    assert shown["budget"]["tokens"] == 50_000
    assert shown["spent"]["calls"] >= 4
    assert shown["spent"]["usd"] == 0
    kinds = {node["address"]: node["kind"] for node in shown["nodes"]}
    assert sorted(kind for kind in kinds.values() if kind == "team") == ["team", "team"]
    again = podium("show", shown["run"], "--json")
    assert json.loads(again.stdout) == {**shown, "notes": []}


def test_an_expression_runs_on_a_task_of_the_file() -> None:
    result = podium(
        "run",
        "sum.team",
        "-e",
        "parallel(2) of agent -> vote",
        "--task",
        "sum",
        "--model",
        "http://127.0.0.1:9/v1#big",
        "--max-tokens",
        "50k",
    )
    assert (result.exit_code, result.stdout) == (0, "It is 4.\n"), result.stderr


def test_the_only_program_of_the_folder_needs_no_name() -> None:
    assert podium("run").exit_code == 0


def test_a_program_can_come_from_standard_input() -> None:
    assert podium("run", "-", "one", given=SUM).stdout == "It is 4.\n"


def asked(*words: str, environ: Mapping[str, str] | None = None) -> list[str]:
    """The prompts that were sent."""
    client = ScriptedClient(RIGHT)
    doors = Doors(lambda store: Engine(store, client=client, environ={}), environ or {})
    result = CliRunner().invoke(main, list(words), obj=doors)
    assert result.exit_code == 0, result.stderr
    return ["\n".join(message.content for message in call.messages) for call in client.seen]


def test_parameters_come_from_set_then_the_file_then_the_environment(folder: Path) -> None:
    (folder / "p.toml").write_text('question = "What is 1 + 3?"\n')
    environ = {"PODIUM_PARAM_question": "What is 8 / 2?", "PODIUM_PARAM_teams": "1"}
    assert "8 / 2" in asked("run", "sum.team", "one", environ=environ)[0]
    assert "1 + 3" in asked("run", "sum.team", "one", "--params", "p.toml", environ=environ)[0]
    words = ("run", "sum.team", "one", "--params", "p.toml", "--set", "question=What is 5 - 1?")
    assert "5 - 1" in asked(*words, environ=environ)[0]
    assert len(asked("run", "sum.team", "--set", "teams=1")) < len(asked("run", "sum.team"))


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--set", "teams=99"], "teams"),
        (["--set", "nothing=1"], "nothing"),
        (["--set", "teams"], "NAME=VALUE"),
        (["--max-tokens", "2m"], "capital M"),
        (["--model", "m"], "neither a URL"),
        (["--model", "other=http://127.0.0.1:9/v1"], "no model other"),
        (["--price", "free"], "--price goes with --model"),
        (["--allow", "door:x"], "KIND:PATTERN"),
        (["--task", "nothing"], "nothing"),
        (["--events", "no/folder/e.jsonl"], "cannot write"),
        (["nobody"], "nobody"),
    ],
)
def test_a_wrong_use_is_exit_2_and_nothing_is_sent(words: list[str], part: str) -> None:
    client = ScriptedClient(RIGHT)
    doors = Doors(lambda store: Engine(store, client=client, environ={}), {})
    result = CliRunner().invoke(main, ["run", "sum.team", *words], obj=doors)
    assert result.exit_code == Exit.USAGE, result.stderr
    assert part in result.stderr
    assert client.seen == []


def test_a_cap_that_ends_the_run_is_exit_3_and_keeps_the_best() -> None:
    long = Say("It is 5.", usage=Usage(input=100, output=1_900))
    result = podium("run", "sum.team", "--max-tokens", "5000", "--json", script={"": long})
    assert result.exit_code == Exit.EXHAUSTED, result.stderr
    shown = json.loads(result.stdout)
    assert shown["budget"]["tokens"] == 5000
    assert shown["spent"]["tokens"]["output"] == 3_800
    assert shown["answer"] == "It is 5."


def test_a_server_that_is_down_is_exit_4() -> None:
    down = Fail(CallError("credentials", "the key is refused by http://127.0.0.1:9/v1"))
    result = podium("run", "sum.team", "one", script={"": down})
    assert result.exit_code == Exit.FAILED
    assert "the key is refused" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("endpoint", "word"),
    [
        ('base_url = "http://127.0.0.1:1/v1"', "127.0.0.1"),
        ('base_url = "http://127.0.0.1:1/v1", key = env("NO_SUCH_KEY")', "NO_SUCH_KEY"),
    ],
)
def test_an_endpoint_that_cannot_be_used_is_exit_4_at_once(
    folder: Path, endpoint: str, word: str
) -> None:
    text = SUM.replace('base_url = "http://127.0.0.1:9/v1"', endpoint)
    (folder / "down.team").write_text(text)
    doors = Doors(environ={})
    words = ["run", "down.team", "one", "--allow", "env:NO_SUCH_KEY"]
    result = CliRunner().invoke(main, words, obj=doors)
    assert result.exit_code == Exit.FAILED, result.stderr
    assert word in result.stderr
    assert "Traceback" not in result.stderr


def test_a_price_that_nobody_knows_is_null_and_stays_so_when_shown(folder: Path) -> None:
    (folder / "far.team").write_text(SUM.replace("http://127.0.0.1:9", "https://far.test"))
    text = (folder / "far.team").read_text().replace(", price = none", "")
    (folder / "far.team").write_text(text)
    result = podium("run", "far.team", "one", "--allow", "host:far.test", "--json")
    assert result.exit_code == 0, result.stderr
    shown = json.loads(result.stdout)
    assert shown["spent"]["usd"] is None
    assert json.loads(podium("show", shown["run"], "--json").stdout) == {**shown, "notes": []}
    assert "unknown" in podium("show", shown["run"]).stdout


def test_events_and_the_best_answer_are_written(folder: Path) -> None:
    podium("run", "sum.team", "--events", "e.jsonl", "--out", "out", "--quiet")
    lines = [json.loads(line) for line in (folder / "e.jsonl").read_text().splitlines()]
    assert [line["number"] for line in lines] == list(range(len(lines)))
    assert all(list(line)[:3] == ["number", "time", "kind"] for line in lines)
    assert (lines[0]["kind"], lines[-1]["kind"]) == ("run_started", "run_ended")
    assert (folder / "out" / "answer.txt").read_text() == "It is 4."


def test_quiet_says_nothing_of_a_run_that_passed() -> None:
    result = podium("run", "sum.team", "--quiet")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "It is 4.\n", "")


def test_help_of_a_file_lists_its_parameters_with_their_documentation() -> None:
    text = podium("run", "sum.team", "--help").stdout
    assert "Parameters of sum.team" in text
    assert 'question: text = "What is 2 + 2?"' in text
    assert "What is asked." in text


def test_the_newcomer_is_told_what_one_agent_and_the_best_team_are_worth() -> None:
    err = podium("run", "sum.team").stderr
    assert "One agent" in err
    assert re.search(r"The best team(?: of 2)? scored 1 and cost \$0\.00, ", err)


# --- resume, verify, graph ---------------------------------------------------------------------


def test_a_run_that_ended_cannot_be_resumed() -> None:
    podium("run", "sum.team", "one")
    result = podium("resume")
    assert result.exit_code == Exit.USAGE
    assert "every run here has ended" in result.stderr


def test_a_run_that_was_interrupted_is_taken_up_and_pays_nothing_twice() -> None:
    sent: list[str] = []

    def script(call: ModelCall) -> str:
        sent.append(call.address)
        if len(sent) == 1:
            os.kill(os.getpid(), signal.SIGINT)
        return "It is 4."

    first = podium("run", "sum.team", "--set", "teams=1", script=script)
    assert first.exit_code == Exit.INTERRUPTED, first.stderr
    assert "Stopping" in first.stderr
    (run,) = re.findall(r"Next: podium resume (\S+)", first.stderr)
    answered = set(sent)
    second = podium("resume", run, script=script)
    assert (second.exit_code, second.stdout) == (0, "It is 4.\n"), second.stderr
    assert len(sent) == len(set(sent)) == 3
    assert answered < set(sent)


def test_what_was_allowed_at_the_start_is_allowed_when_taken_up(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (folder / "py.team").write_text(SUM.replace("number(4)", 'python("own_checks:right")'))
    (folder / "own_checks.py").write_text("def right(attempt, task):\n    return True\n")

    def script(call: ModelCall) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        return "It is 4."

    first = podium("run", "py.team", "--allow", "python:own_checks:*", script=script)
    assert first.exit_code == Exit.INTERRUPTED, first.stderr
    second = podium("resume")
    assert (second.exit_code, second.stdout) == (0, "It is 4.\n"), second.stderr
    assert second.stderr.startswith("Taking up run ")


def test_an_expression_is_taken_up_too() -> None:
    def script(call: ModelCall) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        return "It is 4."

    words = ["run", "-e", "team(2, rounds = 1)", "--task", "words", "--max-tokens", "50k"]
    first = podium(*words, "--model", "http://127.0.0.1:9/v1", script=script)
    assert first.exit_code == Exit.INTERRUPTED, first.stderr
    assert podium("resume").exit_code == Exit.NOT_PASSED


def test_resume_without_a_store_is_said() -> None:
    result = podium("resume")
    assert result.exit_code == Exit.USAGE
    assert "there is no store" in result.stderr


@pytest.mark.parametrize(("answer", "code"), [("4", 0), ("5", 1)])
def test_an_answer_is_judged_without_a_run(folder: Path, answer: str, code: int) -> None:
    (folder / "a.txt").write_text(answer)
    result = podium("verify", "sum.team", "sum", "--answer", "a.txt")
    assert result.exit_code == code, result.stderr
    shown = json.loads(podium("verify", "sum.team", "sum", "--answer", "a.txt", "--json").stdout)
    assert shown["passed"] is (code == 0)


def test_a_verifier_that_fails_is_exit_4(folder: Path) -> None:
    text = SUM.replace("number(4)", 'python("no.such:thing")')
    (folder / "py.team").write_text(text)
    (folder / "a.txt").write_text("4")
    words = ["verify", "py.team", "sum", "--answer", "a.txt"]
    assert podium(*words).exit_code == Exit.USAGE
    result = podium(*words, "--allow", "python:no.such:thing")
    assert result.exit_code == Exit.FAILED
    assert "no verdict" in result.stderr


def test_verifying_asks_neither_for_a_budget_nor_for_the_models_host(folder: Path) -> None:
    paid = SUM.replace("http://127.0.0.1:9/v1", "https://far.example/v1").replace(
        "price = none", "price = { input = $1 per 1M tokens, output = $2 per 1M tokens }"
    )
    assert paid.count("far.example") == paid.count("per 1M tokens, output") == 1
    (folder / "paid.team").write_text(paid)
    (folder / "a.txt").write_text("4")
    result = podium("verify", "paid.team", "sum", "--answer", "a.txt")
    assert (result.exit_code, result.stderr) == (0, "")


def test_verifying_what_is_not_there_is_exit_2(folder: Path) -> None:
    assert podium("verify", "sum.team", "sum", "--answer", "gone").exit_code == Exit.USAGE
    (folder / "a.txt").write_text("4")
    result = podium("verify", "sum.team", "product", "--answer", "a.txt")
    assert result.exit_code == Exit.USAGE
    assert "product" in result.stderr


def test_a_flow_is_drawn_both_ways() -> None:
    text = podium("graph", "sum.team")
    assert text.exit_code == 0
    assert text.stdout.startswith("flowchart TD\n")
    assert "parallel(2)" in text.stdout
    picture = podium("graph", "sum.team", "one", "--svg")
    assert picture.stdout.startswith("<svg ")
