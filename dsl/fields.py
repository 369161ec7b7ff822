"""Fields against the table: which are known, given twice, missing; and each value in its type."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from . import syntax
from .context import Context
from .kinds import KINDS, RECORDS, Kind, Spec
from .names import did_you_mean, either, indefinite, near, plural
from .problem import Label
from .source import Place, Span
from .types import Type
from .values import BAD, Argument, Fields, Noun, Scope, Unknown, Value


@dataclass(frozen=True, slots=True)
class Got:
    """The values of a noun's fields; place is where one that was not given is spoken of.

    unsure: fields that may have been given under a wrong name: nothing follows from their absence.
    """

    fields: Mapping[str, Argument]
    place: Place
    unsure: frozenset[str] = frozenset()

    def given(self, name: str) -> bool:
        return name in self.fields

    def lacks(self, name: str) -> bool:
        """Whether it was surely not given."""
        return name not in self.fields and name not in self.unsure

    def value(self, name: str) -> Value:
        """None where it was not given."""
        if name in self.fields:
            return self.fields[name].value
        return None if self.lacks(name) else BAD

    def known(self, name: str) -> bool:
        return name in self.fields and not isinstance(self.fields[name].value, Unknown)

    def at(self, name: str) -> Place:
        return self.fields[name].place if name in self.fields else self.place


class Known(NamedTuple):
    """Fields of a record, each once and with a value. unsure: names that are not there, or under a wrong name."""

    fields: list[syntax.Field]
    unsure: frozenset[str]


def declared_noun(
    context: Context, declaration: syntax.Declaration, record: syntax.Record, scope: Scope
) -> Value:
    """What a declaration in braces stands for, its fields not looked into; BAD where they are another kind's."""
    kind = KINDS[declaration.kind]
    if _is_of_another(context, kind, declaration, record, scope):
        return BAD
    fields, unsure = noun_fields(context, kind.name, record, scope)
    made = Noun(kind.name, declaration.name, fields, scope.place(declaration.name_span), unsure)
    missing(context, made, record, kind.fields)
    return made


def noun_fields(
    context: Context, kind: str, record: syntax.Record, scope: Scope
) -> tuple[dict[str, tuple[syntax.Field, Scope]], frozenset[str]]:
    """The record's fields that kind has, each with its scope; what is wrong with the rest is reported."""
    specs = {s.name: s for s in KINDS[kind].fields}
    found = known(context, kind, record, specs, scope)
    return {f.name: (f, scope) for f in found.fields}, found.unsure


def _is_of_another(
    context: Context,
    kind: Kind,
    declaration: syntax.Declaration,
    record: syntax.Record,
    scope: Scope,
) -> bool:
    """Whether the fields are those of another kind, which is one mistake and not as many as there are fields."""
    written = {f.name for f in record.fields if f.name}
    strange = written - {s.name for s in kind.fields}
    fitting = [k for k in KINDS.values() if written <= {s.name for s in k.fields}]
    whole = [k.name for k in fitting if _required(k) <= written and not _required(kind) & written]
    if len(strange) == 1 and strange != written:
        fitting = [k for k in fitting if k.name in whole]
    if not strange or not fitting:
        return False
    meant = whole if len(whole) == 1 else [k.name for k in fitting]
    shown = either([f"`{f.name}`" for f in record.fields if f.name in strange], "and")
    at, it = declaration.span.start, "it" if len(strange) == 1 else "them"
    context.error(
        "E106",
        f"{indefinite(kind.name)} has no {plural(len(strange), 'field')} {shown}",
        scope.place(Span(at, at + len(kind.name))),
        help=f"write `{meant[0]} {declaration.name} {{ … }}`, which has {it}",
        instead=meant[0] if len(meant) == 1 else "",
    )
    return True


def _required(kind: Kind) -> set[str]:
    return {s.name for s in kind.fields if s.required}


def known(
    context: Context,
    what: str,
    record: syntax.Record,
    specs: Mapping[str, Spec],
    scope: Scope,
) -> Known:
    """The fields that specs has; what is wrong with the rest is reported.

    What another declaration has and its kind does not may have been meant for this one.
    """
    found: dict[str, syntax.Field] = {}
    strange: list[syntax.Field] = []
    unsure = {name for name in scope.module.strays if name in specs}
    for field in record.fields:
        place = scope.place(field.name_span)
        if not field.name and isinstance(field.value, syntax.Bad):
            unsure |= specs.keys()  # not even its name could be read: `_meant` may tell it
            continue
        if field.name not in specs:
            strange.append(field)
        elif field.name in found:
            _twice(context, field.name, place, scope.place(found[field.name].name_span))
        elif field.value is None:
            unsure.add(field.name)
            message = f"`{field.name}` has a type where a value belongs"
            context.error("E120", message, place, help=f"write `{field.name} = …`")
        else:
            found[field.name] = field
    absent = [name for name in specs if name not in found]
    for field in strange:
        unsure |= meant_by(field.name, specs, absent)
        _unknown(context, what, field, scope, specs=specs, absent=absent)
    return Known([*found.values(), *_meant(record, specs, found)], frozenset(unsure - found.keys()))


def meant_by(name: str, known: Collection[str], absent: Collection[str]) -> set[str]:
    """Which of the absent names one that nobody knows may stand for: the one it is near to, else any."""
    near_to = near(name, known, 1)
    return set(near_to or absent) & set(absent)


def _unknown(
    context: Context,
    what: str,
    field: syntax.Field,
    scope: Scope,
    *,
    specs: Mapping[str, Spec],
    absent: Sequence[str],
) -> None:
    lacking = [name for name in absent if specs[name].required]
    help_ = (
        _inside(field, specs, scope)
        or did_you_mean(field.name, specs, 1)
        or (f"did you mean `{lacking[0]}`, which is missing?" if lacking else "")
        or "it has " + ", ".join(f"`{name}`" for name in specs)
    )
    context.error(
        "E106",
        f"{indefinite(what)} has no field `{field.name}`",
        scope.place(field.name_span),
        help=help_,
        instead="" if help_.startswith("write") else "".join(near(field.name, specs, 1)),
    )


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


def missing(context: Context, noun: Noun, record: syntax.Record, specs: Sequence[Spec]) -> None:
    """E107 for each required field that is not there, unless a misspelt one may have been meant."""
    if any(not f.name for f in record.fields):
        return  # of some field not even the name could be read
    for spec in specs:
        if not spec.required or spec.name in noun.fields or spec.name in noun.unsure:
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
    return Got(fields, noun.place, noun.unsure)


def record_of(context: Context, name: str, record: syntax.Record, scope: Scope) -> Fields:
    """A record with the fields of a table: price, limits, sampling."""
    specs = {s.name: s for s in RECORDS[name]}
    values: dict[str, Value] = {}
    places: dict[str, Place] = {}
    found = known(context, name, record, specs, scope)
    for field in found.fields:
        if field.value is not None:
            values[field.name] = context.value(field.value, scope, specs[field.name].type)
            places[field.name] = scope.place(field.value.span)
    return Fields(values, places, found.unsure)


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
