"""The grammar as Lark sees it."""

from hypothesis import given, settings
from hypothesis import strategies as st
from lark import Lark

from podium.dsl.lex import lex, scan
from podium.dsl.tree import STARTS, grammar_text

SCRAPS = [
    "flow ",
    "\n",
    '"',
    '"""',
    "r",
    "{{",
    "}}",
    "\\",
    "(",
    ")",
    "= ",
    "# c",
    "1m",
    "$",
    "é",
    "\0",
]
TEXTS = st.one_of(st.text(max_size=40), st.lists(st.sampled_from(SCRAPS)).map("".join))


def test_the_grammar_has_no_conflict_and_no_colliding_terminals() -> None:
    Lark(grammar_text(), start=STARTS, parser="lalr", lexer="basic", strict=True)


@given(TEXTS, st.booleans())
@settings(deadline=None, derandomize=True)
def test_tokens_joined_give_the_text_back(text: str, columns: bool) -> None:
    tokens = list(scan(text, 0, len(text), columns=columns))
    assert "".join(tokens) == text
    assert all(text[t.start_pos : t.end_pos] == t for t in tokens)


def test_the_scanner_agrees_with_lark_on_a_program() -> None:
    text = 'flow import_x = [10m, 10M tokens, 20%, $2k, "a", """b""", x.y] -> ofof\nparam of_n: int'
    lark = Lark(grammar_text(), start=STARTS, parser="lalr", lexer="basic")
    theirs = lark.lex(text)  # pyright: ignore[reportUnknownMemberType]  # generic in text and bytes
    assert [(t.type, str(t)) for t in lex(text).tokens] == [(t.type, str(t)) for t in theirs]


def test_a_word_in_column_1_is_a_kind_only_where_columns_count() -> None:
    assert lex("team").tokens[0].type == "KIND"
    assert lex("team", columns=False).tokens[0].type == "NAME"
    assert lex("if", columns=False).tokens[0].type == "IF"
