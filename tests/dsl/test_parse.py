"""Text to tree: what nodes hold, where they stand, and that no text makes the parser raise."""

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.dsl import syntax as s
from podium.dsl.parse import parse, parse_expression
from podium.dsl.problem import MOST_REPORTS, Problem
from podium.dsl.report import as_json, coloured, plain
from podium.dsl.source import Source

SKETCH = (Path(__file__).parents[1] / "corpus/valid/sketch.team").read_text()
SCRAPS = [
    *("flow ", "model ", "a", "\n", "\n  ", '"', '"""', "r", "{{", "}}", "{", "}", "\\", "(", ")"),
    *(
        "[",
        "]",
        " = ",
        ":",
        ",",
        "# c\n",
        "1m",
        "$",
        " of ",
        "->",
        "é",
        "\0",
        "5x",
        "'",
        "then ",
        "-",
    ),
    *("tokens ", "import ", "from ", "edition ", "match ", "if ", "else ", "|", ">", "3 ", "."),
]
TEXTS = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(SCRAPS), max_size=30).map("".join))


def expression(text: str) -> s.Expr:
    found, problems = parse_expression(Source("<expression>", text))
    assert found is not None
    assert problems == []
    return found


def problems_of(text: str) -> list[Problem]:
    return parse(Source("x.team", text))[1]


@given(TEXTS)
@settings(max_examples=400, deadline=None, derandomize=True)
def test_no_text_raises_and_each_problem_can_be_shown(text: str) -> None:
    for found in (parse(Source("x", text))[1], parse_expression(Source("x", text))[1]):
        assert plain(found).count("error[") + plain(found).count("note[") >= len(found)
        coloured(found)
        as_json(found)


@given(TEXTS)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_what_is_not_in_the_tree_is_in_the_problems(text: str) -> None:
    file, problems = parse(Source("x", text))
    if not problems:
        words = [line for line in text.split("\n") if line[:1].isalpha() and line[:1].isascii()]
        read = len(file.declarations) + len(file.imports) + (file.edition is not None)
        assert read <= len(words)


def test_a_one_liner_needs_no_leading_blank_and_its_spans_count_from_its_start() -> None:
    text = "parallel(10) of team(10, ceo=adaptive)"
    found = expression(text)
    assert isinstance(found, s.Of)
    assert (found.span.start, found.span.end) == (0, len(text))
    assert isinstance(found.inner, s.Call)
    assert text[found.inner.span.start :] == "team(10, ceo=adaptive)"


def test_precedence_goes_from_then_over_of_to_calls() -> None:
    found = expression("parallel(3) of retry(2) of team(5) -> best(by = t)")
    assert isinstance(found, s.Then)
    assert isinstance(found.first, s.Of)
    assert isinstance(found.first.inner, s.Of)


def test_every_node_of_the_sketch_spans_text_that_begins_and_ends_with_it() -> None:
    file, problems = parse(Source("sketch.team", SKETCH))
    assert problems == []
    todo: list[s.Node] = [file]
    seen = 0
    while todo:
        node = todo.pop()
        text = SKETCH[node.span.start : node.span.end]
        seen += 1
        match node:
            case s.Name(name=name) | s.Filter(name=name) | s.TypeName(name=name):
                assert text.startswith(name)
            case s.Field() | s.Param() | s.Declaration():
                assert SKETCH[node.name_span.start : node.name_span.end] == node.name
            case s.Call() | s.Paren():
                assert text.endswith(")")
            case s.Record():
                assert (text[0], text[-1]) == ("{", "}")
            case s.ListExpr():
                assert (text[0], text[-1]) == ("[", "]")
            case s.PromptSlot():
                assert (text[:2], text[-2:]) == ("{{", "}}")
            case s.File():
                assert text == SKETCH
            case s.PromptText():
                assert node.text.split("\n")[0].strip() in text
            case s.Then():
                assert SKETCH[node.arrow.start : node.arrow.end] == "->"
            case s.With():
                assert " with {" in text
            case _:
                assert text == text.strip()
        todo.extend(s.children(node))
    assert seen > 250


def test_lines_of_documentation_directly_above_belong_to_the_declaration() -> None:
    text = "## Not this.\n\n## One.\n##  Two.\nflow a = b  ## Nor this.\nflow c = d\n"
    file, _ = parse(Source("x", text))
    assert [d.doc for d in file.declarations] == ["One.\n Two.", ""]


def test_an_empty_file_and_one_of_comments_are_fine() -> None:
    assert problems_of("") == []
    assert problems_of("# nothing\n\n") == []


def test_a_broken_declaration_leaves_the_others_whole() -> None:
    file, problems = parse(Source("x", "flow a = \nflow b = c\nflow d = (\nflow e = f\n"))
    assert [d.name for d in file.declarations] == ["b", "e"]
    assert [p.code for p in problems] == ["T011", "T010"]


def test_an_unknown_kind_is_reported_and_kept_so_that_its_name_is_known() -> None:
    file, problems = parse(Source("x", "modle fast { context = 3 }"))
    assert [p.code for p in problems] == ["T030"]
    assert [d.name for d in file.declarations] == ["fast"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("flow a = b\n" * 100_000, "T000"),
        ("," * 999_999, "T000"),
        ("flow a = [" + "," * 50_000, "T002"),
        ("flow a = " + "(" * 10_000, "T007"),
        ("flow a = " + "->".join("x" * 600), "T007"),
        ("flow a = " + "not " * 600 + "x", "T007"),
        ("flow a = x" + "()" * 600, "T007"),
        ('flow a = "' + "x" * 900_000, "T005"),
        ("flow a = " + "1" * 900_000, "T006"),
        ('flow b = \\"""\n' * 5_000, "T001"),
        ("a" * 900_000, "T030"),
        ('role a { prompt = """' + "{{ a }} " * 100_000 + '""" }', "T000"),
        ('role a { prompt = """' + "{" * 900_000 + '""" }', "T000"),
        ("{{" * 100_000, "T000"),
        ('"' * 900_000, "T002"),
        ("role a { prompt = " + '"' * 900_000 + " }", "T002"),
        ('role a { prompt = "' + "\\q" * 400_000 + '" }', "T032"),
        ("\u201c" * 900_000, "T001"),
    ],
    ids=range(18),
)
def test_hostile_text_is_refused_with_one_code(text: str, code: str) -> None:
    start = time.process_time()
    file, problems = parse(Source("x", text))
    assert time.process_time() - start < 6  # seconds; most take less than two
    assert problems[0].code == code
    assert not any(s.is_sound(declaration) for declaration in file.declarations)


@pytest.mark.long
def test_of_many_unknown_kinds_only_those_that_are_told_are_looked_at() -> None:
    start = time.process_time()
    problems = problems_of("rol x { }\n" * 45_000)
    assert time.process_time() - start < 5
    assert problems[-1].message == "at least 44900 more mistakes follow that are not shown"


def test_nesting_up_to_the_caps_parses() -> None:
    assert problems_of("flow a = " + "(" * 200 + "x" + ")" * 200) == []
    assert problems_of("flow a = " + " -> ".join("x" * 500)) == []
    assert [p.code for p in problems_of("flow a = " + "(" * 201 + "x" + ")" * 201)] == ["T007"]


def test_after_many_reports_comes_one_note() -> None:
    problems = problems_of("flow a = = b\n" * (MOST_REPORTS + 20))
    assert len(problems) == MOST_REPORTS + 1
    assert (problems[-1].code, problems[-1].severity) == ("T008", "note")
    assert problems[-1].message == "at least 20 more mistakes follow that are not shown"


@pytest.mark.slow
@pytest.mark.parametrize("field", ["x = = 1", "x = [1, (2", "x = [5mins, 7hours]"])
def test_many_broken_fields_take_time_in_proportion(field: str) -> None:
    assert cost(field, 4_000) < 8 * max(cost(field, 1_000), 0.1)


def cost(field: str, count: int) -> float:
    """CPU seconds that a declaration of count such fields takes."""
    text = "role a {\n" + f"  {field}\n" * count + "}\n"
    start = time.process_time()
    assert 1 <= len(problems_of(text)) <= MOST_REPORTS + 1
    return time.process_time() - start
