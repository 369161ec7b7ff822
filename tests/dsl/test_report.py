import re
import time

import pytest

from podium.dsl.parse import parse
from podium.dsl.problem import Edit, Label, Problem
from podium.dsl.report import as_json, coloured, plain
from podium.dsl.source import Place, Source, Span

SOURCE = Source("bad.team", "flow a = é x\nflow b = c\n")


def place(start: int, stop: int, source: Source = SOURCE) -> Place:
    return Place(source, Span(start, stop))


def test_json_has_exactly_the_promised_shape() -> None:
    problem = Problem(
        "T021", "two", place(11, 12), help="h", edits=(Edit(Span(10, 10), " of"),), notes=("n",)
    )
    assert as_json([problem]) == {
        "schema": 1,
        "problems": [
            {
                "code": "T021",
                "severity": "error",
                "message": "two",
                "file": "bad.team",
                "start": {"line": 1, "column": 12},
                "end": {"line": 1, "column": 13},
                "help": "h",
                "edits": [
                    {
                        "start": {"line": 1, "column": 11},
                        "end": {"line": 1, "column": 11},
                        "new": " of",
                    }
                ],
            }
        ],
    }
    assert as_json([]) == {"schema": 1, "problems": []}


def test_a_report_shows_carets_labels_notes_help_and_the_edited_line() -> None:
    elsewhere = Label(place(0, 3, Source("house.team", "abc def")), "declared here")
    problem = Problem(
        "E301",
        "too much",
        place(11, 12),
        label="this",
        severity="warning",
        secondary=(Label(place(18, 19), "that"), elsewhere),
        notes=("a note",),
        help="less",
        edits=(Edit(Span(10, 10), " of"),),
    )
    assert (
        plain([problem])
        == """\
warning[E301]: too much
 --> bad.team:1:12
  |
1 | flow a = é x
  |            ^ this
2 | flow b = c
  |      - that
 ::: house.team:1:1
1 | abc def
  | --- declared here
  = note: a note
  = help: less
1 + flow a = é of x
"""
    )


def test_colours_add_nothing_but_colours() -> None:
    _, problems = parse(SOURCE)
    assert "\x1b[1;31m" in coloured(problems)
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured(problems)) == plain(problems)


@pytest.mark.parametrize("char", ["\x1b", "\x07", "\x00", "\r", "\x9b", "\u202e", "\u2028"])
def test_control_characters_of_a_program_never_reach_the_terminal(char: str) -> None:
    text = f'flow a = "x{char}[31m\nflow {char}b = = c # {char}\n{char}\n'
    source = Source(f"n{char}.team", text)
    shown = plain(parse(source)[1])
    assert char not in shown
    assert f"<U+{ord(char):04X}>" in shown


def test_a_long_line_is_cut_around_its_caret() -> None:
    _, problems = parse(Source("x", "flow a = [" + "b, " * 5000 + "= " + "b, " * 5000 + "]"))
    shown = plain(problems)
    assert max(map(len, shown.splitlines())) < 200
    caret = next(line for line in shown.splitlines() if "^" in line).index("^")
    assert next(line for line in shown.splitlines() if "b, b" in line)[caret] == "="


def test_what_is_cut_off_a_long_line_shows_on_both_sides() -> None:
    text = 'role a { prompt = "' + "p" * 300 + '"  turns = 1.5  system = "' + "s" * 300 + '" }'
    at = text.index("1.5")
    later = text.rindex('"')
    edit = Edit(Span(at, at + 3), "15")
    label = Label(Place(Source("x", text), Span(later, later + 1)), "there")
    here = Place(Source("x", text), Span(at, at + 3))
    shown = plain([Problem("E1", "m", here, secondary=(label,), edits=(edit,))]).splitlines()
    lines = [line for line in shown if line.startswith("1 ")]
    marks = [line for line in shown if set(line) & {"^", "-"} and "|" in line and ">" not in line]
    assert [line.count("\u2026") for line in lines] == [2, 1, 2]
    assert lines[0][marks[0].index("^")] == "1"
    assert lines[1][marks[1].index("-")] == '"'
    assert "turns = 15 " in lines[2]


@pytest.mark.slow
def test_many_reports_on_one_long_line_take_time_for_what_is_shown() -> None:
    source = Source("x", "a" * 900_000)
    problems = [Problem("E1", "m", Place(source, Span(at, at + 1))) for at in range(100)]
    start = time.process_time()
    plain(problems)
    assert time.process_time() - start < 1


def test_a_place_behind_the_end_of_the_text_can_be_shown() -> None:
    assert "^" in plain([Problem("E1", "m", place(24, 25))])
