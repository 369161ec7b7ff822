"""Prompts from templates: slots, filters, indentation, clipping."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.dsl.program import FilterCall, Slot, Template, Text
from podium.engine.agent import attempt_view, clip, clip_bytes, fit_tokens, render
from podium.engine.value import Attempt, Verdict


def one(path: str, *filters: FilterCall, column: int = 0) -> Template:
    return Template((Slot(tuple(path.split(".")), filters, column),))


def test_texts_and_values_alternate() -> None:
    template = Template((Text("Solve "), Slot(("task", "statement")), Text(" now.")))
    assert render(template, {"task": {"statement": "it"}}) == "Solve it now."


def test_lines_after_the_first_are_indented_by_the_slots_column() -> None:
    template = Template((Text("  "), Slot(("task", "statement"), column=2), Text("\nend")))
    assert render(template, {"task": {"statement": "a\nb"}}) == "  a\n  b\nend"


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (True, "true"), (3, "3"), (0.50, "0.5"), ([], ""), (["a", "b"], "[1] a\n\n[2] b")],
)
def test_values_show_themselves_plainly(value: bool | int | list[str] | None, text: str) -> None:
    assert render(one("round"), {"round": value}) == text


def test_a_value_that_is_not_there_is_empty() -> None:
    assert render(one("attempt.answer"), {"attempt": None}) == ""
    assert render(one("nothing.at.all"), {}) == ""


def test_an_attempt_shows_its_text_and_its_fields() -> None:
    before = Attempt("old", "old", "a")
    attempt = Attempt({"x": 1}, '{"x": 1}', "b", Verdict(0.5, None, "why"), before)
    view = {"attempt": attempt_view(attempt), "attempts": [attempt_view(attempt)] * 2}
    assert render(one("attempt"), view) == '{"x": 1}'
    assert render(one("attempt.score"), view) == "0.5"
    assert render(one("attempt.evidence"), view) == "why"
    assert render(one("attempt.before.answer"), view) == "old"
    assert render(one("attempts.score"), view) == "[1] 0.5\n\n[2] 0.5"
    hidden = {"attempt": attempt_view(attempt, scored=False)}
    assert render(one("attempt.score"), hidden) == ""


def test_filters_apply_in_order() -> None:
    view = {"attempts": ["a\nb", "c"]}
    assert render(one("attempts", FilterCall("bullets")), view) == "- a\n  b\n- c"
    assert render(one("attempts", FilterCall("json")), view) == '[\n  "a\\nb",\n  "c"\n]'
    clipped = render(one("attempts", FilterCall("bullets"), FilterCall("clip", (3,))), view)
    assert clipped == "- a\n  b\n- c"


def test_an_unknown_filter_is_named() -> None:
    with pytest.raises(ValueError, match="'shout'"):
        render(one("round", FilterCall("shout")), {"round": 1})


@given(st.text(max_size=500), st.integers(0, 600))
def test_a_clipped_text_fits_and_begins_like_the_whole(text: str, limit: int) -> None:
    cut = clip_bytes(text, limit)
    assert len(cut.encode()) <= limit or len(text.encode()) <= limit
    body = cut.removesuffix(" … [cut]")
    assert text.startswith(body)


def test_a_clip_counts_four_bytes_a_token() -> None:
    assert clip("x" * 40, 10) == "x" * 40
    assert clip("x" * 41, 10) == "x" * 30 + " … [cut]"


def test_fitting_counts_three_bytes_a_token() -> None:
    assert [fit_tokens("x" * size) for size in (0, 1, 3, 4)] == [0, 1, 1, 2]
