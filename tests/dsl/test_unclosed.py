"""Where a bracket that is never closed is told to end, by layout."""

import pytest

from podium.dsl.parse import parse
from podium.dsl.problem import apply
from podium.dsl.source import Source

NEXT = "flow next = x\n"


def told(text: str) -> tuple[str, str, str]:
    """Of the one report: its code, what stands before the caret on its line, and the text after its edits."""
    source = Source("x", text)
    [problem] = parse(source)[1]
    start = problem.place.span.start
    line = source.position(start).line
    return problem.code, f"{line}:{text[:start].split(chr(10))[-1]}", apply(text, problem.edits)


@pytest.mark.parametrize(
    ("text", "place", "mended"),
    [
        ("flow a = parallel(3 of [b, c]\n", "1:flow a = parallel(3 of [b, c]", "[b, c])\n"),
        ("run m {\n  a = [1, 2,\n  b = 3\n}\n", "2:  a = [1, 2", "  a = [1, 2],\n"),
        ("run m {\n  a = { b = 1\n  c = 3\n}\n", "2:  a = { b = 1", "  a = { b = 1}\n  c = 3\n}\n"),
        ("run m {\n  a = 1\n\n", "3:", "  a = 1\n}\n"),
        ("run m {\n  a = 1  # one\n", "3:", "  a = 1  # one\n}\nflow"),
        ("flow a =\n  x(1\n  -> y(2)\n", "2:  x(1", "  x(1)\n  -> y(2)\n"),
        ("run m {\n  a = x(\n    1,\n    b = 2,\n\n  c = 3\n}\n", "5:", "b = 2,\n  )\n  c = 3\n"),
        (
            "run m {\n  a = x(\n    1,\n    b = y(2,\n  )\n}\n",
            "4:    b = y(2",
            "    b = y(2),\n  )\n",
        ),
    ],
)
def test_a_bracket_ends_where_its_layout_does(text: str, place: str, mended: str) -> None:
    code, found, new = told(text + NEXT)
    assert (code, found) == ("T010", place)
    assert mended in new


def test_an_argument_further_in_lacks_a_comma_and_no_bracket() -> None:
    code, found, new = told("run m {\n  a = x(\n    1\n    b = 2,\n  )\n}\n")
    assert (code, found) == ("T021", "3:    1")
    assert "    1,\n" in new


def test_nothing_is_put_behind_a_string_without_its_end() -> None:
    problems = parse(Source("x", f'role r {{ prompt = "one line\n{NEXT}'))[1]
    assert [(p.code, bool(p.edits)) for p in problems] == [("T005", True), ("T010", False)]


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("flow a = x\n  y(n: int) = x\n", "T002", "2:  "),
        ("model m { a = 1 }\n  std.roles import r\n", "T002", "2:  "),
        ("flow a = x\n  y\n", "T021", "2:  "),
        ("flow a = if b then c\n  d\n", "T021", "2:  "),
        ("run m {\n  a = x ->\n  b = 1\n}\n", "T002", "2:  a = x ->"),
        ("run m {\n  a = x(\n    , b = 1)\n}\n", "T002", "3:    "),
        ("flow a = if b then c(3\n  else d\n", "T010", "1:flow a = if b then c(3"),
        ("flow a = (1, b = 2)\n", "T002", "1:flow a = "),
        ("task { a = 1 }\n", "T002", "1:task "),
    ],
)
def test_what_is_missing_is_told_where_it_was_left_out(text: str, code: str, place: str) -> None:
    assert told(text)[:2] == (code, place)
