"""Calls: arguments to their parameters, `of` to what it wraps, the callee to what it gives."""

from collections.abc import Mapping, Sequence

from . import syntax
from .arguments import Given, Parameter, Signature, bind, parameter_type, rule
from .calls import ACCOUNT, Form
from .context import Bound, Context
from .convert import as_flow, budget_of, flow_of
from .flows import BUILDERS as FLOW_BUILDERS
from .lookup import astray
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
            given = _bind_flow(context, callee, expr.args, scope, place)
            if given.is_strange:
                return BAD
            if callee.declaration.of_param is not None:
                return Wrapper(callee, given.args, place, given.unsure)
            return _user_flow(context, callee, given, None, place)
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
        case Form(of=of) if of:
            return as_flow(context, Wrapper(callee, {}, place), place)
        case UserFlow(declaration=declaration) if declaration.of_param is not None:
            return as_flow(context, Wrapper(callee, {}, place), place)
        case Form():
            return _form(context, callee, _bind_form(context, callee, (), None, place))
        case UserFlow():
            given = _bind_flow(context, callee, (), None, place)
            return _user_flow(context, callee, given, None, place)
        case _:
            return BAD


def _role(context: Context, callee: Noun, expr: syntax.Call, scope: Scope) -> Value:
    """`fixer(budget = [$1])`: an agent under an account of its own."""
    place = scope.place(expr.span)
    given = bind(context, Signature(show(callee), _account()), expr.args, scope, place)
    return limited(flow_of(as_flow(context, callee, place), place), given.args)


# --- `f(…) of x` ---------------------------------------------------------------------------------


def wrap(context: Context, expr: syntax.Of, scope: Scope) -> Value:
    """What a wrapper gives with what it wraps."""
    place = scope.place(expr.span)
    if isinstance(expr.wrapper, syntax.Call) and _is_no_wrapper(context, expr.wrapper, scope):
        astray(context, expr, scope)  # its arguments are for what was meant
        _no_wrapper(context, expr.wrapper, BAD, scope)
        return BAD
    before, listed = context.errors, isinstance(_unparenthesised(expr.inner), syntax.ListExpr)
    wrapper = context.raw(expr.wrapper, scope, ANY)
    match wrapper:
        case Wrapper(callee=UserFlow()) if listed and context.errors > before:
            astray(context, expr.inner, scope)  # another wrapper was meant, which takes a list
            return BAD
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
            whole = Wrapper(wrapper, bound.args, place, bound.unsure)
            return _wrapped(context, whole, expr.inner, scope, place)
        case UserFlow(declaration=declaration) if declaration.of_param is not None:
            given = _bind_flow(context, wrapper, (), scope, scope.place(expr.wrapper.span))
            if listed and given.unsure:
                astray(context, expr.inner, scope)  # as above
                return BAD
            whole = Wrapper(wrapper, given.args, place, given.unsure)
            return _wrapped(context, whole, expr.inner, scope, place)
        case Wrapper():
            return _wrapped(context, wrapper, expr.inner, scope, place)
        case _:
            astray(context, expr.inner, scope)
            _no_wrapper(context, expr.wrapper, wrapper, scope)
            return BAD


def _is_no_wrapper(context: Context, call: syntax.Call, scope: Scope) -> bool:
    """Whether what is called has a name and wraps nothing."""
    if not isinstance(call.function, syntax.Name):
        return False
    found = context.find(call.function.name, scope)
    match found.value if found is not None else BAD:
        case Form(of=of):
            return not of
        case UserFlow(declaration=declaration):
            return declaration.of_param is None
        case Noun(kind="role"):
            return True
        case _:
            return False


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
    context: Context, wrapper: Wrapper, inner: syntax.Expr, scope: Scope, place: Place
) -> Value:
    at, callee, before = scope.place(inner.span), wrapper.callee, context.errors
    if isinstance(callee, UserFlow):
        value = context.value(inner, scope, FLOW)
        given = Given(wrapper.args, unsure=wrapper.unsure)
        return _user_flow(context, callee, given, Argument(value, at), place)
    wanted = _wanted(callee, _unparenthesised(inner))
    if wanted is None:
        context.error(
            "E213", f"`{callee.name}` takes a list", at, help=f"write `{callee.name} of [a, b]`"
        )
        return stand_in(callee.name, place)
    value = context.value(inner if wanted == FLOW else _unparenthesised(inner), scope, wanted)
    bound = Bound(
        callee.name,
        wrapper.args,
        place,
        scope,
        inner=Argument(value, at),
        inner_is_sure=context.errors == before,
        unsure=wrapper.unsure,
    )
    return _built(context, callee, bound)


def _wanted(form: Form, inner: syntax.Expr) -> Type | None:
    """What a form wraps, where inner is what it is given; None where it takes a list, and inner is none."""
    listed = isinstance(inner, syntax.ListExpr)
    if form.of == "record":
        return CASES
    if form.of == "flow" or (form.of == "flow or list" and not listed):
        return FLOW
    return ListOf(FLOW, counted=form.of != "list") if listed else None


def _unparenthesised(expr: syntax.Expr) -> syntax.Expr:
    while isinstance(expr, syntax.Paren):
        expr = expr.inner
    return expr


# --- what a callee gives -------------------------------------------------------------------------


def _form(context: Context, form: Form, bound: Bound) -> Value:
    if form.of:
        return Wrapper(form, bound.args, bound.place, bound.unsure)
    return _built(context, form, bound)


def _built(context: Context, form: Form, bound: Bound) -> Value:
    if bound.unsure and form.gives != FLOW:
        return BAD
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
    given: Given,
    inner: Argument | None,
    place: Place,
) -> Value:
    """The flow that a call expands to; any flow, where another one may be meant, or other arguments."""
    declaration, args = callee.declaration, given.args
    if given.unsure:
        return stand_in(declaration.name, place)
    own = {p.name for p in declaration.params or ()}
    values = {name: arg.value for name, arg in args.items() if name in own}
    if declaration.of_param is not None and inner is not None:
        values[declaration.of_param] = inner.value
    places = {name: arg.place for name, arg in args.items() if name in own}
    flow = flow_of(context.expand(callee, values, place, places), place)
    return limited(flow, {name: arg for name, arg in args.items() if name not in own})


# --- what a callee takes -------------------------------------------------------------------------


def _bind_form(
    context: Context, form: Form, args: Sequence[syntax.Arg], scope: Scope | None, place: Place
) -> Bound:
    parameters = [Parameter(s.name, s.type, s.required) for s in form.params]
    extra = _account() if form.gives == FLOW else []
    signature = Signature(f"`{form.name}`", parameters, extra, form.rest, form.rest_named)
    given = bind(context, signature, args, scope, place)
    return Bound(form.name, given.args, place, scope, given.rest, unsure=given.unsure)


def _account() -> list[Parameter]:
    return [Parameter(s.name, s.type, False) for s in ACCOUNT]


def _bind_flow(
    context: Context, flow: UserFlow, args: Sequence[syntax.Arg], scope: Scope | None, place: Place
) -> Given:
    """The arguments of a declared flow, defaults filled in."""
    parameters = [_parameter(context, p, flow.outer) for p in flow.declaration.params or ()]
    own = {p.name for p in parameters}
    extra = [p for p in _account() if p.name not in own]
    what = f"flow `{flow.declaration.name}`"
    signature = Signature(what, parameters, extra, is_declared=True)
    given = bind(context, signature, args, scope, place)
    filled = dict(given.args)
    for p, parameter in zip(flow.declaration.params or (), parameters, strict=True):
        if p.name not in filled:
            filled[p.name] = _default(context, p, parameter, flow.outer, place)
    return given._replace(args=filled)


def _parameter(context: Context, param: syntax.Param, outer: Scope) -> Parameter:
    where = rule(param, outer) or Label(outer.place(param.name_span), "declared here")
    return Parameter(
        param.name, parameter_type(context, param, outer), param.default is None, where
    )


def _default(
    context: Context, param: syntax.Param, parameter: Parameter, outer: Scope, call: Place
) -> Argument:
    """The argument that a call does not give: its default, or one that nobody knows."""
    if param.default is None or (parameter.type == ANY and param.type is not None):
        return Argument(Unknown(parameter.type), call)
    value = context.ruled(param.default, outer, parameter.type, parameter.rule)
    return Argument(value, outer.place(param.default.span))
