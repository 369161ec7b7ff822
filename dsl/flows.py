"""The kernel forms: from bound arguments to nodes of the flow, each with the checks that are its own."""

from collections.abc import Callable, Mapping

from . import syntax
from .conditions import only
from .context import Bound, Context
from .convert import flow_of
from .kinds import CONDITION_NAMES
from .lookup import astray
from .names import did_you_mean, near
from .problem import Label
from .program import (
    Agent,
    Branch,
    Condition,
    Fallback,
    Flow,
    ForEach,
    Limited,
    Parallel,
    Reduce,
    Repeat,
    Role,
    Route,
    Same,
    Team,
    Then,
    Verifier,
)
from .reading import as_int, as_word, items
from .shapes import SOME_OUTPUT, Shape, after, gives, is_unwrapped, role_shape, stand_in, takes
from .source import Place
from .teams import team
from .types import FLOW
from .values import BAD, Counted, Fields, Items, Policy, Scope, Value, is_condition

# --- chains --------------------------------------------------------------------------------------


def chain(context: Context, expr: syntax.Then, scope: Scope) -> Value:
    """`a -> b -> c` as one node; BAD where something is wrong with each of its steps."""
    steps: list[Flow] = []
    meets, blamed, wrong = True, False, 0
    for step_expr in written_steps(expr):
        place, before = scope.place(step_expr.span), context.errors
        if blamed and _may_belong(step_expr):
            astray(context, step_expr, scope)  # `parallel -> [a, b]` is told already
            step = stand_in("list", place)
        else:
            step = flow_of(context.value(step_expr, scope, FLOW), place)
        blamed = context.errors > before
        wrong += blamed
        if blamed and not is_unwrapped(step):
            step = stand_in(step.label, place)
        if steps and is_unwrapped(steps[-1]):
            step = step if is_unwrapped(step) else stand_in(step.label, place)
        elif not _meets(context, steps, step, place):
            meets = False
            step = stand_in(step.label, place)
        steps.append(step)
    whole = scope.place(expr.span)
    if wrong == len(steps):
        return BAD
    # Any of its steps may be the wrong one, so nothing is sure of what the chain takes and gives.
    return Then("then", whole, tuple(steps)) if meets else stand_in("then", whole)


def written_steps(chain: syntax.Then) -> list[syntax.Expr]:
    """Its steps in order; the left spine is walked, not recursed into."""
    exprs: list[syntax.Expr] = []
    first: syntax.Expr = chain
    while isinstance(first, syntax.Then):
        exprs.append(first.second)
        first = first.first
    return [first, *reversed(exprs)]


def _may_belong(expr: syntax.Expr) -> bool:
    """Whether expr may be a part of a step before it that is wrong: a list, or arguments in parentheses."""
    wrapped = expr.wrapper if isinstance(expr, syntax.Of) else expr
    return isinstance(wrapped, syntax.Paren | syntax.ListExpr)


def _meets(context: Context, before: list[Flow], step: Flow, place: Place) -> bool:
    """Whether step takes what the steps before it give; else E202 or E204."""
    shape = context.shapes.of(step)
    known = context.shapes.chain(before)
    if not before or not known or any(after(kind, shape) for kind in known.values()):
        return True
    if isinstance(step, Reduce):
        context.error(
            "E204",
            f"`{step.how}` chooses among several attempts; the step before gives {gives(known)}",
            place,
            help=f"delete `-> {step.label}`, or make several: `parallel(3) of …`",
            secondary=(Label(before[-1].place, f"gives {gives(known)}"),),
        )
        return False
    context.error(
        "E202",
        f"`{step.label}` wants {takes(shape)}; the step before gives {gives(known)}",
        place,
        help=_bridge(shape, known),
        secondary=(Label(before[-1].place, f"gives {gives(known)}"),),
    )
    return False


def _bridge(shape: Shape, before: Shape) -> str:
    if "many" in before.values() and "attempt" not in shape and "many" not in shape:
        return "begin with it, or use `fallback of [a, b]` to try one after the other"
    if "task" in shape:
        return "its prompt mentions only the task: mention `attempt`, or use `fallback of [a, b]`"
    return "make several attempts before it: `parallel(3) of …`"


# --- wrappers ------------------------------------------------------------------------------------


def _parallel(context: Context, bound: Bound) -> Value:
    branches = _branches(context, bound)
    if not branches:
        return stand_in("parallel", bound.place)
    stop = bound.value("stop")
    passes = 1 if as_word(stop, "none") == "first_pass" else None
    if isinstance(stop, Policy):
        passes = int(stop.amount)
    flow = Parallel(
        "parallel",
        bound.place,
        branches,
        passes,
        as_int(bound.value("need")),
        as_int(bound.value("inflight")) if bound.known("inflight") else None,
        "even" if as_word(bound.value("split"), "pooled") == "even" else "pooled",
        _migrate(context, bound, branches),
    )
    _needs(context, bound, flow)
    return _shaped(context, bound, flow, "its branches take different things")


def _migrate(context: Context, bound: Bound, branches: tuple[Branch, ...]) -> int | None:
    """Every how many rounds teams read from each other; only teams have rounds to do so."""
    value = bound.value("migrate")
    if not isinstance(value, Policy):
        return None
    for branch in branches:
        inner = branch.flow
        while isinstance(inner, Limited):
            inner = inner.flow
        if not isinstance(inner, Team) and not _is_stand_in(inner):
            context.error(
                "E212",
                f"`migrate` is between teams, and `{inner.label}` is none",
                inner.place,
                help="write a team behind `of`, and what follows it behind the whole: "
                "`parallel(3, migrate = every(2)) of team(4) -> best`",
                secondary=(Label(bound.at("migrate"), "asked for here"),),
            )
    return int(value.amount)


def _is_stand_in(flow: Flow) -> bool:
    return isinstance(flow, Agent) and "?" in flow.role.takes


def _branches(context: Context, bound: Bound) -> tuple[Branch, ...]:
    """What runs side by side; empty after E112, as a list may have been meant."""
    listed, place = bound.wrapped, bound.wrapped_at
    if not isinstance(listed, Items):
        if bound.lacks("n") and bound.inner_is_sure:
            context.error(
                "E112",
                "`parallel` needs to know how many",
                bound.place,
                help="write `parallel(3) of …`, or give a list: `parallel of [a, b]`",
            )
            return ()
        return (Branch(as_int(bound.value("n")), flow_of(bound.wrapped, bound.wrapped_at)),)
    branches = tuple(_counted(item, place) for item in listed.items)
    if not branches:
        context.error("E112", "an empty list runs nothing", place)
    total = sum(branch.count for branch in branches)
    exact = all(not isinstance(i, Counted) or i.count is not None for i in listed.items)
    if bound.known("n") and bound.inner_is_sure and exact and as_int(bound.value("n")) != total:
        context.error(
            "E210",
            f"the list describes {total} branches, not {as_int(bound.value('n'))}",
            bound.at("n"),
            help="leave the number out: a list brings its own counts",
        )
    return branches


def _counted(item: Value, place: Place) -> Branch:
    if isinstance(item, Counted):
        return Branch(1 if item.count is None else item.count, flow_of(item.value, place))
    return Branch(1, flow_of(item, place))


def _needs(context: Context, bound: Bound, flow: Parallel) -> None:
    width = sum(branch.count for branch in flow.branches)
    sure = bound.inner_is_sure and (bound.known("n") or isinstance(bound.wrapped, Items))
    for name, count in (("need", flow.need), ("stop", flow.passes or 0)):
        if sure and bound.known(name) and count > width:
            context.error(
                "E210",
                f"`{name}` asks for {count}, and there are {width} branches",
                bound.at(name),
            )


def _fallback(context: Context, bound: Bound) -> Value:
    place = bound.wrapped_at
    options = tuple(flow_of(item, place) for item in items(bound.wrapped))
    if not options:
        context.error("E112", "an empty list runs nothing", place)
        return stand_in("fallback", place)
    flow = Fallback("fallback", bound.place, options, _rule(context, bound, "accept"))
    return _shaped(context, bound, flow, "its options do not take and give the same")


def _repeat(context: Context, bound: Bound) -> Value:
    if bound.lacks("max") and bound.inner_is_sure:
        context.error(
            "E401",
            "this loop has no bound",
            bound.place,
            help="say how many rounds at most: `repeat(3, until = …)`",
        )
    flow = Repeat(
        "repeat",
        bound.place,
        as_int(bound.value("max")),
        flow_of(bound.wrapped, bound.wrapped_at),
        _rule(context, bound, "until"),
    )
    shape = context.shapes.of(flow.flow)
    return _shaped(
        context,
        bound,
        flow,
        f"what it repeats takes {takes(shape)} and gives {gives(shape)}",
        "each round works on what the last one gave: end it with `-> best`, or mention `attempt`",
    )


def _rule(context: Context, bound: Bound, name: str) -> Condition | None:
    rule = bound.value(name)
    if not is_condition(rule):
        return None
    allowed = (*CONDITION_NAMES, "plateau") if name == "until" else CONDITION_NAMES
    only(context, rule, allowed, f"`{name}` of `{bound.name}`", bound.at(name))
    return rule


def _shaped(context: Context, bound: Bound, flow: Flow, why: str, help_: str = "") -> Flow:
    """flow, or a stand-in after E202 where nothing could go into it."""
    if context.shapes.of(flow):
        return flow
    if bound.inner_is_sure:
        context.error("E202", f"nothing suits `{flow.label}`: {why}", flow.place, help=help_)
    return stand_in(flow.label, flow.place)


# --- roles that decide ---------------------------------------------------------------------------


def _route(context: Context, bound: Bound) -> Value:
    inner = bound.wrapped
    by = bound.value("by")
    if not isinstance(inner, Fields) or not isinstance(by, Role):
        return stand_in("route", bound.place)
    cases = {k: flow_of(v, inner.places[k]) for k, v in inner.values.items()}
    _covered(context, bound, by, inner)
    flow = Route("route", bound.place, by, tuple(cases.items()))
    return _shaped(context, bound, flow, "its cases and its role do not take and give the same")


def _covered(context: Context, bound: Bound, by: Role, inner: Fields) -> None:
    """E205 for each key that the role cannot answer, and each answer without a case."""
    if by.output == SOME_OUTPUT:
        return
    output = context.origin(by, "output")
    label = () if output is None else (Label(output, f"what `{by.name}` answers"),)
    answers = _answers(by)
    if answers is None:
        choices = " | ".join(f'"{key}"' for key in inner.values)
        context.error(
            "E205",
            f"`{by.name}` does not say which answers it may give",
            bound.at("by"),
            help=f"give it `output = {{ case: {choices} }}`",
            secondary=label,
        )
        return
    wrong = [key for key in inner.values if key not in answers]
    for key in wrong:
        said = f"`{by.name}` never answers `{key}`"
        help_ = did_you_mean(key, answers) or "it answers " + ", ".join(answers)
        context.error("E205", said, inner.places[key], help=help_, secondary=label)
    for answer in answers:
        meant = any(near(key, answers, 1) == [answer] for key in wrong)
        if answer not in inner.values and not meant:
            said = f"`{by.name}` may answer `{answer}`, and there is no such case"
            help_ = f"add `{answer} = …`"
            context.error("E205", said, bound.wrapped_at, help=help_, secondary=label)


def _answers(by: Role) -> tuple[str, ...] | None:
    """What a role may answer; None where its output has no choice."""
    return next(
        (f.type for f in by.output or () if isinstance(f.type, tuple) and not f.is_list), None
    )


def _for_each(context: Context, bound: Bound) -> Value:
    by = bound.value("by")
    if not isinstance(by, Role):
        return stand_in("for_each", bound.place)
    if role_shape(by) != {"task": "attempt"}:
        context.error("E202", f"`{by.name}` cannot split a task: it wants attempts", bound.at("by"))
    if not any(f.is_list for f in by.output or ()):
        context.error(
            "E205",
            f"`{by.name}` answers no list of parts",
            bound.at("by"),
            help="give it `output = { parts: [text] }`",
        )
    flow = ForEach(
        "for_each",
        bound.place,
        by,
        as_int(bound.value("max")),
        flow_of(bound.wrapped, bound.wrapped_at),
    )
    return _shaped(context, bound, flow, "each part is a task, and what it runs takes none")


# --- reducers ------------------------------------------------------------------------------------


def _same(context: Context, bound: Bound) -> Value:
    return Same("same", bound.place)


def _reduce(context: Context, bound: Bound) -> Value:
    by = bound.value("by")
    by = by if isinstance(by, Verifier) else None
    k = as_int(bound.value("k"))
    match bound.name:
        case "best" | "top" | "vote" | "sample" | "score":
            return Reduce(bound.name, bound.place, bound.name, k, by)
        case _:
            return BAD


BUILDERS: Mapping[str, Callable[[Context, Bound], Value]] = {
    "team": team,
    "parallel": _parallel,
    "fallback": _fallback,
    "route": _route,
    "for_each": _for_each,
    "repeat": _repeat,
    "same": _same,
    "best": _reduce,
    "top": _reduce,
    "vote": _reduce,
    "sample": _reduce,
    "score": _reduce,
}
