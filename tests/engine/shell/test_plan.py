"""`podium plan` on real files: what a person reads and what a program reads."""

import io
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from podium.engine.shell.cli import main
from podium.engine.shell.exits import Exit
from podium.engine.shell.plan import draw
from podium.engine.shell.plan_view import Row

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
    assert "2 x team of 2, 1 round" in result.stdout
    lines = result.stdout.splitlines()
    assert lines[7:11] == [
        "Binding budget: the calls of main (5).",
        "One after another: 2 calls at most.",
        "From caches: up to 588 of 4.12k input tokens expected, which repeat an earlier call's beginning.",
        "Parameter copies = 2 (--set)",
    ]
    assert lines[-5:] == [
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
    assert (answer["schema"], answer["run"]) == (1, "main")
    assert [(node["address"], node["kind"]) for node in answer["nodes"]] == [
        ("main", "then"),
        ("main/1.parallel", "parallel"),
        ("main/1.parallel/1-3.team", "team"),
        ("main/2.best", "best"),
    ]
    assert answer["binding"] == {"address": "main", "dimension": "calls", "limit": 5}
    squad, total = answer["nodes"][2], answer["total"]
    assert (squad["label"], squad["count"], squad["depth"]) == ("team", 3, 2)
    assert (squad["seconds"], squad["binding"], total["seconds"]) == (None, None, None)
    assert squad["calls"] == {"at_least": 1, "expected": 3, "at_most": 3}
    assert total["calls"] == {"at_least": 1, "expected": 5, "at_most": 5}
    assert total["agents"] == 6
    assert squad["cached"]["at_least"] == 0 < squad["cached"]["expected"] < squad["input"]
    assert squad["input"] < squad["cached"]["at_most"] == squad["tokens"]["at_most"] - 3 * 1000
    assert (squad["usd_cached"], total["usd_cached"]) == (None, None)
    assert squad["usd"]["at_least"] < squad["usd"]["expected"] < squad["usd"]["at_most"] < 1
    unpriced = json.loads(planned("paid.team", "unknown", "--json").stdout)
    assert unpriced["total"]["usd"] == {"at_least": None, "expected": None, "at_most": None}
    assert unpriced["binding"] is None


def test_an_expression_is_planned_without_a_file_and_touches_none() -> None:
    words = ("-e", "parallel(3) of agent -> best", "--task", "words")
    assert json.loads(planned(*words, "--json").stdout)["total"]["calls"]["at_most"] == 3
    printed = planned(*words).stdout
    assert "Python: podium.tasks.words:verify" in printed
    assert "Files:" not in printed


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


def test_every_default_in_force_is_shown(folder: Path) -> None:
    (folder / "chief.team").write_text(
        PAID.replace("team(2, rounds = 1)", "team(2, ceo = adaptive, until = score >= 0.5)")
    )
    shown = planned("chief.team", "main").stdout
    start = shown.splitlines().index("In force, defaults included:")
    assert shown.splitlines()[start + 1 : start + 9] == [
        "  run main: budget [5 calls], by none, on_exhausted best, split pooled, max_agents 10,000, seed 0",
        "  model fast: context 4,000 tokens, $2.00 in, $2.00 cached, $2.00 written to cache, "
        "$8.00 out per 1M tokens, inflight all",
        "  main/1.parallel: stop none, need 1, split pooled, inflight all, migrate none",
        "  main/1.parallel/1-3.team: rounds 2, order together, sees board, style discuss, "
        "until score >= 0.5, recruit none, cycles 1, execute none, evaluate none, claims none, "
        "workspace private, compat none",
        "    members 2 x agent (model fast, max_output 1,000 tokens)",
        "    ceo adaptive ceo (model fast, max_output 512 tokens, "
        "sets assignment and direction and effort and size and stop)",
        "  main/2.best: by the task's verifier",
        "Hosts: models.example",
    ]


def test_turns_are_shown_of_agents_with_tools_alone(folder: Path) -> None:
    role = 'role worker { prompt = """Go."""  tools = [notes] }\n'
    (folder / "chief.team").write_text(
        PAID.replace("team(2, rounds = 1)", "team(members = [agent, worker], rounds = 1)") + role
    )
    shown = planned("chief.team", "main").stdout
    assert "1 x agent (model fast, max_output 1,000 tokens)" in shown
    assert "max_output 1,000 tokens, tools notes, turns 20, when_full keep)" in shown


def test_the_json_says_where_parameters_come_from_and_what_is_touched(folder: Path) -> None:
    (folder / "copies.toml").write_text("copies = 4\n")
    answer = json.loads(planned("paid.team", "main", "--params", "copies.toml", "--json").stdout)
    assert answer["parameters"] == [{"name": "copies", "value": 4, "source": "copies.toml"}]
    assert answer["touches"] == {
        "hosts": ["models.example"],
        "variables": ["FAST_KEY"],
        "files": ["paid.team"],
        "python": ["checks.sums:score"],
        "programs": [],
        "writes": [],
    }
    assert answer["settings"]["budget"] == {"calls": 5}
    assert answer["models"]["fast"]["usd_per_million"]["output"] == 8.0
    assert (answer["unknown"], answer["lacks"]) == ({"prices": [], "windows": []}, None)
    parallel = answer["nodes"][1]["settings"]
    pool = {"split": "pooled", "inflight": "all"}
    assert parallel == {"stop": "none", "need": 1, **pool, "migrate": "none"}


def test_caps_and_models_of_the_command_line_are_planned_as_they_would_run() -> None:
    capped = json.loads(planned("paid.team", "unknown", "--max-tokens", "900", "--json").stdout)
    assert capped["total"]["tokens"]["at_most"] == 900
    url = "odd=http://127.0.0.1:9/v1"
    free = json.loads(planned("paid.team", "unknown", "--model", url, "--json").stdout)
    assert free["total"]["usd"]["at_most"] == 0
    assert free["touches"]["hosts"] == ["127.0.0.1"]


RENTED = """
edition 2026
model fast { endpoint = openai("fast", base_url = "http://127.0.0.1:9/v1")  rent = $3 per 1h  context = 8k tokens }
role writer { prompt = '''{{ task.statement }}''' }
task story { statement = "Tell."  verify = contains(["e"]) }
run main { task = story  flow = parallel(2) of writer -> best  budget = [LIMIT] }
""".replace("'''", '"""')


@pytest.mark.parametrize(
    ("limit", "total", "told"),
    [
        (
            "$10, 1h",
            "$0.00 / $3.00 / $3.00",
            "No budget binds, but perhaps the time (1h00m), which",
        ),
        ("$1, 1h", "$0.00 / $1.00 / $1.00", "Binding budget: the dollars of main ($1.00)."),
        ("$1", "$0.00 / $1.00 / $1.00", "Binding budget: the dollars of main ($1.00)."),
        ("9 calls", "unknown", "Rent: unknown, by live time, which no budget bounds;"),
    ],
)
def test_a_rent_is_dollars_of_the_total_and_no_part_is_free(
    folder: Path, limit: str, total: str, told: str
) -> None:
    (folder / "rented.team").write_text(RENTED.replace("LIMIT", limit))
    lines = planned("rented.team").stdout.splitlines()
    writer = next(line for line in lines if "2 x writer" in line)
    assert "by time" in writer
    assert "$" not in writer
    assert total in next(line for line in lines if line.startswith("total"))
    assert any(line.startswith(told) for line in lines)


def test_a_plan_without_a_budget_prints_the_line_to_paste(folder: Path) -> None:
    (folder / "bare.team").write_text(UNLIMITED)
    told = next(line for line in planned("bare.team").stdout.splitlines() if "No budget" in line)
    assert re.fullmatch(
        r"No budget, and the model is not free: add `budget = \[\$[0-9.]+\]` to the run: "
        r"its plan is \$[0-9.]+ expected, \$[0-9.]+ at most\.",
        told,
    )
    line = told.split("`")[1]
    (folder / "bare.team").write_text(UNLIMITED.replace("-> best }", f"-> best  {line} }}"))
    assert "No budget binds" in planned("bare.team").stdout


@pytest.mark.parametrize("width", [200, 80, 40])
def test_no_width_of_a_terminal_cuts_a_figure(width: int) -> None:
    one = Row(
        "  10 x squad: team of 10, 2 rounds, adaptive CEO",
        "10",
        "1 / 24 / 24",
        "1 / 2k",
        "<= 900",
        "$0.10",
        "unknown",
    )
    screen = io.StringIO()
    draw(
        Console(file=screen, width=width), [one, Row("  ! binds: the calls of main (5)", *[""] * 6)]
    )
    shown = screen.getvalue()
    assert all(cell in shown for cell in one)
    assert ("agents  " in shown) is (width == 200)


# --- two plans -------------------------------------------------------------------------------------


def test_a_difference_shows_marks_figures_and_what_else_changed(folder: Path) -> None:
    changed = PAID.replace("team(2, rounds = 1) -> best", "team(2) -> top(1) -> best")
    (folder / "new.team").write_text(changed.replace("$8 per", "$9 per").replace("int(1", "int(2"))
    shown = planned("--diff", "paid.team#main", "new.team#main", "--set-new", "copies=4").stdout
    lines = shown.splitlines()
    assert lines[0] == "paid.team#main -> new.team#main: at least / expected / at most"
    assert [line for line in lines if line[:1] in "~+-"] == [
        "~ then",
        "~   parallel(3) -> parallel(4)",
        "~     3 x team of 2, 1 round -> 4 x team of 2, 2 rounds",
        "+   top(1)",
    ]
    assert "          rounds    1 -> 2" in lines
    assert "  agents    6 -> 8  (+2)" in lines
    assert "Binding budget: the calls of main (5)." in lines
    assert "Parameter copies = 3 -> 4" in lines
    assert any("model fast: usd_per_million" in line for line in lines)
    assert all(len(line) <= 100 for line in lines)


def test_a_difference_of_nothing_says_so() -> None:
    same = planned("--diff", "paid.team#main", "paid.team#main")
    assert same.exit_code == 0
    assert same.stdout.splitlines()[1:] == ["No difference.", "Nothing was called."]


def test_one_file_is_compared_with_itself_under_a_setting_or_an_expression() -> None:
    copies = json.loads(
        planned("--diff", "paid.team#main", "--set-new", "copies=1", "--json").stdout
    )
    assert copies["parameters"] == [{"name": "copies", "before": 3, "after": 1}]
    assert copies["total"]["difference"]["agents"] == -4
    words = ("-e", "agent", "-e", "parallel(2) of agent -> vote", "--task", "words")
    two = planned("--diff", *words, "--json")
    answer = json.loads(two.stdout)
    assert answer["total"]["difference"]["calls"]["expected"] == 1
    assert [node["change"] for node in answer["nodes"]] == ["removed"] + 4 * ["added"]


def test_the_json_of_a_difference_holds_both_sides_and_unknown_stays_unknown() -> None:
    answer = json.loads(planned("--diff", "paid.team#main", "paid.team#unknown", "--json").stdout)
    assert answer["schema"] == 1
    assert answer["total"]["difference"]["usd"] == dict.fromkeys(
        ("at_least", "expected", "at_most")
    )
    assert answer["touches"]["added"] == {"hosts": ["odd.example"]}
    assert answer["touches"]["removed"]["variables"] == ["FAST_KEY"]
    assert (answer["binding"]["before"]["dimension"], answer["binding"]["after"]) == ("calls", None)
    shown = planned("--diff", "paid.team#main", "paid.team#unknown").stdout
    assert re.search(r"^  dollars .* -> unknown +\(unknown\)$", shown, re.MULTILINE)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--diff", "paid.team"), "podium plan --diff OLD NEW"),
        (("--diff", "-", "-"), "standard input can be read once"),
        (("--diff", "-e", "a", "-e", "b", "-e", "c"), "at most twice"),
        (("paid.team", "main", "--set-new", "copies=1"), "--set-new goes with --diff"),
        (("-e", "agent", "-e", "agent"), "one -e at a time"),
        (("--diff", "paid.team#main", "paid.team#nobody"), "nobody"),
    ],
)
def test_a_wrong_comparison_is_exit_2_and_says_why(words: tuple[str, ...], told: str) -> None:
    wrong = planned(*words)
    assert (wrong.exit_code, wrong.stdout) == (Exit.USAGE, "")
    assert told in wrong.stderr


def test_a_file_whose_name_has_a_hash_is_that_file(folder: Path) -> None:
    (folder / "a#main").write_text(PAID)
    assert "No difference." in planned("--diff", "a#main#main", "paid.team#main").stdout


def test_parameters_are_shown_as_they_are_set(folder: Path) -> None:
    (folder / "many.team").write_text(
        """
param cash: Money = $5
param topic: text = "the sea"
param empty: text = ""
param lines: text = "a\\n b"
param by: Role = poet
param fast: bool = true
role poet { prompt = "Hello." }
run main { flow = by, budget = [cash] }
"""
    )
    result = planned("many.team", "main")
    assert result.exit_code == 0, result.stderr
    lines = [line for line in result.stdout.splitlines() if line.startswith("Parameter ")]
    assert lines == [
        "Parameter cash = $5 (default)",
        "Parameter topic = the sea (default)",
        'Parameter empty = "" (default)',
        'Parameter lines = "a\\n b" (default)',
        "Parameter by = poet (default)",
        "Parameter fast = true (default)",
    ]
