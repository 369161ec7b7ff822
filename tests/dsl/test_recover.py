"""How well mistakes land: one report for each broken declaration, near the place, with edits that help."""

import random
from itertools import combinations
from pathlib import Path

import pytest

from podium.dsl import syntax as s
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
@pytest.mark.parametrize(("mode", "least"), [("blank", 0.97), ("double", 0.96)])
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


def test_the_file_of_mistakes_gets_one_report_for_each() -> None:
    _, problems = parse(Source("many.team", (CORPUS / "invalid/syntax/many.team").read_text()))
    codes = "T030 T011 T006 T023 T005 T010 T021 T022 T010 T020 T010 T003"
    assert [p.code for p in problems] == codes.split()


def test_what_was_expected_reads_the_same_each_time() -> None:
    labels = {parse(Source("x", "param n int = 3"))[1][0].label for _ in range(3)}
    assert labels == {"expected `(`, `:`, `=`, `of`, `{` or the end of the declaration"}


# --- two mistakes --------------------------------------------------------------------------------

Change = tuple[int, int, str]  # text[start:end] becomes this


def changes(seed: int) -> list[tuple[str, list[Change], set[tuple[str, int]]]]:
    """For each field of the sketch: its declaration, and changes of one token that get one report."""
    chosen = random.Random(seed)
    found: list[tuple[str, list[Change], set[tuple[str, int]]]] = []
    for declaration in parse(Source("x", SKETCH))[0].declarations:
        fields = declaration.value.fields if isinstance(declaration.value, s.Record) else ()
        for field in fields:
            tokens = [t for t in lex(SKETCH).tokens if field.span.start < begin(t) < field.span.end]
            token = chosen.choice(tokens)
            a, b = begin(token), end(token)
            new = chosen.choice([" " * (b - a), f"{token} {token}"])
            reports = told(changed([(a, b, new)]))
            if len(reports) == 1:
                found.append((declaration.name, [(a, b, new)], reports))
    return found


def changed(planted: list[Change]) -> str:
    text = SKETCH
    for start, stop, new in sorted(planted, reverse=True):
        text = text[:start] + new + text[stop:]
    return text


def told(text: str) -> set[tuple[str, int]]:
    """Code and line of each report."""
    source = Source("x", text)
    return {(p.code, source.position(p.place.span.start).line) for p in parse(source)[1]}


def test_of_two_mistakes_in_two_fields_each_gets_its_report() -> None:
    pairs = both = third = 0
    for seed in range(2):
        planted = changes(seed)
        for (own, one, first), (other, two, second) in combinations(planted, 2):
            if own != other and chosen_out(one, two):
                continue
            reports = told(changed([*one, *two]))
            pairs += 1
            both += reports == first | second
            third += len(reports) > 2
    figure = f"{both} of {pairs} pairs are both told, {third} with a third report"
    assert pairs > 50
    assert third == 0, figure
    assert both / pairs >= 0.95, figure


def chosen_out(one: list[Change], two: list[Change]) -> bool:
    """Nine in ten pairs of fields of different declarations: there are many, all alike."""
    return (one[0][0] + two[0][0]) % 10 > 0
