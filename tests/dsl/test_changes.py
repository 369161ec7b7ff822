"""What a change of the text means for a run that began with the old one."""

import pytest

from podium.dsl.changes import Change, changes
from podium.dsl.source import Source

TEXT = '''
## A poet.
role poet { prompt = """Write about {{ task }}."""  max_output = 20 tokens }
role critic { prompt = """Judge {{ attempt.answer }}.""" }
flow pair(k: int = 2) = parallel(k) of poet -> critic
task sea { statement = "the sea" }
run main { task = sea, flow = pair(3), budget = [$5] }
'''


def found(old: str, new: str, name: str = "a.team") -> tuple[Change, ...]:
    return changes([Source(name, old)], [Source(name, new)])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[$5]", "[$50, 3h]"),
        ("## A poet.", "## Another poet, who is described at length."),
        ("  max_output", "\n  # a remark\n  max_output"),
        ("pair(3)", "pair(3, budget = [50%])"),
    ],
)
def test_budgets_remarks_and_layout_are_no_change(old: str, new: str) -> None:
    assert new not in TEXT
    assert found(TEXT, TEXT.replace(old, new)) == ()


def test_a_changed_role_is_told_with_all_that_use_it() -> None:
    users = frozenset({"poet", "pair", "main"})
    assert found(TEXT, TEXT.replace("Write about", "Sing of")) == (
        Change("changed", "role", "poet", "a.team", users),
    )


def test_what_was_added_and_what_was_removed_is_told() -> None:
    without = TEXT.replace('task sea { statement = "the sea" }\n', "")
    assert found(TEXT, without)[0].what == "removed"
    added = found(without, TEXT)[0]
    assert (added.what, added.kind, added.name) == ("added", "task", "sea")


def test_a_prompt_of_its_own_file_is_a_change_of_that_file() -> None:
    assert found("one", "two", name="prompt.md") == (
        Change("changed", "file", "prompt.md", "prompt.md"),
    )


def test_the_same_text_has_no_changes() -> None:
    assert found(TEXT, TEXT) == ()


def test_a_declaration_that_no_longer_parses_has_changed() -> None:
    told = found(TEXT, TEXT.replace('task sea { statement = "the sea" }', "task sea {{{"))
    assert [change.name for change in told] == ["sea"]
