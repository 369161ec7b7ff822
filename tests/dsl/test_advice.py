"""What is allowed and probably not meant: each further way to be told, and what is left in peace."""

import pytest

from podium.dsl.advice import family
from podium.dsl.compile import check
from podium.dsl.library import MemoryLibrary
from podium.dsl.model import Endpoint, Model
from podium.dsl.source import Source

NOUNS = '''
role writer { prompt = """{{ task.statement }}""" }
role editor { prompt = """{{ attempt.answer }}""" }
role grader { prompt = """{{ attempt.answer }}"""  model = own }
role other { prompt = """{{ attempt.answer }}"""  model = far }
task sum { statement = "2 + 2?"  verify = exact("4") }
model own { endpoint = local("Qwen/Qwen3-4B") }
model kin { endpoint = local("qwen2-72b") }
model far { endpoint = local("llama-8b") }
model paid {
  endpoint = openai("gpt-9", base_url = "https://models.example/v1")
  price    = { output = $1 per 1M tokens }
}
'''


def told(text: str) -> list[tuple[str, str]]:
    problems = check(Source("x.team", text + NOUNS), MemoryLibrary())
    return [
        (p.code, p.place.source.text[p.place.span.start : p.place.span.end])
        for p in problems
        if p.code != "W603"
    ]


@pytest.mark.parametrize(
    ("verify", "model", "is_told"),
    [
        ("judge(by = grader)", "own", True),
        ("judge(by = grader)", "kin", True),
        ("judge(by = grader)", "far", False),
        ("judge(by = editor)", "far", True),  # the judge chooses no model, so it has the run's
        ('all_of(judge(by = other), exact("4"))', "own", False),
        ('all_of(judge(by = other), exact("4"))', "far", True),
        ("panel(by = [2 of other, grader])", "own", True),
    ],
)
def test_a_judge_of_the_authors_family_is_told(verify: str, model: str, is_told: bool) -> None:
    text = f'task t {{ statement = "x"  verify = {verify} }}\n'
    found = told(text + f"run r {{ task = t  flow = writer  model = {model} }}")
    assert found == ([("W601", "t")] if is_told else [])


def test_a_judge_of_one_step_is_told_at_the_step() -> None:
    text = "verifier v = judge(by = grader)\n"
    text += "run r { task = sum  flow = parallel(2) of writer -> best(by = v)  model = own }"
    assert told(text) == [("W601", "best(by = v)")]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Qwen/Qwen3-27B", {"qwen"}), ("gpt-5-mini", {"gpt"}), ("dir/llama.gguf", {"llama"}), ("", set[str]())],
)  # fmt: skip
def test_a_family_is_what_a_name_begins_with(name: str, expected: set[str]) -> None:
    assert family(Model("m", (Endpoint("openai", name),))) == expected


@pytest.mark.parametrize(
    ("prompt", "at"),
    [
        ("Agent {{ self.index }}. {{ task.statement }}", "{{ self.index }}"),
        ("{{ attempt.answer }} {{ task.statement }}", "{{ attempt.answer }}"),
        ("{{ self.name }} " + "Read this. " * 100, "{{ self.name }}"),
        ("{{ task.statement }} {{ self.index }}", None),
        ("{{ task.statement }} {{ attempt.answer }} Go on.", None),
        ("{{ self.role }} of {{ team.size }}. {{ task.statement }}", None),
    ],
)
def test_a_prompt_that_varies_early_is_told_where_it_does(prompt: str, at: str | None) -> None:
    found = told(f'role r {{ prompt = """{prompt}""" }}')
    assert found == ([] if at is None else [("W602", at)])


def test_what_varies_in_the_system_prompt_stands_before_the_prompt() -> None:
    text = 'role r { system = """You are {{ self.name }}."""  prompt = """{{ task.statement }}""" }'
    assert told(text) == [("W602", "{{ self.name }}")]


@pytest.mark.parametrize(
    ("rest", "at"),
    [
        ("flow = writer  model = own  budget = [$5]", "[$5]"),
        ("flow = writer  model = paid  budget = [$5]", None),
        ("flow = writer  model = own  budget = [11 calls]", "[11 calls]"),
        ("flow = writer  model = own  budget = [10 calls]", None),
        ("flow = writer(budget = [100%])  model = own  budget = [1k tokens]", "[100%]"),
        ("flow = writer(budget = [99%])  model = own  budget = [1k tokens]", None),
        (
            "flow = parallel(3) of writer(budget = [9 calls])  model = own  budget = [29 calls]",
            None,
        ),
    ],
)
def test_a_budget_that_can_never_run_out_is_told(rest: str, at: str | None) -> None:
    assert told(f"run r {{ task = sum  {rest} }}") == ([] if at is None else [("W604", at)])


@pytest.mark.parametrize(
    ("split", "each", "code"),
    [("pooled", "4k", "N302"), ("even", "4k", "E302"), ("pooled", "3k", None), ("even", "3k", None)],
)  # fmt: skip
def test_more_promised_than_there_is_is_a_note_where_it_is_shared(
    split: str, each: str, code: str | None
) -> None:
    flow = f"parallel(3, split = {split}) of writer(budget = [{each} tokens])"
    found = told(f"run r {{ task = sum  flow = {flow}  model = own  budget = [9k tokens] }}")
    assert found == ([] if code is None else [(code, flow)])
