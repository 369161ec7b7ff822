"""`podium scale`: a pilot is priced, run, read back; the split it names is that of the law."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from podium.engine import Engine
from podium.engine.call import ModelCall
from podium.engine.shell.cli import main
from podium.engine.shell.doors import Doors
from podium.engine.shell.scale_view import beside_default
from podium.engine.stats.split import Cell, Splits
from podium.engine.testing import ScriptedClient

PROGRAM = """edition 2026
model m {
  endpoint = openai("m", base_url = "http://127.0.0.1:9/v1")
  price = { input = $0.30 per 1M tokens, cached = $0.03 per 1M tokens, output = $1.20 per 1M tokens }
  context = 32k tokens
}
model strong {
  endpoint = openai("s", base_url = "http://127.0.0.1:9/v1")
  price = { input = $3 per 1M tokens, cached = $0.3 per 1M tokens, output = $12 per 1M tokens }
  context = 32k tokens
}
role solver { prompt = \"""{{ task.statement }}\"""  max_output = 50 tokens }
task t { statement = "Find it."  verify = python("podium.engine.testing:scored") }
run main { model = m  flow = parallel(10) of team(10, members = [10 of solver], rounds = 1) -> best  task = t }
"""


class World:
    def __init__(self) -> None:
        self.calls = 0

    def _speak(self, call: ModelCall) -> str:
        self.calls += 1
        middle = 0.9 if call.model == "strong" else 0.5
        return f"score = {random.Random(self.calls).gauss(middle, 0.1):.6f}"

    def scale(self, *words: str) -> Result:
        def opened(store: str) -> Engine:
            client = ScriptedClient(self._speak)
            return Engine(store, client=client, environ={}, allow=("python:*",))

        given = ["scale", "main.team", *words, "--store", "runs.db", "--allow", "python:podium.*"]
        return CliRunner().invoke(main, given, obj=Doors(opened, {}))


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.team").write_text(PROGRAM)
    return World()


def told(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.long
def test_a_pilot_is_priced_before_it_runs_and_read_back_after(world: World) -> None:
    before = world.scale("--budget", "$5", "--sizes", "1,3,8")
    assert "Not known yet" in before.stdout
    assert "--pilot runs it" in before.stdout
    assert "The default, by planned prices" in before.stdout
    assert world.calls == 0
    found = told(world.scale("--budget", "$0.02", "--sizes", "1,3,8", "--pilot", "--json"))
    calls = world.calls
    assert calls > 0
    assert found["runs"] == {"1": 5, "3": 5, "8": 5}
    assert sum(cell["chance"] for cell in found["splits"]) == pytest.approx(1)
    again = told(world.scale("--budget", "$0.02", "--json", "--plot", "lines.svg"))
    assert again["splits"] == found["splits"]
    assert world.calls == calls
    assert b"teams of" in Path("lines.svg").read_bytes()
    said = world.scale("--budget", "$0.02").stdout
    assert "Best split of $0.02" in said
    assert "Ten times the budget" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--budget", "[$5, 3k tokens]"), "dollars or tokens"),
        (("--budget", "30m"), "dollars or tokens"),
        (("--budget", "$5", "--sizes", "3"), "two sizes at least"),
        (("--budget", "$5", "--sizes", "1,3,x"), '"x" is no size of a team'),
        (("--budget", "$5", "--range", "1,0"), "write 0,1"),
        (("--budget", "$5", "--versus", "strange"), "it has m, strong"),
    ],
)
def test_a_wrong_use_says_what_to_write(world: World, words: tuple[str, ...], said: str) -> None:
    result = world.scale(*words)
    assert result.exit_code == 2
    assert said in result.stderr


@pytest.mark.long
def test_a_stronger_model_is_priced_run_and_told_apart_at_equal_cost(world: World) -> None:
    words = ("--budget", "$0.02", "--sizes", "1,2", "--runs", "3", "--versus", "strong")
    before = world.scale(*words)
    assert "3 runs of one agent of strong are expected to take $" in before.stdout
    assert world.calls == 0
    ran = world.scale(*words, "--pilot")
    assert "9 runs: 3 arms, 1 task, 3 repeats; $" in ran.stderr
    found = told(world.scale(*words, "--json"))
    calls = world.calls
    assert calls == 3 * (1 + 3 + 1)
    assert found["versus"]["name"] == "strong"
    assert found["versus"]["tries"] > 5
    assert found["versus"]["low"] < found["versus"]["score"] < found["versus"]["high"]
    assert found["runs"] == {"1": 3, "2": 3}
    said = world.scale(*words).stdout
    assert "At equal cost strong is tried" in said
    assert world.calls == calls


@pytest.mark.long
def test_a_set_of_tasks_has_one_split_and_each_task_its_own(world: World) -> None:
    Path("set.jsonl").write_text("".join(f'{{"q": "Find {i}."}}\n' for i in range(3)))
    text = PROGRAM.replace(
        'task t { statement = "Find it."',
        'task t = rows("set.jsonl") with { statement = row.q',
    )
    Path("main.team").write_text(text)
    words = ("--budget", "$0.2", "--sizes", "1,2", "--runs", "2", "--allow", "file:*")
    assert "on each of 3 tasks" in world.scale(*words).stdout
    found = told(world.scale(*words, "--pilot", "--json"))
    assert found["runs"] == {"1": 6, "2": 6}
    assert [one["task"] for one in found["tasks"]] == ["t/1", "t/2", "t/3"]
    said = world.scale(*words).stdout
    assert "for each of 3 tasks" in said
    assert "  t/2: " in said


@pytest.mark.long
def test_where_no_range_is_known_it_says_so_and_with_one_it_bounds(world: World) -> None:
    words = ("--budget", "$0.02", "--sizes", "1,2", "--runs", "3")
    free = world.scale(*words, "--pilot").stdout
    assert "--range LOW,HIGH bounds it" in free
    found = told(world.scale(*words, "--range", "0,0.7", "--json"))
    assert all(cell["high"] <= 0.7 for cell in found["splits"])
    assert not any("--range" in note for note in found["notes"])


def test_where_the_default_is_named_what_may_be_better_is_told() -> None:
    def cell(size: int, score: float) -> Cell:
        return Cell(size, 100 // size, score, score - 1, score + 1, 0.3, 0.1)

    lone, ten, one = cell(1, 2.5), cell(10, 2.25), cell(100, 1.0)
    said = beside_default(Splits((lone, ten, one), ten, ten, (10,), 0.9))
    assert "That is the default" in said
    assert "100 teams of 1 may be, by 0.25 as expected" in said
    sure = beside_default(Splits((lone, ten, one), lone, ten, (1,), 0.9))
    assert sure == "The default, 10 teams of 10, is expected to lose 0.25 against it."
    assert "may be" not in beside_default(Splits((ten, one), ten, ten, (10,), 0.9))
