"""The tree as written: frozen dataclasses, each with its span. Nothing here is resolved or checked.

Names follow the grammar. Layout and comments are not in the tree: tools that need them read the
lossless token stream.

Long because the language is: a small record for each construct, without behaviour, and read together.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from datetime import date
from typing import cast

from .source import Span

# --- expressions ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Name:
    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Number:
    """`3`, `0.5`, `10k`: the multiplier k, M or B is already applied; an integer where it is one."""

    value: int | float
    span: Span


@dataclass(frozen=True, slots=True)
class Money:
    """`$2.50`, in micro-dollars."""

    micro: int
    span: Span


@dataclass(frozen=True, slots=True)
class TokenCount:
    """`400k tokens`."""

    count: int
    span: Span


@dataclass(frozen=True, slots=True)
class CallCount:
    """`500 calls`."""

    count: int
    span: Span


@dataclass(frozen=True, slots=True)
class Duration:
    """`1h30m`, in seconds."""

    seconds: float
    span: Span


@dataclass(frozen=True, slots=True)
class Clock:
    """`07:00`, or `2026-12-01 07:00`."""

    hour: int
    minute: int
    day: date | None
    span: Span


@dataclass(frozen=True, slots=True)
class Percent:
    """`20%`, as a fraction: 0.2."""

    fraction: float
    span: Span


@dataclass(frozen=True, slots=True)
class Bool:
    value: bool
    span: Span


@dataclass(frozen=True, slots=True)
class NoneLiteral:
    span: Span


@dataclass(frozen=True, slots=True)
class String:
    """`"text"`, escapes resolved."""

    value: str
    span: Span


@dataclass(frozen=True, slots=True)
class PromptText:
    """Constant text of a prompt, dedented, escapes resolved."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Filter:
    """`| clip(8k tokens)` inside `{{ }}`."""

    name: str
    args: tuple["Arg", ...]
    span: Span


@dataclass(frozen=True, slots=True)
class PromptSlot:
    """`{{ expr | filter }}`; column is how far inserted lines are indented."""

    value: "Expr"
    filters: tuple[Filter, ...]
    column: int
    span: Span


@dataclass(frozen=True, slots=True)
class Prompt:
    '''`"""…"""` or `r"""…"""` (raw: no slots), as fragments in order.'''

    parts: tuple[PromptText | PromptSlot, ...]
    raw: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Field:
    """`name = value`, `name: type` or `name: type = value` in braces."""

    name: str
    name_span: Span
    type: "Type | None"
    value: "Expr | None"
    span: Span


@dataclass(frozen=True, slots=True)
class Record:
    fields: tuple[Field, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class ListExpr:
    items: tuple["Expr", ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Paren:
    inner: "Expr"
    span: Span


@dataclass(frozen=True, slots=True)
class Arg:
    """One argument of a call; name is None where it is positional."""

    name: str | None
    name_span: Span | None
    value: "Expr"
    span: Span


@dataclass(frozen=True, slots=True)
class Call:
    function: "Expr"
    args: tuple[Arg, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Attribute:
    """`value.name`."""

    value: "Expr"
    name: str
    name_span: Span
    span: Span


@dataclass(frozen=True, slots=True)
class With:
    """`value with { … }`."""

    value: "Expr"
    record: Record
    span: Span


@dataclass(frozen=True, slots=True)
class Of:
    """`wrapper of inner`; a number as wrapper is a multiplicity."""

    wrapper: "Expr"
    inner: "Expr"
    span: Span


@dataclass(frozen=True, slots=True)
class Then:
    """`first -> second`, left-associative; arrow is the place of `->`."""

    first: "Expr"
    second: "Expr"
    arrow: Span
    span: Span


@dataclass(frozen=True, slots=True)
class Binary:
    """operator: `+ - * / and or == != < <= > >=`."""

    operator: str
    left: "Expr"
    right: "Expr"
    span: Span


@dataclass(frozen=True, slots=True)
class Unary:
    """operator: `-` or `not`."""

    operator: str
    operand: "Expr"
    span: Span


@dataclass(frozen=True, slots=True)
class Rate:
    """`amount per unit`: `$2 per 1M tokens`, `500 calls per 1m`."""

    amount: "Expr"
    unit: "Expr"
    span: Span


@dataclass(frozen=True, slots=True)
class IfExpr:
    condition: "Expr"
    then: "Expr"
    otherwise: "Expr"
    span: Span


@dataclass(frozen=True, slots=True)
class Bad:
    """What could not be read, and was reported. names: the words in it, of which none is missing."""

    names: frozenset[str]
    span: Span


Expr = (
    Name
    | Number
    | Money
    | TokenCount
    | CallCount
    | Duration
    | Clock
    | Percent
    | Bool
    | NoneLiteral
    | String
    | Prompt
    | Record
    | ListExpr
    | Paren
    | Call
    | Attribute
    | With
    | Of
    | Then
    | Binary
    | Unary
    | Rate
    | IfExpr
    | Bad
)

# --- types ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TypeName:
    """`int`, `int(1 to 64)`, `Many(Attempt)`; low and high are the bounds of a range."""

    name: str
    args: tuple["Type", ...]
    low: int | float | None
    high: int | float | None
    span: Span


@dataclass(frozen=True, slots=True)
class TypeLiteral:
    """`"quick"`: the type with this one value."""

    value: str
    span: Span


@dataclass(frozen=True, slots=True)
class TypeList:
    item: "Type"
    span: Span


@dataclass(frozen=True, slots=True)
class TypeUnion:
    options: tuple["Type", ...]
    span: Span


Type = TypeName | TypeLiteral | TypeList | TypeUnion

# --- declarations --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Param:
    """`size: int = 10` of a flow."""

    name: str
    name_span: Span
    type: Type | None
    default: Expr | None
    span: Span


@dataclass(frozen=True, slots=True)
class Declaration:
    """`KIND name(params) of inner: type = value` or `KIND name { fields }`.

    value is a Record for the brace form, another expression after `=`, or None (a param without
    default). doc is the text of the `##` lines directly above, without the marks.
    """

    kind: str
    kind_span: Span
    name: str
    name_span: Span
    params: tuple[Param, ...] | None
    of_param: str | None
    of_span: Span | None
    type: Type | None
    value: Expr | None
    doc: str
    span: Span


@dataclass(frozen=True, slots=True)
class ImportedName:
    name: str
    alias: str | None
    span: Span


@dataclass(frozen=True, slots=True)
class Import:
    """`import MODULE as alias` (names is None) or `from MODULE import names`.

    module is the dotted path (`std.roles`) or, where is_file, the path in quotes as written.
    """

    module: str
    is_file: bool
    module_span: Span
    alias: str | None
    names: tuple[ImportedName, ...] | None
    span: Span


@dataclass(frozen=True, slots=True)
class File:
    """lost: names of declarations that could not be read; what uses one of them is not to blame.

    An empty name among them is that of a declaration without one, `*` all that an import may have brought.
    """

    edition: int | None
    imports: tuple[Import, ...]
    declarations: tuple[Declaration, ...]
    span: Span
    lost: frozenset[str] = frozenset()


Node = (
    Expr
    | Type
    | PromptText
    | PromptSlot
    | Filter
    | Field
    | Arg
    | Param
    | Declaration
    | Import
    | ImportedName
    | File
)


def children(node: Node) -> Iterator[Node]:
    """The nodes directly below node, in the order of their fields."""
    for field in fields(node):
        value: object = getattr(node, field.name)
        items = cast(tuple[object, ...], value) if isinstance(value, tuple) else (value,)
        for item in items:
            if is_dataclass(item) and not isinstance(item, Span | type):
                yield cast(Node, item)  # every dataclass in the tree but Span is a Node


def part_at(file: File, at: int) -> Span:
    """The field that an offset stands in or behind, else what of its declaration lies outside of fields."""
    below = [d for d in file.declarations if d.span.start <= at]
    if not below:
        return Span(at, at)
    declaration = below[-1]
    value = declaration.value.record if isinstance(declaration.value, With) else declaration.value
    fields = list(value.fields) if isinstance(value, Record) else []
    before = [f for f in fields if f.span.start <= at]
    if not before:
        return Span(
            declaration.span.start, fields[0].span.start if fields else declaration.span.end
        )
    # What has no name stands behind the braces, or is no field.
    named = [f for f in before if f.name] or before
    return Span(named[-1].span.start, max(before[-1].span.end, at + 1))


def is_sound(node: Node) -> bool:
    """Whether all below node could be read."""
    waiting = [node]
    while waiting:
        here = waiting.pop()
        if isinstance(here, Bad):
            return False
        waiting.extend(children(here))
    return True
