"""Prompts as fragments."""

import pytest

from podium.dsl import syntax as s
from podium.dsl.parse import parse_expression
from podium.dsl.source import Source


def prompt(text: str) -> s.Prompt:
    found, problems = parse_expression(Source("x", text))
    assert problems == []
    assert isinstance(found, s.Prompt)
    return found


def texts(text: str) -> list[str]:
    """The constant parts, with the column of each slot as `<n>`."""
    parts = prompt(text).parts
    return [p.text if isinstance(p, s.PromptText) else f"<{p.column}>" for p in parts]


def test_the_column_of_the_closing_quotes_is_removed_from_each_line() -> None:
    assert texts('"""\n    a\n      b\n\n   \n    c\n    """') == ["a\n  b\n\n\nc"]


def test_windows_line_ends_make_no_difference() -> None:
    unix = '"""\n    a {{ x }}\n    b\n    """'
    assert texts(unix.replace("\n", "\r\n")) == texts(unix) == ["a ", "<2>", "\nb"]


def test_a_slot_knows_its_place_and_its_column() -> None:
    text = '"""\n    - {{ task.name | clip(8k tokens) | json }}.\n    """'
    found = prompt(text)
    slot = found.parts[1]
    assert isinstance(slot, s.PromptSlot)
    assert text[slot.span.start : slot.span.end] == "{{ task.name | clip(8k tokens) | json }}"
    assert text[slot.value.span.start : slot.value.span.end] == "task.name"
    assert [f.name for f in slot.filters] == ["clip", "json"]
    assert slot.column == 2


def test_braces_and_backslashes_of_other_languages_stand_for_themselves() -> None:
    body = r'{"a": {"b": 1}} \frac{1}{2} \\ "quoted" \n'
    assert texts(f'"""{body}"""') == [body]


def test_a_backslash_keeps_the_opener_and_the_closing_quotes() -> None:
    assert texts('"""\\{{ x }} \\""" """') == ['{{ x }} """ ']


def test_a_pair_of_backslashes_is_text_and_the_slot_behind_it_a_slot() -> None:
    assert texts('"""\\\\{{ x }}"""') == ["\\\\", "<2>"]


def test_raw_prompts_have_no_slots_and_no_escapes() -> None:
    assert texts('r"""\n  \\{{ x }}\n  """') == ["\\{{ x }}"]
    assert prompt('r""""""').parts == ()


def test_records_in_slots_close_before_the_slot_does() -> None:
    found = prompt('"""{{ f({a = {b = 1}}) }}"""').parts[0]
    assert isinstance(found, s.PromptSlot)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('"""{{ x"""', "T010"),
        ('"""{{ }}"""', "T012"),
        ('"""{{ x y }}"""', "T021"),
        ('"""{{ x | | y }}"""', "T002"),
        ('"""{{ 5mins }}"""', "T006"),
        ('"""{{ x) }}"""', "T013"),
        ('"""a\n  b\n  """', "T031"),
        ('"""\n  a\n  b"""', "T031"),
        ('"""\n a\n  """', "T031"),
    ],
)
def test_mistakes_in_prompts_have_their_code(text: str, code: str) -> None:
    _, problems = parse_expression(Source("x", text))
    assert [p.code for p in problems] == [code]
