"""The reproductions: their programs compile, their scripts run, their pages are what their figures make."""

import json
import shutil
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner

from podium.engine.shell.cli import main
from podium.engine.testing.server import FakeServer, echo, in_thread

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "reproduction"
NAMES = ("three_ways", "ceo", "small_model")


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, ModuleType]]:
    monkeypatch.setattr(sys, "path", [str(ROOT / "scripts"), *sys.path])
    yield {name: import_module(f"reproduce_{name}") for name in NAMES}
    for name in ("reproduction", "marked", *(f"reproduce_{one}" for one in NAMES)):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("name", NAMES)
def test_a_page_says_what_its_figures_make(scripts: dict[str, ModuleType], name: str) -> None:
    found = scripts[name].REPORT
    assert found.is_current()
    assert "95 %" in found.text()


@pytest.mark.parametrize("name", NAMES)
def test_a_program_of_a_page_has_no_mistake(name: str) -> None:
    done = CliRunner().invoke(main, ["check", str(PAGES / f"{name}.team")])
    assert done.exit_code == 0, done.output


def test_every_plot_of_a_page_is_there_and_every_page_is_in_the_list() -> None:
    listed = (PAGES / "README.md").read_text("utf-8")
    for name in NAMES:
        assert f"({name}.md)" in listed
    shown = "".join((PAGES / f"{name}.md").read_text("utf-8") for name in NAMES)
    plots = sorted(path.name for path in PAGES.glob("*.svg"))
    assert plots
    assert [plot for plot in plots if f"({plot})" not in shown] == []


@pytest.mark.long
def test_the_three_ways_run_small_and_name_what_is_best(scripts: dict[str, ModuleType]) -> None:
    script = scripts["three_ways"]
    size = script.Size(1, (3, 6, 12), 20, 5, "1,3,10", 2)
    [measured] = script.measure(size, ["choice"])
    found = json.loads(json.dumps(measured))
    [compared] = found["compared"]
    assert script.named(compared["looks"]["12"]["winners"]) == "alone"
    text = script.report(found)
    assert text.count("\n### ") == 4
    assert "1 seeds of each of 1 laws; 20 agents alone, 4 teams of 5, one team of 20" in text


@pytest.mark.long
def test_what_is_derived_of_until_clear_is_what_the_command_does(
    scripts: dict[str, ModuleType],
) -> None:
    script, shared = scripts["three_ways"], import_module("reproduction")
    size = script.Size(1, (4, 8, 16), 20, 5, "1,3,10", 2)
    derived = script.compare(size, "choice", 1)["clear"]
    asked = ("--seed", "1", "--max-usd", "1000000", "--repeats", "16", "--until-clear")
    with shared.shell(shared.by_law(script.SHAPES["choice"].law)) as podium:
        told = podium.json("compare", script.FILE, "three_ways", *size.words("choice"), *asked)
    assert len(told["runs"]) == derived["runs"]
    assert [pair["winner"] for pair in told["pairs"]] == derived["winners"]


@pytest.mark.long
def test_the_levers_run_small_and_a_sound_chief_is_better(scripts: dict[str, ModuleType]) -> None:
    script = scripts["ceo"]
    found: dict[str, Any] = json.loads(json.dumps(script.measure(1, 6, ["whole"])))
    sound, idle = found["found"]
    assert sum(sound["on"]) > sum(sound["off"]) + 6
    assert idle["winner"] != "on" or sum(idle["on"]) < sum(sound["on"])
    assert "all levers, against no CEO" in script.report(found)


@pytest.mark.server
def test_the_small_model_answers_in_three_ways(scripts: dict[str, ModuleType]) -> None:
    script = scripts["small_model"]
    counts = {"words_ways": 1, "arithmetic_ways": 1, "levers": 0}
    found = json.loads(json.dumps(script.measure(counts, 4, 2)))
    assert [len(runs) for runs in found["runs"].values()] == [3, 3]
    assert "4 agents: alone, in 2 teams of 2" in script.report(found)


VERIFIER = """import hashlib

def score(attempt, task):
    return int(hashlib.sha256(attempt.text.encode()).hexdigest()[:6], 16) / 0xFFFFFF
"""


@pytest.mark.long
def test_the_shipped_comparison_is_one_command_with_a_server_and_a_verifier(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    shutil.copy(ROOT / "examples" / "parallel_teams.team", "mine.team")
    Path("own_checks").mkdir()
    Path("own_checks", "kernel.py").write_text(VERIFIER)
    sizes = ("agents=10", "team_size=5", "repeats=2")
    with in_thread(FakeServer(echo("reply {hash}", 0.0))) as server:
        values = (f"endpoint={server.url}/v1", "verifier=own_checks.kernel:score", *sizes)
        given = [word for value in values for word in ("--set", value)]
        words = ["compare", "mine.team", *given, "--allow", "python:own_checks.*"]
        done = CliRunner().invoke(main, [*words, "--html", "report.html", "--csv", "runs.csv"])
    assert done.exit_code == 0, done.output
    assert len(Path("runs.csv").read_text().splitlines()) == 1 + 3 * 2
    assert "one_team" in Path("report.html").read_text()
