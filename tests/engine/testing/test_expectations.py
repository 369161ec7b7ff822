"""What a test promises, against events made by hand and against simulated runs."""

import pytest

from podium.dsl.compile import Choice
from podium.dsl.library import MemoryLibrary
from podium.dsl.source import Source
from podium.engine.testing.cases import Case, Subject, Tried, case_of, subjects, tried
from podium.engine.testing.words import told_condition, told_fault

HEAD = '''
model m {
  endpoint = openai("m", base_url = "https://models.example/v1")
  price    = { input = $1 per 1M tokens, output = $1 per 1M tokens }
}
role writer { prompt = """{{ task.statement }}""" }
role editor { prompt = """{{ attempt.answer }}""" }
role triage { prompt = """{{ task.statement }}"""  output = { case: "easy" | "hard" } }
task sum { statement = "2 + 2?"  verify = exact("4") }
'''
FREE = Choice(allow=lambda kind, value: True)


def subject(text: str) -> Subject:
    """The one test of text."""
    ((one,), _) = subjects(Source("x.team", HEAD + text), MemoryLibrary(), FREE)
    return one


def once(text: str) -> Tried:
    one = subject(text)
    return tried(one, case_of(one, 0, 1))


@pytest.mark.parametrize(
    ("rules", "breaks"),
    [
        ("at_most = [2 calls]", ["at_most = spent <= 2 calls"]),
        ("at_most = [3 calls]", []),
        ("at_most = [1s]", ["at_most = elapsed <= 1s"]),
        ("at_most = [$0.0001]", ["at_most = spent <= $0.0001"]),
        ("at_most = [10 tokens]", ["at_most = spent <= 10 tokens"]),
        ("always = held <= 1 calls", ["always = held <= 1 calls"]),
        ("always = held <= 3 calls", []),
        ("always = [spent <= 2 calls, spent < 9 calls]", ["always = spent <= 2 calls"]),
        ("never = elapsed > 1s and spent >= 3 calls", ["never = elapsed > 1s and spent >= 3 calls"]),
        ("always = outcome == passed", []),
        ("never = outcome == passed", ["never = outcome == passed"]),
        ("always = passed", []),
        ("always = score >= 1", []),
        ("never = score >= 1", ["never = score >= 1"]),
        ("always = not (outcome == failed or score < 1)", []),
    ],
)  # fmt: skip
def test_each_rule_is_looked_at_where_it_can_be_told(rules: str, breaks: list[str]) -> None:
    found = once(f'test t {{ flow = parallel(3) of writer  task = sum  replies = "4"  {rules} }}')
    assert [one.who for one in found.broken] == breaks


def test_a_wrong_answer_breaks_a_promise_to_pass_with_how_the_run_ended() -> None:
    (one,) = once('test t { flow = writer  task = sum  replies = "5"  always = passed }').broken
    assert one.promise == "always"
    assert one.message.startswith("the run ended finished")


def test_a_bound_that_is_passed_tells_also_where_it_ended() -> None:
    (one,) = once("test t { flow = parallel(5) of writer -> best  at_most = [2 calls] }").broken
    assert one.message == "spent is 3 calls; in the end spent is 5 calls"


def test_a_pause_breaks_never_paused_though_the_run_went_on_and_passed() -> None:
    given = "given = verifier_error(3 calls)"
    text = f'test t {{ flow = parallel(3) of writer -> best  task = sum  replies = ["4", "5", "6"]  {given}  '
    assert [b.who for b in once(text + "never = outcome == paused }").broken] == [
        "never = outcome == paused"
    ]
    assert once(text + "always = outcome == passed }").broken == ()


def test_replies_are_said_in_turn_and_the_last_again() -> None:
    text = 'test t { flow = parallel(4) of writer -> vote  replies = { writer = ["1", "2"] } }'
    result = once(text).simulation.result
    assert result is not None
    assert result.attempt is not None
    assert result.attempt.answer == "2"


def test_a_structured_reply_chooses_the_way_and_others_speak_for_themselves() -> None:
    way = "flow = route(by = triage) of { easy = writer, hard = writer -> editor }"
    one = once(f'test t {{ {way}  replies = {{ triage = {{ case = "hard" }}, editor = "late" }} }}')
    result = one.simulation.result
    assert result is not None
    assert result.attempt is not None
    assert (result.attempt.answer, one.simulation.calls) == ("late", 3)


def test_a_resent_call_is_answered_as_before() -> None:
    found = once('test t { flow = writer  given = cut(1 calls)  replies = ["a", "b"] }').simulation
    assert found.result is not None
    assert found.result.attempt is not None
    assert (found.result.attempt.answer, found.calls) == ("a", 2)


def test_a_test_without_a_task_gets_one_that_scores_and_passes() -> None:
    found = once("test t { flow = parallel(2, stop = first_pass) of writer  always = score >= 0 }")
    assert found.broken == ()
    assert found.simulation.result is not None


def test_a_test_has_the_model_that_it_names() -> None:
    text = 'model n { endpoint = openai("n", base_url = "http://127.0.0.1:1/v1") }\n'
    assert subject(text + "test t { flow = writer  model = n }").program.default_model == "n"


@pytest.mark.parametrize(
    "text",
    [
        "outage(30s)", "busy(30s, after = 1m)", "cut(20%)", "silent(3 calls)", "empty",
        "crash(4 calls)", "verifier_error(1 calls)", "slow(2m)",
    ],
)  # fmt: skip
def test_a_fault_is_told_as_it_is_written(text: str) -> None:
    case: Case = case_of(subject(f"test t {{ flow = writer  given = [{text}] }}"), 0, 1)
    assert [told_fault(one) for one in case.faults] == [text]


@pytest.mark.parametrize(
    "text",
    ["spent <= $2", "outcome != failed", "elapsed < 90s and (score > 0.5 or held < 3 calls)"],
)
def test_a_condition_is_told_as_it_is_written(text: str) -> None:
    test = subject(f"test t {{ flow = writer  never = {text} }}").test
    assert test is not None
    assert [told_condition(rule) for rule in test.never] == [text]
