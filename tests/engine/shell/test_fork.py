"""`podium resume` says what has changed in the files, and `--fork` runs the new text on the old answers."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from podium.engine.shell.cli import main
from podium.engine.shell.doors import Doors
from podium.engine.testing.server import Answer, FakeServer, Seen, in_thread

PROGRAM = '''
model small {{ endpoint = openai("", base_url = "{url}") }}
role writer {{ prompt = """{{{{ task.statement }}}}"""  max_output = 20 tokens }}
role mender {{ prompt = """Mend {{{{ attempt.answer }}}}"""  max_output = 20 tokens }}
task hello {{ statement = "Say something."  verify = contains("reply") }}
run main {{
  task         = hello
  flow         = parallel(2) of (writer -> mender) -> best
  budget       = [100k tokens, 3 calls]
  on_exhausted = pause
}}
'''


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    """Answers what it is asked; the program that uses it is hello.team."""
    monkeypatch.chdir(tmp_path)

    def script(seen: Seen) -> Answer:
        return Answer(text=f"answer {len(server.calls)}")

    with in_thread(FakeServer(script)) as server:
        Path("hello.team").write_text(PROGRAM.format(url=server.url))
        yield server


def podium(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), obj=Doors(environ={}))


def change(old: str, new: str) -> None:
    path = Path("hello.team")
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def paused() -> str:
    result = podium("run", "hello.team", "--json")
    shown: dict[str, Any] = json.loads(result.stdout)
    assert shown["outcome"] == "paused"
    return str(shown["run"])


def test_resume_says_what_changed_and_goes_on_with_the_old_text(server: FakeServer) -> None:
    run = paused()
    change("Mend ", "Improve ")
    assert podium("topup", run, "[5 calls]").exit_code == 0
    result = podium("resume")
    assert f"Since run {run} began:\n  role mender was changed (2 nodes used it: 1 call" in (
        result.stderr
    )
    assert "goes on with the text it began with" in result.stderr
    assert not any("Improve" in json.dumps(call.body) for call in server.calls)


def test_a_changed_budget_is_no_change_of_the_answers(server: FakeServer) -> None:
    run = paused()
    change("3 calls", "30 calls")
    podium("topup", run, "[5 calls]")
    assert "Since run" not in podium("resume").stderr


def test_a_fork_runs_the_new_text_and_pays_only_what_is_new(server: FakeServer) -> None:
    run = paused()
    asked = len(server.calls)
    change("Mend ", "Improve ")
    change("3 calls", "30 calls")
    result = podium("resume", run, "--fork", "--json")
    shown = json.loads(result.stdout)
    assert shown["run"] != run
    assert "The fork runs the new text." in result.stderr
    new = [json.dumps(call.body) for call in server.calls[asked:]]
    assert len(new) == shown["spent"]["calls"] == 2
    assert all("Improve answer" in body for body in new)


def test_a_fork_of_a_text_that_is_wrong_now_says_so(server: FakeServer) -> None:
    run = paused()
    change("of (writer -> mender)", "of (writr -> mender)")
    result = podium("resume", run, "--fork")
    assert result.exit_code == 2
    assert "writr" in result.stderr


def test_a_fork_may_be_allowed_what_its_text_needs_now(server: FakeServer) -> None:
    run = paused()
    change('contains("reply")', 'python("os.path:basename")')
    refused = podium("resume", run, "--fork")
    assert (refused.exit_code, "E501" in refused.stderr) == (2, True)
    asked = len(server.calls)
    allowed = podium("resume", run, "--fork", "--allow", "python:os.path:*", "--json")
    assert json.loads(allowed.stdout)["run"] != run
    assert len(server.calls) == asked + 1  # the one that the first run had no budget for
