"""A verifier of the user's own that cannot be loaded, or that breaks, under `podium run`."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from podium.engine.call import ModelCall
from podium.engine.run import Engine
from podium.engine.shell.cli import main
from podium.engine.shell.doors import Doors
from podium.engine.shell.exits import Exit
from podium.engine.testing.scripted import ScriptedClient

FILE = """
model m {{ endpoint = openai("m", base_url = "http://127.0.0.1:9/v1"), price = none }}
task free {{ statement = "2 + 2?" }}
task sum {{ statement = "2 + 2?", verify = python("{ref}") }}
run main {{ task = sum, flow = parallel(4) of agent -> best, budget = [50k tokens] }}
run ranked {{ task = free, flow = parallel(2) of agent -> best(by = python("{ref}")), budget = [50k tokens] }}
"""
ALLOW = ("--allow", "python:*")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def podium(*words: str) -> tuple[Result, list[ModelCall]]:
    """What the command said, and the calls that it made."""
    asked: list[ModelCall] = []

    def script(call: ModelCall) -> str:
        asked.append(call)
        return f"It is {len(asked)}."

    client = ScriptedClient(script)
    doors = Doors(engine=lambda store: Engine(store, client=client, environ={}), environ={})
    return CliRunner().invoke(main, list(words), obj=doors), asked


@pytest.mark.parametrize("run", ["main", "ranked"])
@pytest.mark.parametrize(
    ("module", "text", "attribute", "said"),
    [
        (
            "none_such",
            None,
            "judge",
            "No module named 'none_such'\"); a module lies beside the program",
        ),
        ("lacks_it", "", "nope", "has no attribute 'nope'"),
        ("has_a_number", "judge = 3\n", "judge", "is no function but int"),
        ("breaks_at_once", "1 / 0\n", "judge", "division by zero"),
    ],
)
def test_a_function_that_cannot_be_loaded_ends_a_run_before_anything_is_paid(
    folder: Path, run: str, module: str, text: str | None, attribute: str, said: str
) -> None:
    (folder / "own.team").write_text(FILE.format(ref=f"{module}:{attribute}"))
    if text is not None:
        (folder / f"{module}.py").write_text(text)
    result, asked = podium("run", "own.team", run, *ALLOW)
    assert (result.exit_code, asked) == (Exit.FAILED, []), result.stderr
    assert said in result.stderr
    assert json.loads(podium("show", "--json")[0].stdout)["runs"] == []


def test_run_and_verify_say_the_same_of_it(folder: Path) -> None:
    (folder / "own.team").write_text(FILE.format(ref="nothing_here:judge"))
    (folder / "a.txt").write_text("4")
    run, _ = podium("run", "own.team", "main", *ALLOW)
    verify, _ = podium("verify", "own.team", "sum", "--answer", "a.txt", *ALLOW)
    assert run.exit_code == verify.exit_code == Exit.FAILED
    assert run.stderr.removeprefix("podium: ") in verify.stderr


def test_a_run_paused_by_its_verifier_says_what_that_said(folder: Path) -> None:
    (folder / "own.team").write_text(FILE.format(ref="that_raises:judge"))
    (folder / "that_raises.py").write_text("def judge(attempt, task):\n    return {}['units']\n")
    result, _ = podium("run", "own.team", "main", *ALLOW, "--json")
    assert result.exit_code == Exit.EXHAUSTED, result.stderr
    shown = json.loads(result.stdout)
    cause, _, message = shown["reason"].partition(": ")
    assert (shown["outcome"], cause, shown["resumable"]) == ("paused", "verifier", True)
    assert "KeyError: 'units'" in message
    assert "that_raises.py, line 2" in message
    assert message in result.stderr
    assert message in podium("show", shown["run"])[0].stdout


def test_a_paused_run_whose_function_is_gone_stays_as_it_is(folder: Path) -> None:
    (folder / "own.team").write_text(FILE.format(ref="that_goes:judge"))
    (folder / "that_goes.py").write_text("def judge(attempt, task):\n    raise ValueError\n")
    first, _ = podium("run", "own.team", "main", *ALLOW, "--json")
    run = json.loads(first.stdout)["run"]
    (folder / "that_goes.py").unlink()
    del sys.modules["that_goes"]
    result, asked = podium("resume", run)
    assert (result.exit_code, asked) == (Exit.FAILED, [])
    assert "No module named 'that_goes'" in result.stderr
    assert (
        json.loads(podium("show", run, "--json")[0].stdout)["reason"]
        == (json.loads(first.stdout)["reason"])
    )
