"""Tests and experiments: what their fields mean, and that each mistake in one is told where it is."""

import pytest

from podium.dsl.compile import (
    Choice,
    Staged,
    Trials,
    check,
    compile_experiment,
    compile_run,
    compile_tests,
    compile_trials,
)
from podium.dsl.faults import FAULTS
from podium.dsl.library import MemoryLibrary
from podium.dsl.problem import ProgramError
from podium.dsl.program import AnyOf, Budget, Compare, Flag, Not, Reduce, Then
from podium.dsl.source import Source
from podium.dsl.tried import Fault

NOUNS = '''
role writer { prompt = """{{ task.statement }}""" }
role editor { prompt = """{{ attempt.answer }}""" }
role triage { prompt = """{{ task.statement }}"""  output = { case: "easy" | "hard", why: text = "" } }
task sum { statement = "2 + 2?"  verify = exact("4") }
task bare { statement = "2 + 2?" }
flow routed = route(by = triage) of { easy = writer, hard = team(2) }
'''


def told(text: str) -> list[tuple[str, str]]:
    """Code and text of each problem."""
    source = Source("x.team", text + NOUNS)
    problems = check(source, MemoryLibrary())
    return [
        (p.code, p.place.source.text[p.place.span.start : p.place.span.end])
        for p in problems
        if p.code != "W603"
    ]


def trials(text: str, choice: Choice | None = None) -> Trials:
    return compile_trials(Source("x.team", text + NOUNS), MemoryLibrary(), choice or Choice())


def test_a_test_becomes_data() -> None:
    (made,) = trials("""
test keeps {
  flow    = routed
  task    = sum
  given   = [outage(30s), busy(1m, after = 10s), cut(20%), silent(3 calls), empty]
  replies = { triage = [{ case = "easy" }, "no JSON"], writer = "4" }
  always  = [spent <= $2, held < 9 calls]
  never   = outcome == failed or outcome != passed and elapsed > 2m
  at_most = [40 calls]
}
""").tests
    assert (made.name, [task.name for task in made.tasks]) == ("keeps", ["sum"])
    assert [(fault.name, dict(fault.args)) for fault in made.given] == [
        ("outage", {"time": 30.0, "after": 0}),
        ("busy", {"time": 60.0, "after": 10.0}),
        ("cut", {"which": 0.2}),
        ("silent", {"which": 3}),
        ("empty", {"which": 0.1}),
    ]
    assert made.replies == {"triage": ({"case": "easy"}, "no JSON"), "writer": ("4",)}
    assert made.always == (Compare("spent_usd", "<=", 2e6), Compare("held_calls", "<", 9.0))
    (never,) = made.never
    assert isinstance(never, AnyOf)
    assert never.parts[0] == Flag("failed")
    assert Not(Flag("passed")) in getattr(never.parts[1], "parts", ())
    assert made.at_most == Budget(calls=40)


def test_replies_without_a_role_are_of_all_roles() -> None:
    one, several = trials("""
test one { flow = writer  replies = "4" }
test several { flow = writer  replies = ["3", "4"] }
""").tests
    assert (one.replies, several.replies) == ({"": ("4",)}, {"": ("3", "4")})


def test_an_experiment_becomes_data() -> None:
    made = trials("""
experiment named {
  arms    = { one = writer, many = parallel(8) of writer }
  task    = sum
  each    = [10k tokens]
  repeats = 3
}
experiment listed { arms = [writer, team(3), team(4)]  task = sum  each = 10 }
""").experiments
    named, listed = made
    assert [name for name, _ in named.arms] == ["one", "many"]
    assert (named.budget, named.agents, named.repeats) == (Budget(tokens=10_000), None, 3)
    many = named.arms[1][1]  # many attempts end with the best of them, as in a run
    assert isinstance(many, Then)
    assert isinstance(many.steps[-1], Reduce)
    assert [name for name, _ in listed.arms] == ["writer", "team_1", "team_2"]
    assert (listed.budget, listed.agents, listed.repeats) == (Budget(), 10, 10)


def test_a_test_amends_another_and_reads_parameters() -> None:
    text = """
param k: int = 3
test long = short with { at_most = [9 calls] }
test short { flow = parallel(k) of writer -> vote  given = crash(4 calls)  at_most = [40 calls] }
"""
    long, short = trials(text, Choice(params={"k": ("5", "--set")})).tests
    assert (long.at_most.calls, short.at_most.calls) == (9, 40)
    assert long.given == short.given
    assert isinstance(long.flow, Then)
    assert "count=5" in repr(long.flow)


def test_a_name_of_a_fault_is_free_elsewhere() -> None:
    text = (
        "flow slow = writer\nflow cut = team(2)\ntest t { flow = slow -> editor  given = slow(1s) }"
    )
    assert told(text) == []
    assert trials(text).tests[0].given[0].name == "slow"


def test_a_fault_keeps_its_place() -> None:
    (made,) = trials("test t { flow = writer  given = [silent(2 calls)] }").tests
    (fault,) = made.given
    assert isinstance(fault, Fault)
    assert fault.place.source.text[fault.place.span.start :].startswith("silent(2 calls)")


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_can_be_given_with_what_it_needs(name: str) -> None:
    required = [s for s in FAULTS[name].params if s.required]
    amount = {"time": "30s", "after": "3 calls"}
    args = ", ".join(amount[s.name] for s in required)
    (made,) = trials(f"test t {{ flow = writer  given = {name}({args}) }}").tests
    assert [fault.name for fault in made.given] == [name]
    assert set(made.given[0].args) == {s.name for s in FAULTS[name].params}


@pytest.mark.parametrize(
    ("code", "at", "text"),
    [
        ("E105", "outge", "test t { flow = writer  given = [outge(30s)] }"),
        ("E112", "outage", "test t { flow = writer  given = outage }"),
        ("E308", "5", "test t { flow = writer  given = outage(5) }"),
        ("E308", "10s", "test t { flow = writer  given = cut(10s) }"),
        ("E120", "3", "test t { flow = writer  given = [3] }"),
        ("E105", "round > 2", "test t { flow = writer  always = round > 2 }"),
        ("E105", "plateau(2)", "test t { flow = writer  never = plateau(2) }"),
        ("E125", "faild", "test t { flow = writer  never = outcome == faild }"),
        ("E120", "failed", "test t { flow = writer  never = outcome > failed }"),
        ("E308", "3", "test t { flow = writer  never = held > 3 }"),
        ("E308", "$3", "test t { flow = writer  always = elapsed < $3 }"),
        ("E120", "5", "test t { flow = writer  replies = 5 }"),
        ("E105", "wrter", 'test t { flow = writer  replies = { wrter = "4" } }'),
        ("E120", "writer", "test t { flow = writer  replies = { writer = 4 } }"),
        ("E106", "cse", 'test t { flow = routed  replies = { triage = { cse = "easy" } } }'),
        ("E107", "triage", 'test t { flow = routed  replies = { triage = { why = "so" } } }'),
        ("E125", "case", 'test t { flow = routed  replies = { triage = { case = "hrad" } } }'),
        ("E202", "editor", "test t { flow = editor }"),
        ("E201", "best", "test t { flow = parallel(2) of writer -> best  task = bare }"),
        ("E112", "[writer]", "experiment e { arms = [writer]  task = sum  each = 5 }"),
        ("E308", "[30m]", "experiment e { arms = [writer, team(2)]  task = sum  each = [30m] }"),
        ("E201", "bare", "experiment e { arms = [writer, team(2)]  task = bare  each = 5 }"),
        (
            "E202",
            "editor",
            "experiment e { arms = { a = editor, b = writer }  task = sum  each = 5 }",
        ),
        (
            "E301",
            "[9k tokens]",
            "experiment e { arms = [writer, team(2, budget = [9k tokens])]  task = sum  each = [5k tokens] }",
        ),
        ("E105", "held > $1", "flow f = repeat(2, until = held > $1) of editor\ntest t { flow = team(2) -> f }"),
    ],
)  # fmt: skip
def test_each_mistake_is_told_once_and_where_it_is(code: str, at: str, text: str) -> None:
    assert told(text) == [(code, at)]


def test_running_an_experiment_says_how_it_is_compared() -> None:
    text = "experiment q { arms = [writer, team(2)]  task = sum  each = 5 }"
    with pytest.raises(ProgramError) as caught:
        compile_run(Source("x.team", text + NOUNS), MemoryLibrary(), Choice(run="q"))
    assert [p.code for p in caught.value.problems] == ["E110"]
    assert "`podium compare x.team q`" in caught.value.problems[0].help


FREE = """
model m { endpoint = openai("m", base_url = "https://models.example/v1")  price = none }
experiment q { arms = { one = writer, many = parallel(4) of writer }  task = sum  each = [9k tokens] }
"""


def test_each_arm_of_an_experiment_is_a_program_under_its_budget() -> None:
    found, _ = compile_experiment(Source("x.team", FREE + NOUNS), MemoryLibrary(), Choice())
    assert found.experiment.name == "q"
    assert {name: one.budget.tokens for name, one in found.programs.items()} == {
        "one": 9_000,
        "many": 9_000,
    }
    assert [one.name for one in found.programs.values()] == ["q_one", "q_many"]


def test_an_arm_may_not_have_more_agents_than_each() -> None:
    text = "experiment e { arms = [writer, parallel(8) of writer]  task = sum  each = 5 }"
    assert told(text) == [("E305", "parallel(8) of writer")]


def test_an_experiment_that_is_not_there_is_missed_by_name() -> None:
    with pytest.raises(ProgramError) as caught:
        compile_experiment(Source("x.team", FREE + NOUNS), MemoryLibrary(), Choice(run="p"))
    assert "choose `q`" in caught.value.problems[0].help


def test_running_a_test_says_how_it_is_tried() -> None:
    source = Source("x.team", "test q { flow = writer }" + NOUNS)
    with pytest.raises(ProgramError) as caught:
        compile_run(source, MemoryLibrary(), Choice(run="q"))
    assert [p.code for p in caught.value.problems] == ["E110"]
    assert "`podium test x.team q`" in caught.value.problems[0].help


PAID = 'model m { endpoint = openai("m", base_url = "https://models.example/v1") }\n'


def staged(text: str) -> tuple[Staged, ...]:
    return compile_tests(Source("x.team", text + NOUNS), MemoryLibrary(), Choice())


def test_a_test_is_a_program_without_a_budget_whatever_its_models_cost() -> None:
    (made,) = staged(PAID + "test t { flow = team(2)  task = sum  at_most = [9 calls] }")
    assert made.program.budget == Budget()
    assert made.program.default_model == "m"
    assert [task.name for task in made.program.tasks] == ["sum"]
    assert made.test.at_most == Budget(calls=9)


def test_a_test_without_a_task_works_on_one_that_can_pass() -> None:
    (made,) = staged("test t { flow = parallel(3, stop = first_pass) of writer }")
    assert made.test.tasks == ()
    assert [task.name for task in made.program.tasks] == ["simulated"]
    assert isinstance(made.program.flow, Then)  # and its many attempts end with the best


def test_a_test_chooses_its_model_and_must_where_there_are_several() -> None:
    two = PAID + PAID.replace("model m", "model n")
    (made,) = staged(two + "test t { flow = writer  model = n }")
    assert made.program.default_model == "n"
    with pytest.raises(ProgramError) as caught:
        staged(two + "test t { flow = writer }")
    assert [p.code for p in caught.value.problems] == ["E220"]


def test_dollars_cannot_be_promised_of_a_model_without_a_price() -> None:
    with pytest.raises(ProgramError) as caught:
        staged(PAID + "test t { flow = writer  at_most = [$2] }")
    assert [p.code for p in caught.value.problems] == ["E306"]
