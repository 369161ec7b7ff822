"""`podium tasks`, and `podium verify` where it is asked for what it cannot do."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from podium.engine.families import families
from podium.engine.shell.cli import main


def podium(*words: str) -> Result:
    return CliRunner().invoke(main, words)


def test_the_families_are_listed_with_what_they_are() -> None:
    shown = podium("tasks")
    assert shown.exit_code == 0
    first, *rest = shown.stdout.splitlines()
    assert first.split() == ["family", "kind", "score", "needs", "baseline"]
    assert [line.split()[0] for line in rest if not line.startswith(" ")] == list(families())
    told = json.loads(podium("tasks", "--json").stdout)["families"]
    assert {one["name"] for one in told} == set(families())
    assert all(one[key] for one in told for key in ("kind", "score", "baseline", "about"))


def test_the_problems_of_a_family_are_listed_as_they_are_typed() -> None:
    assert "math:urn" in podium("tasks", "math").stdout.splitlines()
    assert podium("tasks", "words").stdout == "words:0, words:1, … by seed\n"
    assert podium("tasks", "packing").stdout == "packing:26, packing:27, … by circles\n"
    told = json.loads(podium("tasks", "choice", "--json").stdout)
    assert "tides" in told["problems"]


def test_of_a_problem_it_is_told_what_it_asks_and_when_an_answer_passes() -> None:
    shown = podium("tasks", "golf:clap")
    assert "multiple of 7" in shown.stdout
    assert "golf:clap is of the family golf" in shown.stdout
    assert "lower is better; it passes where score <= 73" in shown.stdout
    told = json.loads(podium("tasks", "golf:clap", "--json").stdout)
    assert (told["name"], told["task"], told["pass"]) == ("golf", "golf/clap", "score <= 73")
    assert "did you mean `clap`" in podium("tasks", "golf:clip").stderr


def test_an_unknown_family_is_told_with_a_near_one() -> None:
    shown = podium("tasks", "maths")
    assert shown.exit_code == 2
    assert "there is no task family `maths`" in shown.stderr
    assert "`math`" in shown.stderr


@pytest.mark.parametrize("words", [(), ("--serve", "--answer", "x")])
def test_verify_judges_or_serves_and_not_both(words: tuple[str, ...]) -> None:
    shown = podium("verify", "none.team", "words", *words)
    assert shown.exit_code == 2
    assert "give --answer PATH, or --serve" in shown.stderr


def test_verify_takes_a_family_without_a_file(tmp_path: Path) -> None:
    answer = tmp_path / "answer.txt"
    answer.write_text("\\boxed{0}")
    shown = podium("verify", "math:urn", "--answer", str(answer))
    assert (shown.exit_code, shown.stdout.partition(",")[0]) == (1, "not passed")


@pytest.mark.parametrize("words", [(), ("main.team",), ("main.team", "a", "b")])
def test_verify_says_what_it_takes_where_no_task_is_named(words: tuple[str, ...]) -> None:
    shown = podium("verify", *words, "--answer", "x")
    assert shown.exit_code == 2
    assert "`podium verify golf:clap` of a family" in shown.stderr


def test_verify_of_several_tasks_says_how_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("set.jsonl").write_text('{"statement": "a?", "answer": 1}\n' * 2)
    Path("answer.txt").write_text("1")
    shown = podium("verify", "set.jsonl", "--answer", "answer.txt")
    assert shown.exit_code == 2
    assert "set.jsonl stands for 2 tasks" in shown.stderr
    assert "alone into a file of problems" in shown.stderr
