"""From text to Program: what comes out."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from podium.dsl.compile import Choice, check, compile_run
from podium.dsl.model import Endpoint, Limits, Price
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
    Reduce,
    Repeat,
    Slot,
    Team,
    Text,
    Then,
    subflows,
)
from podium.dsl.source import Source

from .made import FREE, LIBRARY, NOUNS, WORDS, anything, flow, form, nothing, program, refused

SKETCH = Path(__file__).parent / "sketch.team"


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


def test_the_default_model_never_takes_the_name_of_another() -> None:
    text = (
        NOUNS
        + 'model default { endpoint = local("x") }\nrole w = writer with { model = default }\n'
    )
    run = "run r { flow = parallel of [w, writer]  task = sum }"
    made = program(text + run, Choice(default_model=FREE))
    assert sorted(made.models) == ["default", "default_"]
    assert made.default_model == "default_"


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


# --- the sketch and the standard library -----------------------------------------------------------


def test_the_sketch_is_clean_and_its_run_compiles() -> None:
    source = Source("sketch.team", SKETCH.read_text(encoding="utf-8"))
    assert [p.code for p in check(source, LIBRARY)] == ["N302"]  # ten squads of 400k tokens in 2M
    choice = Choice(allow=anything, default_model=FREE)
    made, notes = compile_run(source, LIBRARY, choice)
    assert notes == ()
    assert made.tasks[0].files == ("broken/",)
    assert "sum.py" in next(one.text for one in made.sources if one.name == "broken/")
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
        ("f.mixture_of_agents()", "then(parallel(agent), repeat(parallel(agent)), agent)"),
        ("f.map_reduce(4) of agent", "then(foreach(agent), agent)"),
    ],
)
def test_the_standard_flows_compile(expression: str, expected: str) -> None:
    assert form(flow(expression, "import std.flows as f\n" + NOUNS)) == expected
