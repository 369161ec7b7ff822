"""The family `choice`: shuffled options, one letter, files in GPQA's format."""

import csv
import io
from collections import Counter

import pytest

from podium.dsl.library import ArgumentError
from podium.dsl.program import Task
from podium.engine.call import VerifierCall
from podium.engine.verify import choice as judge
from podium.tasks.choice import load, make, names, reference


def passes(task: Task, text: str) -> bool | None:
    assert task.verify is not None
    return judge(VerifierCall("a", "r", task.verify, task, text, text)).passed


def right(task: Task) -> str:
    assert task.verify is not None
    return str(task.verify.args["expected"])


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("seed", [0, 1])
def test_the_reference_passes(name: str, seed: int) -> None:
    task = make(problem=name, seed=seed)
    assert passes(task, reference(task))


def rows(count: int) -> str:
    out = io.StringIO()
    names = [
        "Record ID",
        "Question",
        "Correct Answer",
        *(f"Incorrect Answer {i}" for i in (1, 2, 3)),
    ]
    writer = csv.DictWriter(out, names)
    writer.writeheader()
    for i in range(count):
        wrong = {f"Incorrect Answer {k}": f"wrong {k}, {i}" for k in (1, 2, 3)}
        question = {"Question": f"Which,\nof {i}?", "Correct Answer": f"right, {i}"}
        writer.writerow({"Record ID": f"r{i}", **question, **wrong})
    return out.getvalue()


@pytest.mark.parametrize("seed", range(8))
def test_every_letter_is_right_about_as_often_whatever_the_seed(seed: int) -> None:
    tasks = load(rows(198), seed=seed)
    counts = Counter(map(right, tasks))
    assert set(counts) == set("ABCD")
    assert all(0.15 <= count / 198 <= 0.35 for count in counts.values())
    assert tasks == load(rows(198), seed=seed)
    assert [right(task) for task in tasks] != [
        right(task) for task in load(rows(198), seed=seed + 1)
    ]


def test_the_letter_of_the_example_says_nothing_of_the_right_one() -> None:
    tasks = load(rows(400))
    hits = sum(task.statement.rstrip()[-1] == right(task) for task in tasks)
    assert 0.15 <= hits / 400 <= 0.35


def test_a_csv_file_is_read_with_its_line_breaks() -> None:
    (task,) = load(rows(1))
    assert task.name == "choice/r0"
    assert task.statement.startswith("Which,\nof 0?\n\nA. ")
    assert passes(task, right(task))


CHEATS = {
    "all letters": "ABCD",
    "a letter that is none": "Answer: E",
    "no letter": "I cannot say.",
    "nothing": "",
}


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_fails(name: str) -> None:
    assert passes(make(problem="tides"), CHEATS[name]) is False


def test_the_text_of_the_right_option_is_no_letter() -> None:
    task = make(problem="alleles")
    assert passes(task, "2/3") is False


@pytest.mark.parametrize("letter", "ABCD")
def test_always_the_same_letter_is_right_a_quarter_of_the_time(letter: str) -> None:
    tasks = load(rows(198))
    share = sum(bool(passes(task, f"Answer: {letter}")) for task in tasks) / 198
    assert 0.15 <= share <= 0.35


def test_the_control_is_passed_by_luck_alone() -> None:
    tasks = [make(control=True, seed=seed) for seed in range(200)]
    luck = sum(bool(passes(task, "Answer: C")) for task in tasks) / 200
    assert luck < 0.2
    assert all(right(task) in "ABCDEFGHIJ" for task in tasks)


@pytest.mark.parametrize(
    "text",
    [
        '{"question": "?", "correct": "a"}',
        '{"question": "?", "correct": "a", "wrong": ["b", ""]}',
        '{"question": "?", "correct": "a", "wrong": ["a", "b"]}',
        '{"question": "?", "correct": "a", "wrong": "b"}',
        "{",
        "Question,Correct Answer\n?,a\n",
    ],
)
def test_a_question_that_lacks_something_is_told_with_its_number(text: str) -> None:
    with pytest.raises(ArgumentError, match="question 1"):
        load(text)
