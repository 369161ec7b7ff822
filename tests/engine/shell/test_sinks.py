"""Where events and the best answer go."""

import json
from pathlib import Path

import pytest

from podium.engine.call import Usage
from podium.engine.event import CallFailed, Improved, NodeStarted, RunEnded, Stamped
from podium.engine.ledger import Amount
from podium.engine.shell.exits import ShellError
from podium.engine.shell.sinks import EventLog, OutFolder, event_line


def improved(answer: object) -> Stamped:
    return Stamped(0, 1.0, Improved("main/x", 1.0, True, answer))


def test_an_event_is_one_line_of_number_time_kind_and_body() -> None:
    assert json.loads(event_line(Stamped(3, 1.5, NodeStarted("main/a", "agent", "a\n")))) == {
        "number": 3,
        "time": 1.5,
        "kind": "node_started",
        "address": "main/a",
        "label": "a\n",
        "form": "agent",
    }
    failed = CallFailed("main/a", 2, "main", "cut", "gone", Amount(1, 2, 3), Usage(), True, 0.5)
    line = event_line(Stamped(4, 1.5, failed))
    assert "\n" not in line
    assert json.loads(line)["failure"] == "cut"
    assert json.loads(line)["try"] == 2
    assert json.loads(line)["spent"] == {"usd": 1, "tokens": 2, "calls": 3}


def test_events_are_in_the_file_as_soon_as_they_happen(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    log = EventLog(str(path), pytest.fail)
    for number in range(2):
        log.seen(Stamped(number, 1.0, NodeStarted("main/a", "agent", "a")))
        assert [json.loads(line)["number"] for line in path.read_text().splitlines()] == list(
            range(number + 1)
        )
    log.close()


def test_a_log_that_cannot_be_opened_is_said_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(ShellError, match="cannot write"):
        EventLog(str(tmp_path / "no" / "events"), pytest.fail)


def test_a_full_disk_does_not_end_the_run_and_is_said_once() -> None:
    said: list[str] = []
    log = EventLog("/dev/full", said.append)
    for number in range(3):
        log.seen(Stamped(number, 1.0, NodeStarted("main/a", "agent", "a")))
    log.close()
    assert len(said) == 1


def test_each_better_answer_replaces_the_one_before(tmp_path: Path) -> None:
    out = OutFolder(str(tmp_path / "out"), pytest.fail)
    out.seen(improved("first"))
    out.seen(improved("second"))
    assert (tmp_path / "out" / "answer.txt").read_text() == "second"
    out.seen(improved({"patch": "é"}))
    assert json.loads((tmp_path / "out" / "answer.json").read_text()) == {"patch": "é"}
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["answer.json"]


def test_the_final_answer_is_kept_even_if_nothing_was_scored(tmp_path: Path) -> None:
    out = OutFolder(str(tmp_path), pytest.fail)
    out.seen(Stamped(1, 1.0, RunEnded("finished", "", False, "the end", None, None, 1.0)))
    assert (tmp_path / "answer.txt").read_text() == "the end"


def test_a_folder_that_vanishes_does_not_end_the_run(tmp_path: Path) -> None:
    said: list[str] = []
    out = OutFolder(str(tmp_path / "out"), said.append)
    (tmp_path / "out").rmdir()
    out.seen(improved("x"))
    out.seen(improved("y"))
    assert len(said) == 1
