"""What a mistake must not drag along: blame for names, warnings, and fixes that mend nothing."""

import pytest

from podium.dsl.compile import check
from podium.dsl.library import MemoryLibrary
from podium.dsl.problem import Problem, apply
from podium.dsl.source import Source

BROKEN = """role poet {{
  max_output = {length}
  prompt     = "Write."
}}
task poem {{ statement = "A poem." }}
flow poems = parallel(2) of poet -> vote
run main {{ task = poem  flow = poems  budget = {budget} }}
"""
LIBRARY = MemoryLibrary(
    modules={"./house.team": 'flow poet = team(2\ntask poem { statement = "x" }\n'}
)


def problems(text: str) -> tuple[Problem, ...]:
    return check(Source("x.team", text), LIBRARY)


def codes(text: str) -> list[str]:
    return [problem.code for problem in problems(text)]


def test_the_name_of_a_declaration_that_cannot_be_read_stays_known() -> None:
    whole = BROKEN.format(length="200 tokens", budget="[2k tokens]")
    assert codes(whole) == []
    assert codes(whole.replace("200 tokens", "= 200")) == ["T011"]
    assert codes(whole.replace('"Write."\n}', '"Write."')) == ["T010"]
    assert codes(whole.replace("-> vote", "=> vote")) == ["T022"]


def test_a_name_that_was_never_declared_is_still_told_beside_a_broken_declaration() -> None:
    text = BROKEN.format(length="= 200", budget="[2k tokens]").replace("of poet", "of poets")
    assert sorted(codes(text)) == ["E105", "T011"]


def test_an_import_of_what_its_file_could_not_read_is_not_blamed() -> None:
    text = 'from "./house.team" import poet\nimport "./house.team" as house\nflow a = house.poet -> poet\n'
    assert codes(text) == ["T010"]


@pytest.mark.parametrize(
    ("length", "budget", "mended"),
    [
        ("200 token", "[2k tokens]", "200 tokens"),
        ("200 tokens", "[20 dollars]", "$20"),
        ("200 tokens", "[2k tokens, 5 minutes]", "5m"),
        ("200 tokns", "[2k tokens]", "200 tokens"),
        ("200 tokens", "[2k tokens, 5 minuts]", "5m"),
    ],
)
def test_a_unit_spelt_out_is_mended_not_split(length: str, budget: str, mended: str) -> None:
    text = BROKEN.format(length=length, budget=budget)
    (found,) = problems(text)
    assert found.code == "T006"
    assert f"`{mended}`" in found.help
    assert codes(apply(text, found.edits)) == []


@pytest.mark.parametrize("name", ["b", "caller"])
def test_a_number_before_a_name_that_is_no_unit_lacks_its_of(name: str) -> None:
    text = f'role {name} {{ prompt = "x" }}\nflow f = parallel of [3 {name}, 2 of agent] -> vote\n'
    (found,) = problems(text)
    assert codes(apply(text, found.edits)) == []
    assert f"3 of {name}" in apply(text, found.edits)


def test_what_a_misspelt_name_meant_is_not_called_unused() -> None:
    text = BROKEN.format(length="200 tokens", budget="[2k tokens]").replace("of poet", "of poett")
    assert codes(text) == ["E105"]
    spare = text.replace("of poett", "of poet") + "role spare { prompt = 'x' }\n".replace("'", '"')
    assert codes(spare) == ["W603"]


def test_a_misspelt_filter_is_mended() -> None:
    text = 'role chooser { prompt = """{{ attempts | bullet }}""" }\n'
    (found,) = problems(text)
    assert found.help == "did you mean `bullets`?"
    assert codes(apply(text, found.edits)) == []


@pytest.mark.parametrize(
    ("field", "code"),
    [
        ("prompt = = 1", "T011"),
        ("prompt =", "T011"),
        ('prompt "x"', "T002"),
        ('prompt : "x"', "T023"),
        ('prompt = "x', "T005"),
        ('= "x"', "T002"),
        ('model = fast\n  = "x"', "T002"),
        ('prompt = """{{ task. }}"""', "T012"),
    ],
)
def test_a_field_that_cannot_be_read_is_not_called_missing_and_hides_nothing(
    field: str, code: str
) -> None:
    text = f"role poet {{\n  {field}\n  max_output = 3\n}}\nmodel fast = local()\n"
    assert codes(text) == [code, "E308"]
    run = 'run main { task = poem  flow = poet  budget = [2k tokens] }\ntask poem { statement = "x" }\n'
    assert codes(text + run) == [code, "E308"]


@pytest.mark.parametrize(
    "declaration",
    ['task { statement = "x" }', "param : int = 3", "model = local()", 'verifier = contains("4")'],
)
def test_what_a_declaration_without_a_name_may_be_called_is_not_blamed(declaration: str) -> None:
    uses = "flow solve = parallel(lost + 1) of agent -> best(by = lost)\nrun main { task = lost  flow = solve }\n"
    assert codes(f"{declaration}\n{uses}") == ["T002"]
    assert codes(f"{declaration}\n{uses.replace('= solve ', '= solv ')}") == ["T002", "E105"]


def test_arithmetic_with_a_name_that_is_not_known_is_told_of_the_name() -> None:
    assert codes("flow f = parallel(n + 1, budget = [2 * k]) of agent -> best\n") == [
        "E105",
        "E105",
    ]


def test_each_slot_of_a_prompt_that_cannot_be_read_is_told() -> None:
    text = 'role poet { prompt = """{{ task statement }} {{ self.index }} {{ task..x }}""" }\n'
    assert codes(text) == ["T021", "T002"]


def test_behind_a_mistake_that_is_surely_mended_reading_goes_on() -> None:
    assert codes("flow f = team(2, budget = [5mins, 3ktokens], ceo = adaptiv)\n") == [
        "T006",
        "T006",
        "E125",
    ]


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        (
            "model m {\n  endpoint = local()\n  price = { input = $1 per M tokens }\n}\n",
            "per 1M tokens",
        ),
        ("model m {\n  endpoint = local\n}\n", "local()"),
        ("model m = local\n", "local()"),
        (
            'task t {\n  statement = "x"\n  pass = attempt.scor >= 1\n  verify = number(1)\n}\n',
            "= score >=",
        ),
        ('role r {\n  prompt = """{{ task.statment }}"""\n}\n', "task.statement"),
    ],
    ids=["per M", "local", "model = local", "attempt.scor", "task.statment"],
)
def test_what_was_surely_meant_is_offered(text: str, mended: str) -> None:
    (found,) = problems(text)
    whole = apply(text, found.edits)
    assert mended in whole
    assert codes(whole) == []


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        ("role r { prompt = 'x' max_tokens = 9 tokens }", "max_output = 9 tokens"),
        ("task t { description = 'x' }", "task t { statement = 'x' }"),
        ("role r { prompt = 'x' tools = [bash] }", "tools = [shell]"),
        ("flow f = crew(3) -> best", "flow f = team(3) -> best"),
        ("flow f = loop(3) of agent", "flow f = repeat(3) of agent"),
    ],
)
def test_what_other_tools_call_it_is_understood(text: str, mended: str) -> None:
    text = text.replace("'", '"')
    told = [problem for problem in problems(text) if problem.severity == "error"]
    assert len(told) == 1
    assert mended.replace("'", '"') in apply(text, told[0].edits)


@pytest.mark.parametrize(
    ("text", "help_"),
    [
        ("timeout = 10m", "write it in a declaration: `run NAME { budget = … }`"),
        ("# a run\nbudget = [$5]", "write it in a declaration: `run NAME { budget = … }`"),
        ("prompt = 'x'", "write it in a declaration: `role NAME { prompt = … }`"),
        (
            "run main { flow = agent }\nbudget = [$5]",
            "indent this line, so that it belongs to the declaration above",
        ),
        ("task = 'Write a poem.'", "write `task NAME { … }`"),
        ("flow: parallel(3) of agent", "write `flow NAME = …`"),
        ("flow f = team(3, style = work, claims = 10m)", "write, for example, `lease(10m)`"),
    ],
)
def test_what_stands_by_itself_or_has_no_name_is_shown_how_it_is_written(
    text: str, help_: str
) -> None:
    assert help_ in [problem.help for problem in problems(text.replace("'", '"'))]
