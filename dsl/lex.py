"""Texts as tokens, without loss: joining the values of `scan` gives the text back, whatever it was.

The terminals come from the grammar. Driving them by hand lets the scanner go on after a bad character
(as a token of type ERROR), keep comments, and read the inside of a prompt where it stands.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import NamedTuple

from lark import Token
from lark.lexer import PatternStr, TerminalDef

from . import quantity
from .kinds import KINDS
from .tree import grammar

ERROR = "ERROR"
MOST_CHARACTERS = 1_000_000
MOST_TOKENS = 200_000
MOST_SLOTS = 10_000
"""Of all prompts of a text: the words in them are not among its tokens."""
STARTERS = frozenset({"KIND", "EDITION", "IMPORT", "FROM"})

_WORD = re.compile(r"[A-Za-z_][0-9A-Za-z_]*")
# Where reading goes on after a prompt that never closes: a known word in column 1.
_RESUME = re.compile(rf"(?m:^)(?:{'|'.join((*KINDS, 'import', 'from'))})(?![0-9A-Za-z_])")
_PROMPT = re.compile(r'r?"""')
_WRONG = re.compile(r'"[^\n]*|\'[^\'\n]*\'?|\$?[0-9][0-9A-Za-z_.]*%?|[^\x00-\x7f]+', re.DOTALL)


class Lexed(NamedTuple):
    """The tokens that matter to the parser (errors too), and the comments. full: some were left off."""

    tokens: list[Token]
    comments: list[Token]
    full: bool


def lex(text: str, *, columns: bool = True) -> Lexed:
    """Read text up to MOST_TOKENS tokens. columns: whether a word in column 1 is a KIND."""
    found = (t for t in scan(text, 0, len(text), columns=columns) if t.type != "WS")
    tokens = list(islice(found, MOST_TOKENS))
    full = next(found, None) is not None
    comments = [token for token in tokens if token.type == "COMMENT"]
    return Lexed([token for token in tokens if token.type != "COMMENT"], comments, full)


def scan(text: str, start: int, end: int, *, columns: bool) -> Iterator[Token]:
    """Every token of text[start:end] in order, white space and comments included; positions are text's."""
    pattern, words = _terminals(columns)
    closes = (
        True  # once a prompt was found never to close, none behind it does: not looked for twice
    )
    while start < end:
        opens = _PROMPT.match(text, start, end)
        found = None if opens and not closes else pattern.match(text, start, end)
        if found is None:
            closes = closes and opens is None
            kind, stop = ERROR, _past(text, start, end)
        else:
            kind, stop = _kind(found, words), found.end()
        yield Token(kind, text[start:stop], start_pos=start, end_pos=stop)
        start = stop


def groups(text: str, tokens: list[Token]) -> Iterator[list[Token]]:
    """The tokens of one declaration of text after the other: a word in column 1 starts each."""
    begin = 0
    for at, token in enumerate(tokens):
        if at > begin and token.type in STARTERS and in_column_1(text, token):
            yield tokens[begin:at]
            begin = at
    if tokens:
        yield tokens[begin:]


def in_column_1(text: str, token: Token) -> bool:
    start = begin(token)
    return start == 0 or text[start - 1] == "\n"


def starts_line(text: str, token: Token) -> bool:
    start = begin(token)
    return not text[text.rfind("\n", 0, start) + 1 : start].strip()


def begin(token: Token) -> int:
    """The offset of the first character."""
    return token.start_pos or 0


def end(token: Token) -> int:
    """The offset behind the last character."""
    return token.end_pos or 0


@cache
def _terminals(columns: bool) -> tuple[re.Pattern[str], dict[str, str]]:
    """One pattern of all terminals, tried in Lark's own order, and the keywords by their word."""
    found = [t for t in grammar().terminals if columns or t.name != "KIND"]
    words = {t.pattern.value: t.name for t in found if _is_keyword(t)}
    rest = sorted(
        (t for t in found if not _is_keyword(t)),
        key=lambda t: (-t.priority, -t.pattern.max_width, -len(t.pattern.value), t.name),
    )
    return re.compile("|".join(f"(?P<{t.name}>{t.pattern.to_regexp()})" for t in rest)), words


def _is_keyword(terminal: TerminalDef) -> bool:
    is_text = isinstance(terminal.pattern, PatternStr)
    return is_text and _WORD.fullmatch(terminal.pattern.value) is not None


def _kind(found: re.Match[str], words: dict[str, str]) -> str:
    """The terminal that matched: a keyword instead of a name, ERROR for a value that cannot be meant."""
    kind = found.lastgroup or ERROR
    text = found.group()
    match kind:
        case "NAME":
            return words.get(text, kind)
        case "NUMBER" | "PERCENT" if not quantity.fits(text):
            return ERROR
        case "MONEY" if not quantity.fits(text) or quantity.micro(text) is None:
            return ERROR
        case "DURATION" if len(text) > quantity.LONGEST:
            return ERROR
        case "CLOCK" if quantity.clock(text) is None:
            return ERROR
        case "DATE" if quantity.day(text) is None:
            return ERROR
        case "STRING" if quantity.BAD_ESCAPE.search(text):
            return ERROR
        case _:
            return kind


def _past(text: str, start: int, end: int) -> int:
    """Where reading goes on after the mistake at start."""
    if _PROMPT.match(text, start, end):
        resume = _RESUME.search(text, start + 3, end)
        return resume.start() if resume else end
    wrong = _WRONG.match(text, start, end)
    return wrong.end() if wrong else start + 1
