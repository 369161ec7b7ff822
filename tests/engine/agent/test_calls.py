"""What becomes of the tool calls of one reply, and how their results are shown."""

from dataclasses import replace

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.engine.agent.calls import MOST_RESULT, middle, result, said, share, steps
from podium.engine.call import ModelReply, Offer, ToolCall, Usage

LOOK = Offer(
    "look",
    "Looks.",
    {
        "type": "object",
        "properties": {"at": {"type": "string"}, "deep": {"type": "integer", "maximum": 3}},
        "required": ["at"],
        "additionalProperties": False,
    },
)


def call(**arguments: object) -> ToolCall:
    return ToolCall("c", "look", arguments, orjson.dumps(arguments).decode())  # type: ignore[arg-type]  # JSON


def reply(*calls: ToolCall) -> ModelReply:
    return ModelReply("", "stop", Usage(), tool_calls=calls)


def refusal(one: ToolCall) -> str:
    (step,) = steps(reply(one), (LOOK,), ())
    return step.refusal


def test_a_call_that_fits_is_run() -> None:
    assert refusal(call(at="x", deep=2)) == ""


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (call(), "it lacks the field 'at'"),
        (call(at="x", deep=9), "the field 'deep' is above 3"),
        (call(at="x", where="y"), "it has no field 'where'"),
        (ToolCall("c", "look", None, '{"at": "x'), 'no JSON object: {"at": "x'),
        (ToolCall("c", "lock", {}, "{}"), "there is no tool lock: did you mean look?"),
        (ToolCall("c", "bake", {}, "{}"), "there is no tool bake: there are look"),
        (ToolCall("c", "", None, "hm"), "the call names no tool"),
    ],
)
def test_a_call_that_cannot_be_run_is_told_what_is_wrong(asked: ToolCall, told: str) -> None:
    assert told in refusal(asked)


def test_what_is_repeated_to_a_model_is_bounded() -> None:
    long = call(at="x", **{"y" * 5000: "z" * 5000})
    assert len(refusal(long)) < 600


def test_a_batch_is_counted_before_any_of_it_is_run() -> None:
    found = steps(reply(*[call(at=str(n)) for n in range(8)]), (LOOK,), (), most=6)
    assert [bool(step.refusal) for step in found] == [False] * 6 + [True] * 2
    assert "only the first 6" in found[-1].refusal


def test_each_call_has_an_id_of_its_own_in_the_whole_conversation() -> None:
    found = steps(reply(call(at="a"), call(at="b")), (LOOK,), {"c", "c_2"})
    assert [step.call.id for step in found] == ["c_3", "c_4"]
    assert [one.id for one in said(reply(), found).calls] == ["c_3", "c_4"]


def test_a_result_has_no_control_codes_and_says_what_it_answers() -> None:
    (step,) = steps(reply(call(at="x")), (LOOK,), ())
    shown = result(step, "\x1b[31mred\x07", 100)
    assert (shown.content, shown.answers, shown.role) == ("[31mred", "c", "tool")
    assert result(step, "", 100).content == "(nothing)"


def test_a_long_text_is_clipped_in_the_middle_and_says_so() -> None:
    text = "\n".join(f"line {n}" for n in range(1000))
    shown = middle(text, 200)
    assert shown.startswith("line 0\nline 1\n")
    assert shown.endswith("line 999")
    assert "characters in 9" in shown


@given(st.text(), st.integers(0, 60))
def test_a_clipped_text_is_about_as_long_as_asked(text: str, limit: int) -> None:
    shown = middle(text, limit)
    assert shown == text or len(shown.encode()) <= limit + 80


def test_the_results_of_one_reply_share_a_quarter_of_the_window() -> None:
    assert share(1_000_000, 1) == MOST_RESULT
    assert share(8192, 4) == 512
    assert share(1024, 16) == 100


def test_a_call_keeps_its_own_id_where_it_is_free() -> None:
    (step,) = steps(reply(replace(call(at="x"), id="z9")), (LOOK,), {"c"})
    assert step.call.id == "z9"
