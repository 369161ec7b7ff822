"""Types as they are written after `:`, to types; and `output` schemas, which are made of them."""

from typing import Literal

from . import syntax
from .context import Context
from .names import did_you_mean
from .program import OutputField
from .quantity import Scalar
from .source import Place
from .types import ANY, BOOL, TEXT, WRITTEN, ListOf, Number, Type, Words, either
from .values import BAD, Items, Schema, Scope, Value, type_of

# What other languages call a type, in lower case.
_ELSEWHERE = {
    **dict.fromkeys(("string", "str", "char", "varchar"), "text"),
    **dict.fromkeys(("integer", "number", "long"), "int"),
    **dict.fromkeys(("double", "real", "decimal"), "float"),
    "boolean": "bool",
    **dict.fromkeys(("usd", "dollars", "price"), "Money"),
    **dict.fromkeys(("time", "seconds", "timedelta"), "Duration"),
}
_Atom = Literal["text", "int", "float", "bool"]


def declared_type(context: Context, kind: syntax.Type | None, scope: Scope) -> Type:
    """The type that kind says; ANY where there is none, or after a mistake."""
    match kind:
        case None:
            return ANY
        case syntax.TypeLiteral(value=value) if value in WRITTEN:
            return _in_quotes(context, value, scope.place(kind.span))
        case syntax.TypeLiteral(value=value):
            return Words((value,), quoted=True)
        case syntax.TypeList(item=item):
            return ListOf(declared_type(context, item, scope))
        case syntax.TypeUnion(options=several):
            return _union([_option(context, option, scope) for option in several])
        case syntax.TypeName():
            return _named(context, kind, scope)


def _option(context: Context, kind: syntax.Type, scope: Scope) -> Type:
    """One of several: there, what stands in quotes is always a word to choose."""
    if isinstance(kind, syntax.TypeLiteral):
        return Words((kind.value,), quoted=True)
    return declared_type(context, kind, scope)


def _in_quotes(context: Context, name: str, place: Place) -> Type:
    context.error(
        "E120",
        f'`"{name}"` is a choice of that one word; a type stands without quotes',
        place,
        help=f"write `{name}`",
        instead=name,
    )
    return ANY


def _union(several: list[Type]) -> Type:
    literals = tuple(w for kind in several if isinstance(kind, Words) for w in kind.words)
    others = [kind for kind in several if not isinstance(kind, Words)]
    kinds = [Words(literals, quoted=True), *others] if literals else others
    return kinds[0] if len(kinds) == 1 else either(*kinds)


def _named(context: Context, kind: syntax.TypeName, scope: Scope) -> Type:
    found = WRITTEN.get(kind.name)
    place = scope.place(kind.span)
    if found is None:
        context.error(
            "E105",
            f"there is no type `{kind.name}`",
            place,
            help=f"did you mean `{meant}`?"
            if (meant := _ELSEWHERE.get(kind.name.lower(), ""))
            else did_you_mean(kind.name, WRITTEN) or "types are " + ", ".join(WRITTEN),
            instead=meant,
        )
        return ANY
    ranged = kind.low is not None or kind.high is not None
    if kind.args or (ranged and not isinstance(found, Number)):
        context.error(
            "E120",
            f"`{kind.name}` takes nothing in parentheses",
            place,
            help="a range goes with `int` and `float`: `int(1 to 64)`",
        )
        return found
    if isinstance(found, Number) and ranged:
        return _range(context, kind, scope, whole=found.whole)
    return found


def _range(context: Context, kind: syntax.TypeName, scope: Scope, *, whole: bool) -> Type:
    low, high = kind.low, kind.high
    if whole and any(isinstance(bound, float) for bound in (low, high)):
        context.error(
            "E120",
            "the bounds of an `int` are whole numbers",
            scope.place(kind.span),
            help="write whole bounds, or `float`",
        )
        return Number(whole)
    if low is not None and high is not None and low > high:
        context.error(
            "E121",
            f"the range from {low} to {high} is empty",
            scope.place(kind.span),
            help=f"write `{kind.name}({high} to {low})`",
        )
        return Number(whole)
    return Number(whole, low, high)


def of_value(value: Value) -> Type:
    """The type of a parameter that gives only a default."""
    kind = type_of(value)
    return ANY if isinstance(kind, Words) or value is None else kind


# --- output schemas ------------------------------------------------------------------------------


def schema(context: Context, record: syntax.Record, scope: Scope) -> Value:
    """`{ answer: text, items: [int], risk: "low" | "high" = "low" }`."""
    fields: list[OutputField] = []
    before = context.errors
    for field in record.fields:
        place = scope.place(field.name_span)
        if any(f.name == field.name for f in fields):
            context.error("E108", f"`{field.name}` is given twice", place)
        elif field.type is None:
            context.error(
                "E120",
                f"`{field.name}` of an output needs a type",
                place,
                help=f"write `{field.name}: text`",
            )
        else:
            made = _output_field(context, field, field.type, scope)
            fields += [made] if made is not None else []
    if not record.fields:
        context.error("E107", "an output has at least one field", scope.place(record.span))
    return Schema(tuple(fields)) if context.errors == before else BAD


def _output_field(
    context: Context, field: syntax.Field, kind: syntax.Type, scope: Scope
) -> OutputField | None:
    before = context.errors
    want = declared_type(context, kind, scope)
    item = want.item if isinstance(want, ListOf) else want
    atom = _atom(item)
    if atom is None:
        if context.errors == before:
            context.error(
                "E120",
                f"`{field.name}` cannot be of this type",
                scope.place(kind.span),
                help='an output holds text, int, float, bool, choices ("a" | "b"), and lists of them',
            )
        return None
    if field.value is None:
        return OutputField(field.name, atom, isinstance(want, ListOf))
    value = context.value(field.value, scope, want)
    return OutputField(field.name, atom, isinstance(want, ListOf), False, _default(value))


def _atom(kind: Type) -> _Atom | tuple[str, ...] | None:
    match kind:
        case Words(words=words, quoted=True):
            return words
        case Number(whole=whole):
            return "int" if whole else "float"
        case _ if kind == TEXT:
            return "text"
        case _ if kind == BOOL:
            return "bool"
        case _:
            return None


def _default(value: Value) -> Scalar:
    """A default that JSON can hold; a list's default is the empty list, which None stands for."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Items():
            return None
        case _:
            return None
