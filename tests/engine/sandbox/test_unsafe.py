"""`--unsafe-sandbox`: asked for by a person, said aloud, and in the result for good."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from podium.engine import Engine
from podium.engine.shell.cli import main
from podium.engine.shell.doors import Doors, Opened
from podium.engine.testing import ScriptedClient

PROGRAM = """
model small { endpoint = openai("small", base_url = "http://127.0.0.1:1") }
task hello { statement = "Say yes."  verify = command("grep", "-qx", "yes", "answer.txt") }
run main { task = hello  flow = agent  budget = [20k tokens] }
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.team").write_text(PROGRAM)
    return tmp_path


def unsafe(store: str) -> Opened:
    return Engine(store, client=ScriptedClient(["yes"]), environ={}, unsafe_sandbox=True)


@pytest.mark.slow
def test_a_run_without_a_sandbox_says_so_at_its_start_its_end_and_in_the_record() -> None:
    doors = Doors(engine=unsafe, environ={})

    ran = CliRunner().invoke(main, ["run", "main.team", "--unsafe-sandbox"], obj=doors)
    asked = CliRunner().invoke(main, ["show"], obj=doors)
    run = asked.stdout.splitlines()[1].split()[0] if asked.exit_code == 0 else ""

    assert ran.exit_code == 0, ran.output
    assert ran.stderr.startswith("UNSAFE: --unsafe-sandbox")
    assert "UNSAFE: programs were started without a sandbox" in ran.stderr
    shown = CliRunner().invoke(main, ["show", run], obj=doors)
    assert "UNSAFE: programs were started without a sandbox" in shown.stdout, asked.output
    told = CliRunner().invoke(main, ["show", run, "--json"], obj=doors)
    assert json.loads(told.stdout)["sandbox"] == "none"


def test_an_answer_is_judged_without_a_sandbox_where_a_person_says_so(folder: Path) -> None:
    (folder / "answer.txt").write_text("yes\n")
    words = ["verify", "main.team", "hello", "--answer", "answer.txt", "--unsafe-sandbox"]

    judged = CliRunner().invoke(main, words, obj=Doors(environ={}))

    assert (judged.exit_code, judged.stdout) == (0, "passed\n"), judged.output
    assert judged.stderr.startswith("UNSAFE")


def test_a_program_that_is_not_there_is_told_before_anything_is_paid(folder: Path) -> None:
    (folder / "main.team").write_text(PROGRAM.replace('"grep"', '"no-such-check"'))

    refused = CliRunner().invoke(
        main, ["run", "main.team", "--unsafe-sandbox"], obj=Doors(engine=unsafe, environ={})
    )

    assert refused.exit_code == 4
    assert "starts `no-such-check`, and the sandbox has no such program" in refused.stderr


def test_without_a_sandbox_the_command_line_refuses_with_exit_code_4(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(tried: list[str]) -> list[str]:
        return []

    monkeypatch.setattr("podium.engine.sandbox.finding._programs", none)
    (folder / "answer.txt").write_text("yes\n")
    words = ["verify", "main.team", "hello", "--answer", "answer.txt"]

    refused = CliRunner().invoke(main, words, obj=Doors(environ={}))

    assert refused.exit_code == 4
    assert "verifier `command`" in refused.stderr
    assert "No sandbox works here" in refused.stderr
