"""`podium init`: the project that it writes is right, runs, and never replaces what is there."""

import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from podium.engine.run import Engine
from podium.engine.shell.cli import main
from podium.engine.shell.doors import Doors
from podium.engine.shell.exits import Exit
from podium.engine.shell.init import FILES
from podium.engine.testing.scripted import ScriptedClient

RIGHT = "The moon rows a boat down the river."
WRONG = "A boat, a river, no lamp."


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh project, made the current folder; its checks.py is forgotten afterwards."""
    folder = tmp_path / "new"
    assert podium("init", str(folder)).exit_code == 0
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(sys.modules, "checks", sys)  # so that undoing takes ours out
    del sys.modules["checks"]
    return folder


def podium(*words: str, says: str = RIGHT, given: str | None = None) -> Result:
    client = ScriptedClient({"": says})
    doors = Doors(engine=lambda store: Engine(store, client=client, environ={}), environ={})
    return CliRunner().invoke(main, list(words), obj=doors, input=given)


def test_the_program_is_right_and_well_laid_out(project: Path) -> None:
    result = podium("check", "main.team", "--json")
    assert (result.exit_code, '"problems": []' in result.stdout) == (0, True)
    assert podium("fmt", "--check", "main.team").exit_code == 0


@pytest.mark.parametrize("run", ["main", "short"])
@pytest.mark.parametrize(("says", "code"), [(RIGHT, Exit.PASSED), (WRONG, Exit.NOT_PASSED)])
def test_each_run_of_the_program_ends_as_its_verifier_says(
    project: Path, run: str, says: str, code: Exit
) -> None:
    result = podium("run", "main.team", run, says=says)
    assert (result.exit_code, result.stdout) == (code, f"{says}\n"), result.stderr


def test_every_command_of_the_readme_runs(project: Path) -> None:
    commands = re.findall(r"^    podium (.*?)(?:  +#.*)?$", FILES["README.md"], flags=re.MULTILINE)
    assert len(commands) == 6
    for command in commands:
        result = podium(*command.split())
        assert result.exit_code == 0, f"podium {command}\n{result.output}"


def test_the_verifier_alone_judges_an_answer(project: Path) -> None:
    words = ("verify", "main.team", "short_sentence", "--answer", "-")
    assert podium(*words, given=RIGHT).exit_code == Exit.PASSED
    assert podium(*words, given=f"{RIGHT} {'very ' * 20}").exit_code == Exit.NOT_PASSED


def test_what_is_there_is_kept(tmp_path: Path) -> None:
    for name in FILES:
        (tmp_path / name).write_text("mine")
    (tmp_path / ".gitignore").unlink()
    result = podium("init", str(tmp_path))
    assert result.exit_code == 0
    assert result.stderr.count("kept ") == len(FILES) - 1
    shown = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert shown == {**dict.fromkeys(FILES, "mine"), ".gitignore": FILES[".gitignore"]}


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = podium("init", str(tmp_path / "file"))
    assert result.exit_code == Exit.USAGE
    assert "cannot write" in result.stderr
