from podium.dsl.names import did_you_mean, near


def test_near_names_come_best_first_and_at_most_three() -> None:
    names = ["model", "role", "models", "mode", "flow", "modal"]
    assert near("modle", names) == ["model", "mode", "modal"]
    assert near("MODEL", ["model"]) == ["model"]


def test_far_names_the_name_itself_and_monsters_are_not_offered() -> None:
    assert near("fast", ["fast", "zebra"]) == []
    assert near("a" * 1_000_000, ["a" * 1_000_000 + "b"]) == []


def test_a_suggestion_is_a_question_or_nothing() -> None:
    assert did_you_mean("fst", ["fast", "first"]) == "did you mean `fast` or `first`?"
    assert did_you_mean("fst", ["zebra"]) == ""
