"""Parameters set from outside: text or values, typed by their declarations."""

from collections.abc import Mapping

from .arguments import rule
from .evaluate import Evaluator
from .model import Model
from .names import did_you_mean
from .parse import parse_expression
from .problem import Label, Problem, has_errors, whole
from .program import Role, Verifier
from .quantity import Scalar
from .reading import scalar, written
from .source import Place, Source
from .types import ANY, TEXT, Type, Words, describe, example, options
from .values import Module, Scope, Unknown, Value, Word

Given = Mapping[str, tuple[str | int | float | bool, str]]


def set_params(evaluator: Evaluator, main: Module, given: Given) -> None:
    """Give main's parameters the values in given; E122 to E124 for what does not go."""
    declared = {name: d for name, d in main.declared.items() if d.kind == "param"}
    values: dict[str, Value] = {}
    scope = Scope(main, main.source, {})
    for name, (value, origin) in given.items():
        source = Source(origin, f"{name}={value}")
        if name not in declared:
            evaluator.error(
                "E123",
                f"the file has no parameter `{name}`, which {origin} sets",
                whole(source),
                help=did_you_mean(name, declared)
                or ("it has " + ", ".join(declared) if declared else "it has none"),
            )
            continue
        want = evaluator.param_type(declared[name], scope)
        label = rule(declared[name], scope)
        values[name] = _converted(
            evaluator, main, name, value, origin=origin, want=want, label=label
        )
    for name, declaration in declared.items():
        if declaration.value is None and name not in given:
            evaluator.error(
                "E124",
                f"parameter `{name}` has no value",
                Place(main.source, declaration.name_span),
                help=f"give it with `--set {name}=…`, or write a default",
            )
    evaluator.params = values


def _converted(
    evaluator: Evaluator,
    main: Module,
    name: str,
    value: str | int | float | bool,
    *,
    origin: str,
    want: Type,
    label: Label | None,
) -> Value:
    """value as a want. A text goes as it is where text is wanted, else it is read as an expression."""
    before = len(evaluator.problems)
    place = whole(Source(origin, f"{name}={value}"))
    if not isinstance(value, str) or _is_text(want, value):
        result = evaluator.fit(value, want, place)
    else:
        result = _read(evaluator, main, value, origin, want)
    found = evaluator.problems[before:]
    if has_errors(found):
        del evaluator.problems[before:]
        evaluator.problems.append(
            _refused(name, value, found, origin=origin, want=want, place=place, label=label)
        )
    return result


def _is_text(want: Type, value: str) -> bool:
    kinds = tuple(options(want))
    return TEXT in kinds or any(
        isinstance(k, Words) and (k.quoted or value in k.words) for k in kinds
    )


def _read(evaluator: Evaluator, main: Module, text: str, origin: str, want: Type) -> Value:
    source = Source(origin, text)
    expr, problems = parse_expression(source)
    if expr is None or problems:
        if want == ANY:
            return text
        evaluator.problems.extend(problems)
        return Unknown(want)
    return evaluator.value(expr, Scope(main, source, {}), want)


def _refused(
    name: str,
    value: object,
    found: list[Problem],
    *,
    origin: str,
    want: Type,
    place: Place,
    label: Label | None,
) -> Problem:
    return Problem(
        "E122",
        f"parameter `{name}` is {describe(want)}, and {origin} sets it to `{value}`",
        place,
        secondary=() if label is None else (label,),
        notes=tuple(p.message for p in found if not p.message.startswith(describe(want)))[:1],
        help=f"give it, for example, `{example(want)}`" if example(want) else found[0].help,
    )


def in_force(
    evaluator: Evaluator, main: Module, given: Given
) -> tuple[tuple[str, Scalar, str], ...]:
    """Each parameter's value, for showing, and where it comes from."""
    shown: list[tuple[str, Scalar, str]] = []
    for name, declaration in main.declared.items():
        if declaration.kind == "param":
            origin = given[name][1] if name in given else "default"
            shown.append((name, _shown(evaluator.declared(main, declaration)), origin))
    return tuple(shown)


def _shown(value: Value) -> Scalar:
    match value:
        case Role(name=name) | Model(name=name) | Verifier(name=name):
            return name
        case None | bool() | int() | float() | str() | Word():
            return scalar(value)
        case _:
            return written(value)
