"""One mistake, one report, in the right place: programs a person would write, wrong in one way each."""

import pytest

from podium.dsl.compile import Choice, check, compile_run
from podium.dsl.library import MemoryLibrary
from podium.dsl.problem import MOST_REPORTS, Problem, ProgramError
from podium.dsl.source import Source

ROUTER = """
role r { prompt = \"\"\"{{ task.statement }}\"\"\"  output = { level: "easy" | "hard" } }
"""
RUN = """
task t { statement = "x"  verify = exact("y") }
run main { flow = %s  task = t }
"""


def problems(text: str) -> tuple[Problem, ...]:
    return check(Source("x.team", text), MemoryLibrary())


def only(text: str) -> Problem:
    found = problems(text)
    assert len(found) == 1, found
    return found[0]


def under(problem: Problem) -> str:
    """The text the report points at."""
    span = problem.place.span
    return problem.place.source.text[span.start : span.end]


@pytest.mark.parametrize(
    "text",
    [
        "flow f = team(3, ceo = none)",
        "flow f = team(3, claims = none, compat = none)",
        "flow f = parallel(4, stop = none, migrate = none) of agent",
        'task t { statement = "x"  verify = exact("y") }\n'
        "experiment e { arms = [agent, team(3)]  task = t  each = $1 }",
        "param t: int(-1 to 3) = -1",
        "param t: float(-1.5 to -0.5) = -1",
        'model m = openai("x", base_url = "http://127.0.0.1:1/v1")',
    ],
)
def test_it_is_a_program(text: str) -> None:
    assert problems(text) == ()


def test_a_range_keeps_its_sign() -> None:
    assert only("param t: int(-1 to 3) = -2").help == "the nearest is -1"


def test_a_model_may_be_its_endpoint_alone() -> None:
    text = 'model m = openai("x", base_url = "http://127.0.0.1:1/v1")' + RUN % "agent"
    program, _ = compile_run(Source("x.team", text), MemoryLibrary(), Choice())
    assert program.models["m"].endpoints[0].name == "x"


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ('import "./nope.team" as n\nflow f = n.x', "E104", '"./nope.team"'),
        ("task t = 3\nflow f = agent\nrun main { flow = f  task = t }", "E120", "3"),
        (ROUTER + "flow f = route(by = r) of { esy = agent, hard = agent }", "E205", "esy"),
        ("flow squad(k: int) = team(k)\nflow f = squad(3) of agent", "E213", "squad(3)"),
        ("flow f = parallel(2) of agent => vote", "T022", "=>"),
        ("// a comment\nflow f = agent", "T002", "//"),
        ('role r {\nprompt = "x"\n}', "T030", "prompt"),
        ("flow f = team(3, budget = [5$])", "T001", "$"),
        ('role r { prompt = "{{ task.statement }}" }', "W608", '"{{ task.statement }}"'),
    ],
)
def test_one_mistake_is_one_report(text: str, code: str, place: str) -> None:
    problem = only(text)
    assert (problem.code, under(problem)) == (code, place)


@pytest.mark.parametrize(
    ("text", "help_"),
    [
        (RUN.replace("task = t ", "task = tt") % "agent", "did you mean `t`?"),
        ("run main { flow = agent  task = tt }", "declare it: `task tt { … }`"),
        ("flow f = team(3, ceo = adptive)", "did you mean `adaptive`?"),
        ('role r { prompt = """{{ tsk.statement }}""" }', "did you mean `task`?"),
        ('role r { prompt = """{{ task.statment }}""" }', "write `task.statement`"),
        ("flow f = if deep then agent else team(3)", "declare it: `param deep: bool = …`"),
        ("flow f = team(3, until = scor > 2)", "did you mean `score`?"),
    ],
)
def test_the_name_that_was_meant_is_of_the_kind_that_is_wanted(text: str, help_: str) -> None:
    assert [p.help for p in problems(text) if p.severity == "error"] == [help_]


@pytest.mark.parametrize(
    ("default_url", "asked"),
    [
        (None, "host:api.openai.com"),
        ("https://proxy.example/v1", "host:proxy.example"),
        ("http://127.0.0.1:8000/v1", ""),
    ],
)
def test_an_endpoint_without_an_address_asks_for_the_host_it_goes_to(
    default_url: str | None, asked: str
) -> None:
    text = 'model m { endpoint = openai("gpt")  price = none }' + RUN % "agent"
    choice = Choice(allow=lambda kind, value: False, default_url=default_url)
    try:
        compile_run(Source("x.team", text), MemoryLibrary(), choice)
        found = ""
    except ProgramError as error:
        found = error.problems[0].help
    assert asked in found
    assert bool(found) == bool(asked)


@pytest.mark.parametrize(
    "text",
    [
        "role r { = }\n" * 2_000,
        "flwo f = agent\n" * 2_000,
        "flow f = agnt\n" + "".join(f"flow f{i} = g{i}x\n" for i in range(1_000)),
        'role r { prompt = """' + "{{ a }}" * 2_000 + '""" }',
        "flow f = team(3)\n" * 2_000,
    ],
    ids=["broken", "kinds", "names", "slots", "twice"],
)
def test_of_very_many_mistakes_the_first_are_told(text: str) -> None:
    found = problems(text)
    assert len(found) == MOST_REPORTS + 1
    assert [p.code for p in found].count("T008") == 1
