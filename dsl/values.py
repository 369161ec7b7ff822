"""What an expression stands for while a program is worked out.

A parameter without a known value is an `Unknown`, which goes through every operation; so a flow is
checked without values by the same code that later builds it with them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeGuard

from . import model, program, syntax, tried
from .calls import Form
from .kinds import KINDS, Spec
from .source import Place, Source, Span
from .types import (
    ANY,
    BOOL,
    BUDGET,
    CLOCK,
    CONDITION,
    ENDPOINT,
    ENV,
    FAULT,
    FLOW,
    NONE,
    PROMPT,
    QUANTITIES,
    RATE,
    RECORD,
    SCHEMA,
    TASK,
    TEXT,
    TOOL,
    VERIFIER,
    ListOf,
    Number,
    Plain,
    Setting,
    Type,
    Words,
)

Dimension = Literal["usd", "tokens", "calls", "time", "share"]
Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value known only by its type."""

    type: Type


@dataclass(frozen=True, slots=True)
class Quantity:
    """In micro-dollars, tokens, calls, seconds, or a fraction."""

    dimension: Dimension
    amount: int | float


@dataclass(frozen=True, slots=True)
class Ratio:
    """`amount per unit`."""

    amount: Quantity
    unit: Quantity


@dataclass(frozen=True, slots=True)
class Word:
    """A policy: `adaptive`."""

    name: str


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy with a number: `pass(3)`; seconds for `lease`."""

    name: str
    amount: int | float


@dataclass(frozen=True, slots=True)
class Items:
    items: tuple["Value", ...]


@dataclass(frozen=True, slots=True)
class Counted:
    """`3 of x` in a list; count None is not known yet."""

    count: int | None
    value: "Value"


@dataclass(frozen=True, slots=True)
class Fields:
    """A record's values by name, with the places of its fields; unsure: what a wrong name may stand for."""

    values: Mapping[str, "Value"]
    places: Mapping[str, Place]
    unsure: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Schema:
    fields: tuple[program.OutputField, ...]


@dataclass(frozen=True, slots=True)
class Tasks:
    """One task, or one for each row. tools: for all who work on it.

    works: whether teams that name no style are at work on it. files: where it says which files agents begin with.
    """

    tasks: tuple[program.Task, ...]
    tools: tuple[program.Tool, ...] = ()
    works: bool = False
    files: Place | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A value from a line of `rows(…)`."""

    value: Json


@dataclass(frozen=True, eq=False)
class RowSet:
    """`rows("set.jsonl")`: its lines, each with its number; lines None: not read yet."""

    path: str
    lines: tuple[tuple[int, Json], ...] | None
    place: Place


@dataclass(frozen=True, eq=False)
class Scope:
    """Where a name is looked up: the locals of a flow call, then the file with all around it.

    source is that of the expression, which differs from the module's in `-e` and in `--set`.
    """

    module: "Module"
    source: Source
    locals: Mapping[str, "Value"]

    def place(self, span: Span) -> Place:
        return Place(self.source, span)


@dataclass(frozen=True, eq=False)
class Noun:
    """A declared or amended noun: its fields, each with the scope it was written in.

    unsure: those that are not there, but may be what a field with an unknown name stands for.
    """

    kind: str
    name: str
    fields: Mapping[str, tuple[syntax.Field, Scope]]
    place: Place
    unsure: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class UserFlow:
    """A declared flow; outer: the scope of its declaration."""

    declaration: syntax.Declaration
    outer: Scope


@dataclass(frozen=True, eq=False)
class Argument:
    """A value and where it was written."""

    value: "Value"
    place: Place
    given: bool = True


@dataclass(frozen=True, eq=False)
class Wrapper:
    """A call that still needs what follows `of`."""

    callee: "Form | UserFlow"
    args: Mapping[str, Argument]
    place: Place
    unsure: frozenset[str] = frozenset()


@dataclass(eq=False)
class Module:
    """One file, parsed: what it declares and imports, by name. is_known False: it could not be had."""

    source: Source
    file: syntax.File
    declared: dict[str, syntax.Declaration]
    imported: dict[str, "Imported"]
    is_known: bool = True

    @cached_property
    def models(self) -> tuple[str, ...]:
        """The names of its models, its own first, then those it imports by name; asked once all are in."""
        own = [name for name, d in self.declared.items() if d.kind == "model"]
        for name, item in self.imported.items():
            found = item.module.declared.get(item.name) if item.name is not None else None
            own += [name] if found is not None and found.kind == "model" else []
        return tuple(own)

    @cached_property
    def strays(self) -> frozenset[str]:
        """Names of fields that their declaration has none of, or twice: they may belong to another one."""
        found = set[str]()
        for declaration in self.file.declarations:
            free = {s.name for s in _specs(declaration.kind)}
            for field in _written(declaration.value):
                found |= set[str]() if field.name in free else {field.name}
                free -= {field.name}
        return frozenset(found)


def _written(value: syntax.Expr | None) -> tuple[syntax.Field, ...]:
    record = value.record if isinstance(value, syntax.With) else value
    return record.fields if isinstance(record, syntax.Record) else ()


def _specs(kind: str) -> tuple[Spec, ...]:
    return KINDS[kind].fields if kind in KINDS else ()


@dataclass(frozen=True, eq=False)
class Imported:
    """A name that an import brought in: a module, or (name not None) one declaration of it."""

    module: Module
    name: str | None
    place: Place


@dataclass(frozen=True, eq=False)
class ModuleName:
    """An imported module, as a value: only `module.name` makes sense."""

    module: Module


Value = (
    None
    | bool
    | int
    | float
    | str
    | Unknown
    | Quantity
    | Ratio
    | Word
    | Policy
    | Items
    | Counted
    | Fields
    | Schema
    | Tasks
    | Row
    | RowSet
    | Noun
    | UserFlow
    | Wrapper
    | Form
    | ModuleName
    | model.EnvRef
    | model.Endpoint
    | model.Model
    | program.Role
    | program.Verifier
    | program.Tool
    | program.Template
    | program.Budget
    | program.Clock
    | program.Condition
    | tried.Fault
    | program.Flow
)

BAD = Unknown(ANY)
"""What a mistake evaluates to: it has been reported, so nothing more is said about it."""

_FLOWS = (
    program.Agent,
    program.Team,
    program.Parallel,
    program.Then,
    program.Lift,
    program.Fallback,
    program.Repeat,
    program.Same,
    program.Reduce,
    program.Route,
    program.ForEach,
    program.Limited,
)
_CONDITIONS = (
    program.Compare,
    program.Flag,
    program.Plateau,
    program.AllOf,
    program.AnyOf,
    program.Not,
)
_TYPES: tuple[tuple[tuple[type, ...], Type], ...] = (
    ((bool,), BOOL),
    ((int,), Number(True)),
    ((float,), Number(False)),
    ((str,), TEXT),
    ((program.Template,), PROMPT),
    ((program.Budget,), BUDGET),
    ((program.Clock,), CLOCK),
    ((model.Endpoint,), ENDPOINT),
    ((model.EnvRef,), ENV),
    ((tried.Fault,), FAULT),
    ((model.Model,), Plain("model")),
    ((program.Role,), Plain("role")),
    ((program.Verifier,), VERIFIER),
    ((program.Tool,), TOOL),
    (_FLOWS, FLOW),
    (_CONDITIONS, CONDITION),
    ((Tasks, RowSet), TASK),
    ((Ratio,), RATE),
    ((Fields,), RECORD),
    ((Schema,), SCHEMA),
    ((UserFlow,), FLOW),
    ((ModuleName,), Plain("module")),
)


def is_flow(value: Value) -> TypeGuard[program.Flow]:
    return isinstance(value, _FLOWS)


def is_condition(value: Value) -> TypeGuard[program.Condition]:
    return isinstance(value, _CONDITIONS)


def type_of(value: Value) -> Type:
    """The type of value, without bounds."""
    match value:
        case None:
            return NONE
        case Unknown(type=kind):
            return kind
        case Quantity(dimension=dimension):
            return QUANTITIES[dimension]
        case Word(name=name):
            return Words((name,))
        case Policy(name=name):
            return Setting(name)
        case Noun(kind=kind):
            return Plain(kind)
        case Form() | Wrapper(callee=Form()):
            form = value if isinstance(value, Form) else value.callee
            return form.gives if isinstance(form, Form) else FLOW
        case Items(items=items):
            return ListOf(type_of(items[0]) if items else ANY)
        case Counted(value=inner):
            return type_of(inner)
        case Row(value=inner):
            return ANY if isinstance(inner, list | dict) else type_of(inner)
        case Wrapper():
            return FLOW
        case _:
            return next((kind for classes, kind in _TYPES if isinstance(value, classes)), ANY)
