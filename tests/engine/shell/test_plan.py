"""`podium plan` on real files: what a person reads and what a program reads."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from podium.engine.shell.cli import main
from podium.engine.shell.exits import Exit

PAID = """edition 2026

param copies: int(1 to 9) = 3

model fast {
  endpoint = openai("fast", base_url = "https://models.example/v1", key = env("FAST_KEY"))
  price    = { input = $2 per 1M tokens, output = $8 per 1M tokens }
  context  = 4k tokens
}

model odd { endpoint = openai("odd", base_url = "https://odd.example/v1") }

task sum { statement = "What is 2 + 2?", verify = python("checks.sums:score"), pass = score >= 1 }

run main { task = sum, model = fast, flow = parallel(copies) of team(2, rounds = 1) -> best, budget = [5 calls] }

run unknown { task = sum, model = odd, flow = agent, budget = [50k tokens, 90s] }
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, made the current one, with paid.team in it; no such module as checks.sums."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FAST_KEY", raising=False)
    (tmp_path / "paid.team").write_text(PAID)
    return tmp_path


def planned(*words: str) -> Result:
    return CliRunner().invoke(main, ["plan", *words])


def test_a_plan_says_figures_budget_parameters_and_what_it_touches_without_leave() -> None:
    result = planned("paid.team", "main", "--set", "copies=2")
    assert result.exit_code == 0, result.stderr
    assert "2 x team of 2, 1 rounds" in result.stdout
    assert result.stdout.splitlines()[-7:] == [
        "Binding budget: the calls of main (5).",
        "Parameter copies = 2 (--set)",
        "Hosts: models.example",
        "Variables: FAST_KEY",
        "Files: paid.team",
        "Python: checks.sums:score",
        "Nothing was called.",
    ]


def test_what_is_not_known_is_said_to_be_unknown() -> None:
    result = planned("paid.team", "unknown")
    assert result.exit_code == 0
    total = next(line for line in result.stdout.splitlines() if line.startswith("total"))
    assert total.split()[-3:] == ["unknown", "<=", "1m30s"]
    assert "Unknown price: odd" in result.stdout
    assert "Assumed: odd reads 8,192 tokens" in result.stdout
    assert "No budget binds" in result.stdout


def test_the_json_holds_each_part_and_the_total() -> None:
    answer = json.loads(planned("paid.team", "main", "--json").stdout)
    assert list(answer) == ["schema", "nodes", "total", "binding"]
    assert answer["schema"] == 1
    assert [(node["address"], node["kind"]) for node in answer["nodes"]] == [
        ("main", "then"),
        ("main/1.parallel", "parallel"),
        ("main/1.parallel/1-3.team", "team"),
        ("main/2.best", "best"),
    ]
    assert answer["binding"] == {"address": "main", "dimension": "calls", "limit": 5}
    squad, total = answer["nodes"][2], answer["total"]
    assert list(squad) == ["address", "kind", "agents", "calls", "tokens", "usd"]
    assert list(total) == ["agents", "calls", "tokens", "usd"]
    assert squad["calls"] == {"at_least": 1, "expected": 3, "at_most": 3}
    assert total["calls"] == {"at_least": 1, "expected": 5, "at_most": 5}
    assert total["agents"] == 6
    assert squad["usd"]["at_least"] < squad["usd"]["expected"] < squad["usd"]["at_most"] < 1
    unpriced = json.loads(planned("paid.team", "unknown", "--json").stdout)
    assert unpriced["total"]["usd"] == {"at_least": None, "expected": None, "at_most": None}
    assert unpriced["binding"] is None


def test_an_expression_is_planned_without_a_file() -> None:
    result = planned("-e", "parallel(3) of agent -> best", "--task", "words", "--json")
    assert json.loads(result.stdout)["total"]["calls"]["at_most"] == 3


def test_a_wrong_program_is_exit_2_in_both_forms(folder: Path) -> None:
    (folder / "bad.team").write_text("run main { flow = nobody }\n")
    result = planned("bad.team")
    assert (result.exit_code, result.stdout) == (Exit.USAGE, "")
    assert "nobody" in result.stderr
    assert json.loads(planned("bad.team", "--json").stdout)["problems"]


def test_a_missing_file_and_a_wrong_setting_are_exit_2_with_a_message() -> None:
    gone = planned("gone.team")
    assert (gone.exit_code, gone.stdout) == (Exit.USAGE, "")
    assert 'there is no file "gone.team"' in gone.stderr
    wrong = planned("paid.team", "--set", "copies=20")
    assert wrong.exit_code == Exit.USAGE
    assert "copies" in wrong.stderr


UNLIMITED = """
model paid {
  endpoint = openai("m", base_url = "http://127.0.0.1:9")
  price    = { input = $2 per 1M tokens, output = $10 per 1M tokens }
  context  = 8k tokens
}
task t { statement = "Say yes."  verify = contains("yes") }
run main { task = t  flow = parallel(3) of team(3) -> best }
"""


def test_a_paid_run_without_a_budget_is_planned_and_told_what_budget_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("paid.team").write_text(UNLIMITED)
    planned = CliRunner().invoke(main, ["plan", "paid.team", "--json"])
    assert planned.exit_code == 0
    most = json.loads(planned.stdout)["total"]["usd"]["at_most"]
    refused = CliRunner().invoke(main, ["run", "paid.team", "--json"])
    assert refused.exit_code == 2
    [problem] = json.loads(refused.stdout)["problems"]
    suggested = re.search(r"budget = \[\$([0-9.]+)\]", problem["help"])
    assert suggested is not None
    assert most <= float(suggested[1]) < most + 0.02


def test_the_suggested_budget_is_enough_to_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("paid.team").write_text(UNLIMITED)
    refused = CliRunner().invoke(main, ["run", "paid.team", "--json"])
    line = json.loads(refused.stdout)["problems"][0]["help"].split("`")[1]
    Path("paid.team").write_text(UNLIMITED.replace("-> best }", f"-> best  {line} }}"))
    assert CliRunner().invoke(main, ["plan", "paid.team"]).exit_code == 0
