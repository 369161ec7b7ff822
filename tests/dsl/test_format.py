"""The rules of the formatter one by one, and what it does when it cannot."""

from pathlib import Path

import pytest

from podium.dsl import format as format_module
from podium.dsl.format import FormatError, format_text
from podium.dsl.source import Source
from podium.dsl.syntax import File

CORPUS = Path(__file__).parents[1] / "corpus"


def formatted(text: str) -> str:
    return format_text(Source("x.team", text))


def test_the_sketch_changes_in_one_declaration_only() -> None:
    text = (CORPUS / "valid/sketch.team").read_text()
    changed = set(formatted(text).splitlines()) - set(text.splitlines())
    assert changed == {
        "flow squad(size: int = 10, lead: Model = strong) = team(",
        "  size,",
        "  ceo = adaptive,",
        "  ceo_model = lead,",
        "  members = [1 of architect, 7 of fixer, 2 of critic],",
        "  budget = [$2, 400k tokens, 10m],",
        ")",
    }


def test_the_program_of_all_forms_is_in_the_layout_already() -> None:
    text = (CORPUS / "valid/forms.team").read_text()
    assert formatted(text) == text


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("", ""),
        ("# only\n", "# only\n"),
        ("flow a=b->c", "flow a = b -> c\n"),
        ("flow a=-b- -c", "flow a = -b - -c\n"),
        ("flow a = f ( x , )", "flow a = f(x)\n"),
        ("param n:int(1 to 3)=2", "param n: int(1 to 3) = 2\n"),
        ("role a {x=1,longer=2}", "role a { x = 1, longer = 2 }\n"),
        ("role a {\n x=1,longer=2}", "role a {\n  x      = 1\n  longer = 2\n}\n"),
        ("role a {\n x=1\n\n\n longer=2}", "role a {\n  x = 1\n\n  longer = 2\n}\n"),
        ("flow a=b\nflow c=d", "flow a = b\nflow c = d\n"),
        ("flow a=b\n\n\n\nrun c {}", "flow a = b\n\nrun c {}\n"),
        ("flow a = [b, # why\n c]", "flow a = [\n  b,  # why\n  c,\n]\n"),
        (
            'role a {\n prompt="""\n b\n  c\n """}',
            'role a {\n  prompt = """\n    b\n     c\n    """\n}\n',
        ),
    ],
)
def test_rules(text: str, result: str) -> None:
    assert formatted(text) == result


def test_a_chain_that_is_too_long_breaks_before_each_arrow() -> None:
    text = f"flow a = {' -> '.join(['a_step_with_a_name(rounds = 2)'] * 4)}"
    step = "a_step_with_a_name(rounds = 2)"
    assert formatted(text) == f"flow a =\n  {step}\n  -> {step}\n  -> {step}\n  -> {step}\n"


def test_of_two_brackets_on_a_line_the_last_one_breaks() -> None:
    mix = ["3 of squad(5, lead = strong)", "2 of squad(3, lead = fast)", "4 of another_one(1)"]
    text = f"flow a = parallel(3, stop = first_pass) of [{', '.join(mix)}]"
    lines = "".join(f"  {member},\n" for member in mix)
    assert formatted(text) == f"flow a = parallel(3, stop = first_pass) of [\n{lines}]\n"


def test_a_choice_breaks_before_else_under_its_if() -> None:
    branch = "a_branch_with_a_name(rounds = 2) of squad(4)"
    text = f"run a {{\n flow = if x then {branch} else {branch}\n seed = 3 }}"
    assert formatted(text) == (
        f"run a {{\n  flow = if x then {branch}\n         else {branch}\n  seed = 3\n}}\n"
    )


def test_a_layout_larger_than_a_text_may_be_is_refused() -> None:
    with pytest.raises(FormatError) as caught:
        formatted("flow a = " + "[" * 150 + "x, " * 4000 + "]" * 150)
    assert [p.code for p in caught.value.problems] == ["T000"]


def test_no_line_is_wider_than_100_where_it_can_be_broken() -> None:
    text = f"flow a = f({', '.join(['[1 of b, 2 of c, 3 of d]'] * 30)})"
    assert max(map(len, formatted(text).splitlines())) <= 100


def test_a_text_with_syntax_problems_is_refused_with_them() -> None:
    with pytest.raises(FormatError) as caught:
        formatted("flow a = = b")
    assert [p.code for p in caught.value.problems] == ["T011"]


@pytest.mark.parametrize("wrong", ["flow a = c\n", "flow a = b\n", "flow a=b  # x\n", "flow ("])
def test_a_wrong_result_is_refused_with_f001(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def laid_out(source: Source, file: File) -> str:
        return wrong if source.text != wrong else "?"

    monkeypatch.setattr(format_module, "laid_out", laid_out)
    with pytest.raises(FormatError) as caught:
        formatted("flow a = b # x")
    assert [p.code for p in caught.value.problems] == ["F001"]


def test_a_long_import_goes_on_below() -> None:
    names = [f"a_rather_long_name_{number}" for number in range(9)]
    made = format_text(Source("x", f"from std.roles import {', '.join(names)}\n"))
    assert max(len(line) for line in made.split("\n")) <= 100
    assert made.split("\n")[1].startswith("  a_rather_long_name_")
    assert " ".join(made.split()) == f"from std.roles import {', '.join(names)}"
