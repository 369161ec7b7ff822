"""A deadline by the clock on the command line: `--by`, the plan, the end of a run."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from podium.dsl.program import Clock
from podium.dsl.source import Source
from podium.engine.request import Request, from_json, to_json
from podium.engine.run import Engine
from podium.engine.shell.cli import main
from podium.engine.shell.doors import Doors
from podium.engine.shell.exits import Exit
from podium.engine.testing.scripted import ScriptedClient

FILE = """
model m { endpoint = openai("m", base_url = "http://127.0.0.1:9/v1"), price = none }
task sum { statement = "What is 2 + 2?", verify = number(4) }
run main { task = sum, flow = agent }
run night { task = sum, flow = agent, by = 07:00 }
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sum.team").write_text(FILE)


def podium(*words: str) -> Result:
    client = ScriptedClient({"": "It is 4."})
    doors = Doors(engine=lambda store: Engine(store, client=client, environ={}), environ={})
    return CliRunner().invoke(main, list(words), obj=doors)


def test_a_run_within_its_deadline_is_as_any_other() -> None:
    result = podium("run", "sum.team", "night")
    assert (result.exit_code, result.stdout) == (Exit.PASSED, "It is 4.\n")


def test_a_moment_that_has_passed_ends_the_run_with_nothing_sent() -> None:
    result = podium("run", "sum.team", "main", "--by", "2020-01-01 07:00")
    assert result.exit_code == Exit.EXHAUSTED
    assert "Exhausted (deadline `by` of run main)" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("wrong", ["25:00", "7:5", "tomorrow", "", "2026-02-30 07:00"])
def test_what_is_no_time_of_day_is_a_wrong_use(wrong: str) -> None:
    result = podium("run", "sum.team", "main", "--by", wrong)
    assert result.exit_code == Exit.USAGE
    assert f'"{wrong}" is no time of day: write 07:00' in result.stderr


def test_the_plan_shows_each_deadline() -> None:
    lines = podium("plan", "sum.team", "night", "--by", "2030-12-01 06:30").stdout.splitlines()
    assert "Ends by 07:00, the next after its start." in lines
    assert "Ends by 2030-12-01 06:30." in lines
    assert not any("Ends by" in line for line in podium("plan", "sum.team", "main").stdout)


def test_a_deadline_is_part_of_what_was_asked() -> None:
    asked = Request(Source("x.team", FILE), by=Clock(6, 30))
    assert from_json(to_json(asked)) == asked
    old = {name: value for name, value in to_json(asked).items() if name != "by"}
    assert from_json(old).by is None
