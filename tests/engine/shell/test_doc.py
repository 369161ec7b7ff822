"""`podium doc`: pages of files and of the library's modules, and what is said where there is none."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from podium.dsl.library import modules
from podium.engine.shell.cli import main
from podium.engine.shell.exits import Exit


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.team").write_text("## Says \x1b[2J hello.\n\n## One.\nflow one = agent\n")
    return tmp_path


def doc(*words: str, given: str | None = None) -> Result:
    return CliRunner().invoke(main, ["doc", *words], input=given)


def test_the_page_goes_to_standard_output_without_control_codes() -> None:
    result = doc("a.team")
    assert result.exit_code == 0
    assert result.stdout.startswith("# a.team\n\nSays \\x1b")
    assert "\x1b" not in result.stdout
    assert result.stderr == ""


def test_the_page_can_be_written_to_a_file(folder: Path) -> None:
    result = doc("a.team", "--out", "page.md")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "wrote page.md\n")
    assert (folder / "page.md").read_text() == doc("a.team").stdout
    assert doc("a.team", "--out", "none/page.md").exit_code == Exit.USAGE


def test_a_program_gets_the_page_as_json() -> None:
    shown = json.loads(doc("a.team", "--json").stdout)
    assert (shown["schema"], [entry["name"] for entry in shown["entries"]]) == (1, ["one"])


def test_a_text_from_standard_input_has_a_page() -> None:
    assert "### two" in doc("-", given="flow two = agent\n").stdout


def test_a_module_of_the_library_is_found_by_its_name() -> None:
    assert "### best_of" in doc("std.flows").stdout
    result = doc("std.flws")
    assert result.exit_code == Exit.USAGE
    assert "there is no module `std.flws`; did you mean `std.flows`" in result.stderr


def test_without_a_file_the_modules_are_listed() -> None:
    lines = doc().stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(modules())
    assert all(len(line.split()) > 3 for line in lines)
    assert [one["name"] for one in json.loads(doc("--json").stdout)["modules"]] == list(modules())


def test_a_wrong_file_shows_its_problems_and_is_exit_2(folder: Path) -> None:
    (folder / "bad.team").write_text("flow a = agnt\n")
    result = doc("bad.team")
    assert (result.exit_code, result.stdout) == (Exit.USAGE, "")
    assert "did you mean `agent`?" in result.stderr
    assert json.loads(doc("bad.team", "--json").stdout)["problems"][0]["code"] == "E105"
    assert 'there is no file "gone.team"' in doc("gone.team").stderr
