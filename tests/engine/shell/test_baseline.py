"""What people are told of a baseline: the plan, the end of a run, `show`, and the JSON answer."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from podium.engine.event import NodeEnded, NodeStarted, RunEnded, Stamped
from podium.engine.fold import Fold
from podium.engine.run import Engine
from podium.engine.shell.cli import main
from podium.engine.shell.doors import Doors
from podium.engine.shell.exits import Exit
from podium.engine.shell.summary import against_baseline
from podium.engine.testing.scripted import Script, ScriptedClient

FILE = """
model m { endpoint = openai("m", base_url = "http://127.0.0.1:9/v1"), price = none }
task words {
  statement = "Name four fruits."
  verify    = contains(["apple", "pear", "plum", "fig", "date"])
  baseline  = "apple and fig"
}
task broken { statement = "?", verify = python("os:getcwd"), baseline = "x" }
run main { task = words, flow = agent, budget = [50k tokens] }
run bad { task = broken, flow = agent, budget = [50k tokens] }
"""
FOUR: Script = {"": "apple, pear, plum, fig"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fruit.team").write_text(FILE)


def podium(*words: str, script: Script = FOUR) -> Result:
    client = ScriptedClient(script)
    doors = Doors(engine=lambda store: Engine(store, client=client, environ={}), environ={})
    return CliRunner().invoke(main, list(words), obj=doors)


def test_the_end_of_a_run_sets_its_best_beside_the_baseline() -> None:
    result = podium("run", "fruit.team", "main")
    assert result.exit_code == Exit.NOT_PASSED
    assert result.stdout == "apple, pear, plum, fig\n"
    assert "Baseline 0.4, best 0.8." in result.stderr.splitlines()
    run = json.loads(podium("show", "--json").stdout)["runs"][0]["run"]
    assert "Baseline 0.4, best 0.8." in podium("show", run).stdout.splitlines()
    assert "score 0.4" in podium("show", run, "main/0.baseline").stdout


def test_the_json_of_a_run_and_of_show_has_the_baseline() -> None:
    shown = json.loads(podium("run", "fruit.team", "main", "--json").stdout)
    assert (shown["baseline"], shown["score"]) == ({"score": 0.4, "passed": False}, 0.8)
    assert (
        json.loads(podium("show", shown["run"], "--json").stdout)["baseline"] == shown["baseline"]
    )


def test_a_verifier_that_fails_on_it_is_exit_4() -> None:
    result = podium("run", "fruit.team", "bad", "--allow", "python:*", script=[])
    assert result.exit_code == Exit.FAILED
    assert "the baseline of task broken could not be scored" in result.stderr


def test_the_plan_says_that_it_will_be_scored() -> None:
    lines = podium("plan", "fruit.team", "main").stdout.splitlines()
    assert "The baseline is scored before anything is sent." in lines


def told(*baselines: tuple[str, float | None], score: float | None, passed: bool | None) -> str:
    folded = Fold()
    events = [
        event
        for row, (outcome, worth) in enumerate(baselines)
        for event in (
            NodeStarted(f"main/{row}.row/0.baseline", "baseline", "baseline"),
            NodeEnded(f"main/{row}.row/0.baseline", outcome, "", worth),
        )
    ]
    for number, event in enumerate(
        [*events, RunEnded("finished", "", False, "x", score, passed, 1.0)]
    ):
        folded.add(Stamped(number, 0.0, event))
    assert not folded.branches
    return against_baseline(folded)


def test_one_problem_s_baseline_is_not_set_beside_the_mean_of_all() -> None:
    (Path.cwd() / "set.jsonl").write_text(
        '{"statement": "Fruit?", "answer": "apple", "baseline": "x"}\n'
        '{"statement": "Drupe?", "answer": "plum"}\n'
    )
    words = ("run", "fruit.team", "main", "--task", "set.jsonl")
    result = podium(*words, script={"": "apple"})
    assert "Problems: 1 of 2 passed, mean score 0.5 over 2." in result.stderr.splitlines()
    assert "Baseline" not in result.stderr


def test_what_is_said_of_baselines() -> None:
    assert told(score=1.0, passed=None) == ""
    assert told(("finished", None), score=None, passed=True) == "Baseline not passed, best passed."
    assert told(("failed", None), score=1.0, passed=None) == ""
    assert told(("finished", 0.25), ("finished", 0.75), score=0.625, passed=None) == (
        "Baseline 0.5, best 0.625, on average over 2 tasks."
    )
