"""Programs that must parse, and programs that must get exactly the report beside them."""

from pathlib import Path

import pytest

from podium.dsl.catalogue import catalogue
from podium.dsl.format import format_text
from podium.dsl.parse import parse
from podium.dsl.report import plain
from podium.dsl.source import Source

CORPUS = Path(__file__).parents[1] / "corpus"
VALID = sorted((CORPUS / "valid").rglob("*.team"))
INVALID = sorted((CORPUS / "invalid/syntax").glob("*.team"))


@pytest.mark.parametrize("path", VALID, ids=lambda path: path.stem)
def test_a_valid_program_parses_and_formats(path: Path) -> None:
    source = Source(path.name, path.read_text())
    assert plain(parse(source)[1]) == ""
    assert format_text(source)


@pytest.mark.parametrize("path", INVALID, ids=lambda path: path.stem)
def test_an_invalid_program_gets_its_report(path: Path) -> None:
    _, problems = parse(Source(path.name, path.read_text()))
    assert plain(problems) == path.with_suffix(".txt").read_text()


def test_each_code_has_an_invalid_program() -> None:
    # T000, T007 and T008 need texts too large to keep: test_parse makes them.
    syntax = {code for code in catalogue() if code.startswith("T")}
    codes = syntax - {"T000", "T007", "T008"}
    assert codes == {path.stem for path in INVALID if path.stem.startswith("T")}
    for path in INVALID:
        if path.stem in codes:
            assert f"[{path.stem}]" in path.with_suffix(".txt").read_text()
