"""What works on a part of `for_each` has no task's verifier to ask."""

import pytest

from podium.dsl.compile import check
from podium.dsl.library import MemoryLibrary
from podium.dsl.source import Source

NOUNS = '''
role writer { prompt = """Write: {{ task.statement }}""" }
role editor { prompt = """Mend: {{ attempt.answer }}""" }
role lists { prompt = """Parts of {{ task.statement }}""" output = { parts: [text] } }
role merges { prompt = """Join: {{ attempts }}""" }
verifier taste = contains("yes")
task sum { statement = "What is 2 + 2?" verify = contains("4") }
'''


def problems(inner: str) -> list[tuple[str, str]]:
    flow = f"for_each(by = lists, max = 3) of ({inner}) -> merges"
    text = f"run main {{ task = sum  flow = {flow} }}\n{NOUNS}"
    return [
        (p.code, f"{p.message}; {p.help}")
        for p in check(Source("x.team", text), MemoryLibrary())
        if p.severity == "error"
    ]


@pytest.mark.parametrize(
    ("code", "inner"),
    [
        ("E201", "parallel(2) of writer -> best"),
        ("E201", "parallel(2) of writer -> top(1) -> merges"),
        ("E203", "writer -> repeat(2, until = score >= 1) of editor"),
        ("E209", "team(2, until = passed)"),
        ("E209", "parallel(2, stop = first_pass) of writer -> merges"),
        ("E217", "fallback of [writer, team(2)]"),
        ("E201", "for_each(by = lists, max = 2) of (parallel(2) of writer -> best) -> merges"),
    ],
)
def test_a_part_cannot_be_judged_by_the_tasks_verifier(code: str, inner: str) -> None:
    [(found, told)] = problems(inner)
    assert found == code
    assert "`for_each`" in told


@pytest.mark.parametrize(
    "inner",
    [
        "parallel(2) of writer -> best(by = taste)",
        "parallel(2) of writer -> vote",
        "writer -> repeat(2) of editor",
        "team(2, until = consensus)",
    ],
)
def test_a_part_may_be_judged_by_what_is_named_and_by_the_members(inner: str) -> None:
    assert problems(inner) == []
