"""Mistakes of somebody's first hour: one report for each, at its place, and no advice that does harm."""

import pytest

from podium.dsl.compile import Choice, check, compile_run
from podium.dsl.library import MemoryLibrary
from podium.dsl.problem import Problem, ProgramError, apply
from podium.dsl.source import Source

FILE = '''edition 2026
role writer {
  prompt = """Write. {{ task.statement }}"""
}
model free {
  endpoint = local()
  price = none
}
task poem {
  statement = "A poem."
  verify = contains("4")
}
flow poems = parallel(3) of writer -> best
run main {
  task = poem
  flow = poems
  budget = [20k tokens, 5m]
}
'''
LIBRARY = MemoryLibrary()


def problems(text: str) -> tuple[Problem, ...]:
    return check(Source("x.team", text), LIBRARY)


def told(text: str) -> list[tuple[str, str]]:
    """Of each report its code and the text it points at."""
    found = problems(text)
    return [(p.code, text[p.place.span.start : p.place.span.end]) for p in found]


def test_the_file_they_all_start_from_has_no_mistake() -> None:
    assert problems(FILE) == ()


@pytest.mark.parametrize(
    ("old", "new", "code", "place", "help_"),
    [
        ("of writer -> best", "of writer => best", "T022", "=>", ""),
        ("flow = poems", "flow = parallel(3) of writer => best", "T022", "=>", ""),
        ("20k tokens", "20,000 tokens", "T006", "20,000", "`20k tokens`"),
        ("20k tokens", "1,000,000 tokens", "T006", "1,000,000", "`1M tokens`"),
        ("20k tokens", "2,500 tokens", "T006", "2,500", "`2500 tokens`"),
        ("20k tokens", "20% tokens", "T020", "20% tokens", "leave out `tokens`"),
        ("20k tokens", "20k", "E308", "20k", "`20k tokens`"),
        ("20k tokens, 5m", "5 usd, 5m", "T006", "5 usd", "`$5`"),
        ("edition 2026", "// x\nedition 2026", "T002", "//", "`#`"),
        ("edition 2026", "/* x */\nedition 2026", "T002", "/*", "`#`"),
        ("edition 2026", 'edition "2026"', "T009", '"2026"', "`edition 2026`"),
        ("role writer", "role my-writer", "T002", "my-writer", "`my_writer`"),
        ("role writer", 'role "writer"', "T002", '"writer"', ""),
        ("role writer", "role match", "T024", "match", "another name"),
        ("role writer", "role", "T002", "{", ""),
        ("role writer", '"role":', "T002", '"role"', ""),
        ("task poem", "  task poem", "T002", "task", "there"),
        ("parallel(3) of writer", "parallel(3)", "E213", "parallel(3)", "`of`"),
        ("task = poem", "task = writer", "E120", "writer", ""),
        ("  flow = poems\n", "", "E107", "main", "`flow = …`"),
        ("-> best", "-> best within $5", "T002", "within", "`budget = [$5]`"),
        ("flow = poems", "flow = poems within $5", "T002", "within", "`budget = [$5]`"),
        ("task.statement", "statement", "E105", "statement", "`task.statement`"),
        ("price = none", "price = None", "E105", "None", "`none`"),
        ("price = none", "price = free", "E120", "free", "`none`"),
        ("{\n  prompt", "{\n  temperature = 0.5\n  prompt", "E106", "temperature", "`sampling = {"),
        ("local()", 'anthropic("x")', "E105", "anthropic", "openai("),
        ("parallel(3) of writer -> best", "team(3, ceo = true)", "E120", "true", "`adaptive`"),
        ("parallel(3) of writer -> best", "team(3, ceo = True)", "E120", "True", "`adaptive`"),
        ("parallel(3) of writer", "3 * writer", "E120", "3 * writer", "`parallel(3) of writer`"),
        ("task = poem", "task == poem", "T023", "==", "`task = …`"),
        ("flow poems =", "flow poems ==", "T023", "==", "`poems = …`"),
        ("  task = poem", "  task = poem\n  task = poem", "E108", "task", ""),
    ],
)  # fmt: skip
def test_a_mistake_is_told_once_where_it_is_and_what_to_write(
    old: str, new: str, code: str, place: str, help_: str
) -> None:
    text = FILE.replace(old, new, 1)
    assert told(text) == [(code, place)]
    (found,) = problems(text)
    assert help_ in found.help
    if found.edits and place != "my-writer":  # what uses the old name is told next
        assert [p for p in problems(apply(text, found.edits)) if p.severity == "error"] == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("20k tokens", "20% tokens"),
        ("-> best", "-> best within $5"),
        ("price = none", "price = free"),
        ("of writer -> best", "of writter"),
    ],
)
def test_what_brings_another_mistake_is_not_offered(old: str, new: str) -> None:
    for found in problems(FILE.replace(old, new, 1)):
        if found.edits:
            mended = problems(apply(FILE.replace(old, new, 1), found.edits))
            assert [p.code for p in mended if p.severity == "error"] in ([], ["E201"])


def test_of_each_comma_that_lacks_there_is_a_report_with_the_comma() -> None:
    text = FILE.replace("[20k tokens, 5m]", "[20k tokens 5m 3 calls]")
    found = problems(text)
    assert [text[p.place.span.start : p.place.span.end] for p in found] == ["5m", "3"]
    assert problems(apply(text, [edit for p in found for edit in p.edits])) == ()


def test_amounts_of_a_rate_side_by_side_still_lack_their_per() -> None:
    text = FILE.replace("price = none", "limits = { rate = [500 calls 1m] }")
    (found,) = problems(text)
    assert problems(apply(text, found.edits)) == ()
    assert "500 calls per 1m" in apply(text, found.edits)


def test_two_numbers_of_a_list_are_not_taken_for_one() -> None:
    text = "flow f(k: [int]) = agent\nflow g = f([1,200])\n"
    assert problems(text) == ()
    assert told("flow f = parallel(3,200) of agent -> best\n") == [("E120", "200")]


@pytest.mark.parametrize(
    "text",
    ["parallel(3) of agent -> best\n", "team(3)\n", "agent -> agent\n", "team(2) => best\n"],
)
def test_an_expression_that_is_a_whole_file_is_told_of_the_option(text: str) -> None:
    (found,) = problems(text)
    assert found.code == "T030"
    assert "`podium run -e '…'`" in found.help
    assert not found.edits


@pytest.mark.parametrize("written", ["{task.statement}", "{ attempt.answer }", "{% if x %}"])
@pytest.mark.parametrize("quotes", ['"""', '"'])
def test_what_looks_like_a_slot_and_is_none_is_warned_of(written: str, quotes: str) -> None:
    text = f"role r {{ prompt = {quotes}Do {written} now.{quotes} }}\n"
    (found,) = problems(text)
    assert (found.code, found.severity) == ("W608", "warning")


@pytest.mark.parametrize(
    "prompt", ['{"task": 1}', "{x}", "\\{{ task.statement }}", "{{ task.statement }}", "\\{task}"]
)
def test_braces_that_are_meant_are_left_alone(prompt: str) -> None:
    assert problems(f'role r {{ prompt = """{prompt}""" }}\n') == ()


@pytest.mark.parametrize(
    ("written", "meant"), [("string", "text"), ("boolean", "bool"), ("integer", "int")]
)
def test_the_type_of_another_language_is_told_by_its_name_here(written: str, meant: str) -> None:
    text = f'role r {{ prompt = "x"  output = {{ a: {written} }} }}\n'
    (found,) = problems(text)
    assert found.help == f"did you mean `{meant}`?"
    assert problems(apply(text, found.edits)) == ()


def test_a_wrong_name_where_one_lacks_is_one_mistake() -> None:
    text = "flow b(n: int) of inner = parallel(n) of inner -> best\nflow c = b(k = 3) of agent\n"
    (found,) = problems(text)
    assert (found.code, found.help) == ("E111", "did you mean `n`?")
    assert problems(apply(text, found.edits)) == ()


def test_what_is_given_twice_shows_the_first() -> None:
    (found,) = problems(FILE.replace("task = poem\n", "task = poem\n  task = poem\n", 1))
    assert [label.text for label in found.secondary] == ["first given here"]
    text = "flow f(k: int) = parallel(k) of agent -> vote\nflow g = f(3, k = 4)\n"
    (found,) = problems(text)
    assert (found.code, [label.text for label in found.secondary]) == ("E114", ["first given here"])


def test_dollars_of_free_models_are_not_to_be_lowered() -> None:
    (found,) = problems(FILE.replace("20k tokens", "$5"))
    assert found.code == "W604"
    assert "lower" not in found.help


def test_minutes_for_millions_are_counted_in_english() -> None:
    (found,) = problems(FILE.replace("price = none", "price = { input = $1 per 1m tokens }"))
    assert "(1 minute)" in found.message


def test_an_outcome_in_place_of_a_condition_is_compared() -> None:
    text = FILE + "test t { flow = poems  never = failed }\n"
    (found,) = problems(text)
    assert "`outcome == failed`" in found.help
    assert problems(apply(text, found.edits)) == ()


def test_a_row_that_is_no_json_is_told_by_its_own_line() -> None:
    rows = MemoryLibrary(files={"r.jsonl": '{"a": "x"}\n{"a": }\n'})
    text = (
        'task t = rows("r.jsonl") with { statement = row.a }\nrun main { task = t  flow = agent }\n'
    )
    with pytest.raises(ProgramError) as caught:
        compile_run(Source("x.team", text), rows, Choice())
    (found,) = caught.value.problems
    assert found.message == "line 2 of r.jsonl is no JSON: expecting value at column 7"


def test_the_budget_of_an_expression_is_an_option() -> None:
    paid = FILE.split("flow poems")[0].replace("none", "{ input = $1 per 1M tokens }")
    with pytest.raises(ProgramError) as caught:
        compile_run(Source("x.team", paid), LIBRARY, Choice(expression="agent", task="poem"))
    (found,) = caught.value.problems
    assert found.code == "E310"
    assert "`--max-usd 5`" in found.help
    assert "budget =" not in found.help
