"""Calls: arguments to their parameters, `of` to what it wraps, the callee to what it gives."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from . import syntax
from .calls import ACCOUNT, Form
from .context import Bound, Context
from .convert import as_flow, budget_of, flow_of
from .declared_types import declared_type, of_value
from .flows import BUILDERS as FLOW_BUILDERS
from .lookup import astray
from .names import either, near
from .problem import Label
from .program import Budget, Flow, Limited, OnExhausted
from .reading import as_word, show
from .shapes import stand_in
from .source import Place
from .tasks import BUILDERS as TASK_BUILDERS
from .types import ANY, CASES, FLOW, ListOf, Number, Type
from .types import either as one_of
from .values import BAD, Argument, Noun, Scope, Unknown, UserFlow, Value, Wrapper, is_flow
from .verifiers import BUILDERS as VERIFIER_BUILDERS

_BUILDERS = {**FLOW_BUILDERS, **TASK_BUILDERS, **VERIFIER_BUILDERS}
_ON_EXHAUSTED: dict[str, OnExhausted] = {
    "best": "best", "vote": "vote", "shrink": "shrink", "pause": "pause", "fail": "fail"
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a callee takes in one place. rule: where a flow of the program says so."""

    name: str
    type: Type
    required: bool
    rule: Label | None = None


def rule(param: syntax.Param | syntax.Declaration, scope: Scope) -> Label | None:
    """Where the type of a parameter is declared; None where only its default gives it one."""
    if param.type is None:
        return None
    return Label(scope.place(param.type.span), f"`{param.name}` is declared here")


# --- `f(…)`, `f` ---------------------------------------------------------------------------------


def call(context: Context, expr: syntax.Call, scope: Scope) -> Value:
    """What a call gives; a Wrapper where it still needs `of`."""
    callee = context.raw(expr.function, scope, ANY)
    place = scope.place(expr.span)
    match callee:
        case Unknown():
            for arg in expr.args:
                astray(context, arg.value, scope)
            return BAD
        case Form():
            return _form(context, callee, _bind_form(context, callee, expr.args, scope, place))
        case UserFlow():
            args = _bind_flow(context, callee, expr.args, scope, place)
            if callee.declaration.of_param is not None:
                return Wrapper(callee, args, place)
            return _user_flow(context, callee, args, None, place)
        case Noun(kind="role"):
            return _role(context, callee, expr, scope)
        case _:
            help_ = (
                "name it, `flow inner = …`: its calls take a `budget`" if is_flow(callee) else ""
            )
            context.error("E117", f"{show(callee)} cannot be called", place, help=help_)
            return BAD


def bare(context: Context, callee: Value, place: Place) -> Value:
    """A callable's name alone, where a flow is wanted."""
    match callee:
        case Form():
            value = _form(context, callee, _bind_form(context, callee, (), None, place))
            return _unwrapped(context, value, place)
        case UserFlow(declaration=declaration):
            args = _bind_flow(context, callee, (), None, place)
            if declaration.of_param is not None:
                return _unwrapped(context, Wrapper(callee, args, place), place)
            return _user_flow(context, callee, args, None, place)
        case _:
            return BAD


def _unwrapped(context: Context, value: Value, place: Place) -> Value:
    """A wrapper in a flow's place is reported there."""
    return as_flow(context, value, place) if isinstance(value, Wrapper) else value


def _role(context: Context, callee: Noun, expr: syntax.Call, scope: Scope) -> Value:
    """`fixer(budget = [$1])`: an agent under an account of its own."""
    place = scope.place(expr.span)
    parameters = [Parameter(s.name, s.type, False) for s in ACCOUNT]
    args, _ = bind(context, show(callee), parameters, expr.args, scope, place)
    return limited(flow_of(as_flow(context, callee, place), place), args)


# --- `f(…) of x` ---------------------------------------------------------------------------------


def wrap(context: Context, expr: syntax.Of, scope: Scope) -> Value:
    """What a wrapper gives with what it wraps."""
    place = scope.place(expr.span)
    wrapper = context.raw(expr.wrapper, scope, ANY)
    match wrapper:
        case Unknown(type=kind) if not isinstance(kind, Number):
            context.raw(expr.inner, scope, one_of(FLOW, ListOf(FLOW, counted=True), CASES))
            return BAD
        case int() | float() | Unknown():
            context.error(
                "E207",
                "a multiplicity belongs in a list",
                scope.place(expr.wrapper.span),
                help="write `[3 of f]` where a list belongs, or `parallel(3) of f`",
            )
            return BAD
        case Form(of=of) if of:
            bound = _bind_form(context, wrapper, (), scope, scope.place(expr.wrapper.span))
            return _wrapped(context, wrapper, bound.args, expr.inner, scope, place)
        case UserFlow(declaration=declaration) if declaration.of_param is not None:
            args = _bind_flow(context, wrapper, (), scope, scope.place(expr.wrapper.span))
            return _wrapped(context, wrapper, args, expr.inner, scope, place)
        case Wrapper(callee=callee, args=args):
            return _wrapped(context, callee, args, expr.inner, scope, place)
        case _:
            context.raw(expr.inner, scope, FLOW)
            _no_wrapper(context, expr.wrapper, wrapper, scope)
            return BAD


def _no_wrapper(context: Context, expr: syntax.Expr, value: Value, scope: Scope) -> None:
    """E213 for what takes nothing after `of`, by its name where it has one."""
    named = expr.function if isinstance(expr, syntax.Call) else expr
    shown = f"`{named.name}`" if isinstance(named, syntax.Name) else show(value)
    context.error(
        "E213",
        f"{shown} takes nothing after `of`",
        scope.place(expr.span),
        help="chain steps with `->`, or declare a flow that wraps: `flow f(k: int) of inner = …`",
    )


def _wrapped(
    context: Context,
    callee: Form | UserFlow,
    args: Mapping[str, Argument],
    inner: syntax.Expr,
    scope: Scope,
    place: Place,
) -> Value:
    at = scope.place(inner.span)
    if isinstance(callee, UserFlow):
        value = context.value(inner, scope, FLOW)
        return _user_flow(context, callee, args, Argument(value, at), place)
    bare_inner = _unparenthesised(inner)
    listed = isinstance(bare_inner, syntax.ListExpr)
    if callee.of == "record":
        value = context.value(bare_inner, scope, CASES)
    elif callee.of == "flow" or (callee.of == "flow or list" and not listed):
        value = context.value(inner, scope, FLOW)
    elif listed:
        value = context.value(bare_inner, scope, ListOf(FLOW, counted=callee.of != "list"))
    else:
        context.error(
            "E213", f"`{callee.name}` takes a list", at, help=f"write `{callee.name} of [a, b]`"
        )
        return stand_in(callee.name, place)
    bound = Bound(callee.name, args, place, scope, inner=Argument(value, at))
    return _built(context, callee, bound)


def _unparenthesised(expr: syntax.Expr) -> syntax.Expr:
    while isinstance(expr, syntax.Paren):
        expr = expr.inner
    return expr


# --- what a callee gives -------------------------------------------------------------------------


def _form(context: Context, form: Form, bound: Bound) -> Value:
    return Wrapper(form, bound.args, bound.place) if form.of else _built(context, form, bound)


def _built(context: Context, form: Form, bound: Bound) -> Value:
    value = _BUILDERS[form.name](context, bound)
    if form.gives != FLOW or isinstance(value, Unknown):
        return value
    return limited(flow_of(value, bound.place), bound.args)


def limited(flow: Flow, args: Mapping[str, Argument]) -> Flow:
    """flow under an account of its own where `budget` or `on_exhausted` was given."""
    if not ("budget" in args or "on_exhausted" in args):
        return flow
    given = args.get("on_exhausted")
    word = "" if given is None else as_word(given.value, "")
    budget = budget_of(args["budget"].value) if "budget" in args else Budget()
    place = args["budget"].place if "budget" in args else flow.place
    return Limited(flow.label, place, flow, budget, _ON_EXHAUSTED.get(word))


def _user_flow(
    context: Context,
    callee: UserFlow,
    args: Mapping[str, Argument],
    inner: Argument | None,
    place: Place,
) -> Value:
    declaration = callee.declaration
    own = {p.name for p in declaration.params or ()}
    values = {name: arg.value for name, arg in args.items() if name in own}
    if declaration.of_param is not None and inner is not None:
        values[declaration.of_param] = inner.value
    flow = flow_of(context.expand(callee, values, place), place)
    return limited(flow, {name: arg for name, arg in args.items() if name not in own})


# --- arguments to parameters ---------------------------------------------------------------------


def _bind_form(
    context: Context, form: Form, args: Sequence[syntax.Arg], scope: Scope | None, place: Place
) -> Bound:
    parameters = [Parameter(s.name, s.type, s.required) for s in form.params]
    extra = [Parameter(s.name, s.type, False) for s in ACCOUNT] if form.gives == FLOW else []
    bound, rest = bind(
        context,
        f"`{form.name}`",
        parameters,
        args,
        scope,
        place,
        named=extra,
        rest=form.rest,
        rest_named=form.rest_named,
    )
    return Bound(form.name, bound, place, scope, tuple(rest))


def _bind_flow(
    context: Context, flow: UserFlow, args: Sequence[syntax.Arg], scope: Scope | None, place: Place
) -> Mapping[str, Argument]:
    """The arguments of a declared flow, defaults filled in."""
    parameters = [
        Parameter(
            p.name,
            parameter_type(context, p, flow.outer),
            p.default is None,
            rule(p, flow.outer) or Label(flow.outer.place(p.name_span), "declared here"),
        )
        for p in flow.declaration.params or ()
    ]
    own = {p.name for p in parameters}
    extra = [Parameter(s.name, s.type, False) for s in ACCOUNT if s.name not in own]
    what = f"flow `{flow.declaration.name}`"
    bound, _ = bind(context, what, parameters, args, scope, place, named=extra)
    filled = dict(bound)
    for p, parameter in zip(flow.declaration.params or (), parameters, strict=True):
        if p.name not in filled:
            value: Value = Unknown(parameter.type)
            if p.default is not None:
                value = context.ruled(p.default, flow.outer, parameter.type, parameter.rule)
            filled[p.name] = Argument(value, place)
    return filled


def parameter_type(context: Context, param: syntax.Param, scope: Scope) -> Type:
    """The declared type, else that of the default."""
    if param.type is None and param.default is not None:
        return of_value(context.raw(param.default, scope, ANY))
    return declared_type(context, param.type, scope)


def bind(
    context: Context,
    what: str,
    parameters: Sequence[Parameter],
    args: Sequence[syntax.Arg],
    scope: Scope | None,
    place: Place,
    *,
    named: Sequence[Parameter] = (),
    rest: Type | None = None,
    rest_named: bool = False,
) -> tuple[Mapping[str, Argument], list[tuple[str, Argument]]]:
    """Each argument converted to its parameter's type, by name; then those that `rest` takes."""
    by_name = {p.name: p for p in (*parameters, *named)}
    bound: dict[str, Argument] = {}
    others: list[tuple[str, Argument]] = []
    wrong: dict[str, Place] = {}
    position = 0
    for arg in args if scope is not None else ():
        assert scope is not None  # arguments are written somewhere
        at = scope.place(arg.name_span or arg.value.span)
        parameter = None
        if arg.name is not None:
            parameter = by_name.get(arg.name)
            if parameter is None and not rest_named:
                wrong[arg.name] = at
                continue
        elif position < len(parameters) and (rest is None or rest_named):
            parameter = parameters[position]
            position += 1
        elif rest is None:
            most = f"{what} takes {_arguments(len(parameters))} at most"
            context.error("E113", most, at, help=_takes(by_name))
            continue
        if parameter is None:
            value = context.value(arg.value, scope, rest or ANY)
            others.append((arg.name or "", Argument(value, scope.place(arg.span))))
        elif parameter.name in bound:
            first = Label(bound[parameter.name].place, "first given here")
            said = f"`{parameter.name}` is given twice"
            context.error("E114", said, at, secondary=(first,), help="keep the one that is meant")
        else:
            value = context.ruled(arg.value, scope, parameter.type, parameter.rule)
            bound[parameter.name] = Argument(value, scope.place(arg.value.span))
    lacking = [p for p in parameters if p.required and p.name not in bound]
    swapped = len(lacking) == len(wrong) == 1  # one name is wrong and one lacks: a single mistake
    for name, at in wrong.items():
        meant = [lacking[0].name] if swapped else near(name, by_name)
        _takes_none(context, what, name, by_name, at, meant)
    if not swapped:
        _missing(context, what, lacking, wrong, place)
    return bound, others


def _takes_none(
    context: Context,
    what: str,
    name: str,
    known: Mapping[str, Parameter],
    place: Place,
    meant: Sequence[str],
) -> None:
    guesses = either([f"`{guess}`" for guess in meant])
    context.error(
        "E111",
        f"{what} takes no `{name}`",
        place,
        help=f"did you mean {guesses}?" if guesses else _takes(known),
        instead="".join(meant[:1]),
    )


def _missing(
    context: Context,
    what: str,
    lacking: Sequence[Parameter],
    wrong: Iterable[str],
    place: Place,
) -> None:
    for parameter in lacking:
        if not any(near(name, [parameter.name]) for name in wrong):
            context.error(
                "E112",
                f"{what} needs `{parameter.name}`",
                place,
                help=f"add `{parameter.name} = …`",
                secondary=(parameter.rule,) if parameter.rule is not None else (),
            )


def _arguments(count: int) -> str:
    return {0: "no arguments", 1: "one argument"}.get(count, f"{count} arguments")


def _takes(by_name: Mapping[str, object]) -> str:
    return "it takes " + ", ".join(f"`{name}`" for name in by_name) if by_name else ""
