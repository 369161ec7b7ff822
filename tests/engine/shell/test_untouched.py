"""What only looks at a program runs none of its code, and reads no variable that it names."""

import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from podium.engine.shell.cli import main

PROGRAM = """edition 2026

model far {
  endpoint = openai("far", base_url = "https://models.example/v1", key = env("A_SECRET_KEY"))
  price    = { output = $1 per 1M tokens }
}

task sum {
  statement = file("issue.md")
  verify    = python("checks_that_leave_a_mark:score")
}

run main {
  task   = sum
  flow   = parallel(3) of team(2) -> best
  budget = [$5, 200k tokens]
}
"""
CHECKS = """
from pathlib import Path
Path("mark").touch()
def score(attempt, task):
    return True
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose module leaves a mark where it is imported, and whose key is a secret."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("A_SECRET_KEY", "sk-of-nobody")
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "main.team").write_text(PROGRAM)
    (tmp_path / "checks_that_leave_a_mark.py").write_text(CHECKS)
    (tmp_path / "issue.md").write_text("What is 2 + 2?")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "check main.team",
        "check main.team --json",
        "fmt --check main.team",
        "graph main.team",
        "doc main.team",
        "plan main.team",
        "plan main.team --json",
    ],
)
def test_looking_runs_no_code_and_tells_no_secret(folder: Path, command: str) -> None:
    result = CliRunner().invoke(main, command.split())
    assert result.exit_code == 0, result.output
    assert not (folder / "mark").exists()
    assert "checks_that_leave_a_mark" not in sys.modules
    assert os.environ["A_SECRET_KEY"] not in result.output


def test_running_is_refused_before_any_of_it_is_touched(folder: Path) -> None:
    result = CliRunner().invoke(main, ["run", "main.team"])
    assert result.exit_code == 2
    assert not (folder / "mark").exists()
    codes = [code for code in ("E501", "E502", "E503", "E505") if code in result.output]
    assert codes == ["E501", "E502", "E503", "E505"]
    assert os.environ["A_SECRET_KEY"] not in result.output
