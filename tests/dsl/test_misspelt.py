"""Misspelt names and fields, and what is told once and in order of a whole file."""

import pytest

from podium.dsl.calls import FLOW_FORMS
from podium.dsl.compile import check
from podium.dsl.kinds import KINDS
from podium.dsl.source import Source

from .made import LIBRARY, NOUNS


def test_all_mistakes_come_in_one_go_and_in_order() -> None:
    text = """role a { prompt = "x"  modle = 3 }
flow b = c -> d
task t { verify = e }
run r { flow = team(2, size = 3) }
"""
    problems = check(Source("x.team", text), LIBRARY)
    errors = [
        (p.code, p.place.source.position(p.place.span.start).line)
        for p in problems
        if p.severity == "error"
    ]
    assert errors == [("E106", 1), ("E105", 2), ("E105", 2), ("E107", 3), ("E105", 3), ("E111", 4)]


VALUES = {
    "endpoint": "local()",
    "prompt": '"x"',
    "statement": '"x"',
    "flow": "agent",
    "arms": "{ a = agent, b = agent }",
    "task": 'family("words")',
    "each": "3",
}
INNER = {
    "parallel": " of agent",
    "fallback": " of [agent]",
    "repeat": " of same",
    "for_each": " of agent",
    "route": " of { a = agent }",
}
FIELDS = [(kind.name, spec.name) for kind in KINDS.values() for spec in kind.fields]


@pytest.mark.parametrize(("kind", "name"), FIELDS)
def test_a_misspelt_field_is_told_once_with_the_right_word(kind: str, name: str) -> None:
    required = [s.name for s in KINDS[kind].fields if s.required and s.name != name]
    others = "".join(f'  "{r}" = {VALUES[r]}\n' for r in required)
    wrong = name[:-1]
    text = f"{kind} noun {{\n  {wrong} = 1\n{others}}}"
    errors = [p for p in check(Source("x.team", text), LIBRARY) if p.severity == "error"]
    assert [p.code for p in errors] == ["E106"]
    (problem,) = errors
    span = problem.place.span
    assert text[span.start : span.end] == wrong
    assert f"`{name}`" in problem.help
    assert [e.new for e in problem.edits] == [name]


@pytest.mark.parametrize(
    ("callee", "name"),
    [(f.name, s.name) for f in FLOW_FORMS for s in f.params if len(s.name) > 2],
)
def test_a_misspelt_argument_is_told_once_with_the_right_word(callee: str, name: str) -> None:
    inner = INNER.get(callee, "")
    wrong = name[:-1]
    text = f"flow f = {callee}({wrong} = 1){inner}"
    (problem,) = [p for p in check(Source("x.team", text), LIBRARY) if p.code == "E111"]
    span = problem.place.span
    assert text[span.start : span.end] == wrong
    assert f"`{name}`" in problem.help


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("flow f = writr\n", "writer"),
        ("role r = writer with { model = fst }\nmodel fast { endpoint = local() }\n", "fast"),
        (
            'flow f = parallel(2) of writer -> best(by = rigt)\nverifier right = exact("4")\n',
            "right",
        ),
        ("run r { flow = writer  task = smu }\n", "sum"),
        ("flow f = team(2, ceo = adptive)\n", "adaptive"),
        ("flow f = paralel(2) of writer\n", "parallel"),
    ],
)
def test_near_names_are_of_the_expected_kind(text: str, near: str) -> None:
    (problem,) = [
        p for p in check(Source("x.team", text + NOUNS), LIBRARY) if p.severity == "error"
    ]
    assert f"`{near}`" in problem.help


def test_unused_names_are_warned_of_only_where_something_runs() -> None:
    text = 'from std.roles import solver\nrole idle { prompt = "x" }\n'
    assert check(Source("x.team", text), LIBRARY) == ()
    running = text + 'run r { flow = agent  task = family("words") }'
    assert [p.message for p in check(Source("x.team", running), LIBRARY)] == [
        "nothing uses `solver`",
        "nothing uses `idle`",
    ]


def test_names_that_hide_others_are_warned_of() -> None:
    text = 'role best { prompt = "x" }\nrole idle { prompt = "x" }\nflow f(idle: int) = team(idle)'
    assert [p.code for p in check(Source("x.team", text), LIBRARY)] == ["W606", "W607"]


def test_a_mistake_seen_inside_the_standard_library_is_told_at_the_call() -> None:
    text = f"import std.flows as f\n{NOUNS}flow x = f.map_reduce(3) of editor"
    (problem,) = [p for p in check(Source("x.team", text), LIBRARY) if p.severity == "error"]
    assert problem.code == "E202"
    assert problem.place.source.name == "x.team"
    assert problem.secondary[0].place.source.name == "std.flows"


def test_a_prompt_longer_than_the_window_is_warned_of() -> None:
    text = '''
model m { endpoint = local("x")  context = 2k tokens }
role r { prompt = """{{ task.statement | clip(1k tokens) }}"""  max_output = CAP }
run main { flow = r  task = family("words") }
'''
    codes = [p.code for p in check(Source("x.team", text.replace("CAP", "1_500 tokens")), LIBRARY)]
    assert codes == ["W605"]
    assert check(Source("x.team", text.replace("CAP", "500 tokens")), LIBRARY) == ()
