"""From tokens to the tree of `syntax`: the parser, and the one place where both sides meet.

The transformer runs inside the parse (LALR reduces bottom-up, so depth costs no recursion) and keeps no
state. All tokens are kept in the rules, so that a node spans from its first child to its last. Long because
the grammar is: one short method for each rule, and splitting them would only hide which is missing.
"""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from lark import Lark, Token, Transformer, v_args  # pyright: ignore[reportUnknownVariableType]  # Lark leaves it bare
from lark.exceptions import UnexpectedToken
from lark.parsers.lalr_interactive_parser import InteractiveParser

from . import quantity
from . import syntax as s
from .source import Span

END = "$END"
STARTS = ["file", "expr", "interp"]


class PromptToken(Token):
    """A prompt literal that brings its fragments along: its inside was parsed before."""

    prompt: s.Prompt


def with_prompt(token: Token, prompt: s.Prompt) -> Token:
    """The token of a prompt literal, ready for the parser."""
    ready = PromptToken(token.type, str(token), start_pos=token.start_pos, end_pos=token.end_pos)
    assert isinstance(ready, PromptToken)  # Lark types its constructor as that of a Token
    ready.prompt = prompt
    return ready


class HoleToken(Token):
    """Stands for a value that could not be read: the parser takes it for a name."""

    names: frozenset[str]


def hole(tokens: Sequence[Token], at: int) -> Token:
    """The token in place of a value's tokens; at: where it stands if there are none."""
    start = tokens[0].start_pos if tokens else at
    made = HoleToken("NAME", "", start_pos=start, end_pos=tokens[-1].end_pos if tokens else at)
    assert isinstance(made, HoleToken)  # Lark types its constructor as that of a Token
    made.names = frozenset(_key(t) for t in tokens if t.type in ("NAME", "STRING"))
    return made


class Slot(NamedTuple):
    """What entry `interp` gives."""

    value: s.Expr
    filters: tuple[s.Filter, ...]


class Entries(NamedTuple):
    """What entry `file` gives."""

    edition: int | float | None
    imports: tuple[s.Import, ...]
    declarations: tuple[s.Declaration, ...]


class Stuck(NamedTuple):
    """The parse stopped at tokens[at] (or behind the last one)."""

    at: int


Parsed = Entries | Slot | s.Expr | Stuck


def run(tokens: Sequence[Token], start: str) -> Parsed:
    """Parse tokens from the entry start."""
    state = _start(start)
    for at, token in enumerate(tokens):
        try:
            state.feed_token(token)
        except UnexpectedToken:
            return Stuck(at)
    try:
        result: Parsed = state.feed_token(Token(END, ""))
    except UnexpectedToken:
        return Stuck(len(tokens))
    return result


def accepted(tokens: Sequence[Token], start: str) -> frozenset[str]:
    """The terminals that may follow tokens, all of which were accepted before.

    Asked of a fresh parser: one that met a wrong token has already reduced too far.
    """
    state = _start(start)
    for token in tokens:
        state.feed_token(token)
    return frozenset(state.accepts())  # type: ignore[no-untyped-call]  # Lark leaves it bare


def _start(entry: str) -> InteractiveParser:
    return grammar().parse_interactive(start=entry)  # pyright: ignore[reportUnknownMemberType]  # Lark leaves it bare


def grammar_text() -> str:
    return (files("podium") / "grammar" / "podium.lark").read_text("utf-8")


@cache
def grammar() -> Lark:
    """The parser; it holds no state between parses, so threads may share it."""
    return Lark(
        grammar_text(),
        start=STARTS,
        parser="lalr",
        lexer="basic",
        keep_all_tokens=True,
        transformer=_Builder(),
    )


@cache
def keywords() -> frozenset[str]:
    """The reserved words of the grammar."""
    values = {terminal.pattern.value for terminal in grammar().terminals}
    return frozenset(value for value in values if value.isalpha())


class _Typed(NamedTuple):
    """`: type`, from the colon on."""

    type: s.Type
    span: Span


class _Bounds(NamedTuple):
    """`1 to 64` of a type."""

    low: int | float
    high: int | float


class _Reference(NamedTuple):
    """`of inner` in the head of a flow."""

    name: str
    span: Span


class _Params(NamedTuple):
    params: tuple[s.Param, ...]
    span: Span


class _Module(NamedTuple):
    name: str
    is_file: bool
    span: Span


_Spanned = s.Node | _Typed | _Reference | _Params | _Module
_Part = Token | _Spanned | None
_T = TypeVar("_T")


def _span(*parts: _Part) -> Span:
    """From the first part that is there to the last one."""
    found = [part for part in parts if part is not None]
    return Span(_place(found[0]).start, _place(found[-1]).end)


def _place(part: Token | _Spanned) -> Span:
    if isinstance(part, Token):
        return Span(part.start_pos or 0, part.end_pos or 0)
    return part.span


def _only(kind: type[_T], parts: Sequence[object]) -> tuple[_T, ...]:
    return tuple(part for part in parts if isinstance(part, kind))


def _values(parts: Sequence[s.Expr | Token]) -> tuple[s.Expr, ...]:
    return tuple(part for part in parts if not isinstance(part, Token))


def _types(parts: Sequence[s.Type | Token]) -> tuple[s.Type, ...]:
    return tuple(part for part in parts if not isinstance(part, Token))


if TYPE_CHECKING:
    _Base = Transformer[Token, object]
else:
    _Base = Transformer


@v_args(inline=True)  # pyright: ignore[reportUnknownVariableType]  # Lark leaves it bare
class _Builder(_Base):
    """One method for each rule of the grammar, named after it."""

    # --- the file --------------------------------------------------------------------------------

    def file(self, edition: int | float | None, *items: s.Import | s.Declaration) -> Entries:
        return Entries(edition, _only(s.Import, items), _only(s.Declaration, items))

    def edition(self, _: Token, year: Token) -> int | float:
        return quantity.number(year)

    def import_module(
        self, word: Token, module: _Module, _: Token | None, alias: Token | None
    ) -> s.Import:
        span = _span(word, module, alias)
        name = None if alias is None else str(alias)
        return s.Import(module.name, module.is_file, module.span, name, None, span)

    def import_names(self, word: Token, module: _Module, *rest: Token | s.ImportedName) -> s.Import:
        names = _only(s.ImportedName, rest)
        return s.Import(module.name, module.is_file, module.span, None, names, _span(word, *rest))

    def import_item(self, name: Token, _: Token | None, alias: Token | None) -> s.ImportedName:
        return s.ImportedName(str(name), None if alias is None else str(alias), _span(name, alias))

    def module_path(self, *parts: Token) -> _Module:
        return _Module("".join(parts), False, _span(*parts))

    def module_file(self, text: Token) -> _Module:
        return _Module(quantity.unquoted(text), True, _span(text))

    # --- declarations ----------------------------------------------------------------------------

    def decl(
        self,
        kind: Token,
        name: Token,
        params: _Params | None,
        of_param: _Reference | None,
        annotation: _Typed | None,
        *tail: Token | s.Expr,
    ) -> s.Declaration:
        return s.Declaration(
            kind=str(kind),
            kind_span=_span(kind),
            name=str(name),
            name_span=_span(name),
            params=None if params is None else params.params,
            of_param=None if of_param is None else of_param.name,
            of_span=None if of_param is None else of_param.span,
            type=None if annotation is None else annotation.type,
            value=_values(tail)[0] if tail else None,
            doc="",
            span=_span(kind, name, params, of_param, annotation, *tail),
        )

    def of_param(self, _: Token, name: Token) -> _Reference:
        return _Reference(str(name), _span(name))

    def params(self, *parts: Token | s.Param | None) -> _Params:
        return _Params(_only(s.Param, parts), _span(*parts))

    def param(
        self, name: Token, annotation: _Typed | None, _: Token | None, default: s.Expr | None
    ) -> s.Param:
        return s.Param(
            str(name),
            _span(name),
            None if annotation is None else annotation.type,
            default,
            _span(name, annotation, default),
        )

    # --- types -----------------------------------------------------------------------------------

    def type_ann(self, colon: Token, kind: s.Type) -> _Typed:
        return _Typed(kind, _span(colon, kind))

    def type_union(self, *parts: s.Type | Token) -> s.Type:
        options = _types(parts)
        return options[0] if len(options) == 1 else s.TypeUnion(options, _span(*parts))

    def type_name(self, name: Token, *parts: Token | s.Type | _Bounds | None) -> s.TypeName:
        bounds = _only(_Bounds, parts)
        low, high = bounds[0] if bounds else (None, None)
        args = tuple(
            part for part in parts if part is not None and not isinstance(part, Token | _Bounds)
        )
        close = [part for part in parts if isinstance(part, Token)][-1:]
        return s.TypeName(str(name), args, low, high, _span(name, *close))

    def type_list(self, left: Token, item: s.Type, right: Token) -> s.TypeList:
        return s.TypeList(item, _span(left, right))

    def type_literal(self, text: Token) -> s.TypeLiteral:
        return s.TypeLiteral(quantity.unquoted(text), _span(text))

    def bounds(self, low: int | float, _: Token, high: int | float) -> _Bounds:
        return _Bounds(low, high)

    def bound(self, minus: Token | None, number: Token) -> int | float:
        return quantity.number(number) if minus is None else -quantity.number(number)

    # --- records ---------------------------------------------------------------------------------

    def record(self, *parts: Token | s.Field) -> s.Record:
        return s.Record(_only(s.Field, parts), _span(*parts))

    def field(self, name: Token, _: Token, value: s.Expr) -> s.Field:
        return s.Field(_key(name), _span(name), None, value, _span(name, value))

    def typed_field(
        self, name: Token, annotation: _Typed, _: Token | None, value: s.Expr | None
    ) -> s.Field:
        return s.Field(
            str(name), _span(name), annotation.type, value, _span(name, annotation, value)
        )

    # --- expressions -----------------------------------------------------------------------------

    def if_expr(
        self, word: Token, condition: s.Expr, _t: Token, then: s.Expr, _e: Token, last: s.Expr
    ) -> s.IfExpr:
        return s.IfExpr(condition, then, last, _span(word, last))

    def seq(self, first: s.Expr, arrow: Token, second: s.Expr) -> s.Then:
        return s.Then(first, second, _span(arrow), _span(first, second))

    def of(self, wrapper: s.Expr, _: Token, inner: s.Expr) -> s.Of:
        return s.Of(wrapper, inner, _span(wrapper, inner))

    def compare(self, left: s.Expr, operator: Token, right: s.Expr) -> s.Binary:
        return s.Binary(str(operator), left, right, _span(left, right))

    or_expr = and_expr = add = sub = mul = div = compare

    def not_expr(self, operator: Token, operand: s.Expr) -> s.Unary:
        return s.Unary(str(operator), operand, _span(operator, operand))

    minus = not_expr

    def rate(self, amount: s.Expr, _: Token, unit: s.Expr) -> s.Rate:
        return s.Rate(amount, unit, _span(amount, unit))

    def attr(self, value: s.Expr, _: Token, name: Token) -> s.Attribute:
        return s.Attribute(value, str(name), _span(name), _span(value, name))

    def call(
        self, function: s.Expr, _: Token, args: tuple[s.Arg, ...] | None, right: Token
    ) -> s.Call:
        return s.Call(function, args or (), _span(function, right))

    def with_expr(self, value: s.Expr, _: Token, record: s.Record) -> s.With:
        return s.With(value, record, _span(value, record))

    def args(self, *parts: s.Arg | s.Expr | Token) -> tuple[s.Arg, ...]:
        return tuple(_arg(part) for part in parts if not isinstance(part, Token))

    def named_arg(self, name: Token, _: Token, value: s.Expr) -> s.Arg:
        return s.Arg(str(name), _span(name), value, _span(name, value))

    def list_expr(self, *parts: s.Expr | Token) -> s.ListExpr:
        return s.ListExpr(_values(parts), _span(*parts))

    def paren(self, left: Token, inner: s.Expr, right: Token) -> s.Paren:
        return s.Paren(inner, _span(left, right))

    # --- atoms -----------------------------------------------------------------------------------

    def var(self, name: Token) -> s.Name | s.Bad:
        if isinstance(name, HoleToken):
            return s.Bad(name.names, _span(name))
        return s.Name(str(name), _span(name))

    def number(self, text: Token) -> s.Number:
        return s.Number(quantity.number(text), _span(text))

    def money(self, text: Token) -> s.Money:
        return s.Money(quantity.micro(text) or 0, _span(text))

    def token_qty(self, text: Token, unit: Token) -> s.TokenCount:
        return s.TokenCount(int(quantity.exact(text)), _span(text, unit))

    def call_qty(self, text: Token, unit: Token) -> s.CallCount:
        return s.CallCount(int(quantity.exact(text)), _span(text, unit))

    def duration(self, text: Token) -> s.Duration:
        return s.Duration(quantity.seconds(text), _span(text))

    def clock(self, day: Token | None, time: Token) -> s.Clock:
        hour, minute = quantity.clock(time) or (0, 0)  # the scanner has refused any other
        found = None if day is None else quantity.day(day)
        return s.Clock(hour, minute, found, _span(day, time))

    def percent(self, text: Token) -> s.Percent:
        return s.Percent(quantity.fraction(text), _span(text))

    def string(self, text: Token) -> s.String:
        return s.String(quantity.unquoted(text), _span(text))

    def prompt(self, text: PromptToken) -> s.Prompt:
        return text.prompt

    raw_prompt = prompt

    def true(self, word: Token) -> s.Bool:
        return s.Bool(True, _span(word))

    def false(self, word: Token) -> s.Bool:
        return s.Bool(False, _span(word))

    def none(self, word: Token) -> s.NoneLiteral:
        return s.NoneLiteral(_span(word))

    # --- the inside of a slot --------------------------------------------------------------------

    def interp(self, value: s.Expr, *rest: Token | s.Filter) -> Slot:
        return Slot(value, _only(s.Filter, rest))

    def slot_filter(
        self, name: Token, _: Token | None, args: tuple[s.Arg, ...] | None, right: Token | None
    ) -> s.Filter:
        return s.Filter(str(name), args or (), _span(name, right))


def _key(name: Token) -> str:
    return quantity.unquoted(name) if name.type == "STRING" else str(name)


def _arg(part: s.Arg | s.Expr) -> s.Arg:
    return part if isinstance(part, s.Arg) else s.Arg(None, None, part, part.span)
