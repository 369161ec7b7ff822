"""What the language promises of types, units, scopes and messages, each with its place and its rule."""

import time

import pytest

from podium.dsl.compile import Choice, check, compile_run
from podium.dsl.library import MemoryLibrary
from podium.dsl.problem import Problem, ProgramError
from podium.dsl.source import Place, Source

LIBRARY = MemoryLibrary(files={"rows.jsonl": '{"q": "1+1", "a": 2}\n'})
NOUNS = '''
role writer { prompt = """{{ task.statement }}""" }
role editor { prompt = """{{ attempt.answer }}""" }
role picker { prompt = """{{ attempts | bullets }}""" }
role triage { prompt = """{{ task.statement }}"""  output = { case: "easy" | "hard" } }
task sum { statement = "2 + 2?"  verify = exact("4") }
'''


def problems(text: str) -> list[Problem]:
    found = check(Source("x.team", text + NOUNS), LIBRARY)
    return [p for p in found if p.code != "W603"]


def text_at(place: Place) -> str:
    return place.source.text[place.span.start : place.span.end]


def told(text: str) -> list[tuple[str, str]]:
    return [(p.code, text_at(p.place)) for p in problems(text)]


# --- choices and ranges --------------------------------------------------------------------------

CHOICES = 'param m: "alpha" | "beta" = "alpha"\n'


@pytest.mark.parametrize(
    ("condition", "at", "help_"),
    [
        ('m == "alpah"', '"alpah"', "did you mean `alpha`?"),
        ('"alpah" == m', '"alpah"', "did you mean `alpha`?"),
        ('m != "gamma"', '"gamma"', "did you mean `alpha` or `beta`?"),
        ('m == "beta" and not m == "bet"', '"bet"', "did you mean `beta`?"),
    ],
)
def test_a_choice_is_compared_with_its_own_words_only(condition: str, at: str, help_: str) -> None:
    text = f"flow f = if {condition} then writer else team(2)"
    in_file = problems(CHOICES + text)
    in_flow = problems(text.replace("f =", 'f(m: "alpha" | "beta" = "alpha") ='))
    for found in (in_file, in_flow):
        assert [(p.code, text_at(p.place), p.help) for p in found] == [("E125", at, help_)]


@pytest.mark.parametrize("condition", ['m == "beta"', "m == beta", 'm == "beta" or m != alpha'])
@pytest.mark.parametrize("value", ["alpha", "beta"])
def test_a_choice_may_be_written_with_quotes_and_without(condition: str, value: str) -> None:
    flow = f"if {condition} then writer else team(2)"
    inner = f'flow f(k: "alpha" | "beta") = {flow.replace("m ", "k ")}\n'
    text = CHOICES + inner + "run main { task = sum  flow = f(m) }\n"
    made, _ = compile_run(
        Source("x.team", text + NOUNS), LIBRARY, Choice(params={"m": (value, "--set")})
    )
    assert type(made.flow).__name__ == ("Agent" if value == "beta" else "Team")


@pytest.mark.parametrize(
    ("declared", "code", "at"),
    [
        ("int(1.5 to 2) = 2", "E120", "int(1.5 to 2)"),
        ("int(5 to 2) = 5", "E121", "int(5 to 2)"),
        ("[int(1 to 3)] = [1, 9]", "E121", "9"),
        ('["a" | "b"] = ["a", "c"]', "E125", '"c"'),
        ("float(0 to 1) = 2", "E121", "2"),
        ("Budget = [$5, $6]", "E307", "$6"),
    ],
)
def test_a_parameters_default_is_of_its_type(declared: str, code: str, at: str) -> None:
    assert told(f"param p: {declared}") == [(code, at)]


# --- units ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "at", "help_"),
    [
        ("param t: Duration = 5M", "5M", "minutes are a small m: did you mean `5m`?"),
        ("param t: Tokens = 4m", "4m", "a million is a capital M: did you mean `4M tokens`?"),
        ("param t: Calls = 4m", "4m", "a million is a capital M: did you mean `4M calls`?"),
        ("flow f = team(2, budget = [2M])", "2M", "write `2M tokens`, or `2m` for minutes"),
        ('verifier v = python("a:b", timeout = 2M)', "2M", "minutes are a small m: did you mean `2m`?"),
    ],
)  # fmt: skip
def test_minutes_and_millions_have_a_message_of_their_own(text: str, at: str, help_: str) -> None:
    (problem,) = problems(text)
    assert (problem.code, text_at(problem.place), problem.help) == ("E308", at, help_)


def test_a_key_that_was_written_out_is_not_repeated() -> None:
    text = 'model m { endpoint = openai("x", base_url = "http://127.0.0.1/v1", key = "sk-123") }'
    (problem,) = problems(text)
    assert problem.code == "E120"
    assert "sk-123" not in problem.message + problem.help


def test_a_runs_own_budget_is_no_share() -> None:
    assert told("run r { task = sum  flow = writer  budget = [20%] }") == [("E303", "[20%]")]


def test_one_budget_that_is_too_large_is_told_once() -> None:
    for split in ("pooled", "even"):
        flow = f"parallel(2, split = {split}) of writer(budget = [5k tokens])"
        text = f"run r {{ task = sum  flow = {flow}  budget = [3k tokens] }}"
        assert told(text) == [("E301", "[5k tokens]")]


# --- scopes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "at", "says"),
    [
        ("flow f = if score > 1 then writer else team(2)", "score", "decided before"),
        ("flow f(n: int) = if n > 1 and spent > $1 then writer else team(2)", "spent", "decided before"),
        ('role r { prompt = """{{ score }}""" }', "score", "a prompt knows no"),
        ('role r { prompt = """{{ spent }}""" }', "spent", "a prompt knows no"),
        ('role r { prompt = "x"  tools = [pull] }', "pull", "a tool of teams at work"),
        ('task t { statement = "x"  tools = [claim] }', "claim", "a tool of teams at work"),
    ],
)  # fmt: skip
def test_what_is_known_elsewhere_is_told_where_it_is_not(text: str, at: str, says: str) -> None:
    (problem,) = problems(text)
    assert (problem.code, text_at(problem.place)) == ("E105", at)
    assert says in problem.message


def test_a_misspelt_call_is_told_with_the_call_that_was_meant() -> None:
    (problem,) = problems("flow f = repeat(2, until = plateu(3)) of editor")
    assert (problem.code, text_at(problem.place)) == ("E105", "plateu")
    assert problem.help.startswith("did you mean `plateau`")


def test_a_prompt_is_not_told_of_what_it_could_not_use() -> None:
    (problem,) = problems('role r { prompt = """{{ sumn }}""" }')
    assert "`sum`" not in problem.help


def test_a_row_says_what_it_has() -> None:
    text = 'task t = rows("rows.jsonl") with { statement = row.zz }\nrun main { task = t  flow = writer }'
    with pytest.raises(ProgramError) as caught:
        compile_run(Source("x.team", text + NOUNS), LIBRARY, Choice())
    assert [(p.code, p.help) for p in caught.value.problems] == [("E115", "it has `q` or `a`")]


# --- both sides of a mistake ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code", "rule"),
    [
        ("flow squad(n: int(1 to 4)) = team(n)\nflow f = squad(9)", "E121", "int(1 to 4)"),
        ("flow squad(lead: Model) = team(2, model = lead)\nflow f = squad(writer)", "E120", "Model"),
        ("flow squad(n: int) = team(n)\nflow f = squad", "E112", "int"),
        ("flow squad(n: int(1 to 4) = 9) = team(n)", "E121", "int(1 to 4)"),
        ("param n: int(1 to 4) = 9", "E121", "int(1 to 4)"),
        ('param m: "a" | "b" = "c"', "E125", '"a" | "b"'),
        ("flow f = writer -> picker", "E202", "writer"),
        ("flow f = team(2) -> best", "E204", "team(2)"),
        ("flow f = route(by = triage) of { easy = writer }", "E205", "output"),
        ("flow f = route(by = triage) of { easy = writer, hard = writer, odd = writer }", "E205", "output"),
        ("flow f = team(members = [2 of editor])", "E206", "prompt"),
        ("flow f = team(2, recruit = editor)", "E206", "prompt"),
        (
            'model m { endpoint = openai("x", base_url = "https://m.example")  price = none }\n'
            'model k { endpoint = openai("y", base_url = "https://k.example")  context = 8k tokens }\n'
            "run r { task = sum  flow = writer  model = k  budget = [$5] }",
            "E306",
            "k",
        ),
        ("run r { task = sum  flow = team(10)  max_agents = 5 }", "E305", "5"),
        (
            "run r { task = sum  budget = [9k tokens]\n"
            "  flow = parallel(3, split = even) of writer(budget = [4k tokens]) }",
            "E302",
            "[9k tokens]",
        ),
    ],
)  # fmt: skip
def test_a_mistake_shows_the_value_and_the_rule(text: str, code: str, rule: str) -> None:
    (problem,) = problems(text)
    assert problem.code == code
    assert [text_at(label.place) for label in problem.secondary] == [rule]
    assert problem.place != problem.secondary[0].place


def test_a_setting_from_outside_shows_the_parameters_declaration() -> None:
    text = "param n: int(1 to 4) = 2\nrun main { task = sum  flow = team(n) }"
    with pytest.raises(ProgramError) as caught:
        compile_run(Source("x.team", text + NOUNS), LIBRARY, Choice(params={"n": ("9", "--set")}))
    (problem,) = caught.value.problems
    assert problem.code == "E122"
    assert [text_at(label.place) for label in problem.secondary] == ["int(1 to 4)"]


@pytest.mark.parametrize(
    ("declared", "shown"),
    [
        ("Tokens = 2M tokens", "2M tokens"),
        ("Tokens = 1_500 tokens", "1500 tokens"),
        ("Calls = 40 calls", "40 calls"),
        ("Duration = 90m", "1h30m"),
        ("Duration = 1500ms", "1s500ms"),
        ("Percent = 20%", "20%"),
        ("Budget = [$2.50, 400k tokens, 10m]", "[$2.5, 400k tokens, 10m]"),
        ("[int] = [1, 2]", "[1, 2]"),
    ],
)
def test_a_parameter_in_force_is_shown_as_one_writes_it(declared: str, shown: str) -> None:
    text = f"param p: {declared}\nrun main {{ task = sum  flow = writer }}"
    made, _ = compile_run(Source("x.team", text + NOUNS), LIBRARY, Choice())
    assert made.params == (("p", shown, "default"),)
    again = text.replace(declared.partition("= ")[2], shown)
    assert compile_run(Source("x.team", again + NOUNS), LIBRARY, Choice())[0].params == made.params


def test_a_choice_from_outside_that_is_none_is_told_with_the_nearest() -> None:
    text = 'param m: "alpha" | "beta" = "beta"\nrun main { task = sum  flow = writer }'
    with pytest.raises(ProgramError) as caught:
        compile_run(Source("x.team", text + NOUNS), LIBRARY, Choice(params={"m": ("bta", "--set")}))
    assert [(p.code, p.help) for p in caught.value.problems] == [("E122", "did you mean `beta`?")]


# --- size ----------------------------------------------------------------------------------------


def test_a_thousand_million_agents_are_counted_and_not_made() -> None:
    text = "run r { task = sum  flow = parallel(1_000_000) of team(1_000) }"
    started = time.process_time()
    assert told(text) == [("E305", "parallel(1_000_000) of team(1_000)")]
    assert time.process_time() - started < 1


# --- calls ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flow", "call", "code", "at"),
    [
        ("flow a(c: Condition) = repeat(2, until = c) of editor", "a(consensus)", "E105", "c"),
        ("flow a(k: int) = parallel(2, need = k) of writer", "a(3)", "E210", "k"),
    ],
)
@pytest.mark.parametrize("first", ["flow", "call"])
def test_a_mistake_that_a_call_brings_shows_the_call(
    flow: str, call: str, code: str, at: str, first: str
) -> None:
    lines = [flow, f"flow b = {call}"]
    (problem,) = problems("\n".join(lines if first == "flow" else lines[::-1]))
    assert (problem.code, text_at(problem.place)) == (code, at)
    assert [text_at(label.place) for label in problem.secondary] == [call]


@pytest.mark.parametrize(
    ("flow", "call", "code", "at"),
    [
        ("flow a(k) = team(k)", 'a("x")', "E120", '"x"'),
        ("flow a(k: int) = parallel(k) of writer -> vote", "a(0)", "E121", "0"),
        ("flow a(k: int = 0) = parallel(k) of writer -> vote", "a", "E121", "0"),
    ],
)
@pytest.mark.parametrize("first", ["flow", "call"])
def test_a_value_that_its_parameter_allows_and_its_use_does_not_is_told_where_it_is_given(
    flow: str, call: str, code: str, at: str, first: str
) -> None:
    lines = [flow, f"flow b = {call}"]
    (problem,) = problems("\n".join(lines if first == "flow" else lines[::-1]))
    assert (problem.code, text_at(problem.place)) == (code, at)
    assert [text_at(label.place) for label in problem.secondary][:1] == ["k"]


@pytest.mark.parametrize("text", ["flow b = a(3)\nflow a(k) = {}", "flow a(k) = {}\nflow b = a(3)"])
def test_a_mistake_of_the_flow_itself_shows_no_call(text: str) -> None:
    (problem,) = problems(text.format("team(k) -> agnt"))
    assert (problem.code, text_at(problem.place), problem.secondary) == ("E105", "agnt", ())


@pytest.mark.parametrize(
    ("text", "code", "at", "help_"),
    [
        (
            'role r { prompt = "x"  output = text }',
            "E105",
            "text",
            "write, for example, `{ answer: text }`",
        ),
        ('role r { prompt = "x"  max_output = 0 tokens }', "E121", "0 tokens", ""),
        (
            "flow f = (writer -> editor)(budget = [$1])",
            "E117",
            "(writer -> editor)(budget = [$1])",
            "name it, `flow inner = …`: its calls take a `budget`",
        ),
        ('verifier v = python("a:b", timeout = 0s)', "E121", "0s", ""),
        (
            'import "https://x.y/z.team" as z\nflow f = z.q',
            "E104",
            '"https://x.y/z.team"',
            'save it in the project: `import "./name.team"`',
        ),
        (
            "flow f = team(members = 3 of writer)",
            "E207",
            "3",
            "write `[3 of f]` where a list belongs, or `parallel(3) of f`",
        ),
    ],
)
def test_a_common_slip_is_told_what_to_write(text: str, code: str, at: str, help_: str) -> None:
    (problem,) = problems(text)
    assert (problem.code, text_at(problem.place), problem.help) == (code, at, help_)


def test_a_published_systems_quirks_go_with_any_account() -> None:
    settings = "compat = mas_tts, budget = [9k tokens], on_exhausted = vote"
    assert told(f"flow f = team(3, {settings})") == []
    assert told("flow f = team(3, compat = mas_tts, order = in_turn)") == [("E212", "in_turn")]
