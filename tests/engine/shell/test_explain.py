"""`podium explain`: for a person, for a program, and for a code that does not exist."""

import json

import pytest
from click.testing import CliRunner, Result

from podium.dsl.catalogue import Entry, catalogue
from podium.engine.shell.cli import main
from podium.engine.shell.exits import Exit
from podium.engine.shell.safe import safe

ENTRIES = list(catalogue().values())


def explain(*words: str) -> Result:
    return CliRunner().invoke(main, ["explain", *words])


def test_a_code_is_explained_with_both_programs() -> None:
    result = explain("E204")
    assert result.exit_code == 0
    assert result.stdout == (
        "E204: one attempt leaves nothing to choose from\n"
        "\n"
        "`best`, `vote` and the other reducers choose among many attempts. Behind a step that\n"
        "gives one they would do nothing, which was surely not meant.\n"
        "\n"
        "Wrong:\n"
        "\n"
        "    flow a = agent -> best\n"
        "\n"
        "Right:\n"
        "\n"
        "    flow a = parallel(3) of agent -> best\n"
    )


def test_what_the_command_was_given_and_the_other_files_are_shown() -> None:
    shown = explain("E502").stdout
    assert 'The file "issue.md":\n\n    The button does nothing.\n' in shown
    assert "Right, with `--allow file:issue.md`:\n" in shown
    assert "Wrong, where `…` stands for 150 times `repeat(1) of`:\n" in explain("E404").stdout


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.code)
def test_every_code_is_explained_in_lines_that_fit(entry: Entry) -> None:
    result = explain(entry.code)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{entry.code}: {entry.title}\n")
    assert safe(result.stdout) == result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_without_a_code_all_are_listed() -> None:
    lines = explain().stdout.splitlines()
    assert lines == [f"{entry.code}  {entry.title}" for entry in ENTRIES]
    listed = json.loads(explain("--json").stdout)
    assert listed["schema"] == 1
    assert listed["problems"] == [{"code": e.code, "title": e.title} for e in ENTRIES]


def test_a_program_gets_the_entry_as_json() -> None:
    entry = catalogue()["E122"]
    assert entry.failing is not None
    assert json.loads(explain("E122", "--json").stdout) == {
        "schema": 1,
        "code": "E122",
        "title": entry.title,
        "why": entry.why,
        "files": {},
        "failing": {"text": entry.failing.text, "options": "--set n=ten", "fill": None},
        "mended": {"text": entry.failing.text, "options": "--set n=10", "fill": None},
    }
    assert json.loads(explain("F001", "--json").stdout)["failing"] is None


def test_small_letters_will_do() -> None:
    assert explain("e204").stdout == explain("E204").stdout


@pytest.mark.parametrize(
    ("code", "help_"), [("E505x", "`E505`"), ("E0105", "`E105`"), ("\x1b[2J", "lists all")]
)
def test_an_unknown_code_is_exit_2_with_those_that_are_near(code: str, help_: str) -> None:
    result = explain(code)
    assert result.exit_code == Exit.USAGE
    assert help_ in result.stderr
    assert "\x1b" not in result.stderr
    assert result.stdout == ""
