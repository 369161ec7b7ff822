"""What goes wrong in a test: the table of faults, and from `outage(30s)` to a `Fault`.

Their names are known only in `given`, so that a program may call anything else `slow` or `cut`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from . import syntax
from .arguments import Parameter, Signature, bind
from .context import Context
from .kinds import Spec
from .names import did_you_mean, near
from .reading import amount
from .source import Place
from .tried import Fault
from .types import CALLS, FAULT, SHARE, TIME, Type, either
from .values import BAD, Scope, Unknown, Value


@dataclass(frozen=True, slots=True)
class FaultSpec:
    """A fault by name, with its parameters in order."""

    name: str
    doc: str
    params: tuple[Spec, ...]


_AFTER = Spec("after", TIME, "When it begins", 0)
_WHICH = Spec(
    "which", either(SHARE, CALLS), "A share of the calls, by chance, or the first so many", 0.1
)

FAULTS: Mapping[str, FaultSpec] = {
    fault.name: fault
    for fault in (
        FaultSpec(
            "outage",
            "No endpoint can be reached for some time",
            (Spec("time", TIME, "For how long", required=True), _AFTER),
        ),
        FaultSpec(
            "busy",
            "The endpoints ask to come back later (429) for some time",
            (Spec("time", TIME, "For how long", required=True), _AFTER),
        ),
        FaultSpec(
            "slow",
            "Every reply begins so much later",
            (Spec("time", TIME, "How much later", required=True), _AFTER),
        ),
        FaultSpec("refused", "A call is refused in a way that no resend mends (400)", (_WHICH,)),
        FaultSpec("cut", "The connection ends in the middle of a reply", (_WHICH,)),
        FaultSpec("silent", "A call is accepted, and then nothing comes", (_WHICH,)),
        FaultSpec("truncated", "A reply ends at its cap, unfinished", (_WHICH,)),
        FaultSpec("empty", "A reply has no text", (_WHICH,)),
        FaultSpec("bad_json", "A reply is not the JSON that was asked for", (_WHICH,)),
        FaultSpec("verifier_error", "The verifier fails", (_WHICH,)),
        FaultSpec(
            "crash",
            "The process is killed, and the run resumed",
            (Spec("after", CALLS, "Behind how many answered calls", required=True),),
        ),
        FaultSpec(
            "full_disk",
            "The store cannot be written for some time",
            (Spec("time", TIME, "For how long", required=True), _AFTER),
        ),
    )
}


def fault(context: Context, expr: syntax.Expr, scope: Scope, want: Type) -> Value | None:
    """The fault that expr names; None where it has no form of one, and is a value to be looked up."""
    match expr:
        case syntax.Call(function=syntax.Name() as name, args=args):
            return _named(context, name, args, scope, scope.place(expr.span))
        case syntax.Name(name=name) if name not in scope.locals:
            return _named(context, expr, (), scope, scope.place(expr.span))
        case syntax.ListExpr() if want == FAULT:
            context.error("E120", "a fault is wanted here, not a list", scope.place(expr.span))
            return BAD
        case _:
            return None


def _named(
    context: Context,
    name: syntax.Name,
    args: tuple[syntax.Arg, ...],
    scope: Scope,
    place: Place,
) -> Value:
    spec = FAULTS.get(name.name)
    if spec is None:
        context.error(
            "E105",
            f"there is no fault `{name.name}`",
            scope.place(name.span),
            help=did_you_mean(name.name, FAULTS)
            or "faults are " + ", ".join(f"`{known}`" for known in FAULTS),
            instead="".join(near(name.name, FAULTS, 1)),
        )
        return BAD
    parameters = [Parameter(s.name, s.type, s.required) for s in spec.params]
    bound = bind(context, Signature(f"`{spec.name}`", parameters), args, scope, place).args
    if any(isinstance(arg.value, Unknown) for arg in bound.values()) or not _complete(spec, bound):
        return BAD
    given = {s.name: bound[s.name].value if s.name in bound else None for s in spec.params}
    return Fault(spec.name, {s.name: _amount(s, given[s.name]) for s in spec.params}, place)


def _complete(spec: FaultSpec, bound: Mapping[str, object]) -> bool:
    return all(s.name in bound for s in spec.params if s.required)


def _amount(spec: Spec, value: Value) -> int | float:
    """The argument, or the default; a number of calls is whole, a share a fraction, a time in seconds."""
    number = amount(value)
    if number is not None:
        return number
    return spec.default if isinstance(spec.default, int | float) else 0
