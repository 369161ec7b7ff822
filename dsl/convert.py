"""From the value an expression has to the value a place wants, or a report that says why not."""

from .budgets import bare_number, minutes_or_millions, whole_budget
from .calls import Form
from .context import Context
from .model import Model
from .names import either, near
from .program import Agent, Budget, Flow, Role, Template, Text, Tool, Verifier
from .reading import show
from .shapes import stand_in, unwrapped
from .source import Place
from .types import (
    ANY,
    BUDGET,
    CALLS,
    ENV,
    FLOW,
    NONE,
    QUANTITIES,
    ROLE,
    TOKENS,
    Either,
    ListOf,
    Number,
    Plain,
    RecordOf,
    Setting,
    Type,
    Words,
    accepts,
    describe,
    example,
    options,
    words,
)
from .values import (
    BAD,
    Counted,
    Fields,
    Items,
    Noun,
    Policy,
    Quantity,
    Row,
    RowSet,
    Unknown,
    UserFlow,
    Value,
    Word,
    Wrapper,
    is_flow,
    type_of,
)


class _No:
    """The value is none of this type: try the next."""


_NO = _No()


def fit(context: Context, value: Value, want: Type, place: Place) -> Value:
    """value as a want; else BAD, and a report."""
    if isinstance(value, Row):
        value = _of_row(value)
    if isinstance(value, Unknown):
        return _fit_unknown(context, value, want, place)
    for option in options(want):
        found = _convert(context, value, option, place)
        if not isinstance(found, _No):
            return found
    _refuse(context, value, want, place)
    return BAD


def _of_row(row: Row) -> Value:
    if isinstance(row.value, list):
        return Items(tuple(_of_row(Row(item)) for item in row.value))
    return row if isinstance(row.value, dict) else row.value


def _fit_unknown(context: Context, value: Unknown, want: Type, place: Place) -> Value:
    if not accepts(want, value.type):
        _refuse(context, value, want, place)
        return BAD
    if want == FLOW:
        return stand_in("flow", place)
    return Unknown(want) if value.type == ANY else value


def _convert(context: Context, value: Value, want: Type, place: Place) -> Value | _No:
    match want:
        case Number():
            return _number(context, value, want, place)
        case Words(words=allowed, quoted=quoted):
            name = "none" if value is None else value.name if isinstance(value, Word) else value
            if not isinstance(name, str) or name not in allowed:
                return _NO
            return name if quoted else Word(name)
        case Setting(name=name):
            return value if isinstance(value, Policy) and value.name == name else _NO
        case ListOf():
            return _list(context, value, want, place)
        case RecordOf():
            return value if isinstance(value, Fields) else _NO
        case Plain():
            return _plain(context, value, want, place)
        case Either():
            return _NO


def _number(context: Context, value: Value, want: Number, place: Place) -> Value | _No:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _NO
    if want.whole and isinstance(value, float):
        if not value.is_integer():
            return _NO
        value = int(value)
    low, high = want.low, want.high
    if (low is not None and value < low) or (high is not None and value > high):
        context.error(
            "E121",
            f"{show(value)} is out of range: {describe(want)} is wanted here",
            place,
            help=f"the nearest is {low if low is not None and value < low else high}",
        )
        return BAD
    return value


def _list(context: Context, value: Value, want: ListOf, place: Place) -> Value | _No:
    if not isinstance(value, Items):
        return _NO
    done: list[Value] = []
    for item in value.items:
        if isinstance(item, Counted) and want.counted:
            done.append(Counted(item.count, fit(context, item.value, want.item, place)))
        else:
            done.append(fit(context, item, want.item, place))
    return Items(tuple(done))


def _plain(context: Context, value: Value, want: Plain, place: Place) -> Value | _No:
    if want == ANY:
        return value
    if want == FLOW:
        found = as_flow(context, value, place)
        return _NO if found is None else found
    match want.name, value:
        case (("model" | "role" | "task"), Noun(kind=kind)) if kind == want.name:
            return context.built(value)
        case (
            ("run", Noun(kind="run"))
            | ("tool", Verifier(kind="python") | Tool())
            | ("record of flows", Fields())
        ):
            return value
        case "verifier", Verifier(args=args):
            if "once" in args:
                context.error("E212", "`once` is for tools: a verifier has no effects", place)
            return value
        case "task", RowSet():
            return _bare_rows(context, place)
        case "prompt", str():
            return Template((Text(value),))
        case "budget", Quantity() | Items():
            return whole_budget(context, value, place)
        case _, Quantity() as quantity if type_of(value) == want and _is_too_little(quantity):
            context.error("E121", f"{show(value)} is too little: {describe(want)} is wanted", place)
            return BAD
        case _:
            return value if type_of(value) == want and _is_value(value) else _NO


def _bare_rows(context: Context, place: Place) -> Value:
    context.error(
        "E107",
        "`rows(…)` does not say what a task's statement is",
        place,
        help="add `with { statement = row.problem, verify = number(row.answer) }`",
    )
    return BAD


def _is_too_little(quantity: Quantity) -> bool:
    """Nothing is below none; and a reply of no tokens, or a time-out of no time, means nothing."""
    least_is_some = quantity.dimension in ("tokens", "time")
    return quantity.amount < 0 or (least_is_some and quantity.amount == 0)


def _is_value(value: Value) -> bool:
    """Not a callable: those have the type of what they give."""
    return not isinstance(value, Form | Wrapper | UserFlow | Noun)


def as_flow(context: Context, value: Value, place: Place) -> Value | None:
    """value as a flow: a role is one agent, a callable without arguments is called. None: it is none."""
    if is_flow(value):
        return value
    match value:
        case Noun(kind="role"):
            return as_flow(context, context.built(value), place)
        case Role():
            return Agent(value.name, place, value)
        case Unknown(type=kind) if accepts(FLOW, kind) or kind == ROLE:
            return stand_in("flow", place)
        case Form(gives=gives) if gives == FLOW:
            return context.call(value, place)
        case UserFlow():
            return context.call(value, place)
        case Wrapper():
            context.error(
                "E213",
                f"{show(value)} says how, not what",
                place,
                help=f"write what it wraps after `of`: {show(value)[:-1]} of agent`",
            )
            return unwrapped(place)
        case _:
            return None


def flow_of(value: Value, place: Place) -> Flow:
    """A value that `fit` made a flow; a mistake stands for any flow."""
    return value if is_flow(value) else stand_in("flow", place)


def budget_of(value: Value) -> Budget:
    return value if isinstance(value, Budget) else Budget()


# --- what is said where a value does not fit ------------------------------------------------------


def _refuse(context: Context, value: Value, want: Type, place: Place) -> None:
    have = type_of(value)
    if FLOW in tuple(options(want)):
        _refuse_flow(context, value, have, place)
    elif isinstance(value, Quantity) or _is_quantity(want):
        _refuse_dimension(context, value, want, place)
    elif words(want) and isinstance(value, str | Word):
        name = value.name if isinstance(value, Word) else value
        guesses = near(name, words(want)) or list(words(want))
        context.error(
            "E125",
            f"{show(value)} is not {describe(want)}",
            place,
            help="did you mean " + " or ".join(f"`{g}`" for g in guesses[:3]) + "?",
        )
    elif isinstance(value, Form) and value.gives in tuple(options(want)) and not value.of:
        _uncalled(context, value, want, place)
    else:
        secret = ENV in options(want)  # a key that was written out is not written out again
        context.error(
            "E120",
            f"{describe(want)} is wanted here, not {'a text' if secret else show(value)}",
            place,
            help=_wanted(value, want),
        )


def _wanted(value: Value, want: Type) -> str:
    """What to write where a want belongs."""
    allowed = list(words(want))
    if isinstance(value, bool) and allowed:
        meant = allowed if not value else [word for word in allowed if word != "none"]
        return f"write {either([f'`{word}`' for word in meant])}"
    if NONE in options(want) and any(isinstance(kind, RecordOf) for kind in options(want)):
        return f"write `none` where it is free, else, for example, `{example(want)}`"
    shown = example(want)
    return f"write, for example, `{shown}`" if shown else ""


def _uncalled(context: Context, form: Form, want: Type, place: Place) -> None:
    """A callable without its parentheses."""
    whole = not any(spec.required for spec in form.params)
    context.error(
        "E120",
        f"{describe(want)} is wanted here, and `{form.name}` makes one",
        place,
        help=f"write `{form.name}({'' if whole else '…'})`",
        instead=f"{form.name}()" if whole else "",
    )


def _is_quantity(want: Type) -> bool:
    kinds = tuple(options(want))
    return any(kind in QUANTITIES.values() or kind in (BUDGET, Plain("rate")) for kind in kinds)


def _refuse_dimension(context: Context, value: Value, want: Type, place: Place) -> None:
    if minutes_or_millions(context, value, want, place):
        return
    shown = example(want)
    bare = bare_number(value, place)
    unit = "tokens" if want == TOKENS else "calls" if want == CALLS else ""
    context.error(
        "E308",
        f"{describe(want)} is wanted here, not {f'`{bare}`' if bare else _measured(value)}",
        place,
        help=f"write `{bare} {unit}`"
        if bare and unit
        else f"write, for example, `{shown}`"
        if shown
        else "",
    )


def _measured(value: Value) -> str:
    if isinstance(value, Quantity):
        return f"{describe(QUANTITIES[value.dimension])} ({show(value)})"
    return show(value)


_INSTEAD = {
    "model": 'a role says what is asked of it: `role r {{ prompt = "…"  model = {name} }}`',
    "verifier": "use it to choose: `best(by = {name})`",
    "task": "a flow works on the run's task: `run main {{ task = {name}  flow = agent }}`",
    "run": "write the flow that the run has",
}


def _refuse_flow(context: Context, value: Value, have: Type, place: Place) -> None:
    match value:
        case Counted():
            context.error(
                "E207",
                "`3 of f` is a multiplicity, which belongs in a list",
                place,
                help="write `parallel(3) of f`, or `parallel of [3 of f]`",
            )
        case Items():
            context.error(
                "E211",
                "a list is no flow",
                place,
                help="say how its flows run: `parallel of […]` or `fallback of […]`",
            )
        case _:
            kind = have.name if isinstance(have, Plain) else ""
            name = value.name if isinstance(value, Noun | Verifier | Model) else f"the {kind}"
            context.error(
                "E211",
                f"a flow is wanted here, not {show(value)}",
                place,
                help=_INSTEAD[kind].format(name=name) if kind in _INSTEAD else "",
            )
