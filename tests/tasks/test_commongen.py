"""The family `commongen`: strict and lenient coverage, and lists that do not count."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.dsl.library import ArgumentError
from podium.engine.value import Attempt
from podium.tasks.commongen import judge, load, make, names, reference, verify
from podium.tasks.commongen.forms import forms

GIVEN = ("dog", "frisbee", "throw", "catch", "boat")


def attempt(text: str) -> Attempt:
    return Attempt(text, text, "main")


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("strict", [False, True])
def test_the_reference_passes(name: str, strict: bool) -> None:
    task = make(problem=name, strict=strict)
    verdict = verify(attempt(reference(task)), task)
    assert (verdict.score, verdict.passed) == (1.0, True), verdict.evidence


TEXT = (
    "A man threw his frisbee across the beach, and two dogs raced each other to it. "
    "The faster one caught it just before it reached a boat."
)


def test_lenient_counts_forms_and_strict_does_not() -> None:
    lenient, strict = (judge(TEXT, GIVEN, strict=how) for how in (False, True))
    assert (lenient.score, lenient.passed) == (1.0, True)
    assert (strict.score, strict.passed) == (0.4, False)
    assert strict.evidence == "strict 2, lenient 5 of 5; it lacks dog, throw, catch"


LIST = "dog, frisbee, throw, catch, boat"
OTHERS = "Some quiet people walk along slowly while other folk read their letters at home today."
CHEATS = {
    "the bare list": LIST,
    "the list as a sentence": f"{LIST}.",
    "the list joined": "Dog and frisbee and throw and catch and boat.",
    "the list in a sentence": f"My text of today uses all of these five words: {LIST}, as was wanted by you.",
    "the list after a text": f"{OTHERS} {LIST}.",
    "joined, after a text": f"{OTHERS} Dog and frisbee and throw and catch and boat.",
    "again and again": "The dog ran. " * 8,
    "the instructions": make(concepts=LIST).statement,
    "parts of words": "The dogma of frisbeeish throwaway folk in a boathouse was a catchphrase nobody knew well.",
    "too long": f"{TEXT} " * 4,
    "no end": TEXT.rstrip("."),
    "nothing": "",
}


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_fails(name: str) -> None:
    verdict = judge(CHEATS[name], GIVEN, strict=False)
    assert verdict.passed is False
    assert verdict.score is not None
    assert verdict.score <= 0.4


def test_the_control_cannot_be_passed() -> None:
    task = make(control=True)
    for text in (
        reference(task),
        task.statement,
        TEXT,
        "A and b c d e, said one to all the others here.",
    ):
        assert verify(attempt(text), task).passed is False


@pytest.mark.parametrize(
    ("word", "form"),
    [
        ("run", "running"), ("run", "ran"), ("stop", "stopped"), ("begin", "beginning"),
        ("carry", "carried"), ("play", "played"), ("box", "boxes"), ("make", "making"),
        ("make", "made"), ("leaf", "leaves"), ("teach", "teacher"), ("child", "children"),
        ("big", "bigger"), ("bake", "baker"),
    ],
)  # fmt: skip
def test_forms(word: str, form: str) -> None:
    assert form in forms(word)


@pytest.mark.parametrize(
    ("word", "other"), [("cat", "category"), ("play", "plaied"), ("sun", "son")]
)
def test_other_words_are_no_forms(word: str, other: str) -> None:
    assert other not in forms(word)


def test_files_are_read_in_both_forms() -> None:
    first, second = load(
        '{"concepts": ["Dog", "run"], "id": "x"}\n{"concept_set": "ski#mountain#skier"}'
    )
    assert (first.name, second.name) == ("commongen/x", "commongen/2")
    assert second.verify is not None
    assert second.verify.args["concepts"] == ("ski", "mountain", "skier")


@pytest.mark.parametrize("line", ["{", '{"concepts": ["one"]}', '{"concept_set": "a b#c"}', "{}"])
def test_a_line_without_concepts_is_told_with_its_number(line: str) -> None:
    with pytest.raises(ArgumentError, match="line 1"):
        load(line)


@given(st.text(max_size=200))
def test_no_text_breaks_the_judge(text: str) -> None:
    assert judge(text, GIVEN, strict=False).score is not None
