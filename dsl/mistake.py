"""Mistakes that show in a single token or in a declaration that parses. `recover` explains the others.

Long because it is a list: a short function for each mistake, and no two share more than a line.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from lark import Token

from . import syntax as s
from .calls import FORMS
from .kinds import KINDS
from .lex import begin, end
from .names import SURELY, did_you_mean, either, near
from .problem import Edit, Problem
from .quantity import BAD_ESCAPE, LONGEST, exact, fits
from .quantity import clock as clock_of
from .quantity import day as day_of
from .source import Place, Source, Span
from .tree import Entries, Stuck, keywords, run

_LATER = {"match"}  # reserved for later editions
_STARTERS = (*KINDS, "import", "from", "edition")
_CLOSED_STRING = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"')
_AMOUNT = re.compile(r"(\$?[0-9][0-9_]*(?:\.[0-9]+)?)([A-Za-z_]*)")
_UNITS = {
    **dict.fromkeys(("sec", "secs", "second", "seconds", "S"), "s"),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), "m"),
    **dict.fromkeys(("hr", "hrs", "hour", "hours", "H"), "h"),
    **dict.fromkeys(("day", "days", "D"), "d"),
    **dict.fromkeys(("msec", "msecs", "millis"), "ms"),
    **dict.fromkeys(("K", "thousand"), "k"),
    **dict.fromkeys(("million", "mio", "mn"), "M"),
    **dict.fromkeys(("G", "billion", "bn", "b"), "B"),
    **dict.fromkeys(("t", "tok", "token", "tokens"), " tokens"),
    **dict.fromkeys(("ktok", "ktokens", "Ktokens"), "k tokens"),
    **dict.fromkeys(("Mtok", "Mtokens"), "M tokens"),
    **dict.fromkeys(("call", "calls", "requests"), " calls"),
}
_SHORTEST = 3  # letters; what looks like a shorter unit may be a name just as well
_GROUPS = re.compile(r"\$?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?![0-9A-Za-z_.%$])")
_IS_MOMENT = re.compile(r"[0-9]+(?::[0-9A-Za-z_]+)+|[0-9]+-[0-9]+-[0-9]+")
_MONEY = ("dollar", "dollars", "Dollars", "usd", "USD")
_SIGNS = {";": "", "!": "not ", "&": "and", "→": "->", "\ufeff": "", "\xa0": " "}
_SIGN_HELP = {
    ";": "`;` is not needed: a line break or a comma is enough",
    "$": "the sign stands before the amount: `$5`",
}
_MOST_EDITS = 100  # of one mistake: each costs more than the character it mends
_QUOTES = "“”„‟«»"


class Finding(NamedTuple):
    """A problem, and sets of edits that may mend it, the likeliest first. None of them was tried."""

    problem: Problem
    choices: tuple[tuple[Edit, ...], ...] = ()


def place(source: Source, token: Token) -> Place:
    return Place(source, Span(begin(token), end(token)))


# --- whole declarations --------------------------------------------------------------------------


def is_unknown_kind(tokens: Sequence[Token]) -> bool:
    return bool(tokens) and tokens[0].type == "KIND" and tokens[0] not in KINDS


def is_unindented_field(tokens: Sequence[Token]) -> bool:
    """`field = …` in column 1: a declaration has a name behind its kind."""
    return tokens[0].type == "KIND" and len(tokens) > 1 and tokens[1].type == "EQUAL"


def unindented(source: Source, word: Token) -> Problem:
    """T030, for a field in column 1."""
    return Problem(
        "T030",
        f"`{word}` stands in column 1, where a declaration starts",
        place(source, word),
        label="not the start of a declaration",
        help=_where(source, word),
    )


def _where(source: Source, word: Token) -> str:
    """Where a field belongs that stands by itself."""
    if any(line and line[0] not in "#\r" for line in source.text[: begin(word)].split("\n")):
        return "indent this line, so that it belongs to the declaration above"
    for kind in sorted(KINDS.values(), key=lambda kind: kind.name != "run"):
        if meant := [f.name for f in kind.fields if f.name == word] or near(
            word, (f.name for f in kind.fields), 1
        ):
            return f"write it in a declaration: `{kind.name} NAME {{ {meant[0]} = … }}`"
    return "write it in a declaration, such as `run NAME { … }`"


def unknown_kind(
    source: Source, tokens: Sequence[Token], *, explained: bool = True
) -> Finding | None:
    """T030: the word in column 1 is no kind of declaration. explained: whether to look for what it may be."""
    if not is_unknown_kind(tokens):
        return None
    word = tokens[0]
    if not explained:
        return Finding(Problem("T030", "this is no kind of declaration", place(source, word)))
    if word in keywords() or is_unindented_field(tokens):
        return Finding(unindented(source, word))
    if _is_expression(tokens):
        problem = Problem(
            "T030",
            "an expression is no declaration",
            place(source, word),
            label="a word in column 1 starts a declaration",
            help="give it a name, `flow main_flow = …`, or run it as it is: `podium run -e '…'`",
        )
        return Finding(problem)
    kinds = either([f"`{kind}`" for kind in KINDS])
    problem = Problem(
        "T030",
        f"`{_short(word)}` is no kind of declaration",
        place(source, word),
        label="a word in column 1 starts a declaration",
        notes=(f"a declaration is a {kinds}",),
        help=did_you_mean(word, _STARTERS) or "indent it if it belongs to the declaration above",
    )
    edits = [(_replace(word, name),) for name in near(word, _STARTERS)]
    return Finding(problem, tuple(edits))


_SHORT = 500  # tokens: longer ones are no one-liners


def _is_expression(tokens: Sequence[Token]) -> bool:
    """Whether a piece is an expression, `parallel(3) of agent -> best`, and no name alone."""
    if tokens[0] in FORMS and len(tokens) > 1 and tokens[1].type in ("LPAR", "OF", "_ARROW"):
        return True
    if not 1 < len(tokens) <= _SHORT or any(t.type in ("TRIPLE", "RAW", "ERROR") for t in tokens):
        return False
    first = Token("NAME", str(tokens[0]), start_pos=begin(tokens[0]), end_pos=end(tokens[0]))
    return not isinstance(run([first, *tokens[1:]], "expr"), Stuck)


def misread(source: Source, tokens: Sequence[Token], entries: Entries) -> Finding | None:
    """What the grammar lets pass: two declarations on a line, or types in the body of one."""
    spans = [item.span for item in entries.imports] + [d.span for d in entries.declarations]
    if len(spans) + (entries.edition is not None) > 1:
        span = max(spans, key=lambda span: span.start)
        problem = Problem(
            "T002",
            "a second declaration stands on this line",
            Place(source, Span(span.start, span.start + 1)),
            label="break the line here",
        )
        return Finding(problem, ((Edit(Span(span.start, span.start), "\n"),),))
    for declaration in entries.declarations:
        for field in _body(tokens, declaration.value):
            if field.type is not None:
                return _typed(source, tokens, field, field.type)
    return None


def _body(tokens: Sequence[Token], value: s.Expr | None) -> Iterable[s.Field]:
    """The fields that set what a declaration is; a record behind `=` is a value and may hold types."""
    match value:
        case s.Record(fields=fields) if not _follows_equal(tokens, value.span.start):
            return fields
        case s.With(record=s.Record(fields=fields)):
            return fields
        case _:
            return ()


def _follows_equal(tokens: Sequence[Token], at: int) -> bool:
    pairs = pairwise(tokens)
    return any(after.start_pos == at and before.type == "EQUAL" for before, after in pairs)


def _typed(source: Source, tokens: Sequence[Token], field: s.Field, kind: s.Type) -> Finding:
    colon = next(t for t in tokens if t.type == "COLON" and begin(t) >= field.name_span.end)
    behind = kind.span.start
    if field.value is None:
        choice = Edit(Span(field.name_span.end, behind), " = ")
    else:
        choice = Edit(Span(field.name_span.end, kind.span.end), "")
    at = Span(begin(colon), end(colon))
    return Finding(wrong_colon(source, at, "field", field.name), ((choice,),))


def wrong_colon(source: Source, colon: Span, what: str, name: str) -> Problem:
    """T023, for a field or an argument."""
    return Problem(
        "T023",
        f"{what} `{_short(name)}` takes its value with `=`",
        Place(source, colon),
        label="`:` gives a type",
        help=f"write `{_short(name)} = …`",
    )


def misused(source: Source, tokens: Sequence[Token]) -> Finding | None:
    """Words that are reserved for later, and counts that are no whole numbers."""
    for token in tokens:
        if token.type == "NAME" and token in _LATER:
            return reserved(source, token, quoted=False)
    grouped = _grouped(source, tokens)
    if grouped is not None:
        return grouped
    for number, unit in pairwise(tokens):
        if number.type == "NUMBER" and unit.type in ("TOKENS", "CALLS"):
            value = exact(number)
            if value != value.to_integral_value():
                return _whole_number(source, number, unit)
    return None


def _grouped(source: Source, tokens: Sequence[Token]) -> Finding | None:
    """T006 for `20,000 tokens` and `$1,000`: a comma in a number."""
    for at, first in enumerate(tokens):
        if first.type not in ("NUMBER", "MONEY") or tokens[at + 1 : at + 2] != [","]:
            continue
        found = _GROUPS.match(source.text, begin(first))
        if found is None:
            continue
        count = found[0].count(",")
        unit = tokens[at + 2 * count + 1] if len(tokens) > at + 2 * count + 1 else None
        counts = unit is not None and unit.type in ("TOKENS", "CALLS")
        called = any(t.type == "LPAR" for t in tokens[:at])
        sure = first.type == "MONEY" or (counts and not called) or found[0].split(",")[1][0] == "0"
        if not sure:
            continue
        span = Span(found.start(), found.end())
        whole = _rounded(found[0].replace(",", ""))
        shown = f" {unit}" if counts else ""
        problem = Problem(
            "T006",
            f"`{found[0]}{shown}` has a comma in its number",
            Place(source, span),
            label="a comma separates two values",
            help=f"write `{whole}{shown}`",
        )
        return Finding(problem, ((Edit(span, whole),),))
    return None


def _rounded(amount: str) -> str:
    """`20000` as `20k`; of money, and of what is no round number, the digits."""
    for zeros, letter in ((9, "B"), (6, "M"), (3, "k")):
        if amount[0] != "$" and amount.endswith("0" * zeros) and len(amount) > zeros:
            return amount[:-zeros] + letter
    return amount


def reserved(source: Source, token: Token, *, quoted: bool) -> Finding:
    """T024. quoted: whether the word may stand here in quotes, as the name of a field."""
    problem = Problem(
        "T024",
        f"`{token}` is a word of the language and cannot be a name",
        place(source, token),
        label="reserved",
        help=f'write `"{token}"` in quotes' if quoted else "choose another name",
    )
    return Finding(problem, ((_replace(token, f'"{token}"'),),) if quoted else ())


def _whole_number(source: Source, number: Token, unit: Token) -> Finding:
    problem = Problem(
        "T006",
        f"`{number} {unit}` is no whole number of {unit}",
        place(source, number),
        help="write a whole number; `1.5k` is one",
    )
    return Finding(problem)


# --- single tokens -------------------------------------------------------------------------------


def mistaken(source: Source, token: Token) -> Finding:
    """What is wrong with a token of type ERROR."""
    first = token[0]
    if token.startswith(('"""', 'r"""')):
        return _unclosed_prompt(source, token)
    if first == '"':
        return _string(source, token)
    if first == "'":
        return _single_quotes(source, token)
    if first.isdigit() and _IS_MOMENT.fullmatch(token):
        return _moment(source, token)
    if first.isdigit() or (first == "$" and len(token) > 1):
        return _quantity(source, token)
    return _character(source, token)


def _unclosed_prompt(source: Source, token: Token) -> Finding:
    start = begin(token)
    problem = Problem(
        "T003",
        "prompt never closed",
        Place(source, Span(start, start + token.index('"""') + 3)),
        label="opened here",
        help='end it with `"""` on a line of its own',
    )
    return Finding(problem)


def _string(source: Source, token: Token) -> Finding:
    if _CLOSED_STRING.fullmatch(token):
        return _escape(source, token)
    text = token.rstrip()
    stop = begin(token) + len(text)
    bare = begin(token) + len(text.rstrip(")]}, "))
    problem = Problem(
        "T005",
        "string not closed on its line",
        Place(source, Span(begin(token), stop)),
        label="no closing quote up to here",
        help='close it with `"`; text of several lines stands between `"""`',
    )
    return Finding(problem, tuple((Edit(Span(at, at), '"'),) for at in (bare, stop)))


def _escape(source: Source, token: Token) -> Finding:
    found = islice(BAD_ESCAPE.finditer(token), _MOST_EDITS + 1)
    places = [begin(token) + bad.end() - 1 for bad in found]
    at = places[0]
    problem = Problem(
        "T032",
        f"`{source.text[at : at + 2]}` is no escape of a string",
        Place(source, Span(at, at + 2)),
        help='the escapes are `\\n \\t \\r \\" \\\\ \\u00e9`; for a backslash write `\\\\`',
    )
    mended = tuple(Edit(Span(at, at), "\\") for at in places)
    return Finding(problem, (mended,) if len(mended) <= _MOST_EDITS else ())


def _single_quotes(source: Source, token: Token) -> Finding:
    problem = Problem(
        "T004",
        "strings use double quotes",
        place(source, token),
        help="write `\"` instead of `'`",
    )
    inner = token[1:-1]
    closed = len(token) > 1 and token.endswith("'") and '"' not in inner
    return Finding(problem, ((_replace(token, f'"{inner}"'),),) if closed else ())


def _quantity(source: Source, token: Token) -> Finding:
    match = _AMOUNT.fullmatch(token)
    plain = re.fullmatch(r"\$?[0-9][0-9_.]*(?:[eE][0-9]+)?[kMB%]?", token)
    if plain and (len(token) > LONGEST or not fits(token)):
        return Finding(_no_quantity(source, token, "the number is too large"))
    if plain and token[0] == "$":
        return Finding(_no_quantity(source, token, "money counts in millionths of a dollar"))
    unit = _UNITS.get(match.group(2)) if match else None
    if match is None or unit is None:
        units = "units are `ms s m h d` for time, `k M B` for thousands, `%`, `tokens`, `calls`"
        return Finding(_no_quantity(source, token, units))
    mended = match.group(1) + unit
    return Finding(
        _no_quantity(source, token, f"did you mean `{mended}`?"), ((_replace(token, mended),),)
    )


def _no_quantity(source: Source, token: Token, help: str) -> Problem:
    return Problem("T006", f"`{_short(token)}` is no quantity", place(source, token), help=help)


def _moment(source: Source, token: Token) -> Finding:
    """T006 for `25:00`, `7:5` and `2026-02-30 07:00`."""
    day = "-" in token
    what, form = ("date", "`2026-12-01`") if day else ("time of day", "`07:00`, up to `23:59`")
    problem = Problem(
        "T006",
        f"`{_short(token)}` is no {what}",
        place(source, token),
        help=f"a {what} is written {form}",
    )
    mended = ("-" if day else ":").join(part.zfill(2) for part in re.split("[-:]", token))
    fits_now = mended != token and bool(day_of(mended) if day else clock_of(mended))
    return Finding(problem, ((_replace(token, mended),),) if fits_now else ())


def unit_apart(source: Source, number: Token, unit: Token) -> Finding | None:
    """T006 for `10 minutes`, `20 dollars` and `5 tokns`: a number with a word behind it that is nearly a unit."""
    meant = unit if unit in _UNITS or unit in _MONEY else _unit_meant(unit)
    if meant is None or len(unit) == 1:  # `[3 b]` lacks its `of`
        return None
    mended = f"${number}" if meant in _MONEY else number + _UNITS[meant]
    problem = Problem(
        "T006",
        f"`{number} {unit}` is no quantity",
        Place(source, Span(begin(number), end(unit))),
        help=f"did you mean `{mended}`?",
    )
    return Finding(problem, ((Edit(problem.place.span, mended),),))


def _unit_meant(word: Token) -> str | None:
    """`3 caller` is no number of calls."""
    spelt_out = [unit for unit in (*_UNITS, *_MONEY) if len(unit) > _SHORTEST]
    return next(iter(near(word, spelt_out, 1, enough=SURELY)), None)


def _character(source: Source, token: Token) -> Finding:
    if any(char in _QUOTES for char in token):
        return _curly_quotes(source, token)
    problem = Problem(
        "T001",
        f"unexpected character {_shown(token)}",
        place(source, token),
        help="names consist of the letters a to z, digits and `_`"
        if token[0].isalpha()
        else _SIGN_HELP.get(token, ""),
    )
    choices = ((_replace(token, _SIGNS[token]),),) if token in _SIGNS else ()
    return Finding(problem, choices)


def _curly_quotes(source: Source, token: Token) -> Finding:
    start = begin(token)
    stop = source.text.find("\n", start)
    line = source.text[start : stop if stop >= 0 else None]
    quotes = [start + i for i, c in enumerate(line) if c in _QUOTES]
    edits = tuple(Edit(Span(at, at + 1), '"') for at in quotes[: _MOST_EDITS + 1])
    problem = Problem(
        "T001",
        f"unexpected character {_shown(token)}",
        Place(source, Span(start, start + 1)),
        help='strings use straight double quotes: `"`',
    )
    return Finding(problem, (edits,) if len(edits) <= _MOST_EDITS else ())


def _shown(text: str) -> str:
    char = text[0]
    return f"`{char}`" if char.isprintable() else f"U+{ord(char):04X}"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _replace(token: Token, new: str) -> Edit:
    return Edit(Span(begin(token), end(token)), new)
