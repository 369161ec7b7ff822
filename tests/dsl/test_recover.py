"""How well mistakes land: one report for each broken declaration, near the place, with edits that help."""

from pathlib import Path

import pytest

from podium.dsl.lex import begin, end, lex
from podium.dsl.parse import parse
from podium.dsl.problem import apply
from podium.dsl.source import Source

CORPUS = Path(__file__).parents[1] / "corpus"
SKETCH = (CORPUS / "valid/sketch.team").read_text()
INVALID = sorted((CORPUS / "invalid/syntax").glob("*.team"))
EVERY = 5  # of the sketch's tokens, so that the suite stays quick


def mutants(mode: str) -> list[tuple[int, str]]:
    """The sketch with one token blanked or doubled, and the line of that token."""
    source = Source("sketch.team", SKETCH)
    found: list[tuple[int, str]] = []
    for token in lex(SKETCH).tokens[::EVERY]:
        a, b = begin(token), end(token)
        new = " " * (b - a) if mode == "blank" else f"{token} {token}"
        found.append((source.position(a).line, SKETCH[:a] + new + SKETCH[b:]))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "least"), [("blank", 0.85), ("double", 0.9)])
def test_one_changed_token_gives_at_most_one_report_mostly_on_its_line(
    mode: str, least: float
) -> None:
    reported = near = 0
    for line, text in mutants(mode):
        source = Source("x", text)
        file, problems = parse(source)
        assert len(problems) <= 1
        assert len(file.declarations) + len(file.imports) >= 12
        reported += len(problems)
        near += sum(source.position(p.place.span.start).line == line for p in problems)
    assert reported > 80
    assert near / reported >= least


@pytest.mark.parametrize("path", INVALID, ids=lambda path: path.stem)
def test_an_edit_leaves_one_problem_less_or_moves_on(path: Path) -> None:
    source = Source(path.name, path.read_text())
    _, problems = parse(source)
    for problem in problems:
        if problem.edits:
            _, left = parse(Source(path.name, apply(source.text, problem.edits)))
            before = [(p.code, p.message) for p in problems]
            after = [(p.code, p.message) for p in left]
            assert after.count((problem.code, problem.message)) < before.count(
                (problem.code, problem.message)
            )
            assert len(left) <= len(problems)


def test_the_file_of_mistakes_gets_one_report_for_each_broken_declaration() -> None:
    _, problems = parse(Source("many.team", (CORPUS / "invalid/syntax/many.team").read_text()))
    codes = "T030 T011 T006 T005 T021 T022 T010 T020 T003"
    assert [p.code for p in problems] == codes.split()


def test_what_was_expected_reads_the_same_each_time() -> None:
    labels = {parse(Source("x", "param n int = 3"))[1][0].label for _ in range(3)}
    assert labels == {"expected `(`, `:`, `=`, `of`, `{` or the end of the declaration"}
