"""The family `words`: what passes, what must not, and what the score counts."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.dsl.program import Task
from podium.engine.value import Attempt
from podium.tasks.words import judge, make, reference, verify
from podium.tasks.words.bank import WORDS

GIVEN = ("cat", "river", "bread", "window", "moon", "train")
LIST = "cat, river, bread, window, moon, train"


def attempt(text: str) -> Attempt:
    return Attempt(answer=text, text=text, address="main")


def words_of(task: Task) -> tuple[str, ...]:
    assert task.verify is not None
    given = task.verify.args["words"]
    assert isinstance(given, tuple)
    return tuple(str(word) for word in given)


def test_an_honest_sentence_passes() -> None:
    text = "The cat crossed a river with bread, saw the moon from its window and took one train."
    verdict = judge(text, GIVEN, 30)
    assert (verdict.score, verdict.passed) == (1.0, True)


def test_the_score_is_the_fraction_of_words_and_the_evidence_names_the_missing() -> None:
    verdict = judge("The cat sat by the river while it ate my bread.", GIVEN, 30)
    assert (verdict.score, verdict.passed) == (0.5, False)
    assert verdict.evidence == "It lacks window, moon, train."


def test_the_evidence_names_words_that_do_not_count_since_they_are_listed() -> None:
    text = "The cat and river with my bread saw one window under that moon and took its train."
    verdict = judge(text, GIVEN, 30)
    assert verdict.score == 5 / 6
    assert verdict.evidence == "In a list these do not count: river."


CHEATS = {
    "the bare list": f"{LIST}.",
    "the list joined by and": "cat and river and bread and window and moon and train.",
    "the list with articles": "The cat and the river and the bread and the window and the moon and the train.",
    "the statement echoed": f"Write one sentence of at most 30 words that contains all of these words: {LIST}.",
    "the list in quotes": f'Here is one sentence that surely contains all of the words "{LIST}".',
    "words inside longer words": "A catfish of the riverside wanted breadcrumbs on windows of moonlit trainers.",
    "letters split by an invisible character": "One day my c\u200bat saw a ri\u200bver, br\u200bead, "
    "win\u200bdow, mo\u200bon and tr\u200bain.",
    "a second sentence": "The cat sat by a river and ate bread. It saw the window, one moon, my train.",
    "a second line": "The cat sat by a river and ate bread at my window\nunder one moon near its train.",
    "no end": "The cat crossed a river with bread, saw the moon from its window and took one train",
    "one word repeated": "The cat saw my cat near a cat which met another cat before some cat left.",
    "an essay": "The cat crossed a river with bread, saw the moon from its window and took one train "
    + "and went on " * 10
    + "home.",
    "a comment": "<!-- cat a river the bread my window one moon its train --> This is it.",
    "nothing": "",
    "marks alone": "...",
}


@pytest.mark.parametrize("name", CHEATS)
def test_a_known_cheat_fails(name: str) -> None:
    verdict = judge(CHEATS[name], GIVEN, 30)
    assert verdict.passed is False
    assert verdict.score is not None
    assert verdict.score <= 1 / 2


@pytest.mark.parametrize(
    "name", ["the bare list", "the statement echoed", "the list with articles"]
)
def test_a_list_of_the_words_scores_no_more_than_one_word(name: str) -> None:
    score = judge(CHEATS[name], GIVEN, 30).score
    assert score is not None
    assert score <= 1 / 6


@pytest.mark.parametrize(
    "text",
    [
        '"The cat crossed a river with bread, saw my moon from its window and took one train."',
        "The cat's boat crossed a river with bread, saw my moon from its window and took one train.",
        "THE CAT crossed a RIVER with bread, saw my moon from its window; took one train!",
        "The cat crossed a river (with bread), saw my moon from its window \u2014 and took one train?",
    ],
)
def test_quotes_case_and_inner_marks_do_not_matter(text: str) -> None:
    assert judge(text, GIVEN, 30).passed is True


@given(count=st.integers(1, 24), seed=st.integers(0, 10**6))
def test_the_reference_passes_and_is_cut_down_by_every_word_taken_away(
    count: int, seed: int
) -> None:
    task = make(count=count, seed=seed)
    text = reference(task)
    assert verify(attempt(text), task).passed is True
    without = text.replace(f" {words_of(task)[0]}", " thing", 1)
    assert verify(attempt(without), task).score == (count - 1) / count


@given(text=st.text())
def test_any_text_gets_a_finite_score_between_0_and_1(text: str) -> None:
    score = judge(text, GIVEN, 30).score
    assert score is not None
    assert math.isfinite(score)
    assert 0 <= score <= 1


@given(
    text=st.lists(
        st.sampled_from([*GIVEN, "the", "and", "a", "saw", "with", "my", "its", ",", "."])
    ).map(" ".join)
)
def test_nothing_passes_where_the_length_leaves_no_room_for_other_words(text: str) -> None:
    assert judge(text, GIVEN, 2 * len(GIVEN) - 1).passed is False


def test_the_same_seed_gives_the_same_task_and_another_seed_another() -> None:
    assert make(seed=1) == make(seed=1)
    assert make(seed=1) != make(seed=2)


def test_the_statement_names_the_length_and_every_word() -> None:
    task = make(count=7, seed=3, max_words=33)
    assert "at most 33 words" in task.statement
    assert all(word in task.statement for word in words_of(task))


def test_no_word_of_the_bank_contains_another_as_a_word() -> None:
    assert len(set(WORDS)) == len(WORDS)
    assert all(word.isalpha() and word.islower() for word in WORDS)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"count": 0}, "count is 0; 1 to 24 is possible"),
        ({"count": "6"}, "count is '6'; a whole number of 1 to 24 is needed"),
        ({"count": True}, "count is True; a whole number of 1 to 24 is needed"),
        ({"max_words": 0}, "max_words is 0; 1 or more is possible"),
        ({"words": 6}, "there is no argument `words`"),
    ],
)
def test_a_wrong_argument_is_named(args: dict[str, int | str], message: str) -> None:
    with pytest.raises(ValueError, match="^" + message.replace("'", ".") + "$"):
        make(**args)
