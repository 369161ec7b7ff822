"""`podium compare`: experiments, files and recorded runs, from the command to its table and its files."""

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
from podium.engine.testing import ScriptedClient

PROGRAM = """edition 2026
model m {
  endpoint = openai("m", base_url = "http://127.0.0.1:9/v1")
  price = { input = $0.30 per 1M tokens, cached = $0.03 per 1M tokens, output = $1.20 per 1M tokens }
  context = 8k tokens
}
role solver { prompt = \"""{{ task.statement }}\"""  max_output = 50 tokens }
task t { statement = "Find it."  verify = python("podium.engine.testing:scored") }
experiment sizes {
  arms = { one = solver, many = parallel(4) of solver -> best, again = solver }
  task = t
  each = [$0.05]
  repeats = 6
}
run single { flow = solver  task = t  budget = [$0.05] }
run several { flow = parallel(8) of solver -> best  task = t  budget = [$0.05] }
"""


class World:
    """A folder with a program, and an engine whose agents' scores are normal; calls counts what was asked."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.calls = folder, 0
        (folder / "main.team").write_text(PROGRAM)

    def _speak(self, _: ModelCall) -> str:
        self.calls += 1
        return f"score = {random.Random(self.calls).gauss(0.5, 0.1):.6f}"

    def compare(self, *words: str) -> Result:
        def opened(store: str) -> Engine:
            client = ScriptedClient(self._speak)
            return Engine(store, client=client, environ={}, allow=("python:*",))

        given = ["compare", *words, "--store", "runs.db", "--allow", "python:podium.*"]
        return CliRunner().invoke(main, given, obj=Doors(opened, {}))


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.chdir(tmp_path)
    return World(tmp_path)


def told(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.long
def test_an_experiment_finds_the_arm_that_is_better_and_no_other(world: World) -> None:
    found = told(world.compare("main.team", "sizes", "--repeats", "14", "--json"))
    winners = {(one["one"], one["other"]): one["winner"] for one in found["pairs"]}
    assert winners[("one", "many")] == "many"
    assert winners[("one", "again")] is None
    one, many, _ = found["arms"]
    assert many["best"] > one["best"]
    assert many["usd"] > 3 * one["usd"] > 0
    assert one["interval"]["low"] < one["best"] < one["interval"]["high"]


def test_carried_out_again_nothing_is_paid_and_more_repeats_only_add(world: World) -> None:
    first = told(world.compare("main.team", "--json"))
    calls = world.calls
    assert told(world.compare("main.team", "--json")) == first
    assert world.calls == calls == 6 * 6
    world.folder.joinpath("main.team").write_text("# a remark\n\n" + PROGRAM)
    more = told(world.compare("main.team", "--repeats", "7", "--json"))
    assert world.calls == 7 * 6
    assert more["runs"][: len(first["runs"])] == first["runs"]


def test_seeds_are_those_of_the_block(world: World) -> None:
    found = told(world.compare("main.team", "--repeats", "2", "--json"))
    blocks = [(one["task"], one["repeat"]) for one in found["runs"]]
    assert blocks == [("t", 0)] * 3 + [("t", 1)] * 3


@pytest.mark.long
def test_the_table_says_who_cannot_be_told_apart_and_what_it_would_take(world: World) -> None:
    result = world.compare("main.team", "sizes", "--repeats", "14")
    assert "they cannot be told apart" in result.stdout
    assert "runs of each" in result.stdout
    assert "42 runs: 3 arms, 1 task, 14 repeats; $" in result.stderr


@pytest.mark.long
def test_an_experiment_ends_early_once_all_is_clear(world: World) -> None:
    text = PROGRAM.replace(", again = solver", "").replace("parallel(4)", "parallel(30)")
    world.folder.joinpath("main.team").write_text(text)
    words = ("main.team", "--repeats", "30", "--until-clear", "--json")
    found = told(world.compare(*words))
    assert len(found["runs"]) < 60
    assert found["pairs"][0]["winner"] == "many"
    assert found["pairs"][0]["p"] <= 0.05


def test_a_cap_on_all_runs_starts_no_block_that_may_not_fit(world: World) -> None:
    worst = world.compare("main.team", "--repeats", "1").stderr.partition("$")[2].split()[0]
    found = told(world.compare("main.team", "--max-usd", worst, "--json"))
    spent = sum(one["usd"] for one in found["runs"])
    assert 0 < spent <= float(worst)
    assert 3 <= len(found["runs"]) < 18


def test_agents_alone_do_not_bound_a_model_with_a_price(world: World) -> None:
    world.folder.joinpath("main.team").write_text(
        PROGRAM.replace("[$0.05]\n  repeats", "4\n  repeats")
    )
    refused = world.compare("main.team", "--repeats", "2")
    assert refused.exit_code == 2
    assert "`--max-usd`" in refused.stderr
    found = told(world.compare("main.team", "--repeats", "2", "--max-usd", "1", "--json"))
    calls = world.calls
    assert told(world.compare("main.team", "--repeats", "2", "--max-usd", "2", "--json")) == found
    assert world.calls == calls > 0


@pytest.mark.long
def test_runs_of_files_are_compared_on_one_task_under_one_budget(world: World) -> None:
    found = told(
        world.compare("main.team#single", "main.team#several", "--repeats", "12", "--json")
    )
    assert [one["name"] for one in found["arms"]] == ["single", "several"]
    assert found["pairs"][0]["winner"] == "several"


def test_recorded_runs_are_compared_by_what_ran_side_by_side(world: World) -> None:
    told(world.compare("main.team#single", "main.team#several", "--repeats", "2", "--json"))
    listed = CliRunner().invoke(main, ["show", "--store", "runs.db", "--json"])
    runs = [one["run"] for one in json.loads(listed.stdout)["runs"] if one["name"] == "several"]
    found = told(world.compare(*runs, "-k", "3", "--json"))
    assert [one["scored"] for one in found["arms"]] == [8, 8]
    assert found["pairs"][0]["winner"] is None
    wide = told(world.compare(*runs, "-k", "8", "--json"))
    assert wide["arms"][0]["why"] == "one replicate; no interval possible"


@pytest.mark.long
def test_the_report_stands_alone_and_shows_names_as_text(world: World) -> None:
    words = ("--csv", "runs.csv", "--html", "report.html", "--plot", "curve.png", "--repeats", "3")
    assert world.compare("main.team", *words).exit_code == 0
    page = world.folder.joinpath("report.html").read_text()
    # Intervals, and best so far over dollars, tokens and seconds.
    assert page.count("<svg") == 4
    assert "seconds that a run took" in page
    assert "<script" not in page
    assert 'src="' not in page
    lines = world.folder.joinpath("runs.csv").read_text().splitlines()
    assert lines[0].startswith("arm,task,repeat,run,outcome,score")
    assert len(lines) == 1 + 9
    assert world.folder.joinpath("curve.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.long
def test_the_shipped_comparison_runs_with_its_parameters(world: World) -> None:
    example = Path(__file__).parents[3] / "examples" / "parallel_teams.team"
    sizes = ("--set", "agents=10", "--set", "team_size=5", "--set", "repeats=2")
    found = told(world.compare(str(example), *sizes, "--json"))
    assert [one["name"] for one in found["arms"]] == ["alone", "teams", "one_team"]
    assert [one["scored"] for one in found["arms"]] == [2, 2, 2]
    assert found["arms"][0]["calls"] == 10


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("main.team", "size"), "choose `sizes`"),
        (("main.team", "sizes", "--task", "t"), "has its own task"),
        (("main.team#single", "main.team#several", "--each", "30m"), "times differ"),
        (("main.team#single", "main.team#several", "--each", "3"), "several has 8 agents"),
        (("2026-01", "2026-02", "--each", "$1", "--repeats", "3"), "--each, --repeats is for"),
        (("main.team", "--plot", "a.gif"), "a plot is .svg or .png"),
        (("2026-01",), "there is no store"),
    ],
)
def test_a_wrong_use_says_what_to_write(world: World, words: tuple[str, ...], said: str) -> None:
    result = world.compare(*words)
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_comparison_that_is_complete_says_so_and_tells_no_run_again(world: World) -> None:
    words = ("main.team#single", "main.team#several", "--each", "40 calls", "--repeats", "2")
    first = world.compare(*words).stderr
    assert first.count("repeat 1: ") == 2
    assert "at most" in first
    again = world.compare(*words).stderr
    assert "all are in the store, and cost nothing again" in again
    assert "repeat 1: " not in again
    more = world.compare(*words[:-1], "3").stderr
    assert "4 are in the store, 2 are to run" in more
    assert more.count(" repeat 3: ") == 2


def test_arms_may_be_bounded_in_agents(world: World) -> None:
    words = ("main.team#single", "main.team#several", "--repeats", "2", "--json")
    assert len(told(world.compare(*words, "--each", "8"))["runs"]) == 4


def test_intervals_end_where_scores_do(world: World) -> None:
    found = told(world.compare("main.team", "--range", "0.45,0.5", "--json"))
    ends = [one["interval"] for one in found["arms"]]
    assert all(one["low"] >= 0.45 and one["high"] <= 0.5 for one in ends)


def test_best_after_a_spend_and_curves_are_told_over_dollars_tokens_and_time(world: World) -> None:
    words = ("main.team", "--curves", "curves.csv")
    tokens = int(2.5 * told(world.compare(*words, "--json"))["arms"][0]["tokens"])
    after = told(world.compare(*words, "--after", f"{tokens} tokens", "--json"))
    assert after["spent"] == {"unit": "tokens", "amount": tokens}
    one, many, _ = after["arms"]
    assert one["after"] > one["best"]
    assert many["after"] is None  # which is four times as dear: not one of its runs ends
    table = world.compare(*words, "--after", "30m").stdout
    assert "best after 30m" in table
    lines = world.folder.joinpath("curves.csv").read_text().splitlines()
    assert lines[0] == "arm,task,repeat,run,usd,tokens,seconds,score"
    assert len(lines) > 18
    assert world.compare(*words, "--after", "3 calls").exit_code == 2


def test_branches_of_recorded_runs_tell_what_time_they_took(world: World) -> None:
    told(world.compare("main.team#single", "main.team#several", "--repeats", "1", "--json"))
    listed = CliRunner().invoke(main, ["show", "--store", "runs.db", "--json"])
    runs = [one["run"] for one in json.loads(listed.stdout)["runs"]]
    found = told(world.compare(*runs, "--json"))
    assert all(one["seconds"] > 0 for one in found["runs"])
