"""Field case 30: a misspelt or misplaced name is one mistake, told at the word, with the name that was meant."""

from collections.abc import Iterator

import pytest

from podium.dsl.calls import FLOW_FORMS
from podium.dsl.compile import check
from podium.dsl.kinds import KINDS
from podium.dsl.library import MemoryLibrary
from podium.dsl.problem import Problem
from podium.dsl.source import Source

BASE = """
model m { endpoint = openai("m", base_url = "http://127.0.0.1:1")  price = none }
role one { prompt = \"\"\"{{ task.statement }}\"\"\" }
task t { statement = "Say yes."  verify = exact("yes") }
"""
# A declaration of each kind that has all it needs.
NEEDED = {
    "model": 'endpoint = openai("n", base_url = "http://127.0.0.1:1")  price = none',
    "role": 'prompt = """{{ task.statement }}"""',
    "task": 'statement = "Go."',
    "run": "task = t  flow = one",
    "test": "flow = one",
    "experiment": "arms = { a = one, b = one }  task = t  each = [5 calls]",
}
FIELDS = {name: [spec.name for spec in KINDS[name].fields] for name in NEEDED}
TEAM = [spec.name for form in FLOW_FORMS if form.name == "team" for spec in form.params]


def dropped(name: str) -> Iterator[str]:
    """name with one letter less, where that is no name itself and long enough to be known again."""
    for at in range(len(name)):
        if len(name) > 4:
            yield name[:at] + name[at + 1 :]


def told(text: str, word: str) -> Problem:
    """The one error of text, which is at word."""
    problems = [p for p in check(Source("x.team", text), MemoryLibrary()) if p.severity == "error"]
    assert len(problems) == 1, [str(problem) for problem in problems]
    [problem] = problems
    span = problem.place.span
    assert text[span.start : span.end] == word
    return problem


@pytest.mark.parametrize("kind", NEEDED)
def test_a_field_with_a_letter_less_is_told_with_the_field_that_was_meant(kind: str) -> None:
    for name in FIELDS[kind]:
        for wrong in set(dropped(name)) - set(FIELDS[kind]):
            present = f"{name} = " in NEEDED[kind]
            if present:
                continue
            text = f"{BASE}{kind} x {{ {NEEDED[kind]}  {wrong} = 1 }}\n"
            assert f"`{name}`" in told(text, wrong).help


@pytest.mark.parametrize("kind", NEEDED)
def test_a_field_of_another_kind_is_told_at_its_name(kind: str) -> None:
    for other in set(NEEDED) - {kind}:
        for name in set(FIELDS[other]) - set(FIELDS[kind]):
            told(f"{BASE}{kind} x {{ {NEEDED[kind]}  {name} = 1 }}\n", name)


def test_a_setting_of_a_team_with_a_letter_less_is_told_with_the_one_that_was_meant() -> None:
    for name in TEAM:
        for wrong in set(dropped(name)) - set(TEAM):
            text = f"{BASE}run x {{ task = t  flow = team(3, {wrong} = 1) }}\n"
            assert f"`{name}`" in told(text, wrong).help
