"""A slip of the fingers on the command line is told what was probably meant."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from podium.engine.run import Engine
from podium.engine.shell.cli import main
from podium.engine.shell.doors import Doors
from podium.engine.shell.exits import Exit
from podium.engine.testing.scripted import ScriptedClient

PROGRAM = """edition 2026

param teams: int(1 to 9) = 1
role writer { prompt = "x" }
task haiku { statement = "Write a haiku."  verify = contains("moon") }
run main { task = haiku  flow = parallel(teams) of writer  budget = [50k tokens] }
run second { task = haiku  flow = writer  budget = [50k tokens] }
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "moon.team").write_text(PROGRAM)
    (tmp_path / "answer.txt").write_text("moon")
    return tmp_path


def podium(*words: str) -> Result:
    client = ScriptedClient({"": "moon"})
    doors = Doors(engine=lambda store: Engine(store, client=client, environ={}), environ={})
    return CliRunner().invoke(main, list(words), obj=doors)


@pytest.mark.parametrize(
    ("command", "meant"),
    [
        ("rnu moon.team", "`run`"),
        ("run mon.team", "`moon.team`"),
        ("run moon.team mian", "`main`"),
        ("plan moon.team secnod", "`second`"),
        ("graph moon.team secnod", "`second`"),
        ("run moon.team --set taems=2", "`teams`"),
        ("run moon.team --sett teams=2", "'--set'"),
        ("run moon.team --task hiaku", "`haiku`"),
        ("run -e agent --task wrods", "`words`"),
        ("verify moon.team hiaku --answer answer.txt", "`haiku`"),
        ("explain W69", "`W609`"),
        ("doc std.flwos", "`std.flows`"),
    ],
)
def test_a_slip_is_told_what_was_meant(command: str, meant: str) -> None:
    result = podium(*command.split())
    assert result.exit_code == Exit.USAGE
    assert re.search(rf"(?i)did you mean.*{re.escape(meant)}", result.stderr), result.stderr


def test_a_run_or_a_node_that_is_none_is_told_what_was_meant() -> None:
    assert podium("run", "moon.team").exit_code == 0
    [run] = re.findall(r"^Run (\S+) in", podium("run", "moon.team").stderr, flags=re.MULTILINE)
    wrong = podium("show", f"{run[:-2]}{run[-1]}{run[-2]}x")
    assert (wrong.exit_code, f"`{run}`" in wrong.stderr) == (Exit.USAGE, True), wrong.stderr
    node = podium("show", run, "main/1.parallle")
    assert node.exit_code == Exit.USAGE
    assert "did you mean `main/1.parallel`" in node.stderr
