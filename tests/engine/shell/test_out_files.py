"""The files of an answer in a folder of the user's, and nothing of the user's written over."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner, Result

from podium.engine import workspace
from podium.engine.call import ToolCall
from podium.engine.run import Engine
from podium.engine.shell.artifacts import is_free, write_artifacts
from podium.engine.shell.cli import main
from podium.engine.shell.doors import Doors
from podium.engine.shell.exits import Exit, ShellError
from podium.engine.testing.scripted import Say, Script, ScriptedClient
from podium.engine.workspace import File

FILES = {"a.py": File(b"x = 1"), "bin/run": File(b"\xff", starts=True)}
WORK = '''
model m { endpoint = openai("m", base_url = "http://127.0.0.1:9/v1"), price = none }
role worker {
  prompt = """{{ task.statement }}"""
  tools = [read, write]
}
task chore { statement = "write it" }
task chores = rows("rows.jsonl") with { statement = row.q }
run main { task = chore, flow = worker, budget = [9 calls] }
run all { task = chores, flow = worker, budget = [9 calls] }
'''


def calls(name: str, **arguments: str) -> Say:
    return Say("", calls=(ToolCall("c", name, arguments, orjson.dumps(arguments).decode()),))


SCRIPT: Script = {"t1": calls("write", path="src/a.py", text="x = 1"), "t2": "done"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "w.team").write_text(WORK)
    (tmp_path / "rows.jsonl").write_text('{"q": "one"}\n{"q": "two"}\n')
    return tmp_path


def podium(*words: str, script: Script = SCRIPT) -> Result:
    client = ScriptedClient(script)
    doors = Doors(engine=lambda store: Engine(store, client=client, environ={}), environ={})
    return CliRunner().invoke(main, list(words), obj=doors)


# --- writing ---------------------------------------------------------------------------------------


def test_files_are_written_as_they_are_and_replaced_by_those_of_a_later_answer(
    tmp_path: Path,
) -> None:
    assert write_artifacts(tmp_path / "out", FILES) == tmp_path / "out" / "files"
    assert (tmp_path / "out" / "files" / "a.py").read_text() == "x = 1"
    assert os.access(tmp_path / "out" / "files" / "bin" / "run", os.X_OK)
    assert not os.access(tmp_path / "out" / "files" / "a.py", os.X_OK)
    write_artifacts(tmp_path / "out", {"b": File(b"")})
    assert [path.name for path in (tmp_path / "out" / "files").iterdir()] == ["b"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [".podium-files", "files"]


def changed(at: Path) -> None:
    (at / "files" / "a.py").write_text("mine")


def added(at: Path) -> None:
    (at / "files" / "mine").touch()


def started(at: Path) -> None:
    (at / "files" / "a.py").chmod(0o755)


def gone(at: Path) -> None:
    (at / "files" / "a.py").unlink()


def unmarked(at: Path) -> None:
    (at / ".podium-files").unlink()


def linked(at: Path) -> None:
    (at / "files" / "link").symlink_to("/etc")


def replaced(at: Path) -> None:
    (at / "files").rename(at / "other")
    (at / "files").symlink_to(at / "other")


@pytest.mark.parametrize(
    "happens",
    [changed, added, started, gone, unmarked, linked, replaced],
    ids=lambda one: one.__name__,
)
def test_what_a_user_has_there_is_left_alone(
    tmp_path: Path, happens: Callable[[Path], None]
) -> None:
    write_artifacts(tmp_path / "out", FILES)
    assert is_free(tmp_path / "out")
    happens(tmp_path / "out")
    before = {path: path.is_file() and path.read_bytes() for path in (tmp_path / "out").rglob("*")}
    with pytest.raises(ShellError, match="move them away"):
        write_artifacts(tmp_path / "out", {"b": File(b"")})
    after = {path: path.is_file() and path.read_bytes() for path in (tmp_path / "out").rglob("*")}
    assert after == before


@pytest.mark.parametrize("path", ["../a", "/etc/passwd", "a/../../b", "a\nb", ".", "a//b", ""])
def test_no_path_leads_out_of_the_folder(tmp_path: Path, path: str) -> None:
    with pytest.raises(ShellError, match="a path that is not written"):
        write_artifacts(tmp_path / "out", {path: File(b"")})
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "out").touch()
    with pytest.raises(ShellError, match="cannot write"):
        write_artifacts(tmp_path / "out", FILES)


# --- commands --------------------------------------------------------------------------------------


def test_out_has_the_answer_and_its_files() -> None:
    ran = podium("run", "w.team", "--out", "out")
    assert ran.exit_code == 0
    assert "1 file (5 bytes) came with the answer, in out/files" in ran.stderr
    assert Path("out/answer.txt").read_text() == "done"
    assert Path("out/files/src/a.py").read_text() == "x = 1"


def test_json_lists_the_files() -> None:
    ran = podium("run", "w.team", "--json")
    assert json.loads(ran.stdout)["artifacts"] == [{"path": "src/a.py", "bytes": 5}]
    assert json.loads(podium("run", "w.team", "--json", script={"": "x"}).stdout)["artifacts"] == []


def test_files_of_several_tasks_lie_under_their_numbers() -> None:
    script: Script = {
        "all/1.row": "nothing",
        "all/2.row/worker/t1": calls("write", path="b", text="two"),
        "": "done",
    }
    ran = podium(
        "run", "w.team", "all", "--out", "out", "--allow", "file:rows.jsonl", script=script
    )
    assert ran.exit_code == 0, ran.stderr
    assert [path.as_posix() for path in Path("out/files").rglob("*") if path.is_file()] == [
        "out/files/2/b"
    ]


def test_a_folder_with_files_of_the_users_is_refused_before_a_call(folder: Path) -> None:
    (folder / "out" / "files").mkdir(parents=True)
    (folder / "out" / "files" / "mine").touch()
    ran = podium("run", "w.team", "--out", "out", script={})
    assert ran.exit_code == Exit.USAGE
    assert "out/files holds files that were not written by Podium" in ran.stderr
    assert "no runs" in podium("show").stderr.lower()


def run_of(*words: str) -> str:
    ran = podium("run", "w.team", "--json", *words)
    found: str = json.loads(ran.stdout)["run"]
    return found


def test_show_tells_of_the_files_and_writes_them_later() -> None:
    run = run_of()
    shown = podium("show", run).stdout
    assert (
        f"1 file (5 bytes) came with the answer; `podium show {run} --out DIR` writes them" in shown
    )
    assert json.loads(podium("show", run, "--json").stdout)["artifacts"] == [
        {"path": "src/a.py", "bytes": 5}
    ]
    watched = podium("watch", run, "--json")
    assert json.loads(watched.stdout)["artifacts"] == [{"path": "src/a.py", "bytes": 5}]
    assert "in later/files" in podium("show", run, "--out", "later").stdout
    assert Path("later/files/src/a.py").read_text() == "x = 1"
    Path("later/files/src/a.py").write_text("mine")
    again = podium("show", run, "--out", "later")
    assert (again.exit_code, Path("later/files/src/a.py").read_text()) == (Exit.USAGE, "mine")


def test_show_out_wants_a_run_that_has_files(folder: Path) -> None:
    run = run_of("--out", str(folder / "x"))
    podium("run", "w.team", script={"": "none"})
    assert podium("show", "--out", "y").exit_code == Exit.USAGE
    assert podium("show", run, "main", "--out", "y").exit_code == Exit.USAGE
    newest = json.loads(podium("show", "--json").stdout)["runs"][0]["run"]
    assert "no files came with the answer" in podium("show", newest, "--out", "y").stderr
    assert not (folder / "y").exists()


CHECKS = """
def verify(attempt, task):
    return attempt.files.get("src/a.py") == b"x = 1"
"""


def test_verify_judges_an_answer_with_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (folder / "filed_checks.py").write_text(CHECKS)
    (folder / "v.team").write_text(
        'task t { statement = "write it"  verify = python("filed_checks:verify") }\n'
    )
    (folder / "answer.txt").write_text("done")
    (folder / "made" / "src").mkdir(parents=True)
    (folder / "made" / "src" / "a.py").write_text("x = 1")
    words = ("verify", "v.team", "t", "--answer", "answer.txt", "--allow", "python:*")
    assert podium(*words, "--files", "made").exit_code == 0
    assert podium(*words).exit_code == Exit.NOT_PASSED
    missing = podium(*words, "--files", "none")
    assert missing.exit_code == Exit.USAGE
    assert "none" in missing.stderr


def test_the_plan_says_what_folders_begin_with(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = WORK.replace(
        'statement = "write it"', 'statement = "mend it"  files = ["w.team", "kit"]'
    )
    (folder / "p.team").write_text(text)
    (folder / "kit").mkdir()
    (folder / "kit" / "a").write_text("12345")
    size = 5 + len(WORK)
    told = f"Each agent's folder begins with the files of its task: 2 files, {size} bytes."
    assert told in podium("plan", "p.team", "main").stdout
    monkeypatch.setattr(workspace, "MOST_FILES", 1)
    told = "It will not run: `files` of task chore: 2 files, where 1 may be."
    assert told in podium("plan", "p.team", "main").stdout
