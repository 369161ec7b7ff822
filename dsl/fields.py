"""Fields against the table: which are known, given twice, missing; and each value in its type."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from . import syntax
from .context import Context
from .kinds import KINDS, RECORDS, Spec
from .names import did_you_mean, near
from .problem import Label
from .source import Place
from .types import Type
from .values import Argument, Fields, Noun, Scope, Unknown, Value


@dataclass(frozen=True, slots=True)
class Got:
    """The values of a noun's fields; place is where one that was not given is spoken of."""

    fields: Mapping[str, Argument]
    place: Place

    def given(self, name: str) -> bool:
        return name in self.fields

    def value(self, name: str) -> Value:
        """None where it was not given."""
        return self.fields[name].value if name in self.fields else None

    def known(self, name: str) -> bool:
        return name in self.fields and not isinstance(self.fields[name].value, Unknown)

    def at(self, name: str) -> Place:
        return self.fields[name].place if name in self.fields else self.place


def noun_fields(
    context: Context, kind: str, record: syntax.Record, scope: Scope
) -> dict[str, tuple[syntax.Field, Scope]]:
    """The record's fields that kind has, each with its scope; what is wrong with the rest is reported."""
    specs = {s.name: s for s in KINDS[kind].fields}
    return {f.name: (f, scope) for f in known(context, kind, record, specs, scope)}


def known(
    context: Context,
    what: str,
    record: syntax.Record,
    specs: Mapping[str, Spec],
    scope: Scope,
) -> list[syntax.Field]:
    """The fields that specs has, each once and with a value."""
    found: dict[str, syntax.Field] = {}
    for field in record.fields:
        place = scope.place(field.name_span)
        if not field.name and isinstance(field.value, syntax.Bad):
            continue  # not even its name could be read: `_meant` may tell it
        if field.name not in specs:
            help_ = (
                _inside(field, specs, scope)
                or did_you_mean(field.name, specs, 1)
                or "it has " + ", ".join(f"`{name}`" for name in specs)
            )
            context.error(
                "E106",
                f"a {what} has no field `{field.name}`",
                place,
                help=help_,
                instead="" if help_.startswith("write") else "".join(near(field.name, specs, 1)),
            )
        elif field.name in found:
            _twice(context, field.name, place, scope.place(found[field.name].name_span))
        elif field.value is None:
            context.error(
                "E120",
                f"`{field.name}` has a type where a value belongs",
                place,
                help=f"write `{field.name} = …`",
            )
        else:
            found[field.name] = field
    return [*found.values(), *_meant(record, specs, found)]


def _inside(field: syntax.Field, specs: Mapping[str, Spec], scope: Scope) -> str:
    """Where a field belongs that is one of a record which this has: `sampling = { temperature = 0.5 }`."""
    for name, inner in RECORDS.items():
        if name in specs and any(spec.name == field.name for spec in inner):
            span = field.value.span if field.value is not None else None
            text = "…" if span is None else scope.source.text[span.start : span.end]
            shown = text if len(text) <= _LONGEST and "\n" not in text else "…"
            return f"write `{name} = {{ {field.name} = {shown} }}`"
    return ""


_LONGEST = 40  # characters of a value that is shown again


def _twice(context: Context, name: str, place: Place, first: Place) -> None:
    context.error(
        "E108",
        f"`{name}` is given twice",
        place,
        secondary=(Label(first, "first given here"),),
        help="keep the one that is meant",
    )


def _meant(
    record: syntax.Record, specs: Mapping[str, Spec], found: Mapping[str, syntax.Field]
) -> Iterator[syntax.Field]:
    """The fields whose names stand in what could not be read: they are not missing."""
    bad = [f for f in record.fields if isinstance(f.value, syntax.Bad)]
    words = frozenset[str]().union(*(f.value.names for f in bad if isinstance(f.value, syntax.Bad)))
    for name in specs:
        if name in words and name not in found:
            yield replace(bad[0], name=name)


def is_readable(noun: Noun) -> bool:
    """Whether all of its fields could be read: of what could not, nothing more is said."""
    return all(syntax.is_sound(field) for field, _ in noun.fields.values())


def missing(
    context: Context, noun: Noun, record: syntax.Record | None, specs: Sequence[Spec]
) -> None:
    """E107 for each required field that is not there, unless a misspelt one was probably meant."""
    written = [f.name for f in record.fields] if record is not None else []
    if "" in written:
        return  # of some field not even the name could be read
    names = [s.name for s in specs]
    for spec in specs:
        if not spec.required or spec.name in noun.fields or spec.name in written:
            continue
        if any(near(name, names, 1) == [spec.name] for name in written if name not in names):
            continue
        context.error(
            "E107",
            f"{noun.kind} `{noun.name}` has no `{spec.name}`",
            noun.place,
            help=f"add `{spec.name} = …`: {spec.doc[0].lower()}{spec.doc[1:]}",
        )


def got(context: Context, noun: Noun) -> Got:
    """Each field of the noun in its type."""
    specs = {s.name: s for s in KINDS[noun.kind].fields}
    fields: dict[str, Argument] = {}
    for name, (field, scope) in noun.fields.items():
        if field.value is None:
            continue
        value = context.value(field.value, scope, specs[name].type)
        fields[name] = Argument(value, scope.place(field.value.span))
    return Got(fields, noun.place)


def record_of(context: Context, name: str, record: syntax.Record, scope: Scope) -> Fields:
    """A record with the fields of a table: price, limits, sampling."""
    specs = {s.name: s for s in RECORDS[name]}
    values: dict[str, Value] = {}
    places: dict[str, Place] = {}
    for field in known(context, name, record, specs, scope):
        if field.value is not None:
            values[field.name] = context.value(field.value, scope, specs[field.name].type)
            places[field.name] = scope.place(field.value.span)
    return Fields(values, places)


def free_record(context: Context, record: syntax.Record, scope: Scope, want: Type) -> Fields:
    """A record whose field names are the user's own; each value a want."""
    values: dict[str, Value] = {}
    places: dict[str, Place] = {}
    for field in record.fields:
        place = scope.place(field.name_span)
        if field.name in values:
            _twice(context, field.name, place, places[field.name])
        elif field.value is None:
            context.error("E120", f"`{field.name}` has no value", place)
        else:
            values[field.name] = context.value(field.value, scope, want)
            places[field.name] = place
    return Fields(values, places)
