"""From text to Program: what comes out, who may what, and that nothing but ProgramError comes instead."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.dsl.calls import FLOW_FORMS
from podium.dsl.compile import Choice, check, compile_run
from podium.dsl.kinds import KINDS
from podium.dsl.library import MemoryLibrary
from podium.dsl.model import Endpoint, Limits, Model, Price
from podium.dsl.problem import Problem, ProgramError
from podium.dsl.program import (
    Agent,
    AllOf,
    Budget,
    Compare,
    FilterCall,
    Flag,
    Flow,
    Limited,
    OutputField,
    Parallel,
    Program,
    Reduce,
    Repeat,
    Slot,
    Task,
    Team,
    Text,
    Then,
    Verifier,
    subflows,
)
from podium.dsl.source import Source

WORDS = Task("words", "Say words.", Verifier("words", "python", {"ref": "podium.tasks:verify"}))
LIBRARY = MemoryLibrary(
    modules={"./house.team": 'verifier taste = exact("good")\n'},
    files={
        "issue.md": "Fix it.",
        "set.jsonl": '{"problem": "1+1", "answer": 2}\n\n{"problem": "2+2", "answer": "4"}\n',
        "torn.jsonl": '{"problem": "1+1"}\n{"prob',
        "short.jsonl": '{"problem": "1+1", "answer": 2}\n{"problem": "2+2"}\n',
    },
    families={"words": WORDS},
)
FREE = Model("default", (Endpoint("openai", "x", "http://127.0.0.1:1/v1"),), Price())
NOUNS = '''
role writer { prompt = """{{ task.statement }}""" }
role editor { prompt = """{{ attempt.answer }}""" }
role joiner { prompt = """{{ attempts }}""" }
role panelist { prompt = """{{ attempt.answer }} {{ attempts }}""" }
role triage { prompt = """{{ task.statement }}"""  output = { case: "easy" | "hard" } }
role cutter { prompt = """{{ task.statement }}"""  output = { parts: [text] } }
task sum { statement = "2 + 2?"  verify = number(4) }
'''
SKETCH = Path(__file__).parent / "sketch.team"


def anything(kind: str, value: str) -> bool:
    return True


def nothing(kind: str, value: str) -> bool:
    return False


def program(text: str, choice: Choice = Choice(), library: MemoryLibrary = LIBRARY) -> Program:  # noqa: B008  # it is frozen
    return compile_run(Source("x.team", text), library, choice)[0]


def refused(text: str, choice: Choice = Choice()) -> list[Problem]:  # noqa: B008  # it is frozen
    with pytest.raises(ProgramError) as caught:
        program(text, choice)
    return list(caught.value.problems)


def flow(expression: str, nouns: str = NOUNS) -> Flow:
    return program(nouns, Choice(expression=expression, task="sum")).flow


def form(node: Flow) -> str:
    """The tree in one line: `parallel(agent)`."""
    inner = ", ".join(form(child) for child in subflows(node))
    name = node.how if isinstance(node, Reduce) else type(node).__name__.lower()
    return f"{name}({inner})" if inner else name


# --- the one-liner and its defaults ---------------------------------------------------------------


def test_the_one_liner_is_ten_teams_of_ten_and_the_best_of_them() -> None:
    made = program("", Choice(expression="parallel(10) of team(10, ceo=adaptive)", task="words"))
    assert form(made.flow) == "then(parallel(team), best)"
    assert made.tasks == (WORDS,)
    assert made.default_model == "embedded"
    assert made.models["embedded"].endpoints == (Endpoint("local", ""),)
    (team,) = [n for n in nodes(made.flow) if isinstance(n, Team)]
    assert (team.size, team.rounds, team.members[0].role.name) == (10, 2, "agent")
    assert team.ceo is not None
    assert team.ceo.role.max_output == 512
    assert {f.name for f in team.ceo.role.output or ()} == {
        "decision",
        "size",
        "direction",
        "effort",
    }


def nodes(node: Flow) -> list[Flow]:
    return [node, *(n for child in subflows(node) for n in nodes(child))]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("writer", "agent"),
        ("writer -> editor", "then(agent, agent)"),
        ("parallel(2) of writer -> joiner", "then(parallel(agent), agent)"),
        ("parallel(2) of writer -> panelist -> best", "then(parallel(agent), agent, best)"),
        ("team(3)", "team"),
        ("writer -> team(3)", "then(agent, team)"),
        ("parallel(2) of writer -> team(3)", "then(parallel(agent), team)"),
        ("parallel(3) of writer", "then(parallel(agent), best)"),
        ("parallel of [3 of writer, team(2)]", "then(parallel(agent, team), best)"),
        ("fallback of [writer, team(2)]", "fallback(agent, team)"),
        ("route(by = triage) of { easy = writer, hard = team(2) }", "route(agent, team)"),
        ("for_each(by = cutter, max = 3) of writer -> joiner", "then(foreach(agent), agent)"),
        ("writer -> repeat(2) of editor", "then(agent, repeat(agent))"),
        ("parallel(2) of writer -> editor -> best", "then(parallel(agent), lift(agent), best)"),
        (
            "parallel(2) of writer -> repeat(2) of (editor -> editor) -> best",
            "then(parallel(agent), lift(repeat(then(agent, agent))), best)",
        ),
        (
            "parallel(2) of writer -> repeat(2) of panelist -> vote",
            "then(parallel(agent), repeat(agent), vote)",
        ),
        (
            "parallel(4) of writer -> repeat(3) of (parallel of [same, sample(2) -> joiner] -> top(4)) -> best",
            "then(parallel(agent), repeat(then(parallel(same, then(sample, agent)), top)), best)",
        ),
        ("parallel(2) of writer -> score -> best", "then(parallel(agent), score, best)"),
        ("writer -> score", "then(agent, score)"),
        ("if 1 < 2 then writer else team(2)", "agent"),
        ("if 1 > 2 then writer else team(2)", "team"),
    ],
)
def test_each_form_has_the_type_of_the_table(expression: str, expected: str) -> None:
    assert form(flow(expression)) == expected


def test_of_binds_tighter_than_the_arrow() -> None:
    made = flow("parallel(10) of team(10, ceo = adaptive) -> best")
    assert form(made) == "then(parallel(team), best)"


def test_many_at_the_end_without_a_verifier_is_voted_on_where_answers_compare() -> None:
    role = 'role a { prompt = "x"  output = { answer: int } }\nrun r { flow = parallel(3) of a }'
    assert form(program(role).flow) == "then(parallel(agent), vote)"


# --- what a node holds ----------------------------------------------------------------------------


def test_a_flow_gives_its_name_to_the_node_it_expands_to() -> None:
    text = NOUNS + "flow squad(n: int = 4) = team(n)\nflow pair of f = parallel(2) of f -> best\n"
    made = flow("pair of squad(3, budget = [$1])", text)
    assert isinstance(made, Then)
    assert made.label == "pair"
    (limited,) = [n for n in nodes(made) if isinstance(n, Limited)]
    assert (limited.label, limited.flow.label) == ("squad", "squad")
    assert limited.budget == Budget(usd=1_000_000)


def test_settings_of_the_forms_reach_their_nodes() -> None:
    made = flow(
        "parallel(5, stop = pass(2), need = 3, inflight = 4, split = even) of writer -> top(3)"
        ' -> sample(2) -> best(by = exact("4"))'
    )
    assert isinstance(made, Then)
    parallel, top, sample, best = made.steps
    assert isinstance(parallel, Parallel)
    assert (parallel.passes, parallel.need, parallel.inflight, parallel.split) == (2, 3, 4, "even")
    assert [(n.how, n.k) for n in (top, sample) if isinstance(n, Reduce)] == [
        ("top", 3),
        ("sample", 2),
    ]
    assert isinstance(best, Reduce)
    assert best.by is not None
    assert (best.by.kind, best.by.use, best.by.args) == ("exact", "final", {"expected": "4"})


def test_settings_of_a_team_reach_it() -> None:
    made = flow(
        "team(6, members = [1 of writer, 2 of triage], order = in_turn, sees = last(3), rounds = 4,"
        " ceo = fixed, ceo_sets = [size, stop], until = consensus or round >= 3)"
    )
    assert isinstance(made, Team)
    assert [(m.count, m.role.name) for m in made.members] == [(2, "writer"), (4, "triage")]
    assert (made.order, made.sees, made.last, made.rounds) == ("in_turn", "last", 3, 4)
    assert made.ceo is not None
    assert (made.ceo.mode, made.ceo.sets) == ("fixed", {"size", "stop"})


def test_conditions_become_data() -> None:
    made = flow("writer -> repeat(9, until = (score >= 0.9 and spent < $2) or passed) of editor")
    assert isinstance(made, Then)
    loop = made.steps[1]
    assert isinstance(loop, Repeat)
    assert loop.until is not None
    assert str(loop.until.parts[0]) == str(  # type: ignore[union-attr]  # an AnyOf
        AllOf((Compare("score", ">=", 0.9), Compare("spent_usd", "<", 2_000_000.0)))
    )
    assert loop.until.parts[1] == Flag("passed")  # type: ignore[union-attr]  # an AnyOf


def test_a_condition_is_written_either_way_round() -> None:
    made = flow("writer -> repeat(9, until = 0.9 <= score) of editor")
    assert isinstance(made, Then)
    assert isinstance(made.steps[1], Repeat)
    assert made.steps[1].until == Compare("score", ">=", 0.9)


def test_a_prompt_becomes_fragments_with_parameters_filled_in() -> None:
    text = '''
param tone: text = "calm"
role r {
  prompt = """
    Be {{ tone }} and {{ 1 + 1 }}.
      {{ task.statement | clip(8k tokens) }}
    """
}
run main { flow = r  task = t }
task t { statement = "x" }
'''
    made = program(text).flow
    assert isinstance(made, Agent)
    assert made.role.prompt.parts == (
        Text("Be calm and 2.\n  "),
        Slot(("task", "statement"), (FilterCall("clip", (8000,)),), 2),
    )


def test_a_role_takes_what_its_prompts_mention() -> None:
    text = 'role r { prompt = "x"  system = """{{ attempts }} {{ attempt.score }}""" }'
    made = flow("parallel(2) of writer -> r -> best", NOUNS + text)
    assert isinstance(made, Then)
    assert isinstance(made.steps[1], Agent)
    assert made.steps[1].role.takes == {"attempt", "attempts"}


def test_an_output_schema_becomes_fields() -> None:
    text = 'role r { prompt = "x"  output = { a: text, b: [int], c: "low" | "high" = "low", d: float = 0.5 } }'
    made = flow("r", NOUNS + text)
    assert isinstance(made, Agent)
    assert made.role.output == (
        OutputField("a", "text"),
        OutputField("b", "int", is_list=True),
        OutputField("c", ("low", "high"), required=False, default="low"),
        OutputField("d", "float", required=False, default=0.5),
    )


def test_with_amends_a_role_and_leaves_the_rest() -> None:
    text = "role fast = writer with { max_output = 4k tokens  budget = [60k tokens, $0.40] }"
    made = flow("fast", NOUNS + text)
    assert isinstance(made, Agent)
    role = made.role
    assert (role.name, role.max_output, role.budget) == ("fast", 4000, Budget(400_000, 60_000))
    assert role.prompt.parts == (Slot(("task", "statement"), (), 0),)


def test_with_amends_a_run() -> None:
    text = (
        NOUNS
        + "run main { flow = writer  task = sum  seed = 3 }\nrun quick = main with { seed = 4 }"
    )
    assert program(text, Choice(run="quick")).seed == 4
    assert program(text).seed == 3


def test_a_model_has_rates_limits_and_replicas() -> None:
    text = """
model m {
  endpoint = [openai("x", base_url = "http://localhost:1/v1"), openai("x", base_url = "http://[::1]:2/v1")]
  price    = { input = $0.30 per 1M tokens, output = $2 per 1k tokens }
  context  = 128k tokens
  limits   = { inflight = 64, rate = [500 calls per 1m, 2M tokens per 30s] }
  sampling = { temperature = 0.7, stop = ["END"] }
}
run main { flow = agent  task = family("words")  budget = [$3, 20m] }
"""
    made = program(text)
    model = made.models["m"]
    assert made.default_model == "m"
    assert model.price == Price(300_000, 300_000, 300_000, 2_000_000_000)
    assert model.limits == Limits(64, (500, 60.0), (2_000_000, 30.0))
    assert model.context == 128_000
    assert (model.sampling.temperature, model.sampling.stop) == (0.7, ("END",))
    assert len(model.endpoints) == 2
    assert made.budget == Budget(usd=3_000_000, seconds=1200.0)


@pytest.mark.parametrize(
    ("endpoint", "price"),
    [
        ('local("m.gguf")', Price()),
        ('openai("x", base_url = "http://127.0.0.1:8000/v1")', Price()),
        ('openai("x", base_url = "https://h.example/v1")', None),
        ('openai("x", base_url = env("URL"))', None),
    ],
)
def test_a_model_of_this_machine_is_free_and_another_unknown(
    endpoint: str, price: Price | None
) -> None:
    run = 'run r { flow = agent  task = family("words")  budget = [9 calls] }'
    text = f"model m {{ endpoint = {endpoint} }}\n{run}"
    assert program(text, Choice(allow=anything)).models["m"].price == price


# --- choices ---------------------------------------------------------------------------------------

TWO = """
model fast { endpoint = local("a") }
model slow { endpoint = local("b") }
"""


def test_several_models_and_none_chosen_is_an_error_where_one_is_needed() -> None:
    text = TWO + NOUNS + "run r { flow = writer  task = sum }"
    assert [p.code for p in refused(text)] == ["E220"]
    assert program(text, Choice(default_model=FREE)).default_model == "default"
    chosen = TWO + NOUNS + "run r { flow = writer  task = sum  model = slow }"
    assert list(program(chosen).models) == ["slow"]
    each = TWO + NOUNS + "role w = writer with { model = fast }\nrun r { flow = w  task = sum }"
    assert list(program(each).models) == ["fast"]


def test_the_teams_model_is_for_members_that_name_none() -> None:
    text = (
        TWO
        + NOUNS
        + "run r { flow = team(2, model = slow, ceo = fixed, ceo_model = fast)  task = sum }"
    )
    made = program(text)
    assert sorted(made.models) == ["fast", "slow"]
    assert isinstance(made.flow, Team)
    assert made.flow.model == "slow"
    assert made.flow.ceo is not None
    assert made.flow.ceo.role.model == "fast"


def test_a_model_of_the_file_is_replaced_by_name() -> None:
    text = 'model m { endpoint = openai("x", base_url = "https://h.example/v1") }\n' + NOUNS
    made = program(
        text + "run r { flow = writer  task = sum }",
        Choice(models={"m": FREE}, allow=nothing),
    )
    assert made.models["m"].endpoints == FREE.endpoints
    assert made.models["m"].name == "m"


def test_a_budget_from_outside_only_tightens() -> None:
    text = NOUNS + "run r { flow = writer  task = sum  budget = [$5, 10 calls] }"
    made = program(text, Choice(budget=Budget(usd=9_000_000, calls=3, tokens=7)))
    assert made.budget == Budget(usd=5_000_000, tokens=7, calls=3)


@pytest.mark.parametrize(
    ("declared", "value", "shown"),
    [
        ("n: int(1 to 64) = 10", "12", 12),
        ("n: int(1 to 64) = 10", 12, 12),
        ("n: float = 1.5", "2", 2),
        ('n: "quick" | "deep" = "deep"', "quick", "quick"),
        ('n: text = ""', "10", "10"),
        ("n: bool = false", "true", True),
        ("n: Tokens = 1k tokens", "8k tokens", "8k tokens"),
        ("n: Budget = [$1]", "[$5, 10m]", "[$5, 10m]"),
        ("n: int", "3", 3),
    ],
)
def test_a_parameter_is_typed_by_its_declaration(
    declared: str, value: str | int, shown: object
) -> None:
    text = f"param {declared}\n{NOUNS}\nrun r {{ flow = writer  task = sum }}"
    made = program(text, Choice(params={"n": (value, "--set")}))
    assert made.params == (("n", shown, "--set"),)


@pytest.mark.parametrize(
    ("params", "code", "origin"),
    [
        ({"n": ("ten", "PODIUM_PARAM_N")}, "E122", "PODIUM_PARAM_N"),
        ({"n": ("99", "--set")}, "E122", "--set"),
        ({"n": ("3 +", "--set")}, "E122", "--set"),
        ({"m": ("3", "--set")}, "E123", "--set"),
        ({}, "E124", ""),
    ],
)
def test_a_wrong_parameter_is_told_with_its_origin(
    params: Mapping[str, tuple[str, str]], code: str, origin: str
) -> None:
    text = f"param n: int(1 to 64)\n{NOUNS}\nrun r {{ flow = writer  task = sum }}"
    problems = refused(text, Choice(params=params))
    assert code in [p.code for p in problems]
    assert any(origin in p.message for p in problems)


def test_the_run_is_main_or_the_only_one_or_the_one_named() -> None:
    text = NOUNS + "run a { flow = writer  task = sum }\nrun b { flow = team(2)  task = sum }"
    assert [p.code for p in refused(text)] == ["E110"]
    assert program(text, Choice(run="b")).name == "b"
    (problem,) = refused(text, Choice(run="c"))
    assert problem.code == "E110"
    assert program(text + "\nrun main { flow = writer  task = sum }").name == "main"
    assert [p.code for p in refused(NOUNS)] == ["E110"]


def test_a_run_without_a_task_is_an_error_where_a_prompt_mentions_it() -> None:
    assert [p.code for p in refused("run r { flow = agent }")] == ["E130"]
    assert program('role r { prompt = "Sing." }\nrun r2 { flow = r }').tasks == ()


# --- tasks -----------------------------------------------------------------------------------------

ROWS = """
task set = rows("{}") with {{ statement = row.problem, verify = number(row.answer) }}
run r {{ flow = agent  task = set }}
"""


def test_rows_make_a_task_for_each_line() -> None:
    made = program(ROWS.format("set.jsonl"))
    assert [(t.name, t.statement) for t in made.tasks] == [("set/1", "1+1"), ("set/3", "2+2")]
    assert [t.verify.args["expected"] for t in made.tasks if t.verify] == [2, "4"]


@pytest.mark.parametrize(("path", "line"), [("torn.jsonl", 2), ("short.jsonl", 2)])
def test_a_wrong_row_is_told_with_its_line(path: str, line: int) -> None:
    problems = refused(ROWS.format(path))
    assert len(problems) == 1
    assert any(
        f"line {line} of {path}" in text for text in (problems[0].message, *problems[0].notes)
    )


def test_a_task_keeps_its_rules() -> None:
    text = """
task t {
  statement = file("issue.md")
  verify = python("a.b:c", timeout = 2m, inflight = 4)
  pass = score >= 2
  better = lower
  use = final
}
run r { flow = agent  task = t }
"""
    (task,) = program(text, Choice(allow=anything)).tasks
    assert task.statement == "Fix it."
    assert task.verify is not None
    assert (task.verify.name, task.verify.kind) == ("python", "python")
    assert (task.verify.timeout_s, task.verify.inflight, task.verify.use) == (120.0, 4, "final")
    assert (task.pass_rule, task.better) == (Compare("score", ">=", 2.0), "lower")


def test_the_sources_are_all_that_was_read() -> None:
    text = """
from std.roles import solver
task t { statement = file("issue.md") }
run r { flow = solver  task = t }
"""
    names = [s.name for s in program(text, Choice(allow=anything)).sources]
    assert names[0] == "x.team"
    assert {"std.roles", "std.prelude", "issue.md"} <= set(names)


# --- permission ------------------------------------------------------------------------------------

_AT = 'model m {{ endpoint = openai("x", base_url = {}) }}\ntask t {{ statement = "x" }}\n'
GUARDED = {
    "E501": ('task t { statement = "x"  verify = python("a.b:c") }\n', "python", "a.b:c"),
    "E502": ('task t { statement = file("issue.md") }\n', "file", "issue.md"),
    "E503": (_AT.format('env("URL")'), "env", "URL"),
    "E505": (_AT.format('"https://h.example/v1"'), "host", "h.example"),
}


@pytest.mark.parametrize("code", sorted(GUARDED))
def test_the_world_is_closed_unless_it_is_allowed(code: str) -> None:
    nouns, kind, value = GUARDED[code]
    text = nouns + "run r { flow = agent  task = t  budget = [9 calls] }"
    (problem,) = refused(text, Choice(allow=nothing))
    assert problem.code == code
    assert f"--allow {kind}:{value}" in problem.help
    assert program(text, Choice(allow=lambda k, v: (k, v) == (kind, value)))
    assert check(Source("x.team", text), LIBRARY) == ()


def test_what_a_run_does_not_use_needs_no_permission() -> None:
    unused = "".join(nouns.replace("task t", "task u") for nouns, _, _ in (GUARDED["E501"],))
    text = unused + NOUNS + "run r { flow = writer  task = sum }"
    assert program(text, Choice(allow=nothing)).name == "r"


# --- what does not run yet -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "flow_text",
    [
        "team(3, style = work)",
        "team(3, style = work, workspace = shared)",
        "team(3, style = work, claims = lease(10m))",
        "team(members = [2 of (writer with { tools = [submit] })])",
        "team(3, ceo = (writer with { tools = [notes] }))",
    ],
)
def test_what_is_checked_but_does_not_run_yet_is_told_at_the_run(flow_text: str) -> None:
    text = f"{NOUNS}run r {{ flow = {flow_text}  task = sum }}"
    assert [p.code for p in check(Source("x.team", text), LIBRARY) if p.code != "W603"] == []
    assert {p.code for p in refused(text)} == {"E900"}


# --- reports ---------------------------------------------------------------------------------------


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


# --- the sketch and the standard library -----------------------------------------------------------


def test_the_sketch_is_clean_and_its_run_compiles() -> None:
    source = Source("sketch.team", SKETCH.read_text(encoding="utf-8"))
    assert [p.code for p in check(source, LIBRARY)] == ["N302"]  # ten squads of 400k tokens in 2M
    choice = Choice(allow=anything, default_model=FREE)
    made, notes = compile_run(source, LIBRARY, choice)
    assert [p.code for p in notes] == ["W900"]
    assert form(made.flow).startswith("fallback(then(parallel(limited(team)), best), then(")
    assert sorted(made.models) == ["default", "fast", "strong"]
    assert made.params == (("teams", 10, "default"), ("effort", "deep", "default"))
    quick = Choice(allow=anything, default_model=FREE, params={"effort": ("quick", "--set")})
    assert compile_run(source, LIBRARY, quick)[0].flow.label == "best_of"


@pytest.mark.parametrize("name", ["std.prelude", "std.roles", "std.flows"])
def test_the_standard_library_is_clean(name: str) -> None:
    assert check(LIBRARY.module(name, is_file=False, importer=""), LIBRARY) == ()


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("f.best_of(3) of agent", "then(parallel(agent), best)"),
        ("f.race(3) of team(2)", "then(parallel(team), best)"),
        ("f.self_consistency(3) of agent", "then(parallel(agent), vote)"),
        (
            "parallel(3) of agent -> f.debate(2) -> best",
            "then(parallel(agent), repeat(agent), best)",
        ),
        ("agent -> f.refine(2)", "then(agent, repeat(agent))"),
        ("agent -> f.refine(2, until = score >= 1)", "then(agent, repeat(agent))"),
        ("f.mixture_of_agents()", "then(parallel(agent), repeat(agent), agent)"),
        ("f.map_reduce(4) of agent", "then(foreach(agent), agent)"),
    ],
)
def test_the_standard_flows_compile(expression: str, expected: str) -> None:
    assert form(flow(expression, "import std.flows as f\n" + NOUNS)) == expected


# --- robustness ------------------------------------------------------------------------------------


def test_doubling_flows_are_refused_by_size_without_being_written_out() -> None:
    doubles = "".join(f"flow f{i} = parallel of [f{i - 1}, f{i - 1}]\n" for i in range(1, 25))
    text = f'flow f0 = agent\n{doubles}run r {{ flow = f24  task = family("words") }}'
    assert [p.code for p in refused(text)] == ["E305"]


def test_flows_that_double_their_arguments_are_stopped() -> None:
    doubles = "".join(f"flow g{i} of x = g{i - 1} of (g{i - 1} of x)\n" for i in range(1, 30))
    text = f"flow g0 of x = x -> editor\n{doubles}flow h = g29 of agent\n{NOUNS}"
    assert "E405" in [p.code for p in check(Source("x.team", text), LIBRARY)]


@pytest.mark.parametrize(
    "text",
    [
        "flow f = " + "(" * 150 + "agent" + ")" * 150,
        "flow f = agent" + " -> agent" * 490,
        "flow f = same" + " -> same" * 490,
        "flow f = agent -> repeat(2, until = score >= 1" + " or score >= 1" * 490 + ") of same",
        "param n: int = 1" + " + 1" * 490,
        "flow f = " + "if true then agent else " * 150 + "agent",
        "flow f = " + "parallel of [" * 150 + "agent" + "]" * 150,
        "".join(f"flow f{i} = f{i + 1}\n" for i in range(300)) + "flow f300 = agent",
        "".join(f"role r{i} = r{i + 1}\n" for i in range(300)) + 'role r300 { prompt = "x" }',
        "".join(f"role r{i} = r{i + 1} with {{ turns = 3 }}\n" for i in range(300))
        + "role r300 = agent",
        "".join(f"flow f{i} = parallel of [f{i + 1}]\n" for i in range(300)) + "flow f300 = agent",
        "".join(f"flow f{i} of x = parallel of [f{i + 1} of x]\n" for i in range(300))
        + "flow f300 = agent",
        "".join(f"param p{i} = (p{i + 1})\n" for i in range(300)) + "param p300 = 1",
        'flow f = agent\ntask t { statement = "x"  pass = ' + "not " * 490 + "score >= 1 }",
    ],
)
def test_deep_and_long_programs_never_raise(text: str) -> None:
    def below(frames: int) -> tuple[Problem, ...]:
        return below(frames - 1) if frames else check(Source("x.team", text), LIBRARY)

    assert isinstance(below(200), tuple)


ATOMS = st.sampled_from(
    ["agent", "team(2)", "best", "same", "3", "$5", "4k tokens", "20%", "none", "true", '"x"', "[$1]",
     "score", "passed", "adaptive", "n", "m", "r", "t", "v", "f", "f()", "parallel(2)", "{ a = agent }",
     "env(\"X\")", "plateau(2)", "h.taste", "rows(\"set.jsonl\")", "file(\"issue.md\")", "last(2)"]
)  # fmt: skip


def _grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, inner)
    return st.one_of(
        pair.map(lambda p: f"{p[0]} -> {p[1]}"),
        pair.map(lambda p: f"({p[0]}) of {p[1]}"),
        pair.map(lambda p: f"parallel({p[0]}) of {p[1]}"),
        pair.map(lambda p: f"repeat(2, until = {p[0]}) of ({p[1]})"),
        pair.map(lambda p: f"fallback of [{p[0]}, 2 of {p[1]}]"),
        pair.map(lambda p: f"team({p[0]}, members = [{p[1]}])"),
        pair.map(lambda p: f"({p[0]}) >= ({p[1]})"),
        pair.map(lambda p: f"({p[0]}) + ({p[1]})"),
        pair.map(lambda p: f"({p[0]}) per ({p[1]})"),
        pair.map(lambda p: f"(if {p[0]} then {p[1]} else {p[1]})"),
        inner.map(lambda e: f"({e}) with {{ prompt = {e} }}"),
        inner.map(lambda e: f"best(by = {e})"),
        inner.map(lambda e: f"f(size = {e}, budget = {e})"),
        inner.map(lambda e: f"({e}).a"),
        inner.map(lambda e: f"({e})(1)"),
        inner.map(lambda e: f"not ({e})"),
    )


FRAME = """
import "./house.team" as h
param n: int = 3
model m {{ endpoint = local("x") }}
role r {{ prompt = {0}  budget = {0} }}
task t {{ statement = {0}  verify = {0}  pass = {0} }}
verifier v = exact("4")
flow f(size: int = 2) = team(size, until = {0})
flow g(x) of y = ({0}) -> y
run main {{ flow = {0}  task = t  budget = {0}  seed = {0} }}
"""


@pytest.mark.parametrize(
    "count",
    [pytest.param(50, marks=pytest.mark.slow), pytest.param(300, marks=pytest.mark.long)],
)
def test_nothing_but_a_program_error_ever_comes_out(count: int) -> None:
    settings(max_examples=count, deadline=None)(
        given(st.recursive(ATOMS, _grow, max_leaves=5))(only_program_errors)
    )()


def only_program_errors(expression: str) -> None:
    text = FRAME.format(expression)
    problems = check(Source("x.team", text), LIBRARY)
    assert len({(p.place.source.name, p.place.span.start, p.code) for p in problems}) == len(
        problems
    )
    for choice in (Choice(), Choice(expression=expression, task="words")):
        source = Source("x.team", text if choice.expression is None else "")
        with suppress(ProgramError):
            assert isinstance(compile_run(source, LIBRARY, choice)[0], Program)


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


def test_the_default_model_never_takes_the_name_of_another() -> None:
    text = (
        NOUNS
        + 'model default { endpoint = local("x") }\nrole w = writer with { model = default }\n'
    )
    run = "run r { flow = parallel of [w, writer]  task = sum }"
    made = program(text + run, Choice(default_model=FREE))
    assert sorted(made.models) == ["default", "default_"]
    assert made.default_model == "default_"


# --- verifiers made of others, and on other machines ------------------------------------------------


def verifier_in(text: str, choice: Choice = Choice()) -> Verifier:  # noqa: B008  # it is frozen
    made = program(f"{text}\nrun r {{ flow = agent  task = t  budget = [9 calls] }}", choice)
    verify = made.tasks[0].verify
    assert verify is not None
    return verify


def test_a_verifier_keeps_its_parts_and_hides_what_they_hide() -> None:
    text = (
        'task t { statement = "?"  verify = all_of(contains("a"), any_of(exact("b"), number(4))) }'
    )
    verify = verifier_in(text)
    assert [leaf.kind for leaf in verify.leaves()] == ["contains", "exact", "number"]
    assert verify.use == "final"
    assert verifier_in(text.replace("number(4))", "number(4)), use = always")).use == "always"


def test_weights_go_with_verifiers() -> None:
    text = 'task t { statement = "?"  verify = weighted([contains("a"), number(4)], weights = [2, 1]) }'
    assert verifier_in(text).args["weights"] == (2, 1)
    for wrong in ("[2]", "[2, -1]", "[0, 0]"):
        codes = [p.code for p in check(Source("x.team", text.replace("[2, 1]", wrong)), LIBRARY)]
        assert {"E210", "E120"} & set(codes), wrong


@pytest.mark.parametrize(
    ("verify", "says"),
    [
        ('weighted([exact("a")], weights = [1])', False),
        ('all_of(exact("a"), weighted([exact("a")], weights = [1]))', False),
        ('any_of(exact("a"), weighted([exact("a")], weights = [1]))', True),
        ('all_of(exact("a"), http("http://127.0.0.1:1/"))', True),
    ],
)
def test_what_gives_only_a_score_passes_by_a_rule_alone(verify: str, says: bool) -> None:
    text = (
        f'task t {{ statement = "?"  verify = {verify} }}\n'
        "run r { flow = parallel(2, stop = first_pass) of agent  task = t  budget = [9 calls] }"
    )
    refusals = [p.code for p in check(Source("x.team", text), LIBRARY) if p.severity == "error"]
    assert (not refusals) is says


def test_a_service_elsewhere_and_its_token_need_leave() -> None:
    text = 'task t { statement = "?"  verify = http("http://10.0.0.7/", key = env("T"), finalists = 2) }'
    run = f"{text}\nrun r {{ flow = agent  task = t  budget = [9 calls] }}"
    assert {p.code for p in refused(run, Choice(allow=nothing))} == {"E503", "E505"}
    verify = verifier_in(text)
    assert verify.args == {"url": "http://10.0.0.7/", "key": "T"}
    assert verify.finalists == 2
    here = run.replace("10.0.0.7", "127.0.0.1").replace(', key = env("T")', "")
    assert program(here, Choice(allow=nothing)).name == "r"
