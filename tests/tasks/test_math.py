"""The family `math`: what passes, what must not, and which files it reads."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.dsl.library import ArgumentError
from podium.engine.value import Attempt, Verdict
from podium.tasks.math import judge, load, make, names, reference, verify
from podium.tasks.math.answers import boxes, value_of
from podium.tasks.math.symbolic import is_there

needs_library = pytest.mark.skipif(not is_there(), reason="math-verify is not installed")


def attempt(text: str) -> Attempt:
    return Attempt(text, text, "main")


@pytest.mark.parametrize("name", names())
def test_the_reference_passes(name: str) -> None:
    task = make(problem=name)
    assert verify(attempt(reference(task)), task) == Verdict(1.0, True)


@pytest.mark.parametrize(
    ("box", "expected"),
    [
        ("42", "42"),
        ("042", "42"),
        ("1{,}234", "1234"),
        ("1,234", "1234"),
        (r"\dfrac{1}{2}", "0.5"),
        ("1/2", r"\frac{1}{2}"),
        (r"-\frac34", "-0.75"),
        (r"2\frac{1}{2}", "5/2"),
        (r"x = 5", "5"),
        (r"50\%", "50"),
        (r"12\text{ cm}", "12"),
        (r"90^\circ", "90"),
        (r"\$3.50", "3.5"),
        ("\u22127", "-7"),
        (r"\left( 1, 2 \right)", "(1,2)"),
    ],
)
def test_a_number_is_read_as_it_is_written(box: str, expected: str) -> None:
    assert judge(rf"So it is \boxed{{{box}}}.", expected).passed


CHEATS = {
    "guesses in boxes, the last one wrong": r"\boxed{41} \boxed{42} \boxed{43}",
    "several numbers in a box": r"\boxed{41, 42, 43}",
    "one or the other": r"\boxed{42 or 43}",
    "a range": r"\boxed{41-43}",
    "an expression": r"\boxed{6*7}",
    "a sum not worked out": r"\boxed{\sum_{i=1}^{6} 7}",
    "near it": r"\boxed{42.0000001}",
    "no box": "The answer is 42.",
    "an empty box": r"\boxed{}",
    "a box that is never closed": r"\boxed{42",
    "a box in a box that says more": r"\boxed{\text{42 is right}}",
    "the right one before the last": r"\boxed{42} and so \boxed{0}",
    "not a number": r"\boxed{nan}",
    "without end": r"\boxed{\infty}",
    "a power that takes for ever": r"\boxed{9^{9^{9^{9}}}}",
    "nested": r"\boxed{" + "{" * 300 + "42" + "}" * 300 + "}",
    "long": r"\boxed{" + "0" * 100_000 + "42}",
}


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_fails(name: str) -> None:
    assert judge(CHEATS[name], "42").passed is False


def test_many_boxes_are_flagged() -> None:
    many = " ".join(rf"\boxed{{{i}}}" for i in range(5))
    assert judge(many, "4") == Verdict(1.0, True, flags=("many boxed answers",))
    assert judge(r"\boxed{4} … \boxed{4.0} … \boxed{4}", "4").flags == ()


@needs_library
@pytest.mark.parametrize(
    ("box", "expected", "right"),
    [
        (r"\sqrt{108}", r"6\sqrt{3}", True),
        (r"(x^2-2x+2)(x^2+2x+2)", r"(x^2+2x+2)(x^2-2x+2)", True),
        ("10.3923", r"6\sqrt{3}", False),
        (r"6\sqrt{2}", r"6\sqrt{3}", False),
        (r"6\sqrt{3} or 1", r"6\sqrt{3}", False),
        (r"10^{10^{10^{10}}}", r"6\sqrt{3}", False),
    ],
)
@pytest.mark.long
def test_expressions_are_compared_by_the_library(box: str, expected: str, right: bool) -> None:
    assert judge(rf"\boxed{{{box}}}", expected).passed is right


@pytest.mark.parametrize("seed", range(3))
def test_the_control_is_in_no_statement(seed: int) -> None:
    task = make(control=True, seed=seed)
    assert task.verify is not None
    answer = str(task.verify.args["expected"])
    assert answer not in task.statement
    guesses = ["0", "1", "500000000000", "999999999999", task.statement]
    assert not any(verify(attempt(rf"\boxed{{{one}}}"), task).passed for one in guesses)


def test_files_are_read_in_both_forms() -> None:
    text = "\n".join(
        json.dumps(row)
        for row in (
            {"id": "2024-I-1", "problem": "1 + 1?", "answer": 2},
            {"question": "Half?", "solution": r"First \boxed{3}, then \boxed{\frac{1}{2}}."},
        )
    )
    first, second = load(text)
    assert (first.name, second.name) == ("math/2024-I-1", "math/2")
    assert verify(attempt(r"\boxed{2}"), first).passed
    assert verify(attempt(r"\boxed{0.5}"), second).passed


@pytest.mark.parametrize("line", ["{", "[]", '{"problem": "?"}', '{"answer": 1}'])
def test_a_line_without_problem_and_answer_is_told_with_its_number(line: str) -> None:
    with pytest.raises(ArgumentError, match="line 2"):
        load('{"problem": "?", "answer": 1}\n' + line)


def test_a_wrong_name_is_told_with_a_near_one() -> None:
    with pytest.raises(ArgumentError, match="no problem `clok`") as caught:
        make(problem="clok")
    assert "clock" in caught.value.help


@given(st.text(max_size=100))
def test_no_text_breaks_the_reader(text: str) -> None:
    judge(text, "1")
    judge(rf"\boxed{{{text}}}", "1")


@given(st.fractions())
def test_a_fraction_is_read_as_it_is_written(value: object) -> None:
    assert value_of(str(value)) == value


def test_boxes_nest() -> None:
    assert boxes(r"\boxed{\frac{1}{2}} \fbox {x} \boxed{") == [r"\frac{1}{2}", "x"]
