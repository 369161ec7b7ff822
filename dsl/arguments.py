"""Arguments to the parameters of what is called: by place or by name, each in its type."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from . import syntax
from .context import Context
from .declared_types import declared_type, of_value
from .fields import meant_by
from .lookup import astray
from .names import either, near
from .problem import Label
from .source import Place, Span
from .types import ANY, FLOW, Type, accepts
from .values import Argument, Scope, type_of


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


def parameter_type(context: Context, param: syntax.Param, scope: Scope) -> Type:
    """The declared type, else that of the default."""
    if param.type is None and param.default is not None:
        return of_value(context.raw(param.default, scope, ANY))
    return declared_type(context, param.type, scope)


class Given(NamedTuple):
    """Arguments by parameter, and those that `rest` takes.

    unsure: what is wrong with names: those that nothing takes, the parameters that one of them may stand for,
    those that are given twice, and those that are missing.
    is_strange: most of the arguments are for something else.
    """

    args: Mapping[str, Argument]
    rest: tuple[tuple[str, Argument], ...] = ()
    unsure: frozenset[str] = frozenset()
    is_strange: bool = False


@dataclass(frozen=True, slots=True)
class Signature:
    """What a callee takes: parameters by place or name, named by name alone, and what `rest` is of.

    is_declared: in the program, where a parameter may be misspelt for all calls.
    """

    what: str
    parameters: Sequence[Parameter]
    named: Sequence[Parameter] = ()
    rest: Type | None = None
    rest_named: bool = False
    is_declared: bool = False

    def places(self) -> Iterator[Parameter]:
        """The parameters of arguments without a name, in order."""
        return iter(self.parameters if self.rest is None or self.rest_named else ())


def bind(
    context: Context,
    signature: Signature,
    args: Sequence[syntax.Arg],
    scope: Scope | None,
    place: Place,
) -> Given:
    """Each argument converted to its parameter's type; scope is None where there are none. place: of the call."""
    binding = _Binding(context, signature, place)
    if scope is not None:
        joined = list(_rejoined(context, args, binding.by_name, scope))
        named = [_meant(context, arg, binding.by_name, scope) for arg in joined]
        binding.named = frozenset(arg.name for arg in named if arg.name is not None)
        free = signature.places()
        blamed = misplaced = False
        for arg in named:
            if arg.name is None and (misplaced or (blamed and isinstance(arg.value, syntax.Paren))):
                astray(context, arg.value, scope)  # `rounds, rounds`, and `claims = lease, (5m)`
                misplaced = False
                continue
            before = context.errors
            binding.add(arg, free, scope)
            blamed = context.errors > before
            misplaced = blamed and _is_name_of_one(arg, binding.by_name)
    return Given(binding.bound, tuple(binding.others), binding.judged(), binding.is_strange)


def _is_name_of_one(arg: syntax.Arg, known: Mapping[str, Parameter]) -> bool:
    """Whether it stands by place and is the name of a parameter: what comes next may be its value."""
    return arg.name is None and isinstance(arg.value, syntax.Name) and arg.value.name in known


def _rejoined(
    context: Context, args: Sequence[syntax.Arg], known: Mapping[str, Parameter], scope: Scope
) -> Iterator[syntax.Arg]:
    """The arguments; `by, grader` is told, and taken for `by = grader`, where `by` means nothing else."""
    waiting = list(reversed(args))
    while waiting:
        arg = waiting.pop()
        behind = waiting[-1] if waiting and waiting[-1].name is None else None
        name = arg.value if arg.name is None and isinstance(arg.value, syntax.Name) else None
        means_it = name is not None and name.name in known
        if behind is None or name is None or not means_it or context.find(name.name, scope):
            yield arg
            continue
        waiting.pop()
        between = Span(name.span.end, behind.value.span.start)
        _takes_with_equal(context, name, scope.place(between), "`,` ends an argument")
        yield replace(behind, name=name.name, name_span=name.span)


def _meant(
    context: Context, arg: syntax.Arg, known: Mapping[str, Parameter], scope: Scope
) -> syntax.Arg:
    """The argument; `by == grader`, `by -> grader` and `by of grader` are told, and taken for what they mean."""
    if arg.name is not None or (found := _joined(arg.value)) is None:
        return arg
    left, right, said = found
    if left.name not in known or not _is_astray(context, left, arg.value, scope):
        return arg
    _takes_with_equal(context, left, scope.place(Span(left.span.end, right.span.start)), said)
    return replace(arg, name=left.name, name_span=left.span, value=right)


def _takes_with_equal(context: Context, name: syntax.Name, place: Place, said: str) -> None:
    """T023, for the sign behind the name of an argument."""
    context.error(
        "T023",
        f"argument `{name.name}` takes its value with `=`",
        place,
        label=said,
        help=f"write `{name.name} = …`",
        instead=" = ",
    )


def _joined(expr: syntax.Expr) -> tuple[syntax.Name, syntax.Expr, str] | None:
    """A name, what stands behind it, and what the sign between them does."""
    match expr:
        case syntax.Binary("==", syntax.Name() as left, right):
            return left, right, "`==` compares"
        case syntax.Then(syntax.Name() as left, right):
            return left, right, "`->` is the next step"
        case syntax.Of(syntax.Name() as left, right):
            return left, right, "`of` wraps a flow"
        case _:
            return None


def _is_astray(context: Context, name: syntax.Name, expr: syntax.Expr, scope: Scope) -> bool:
    """Whether name can be no part of expr: nothing has it, or what has it is no flow."""
    found = context.find(name.name, scope)
    is_step = isinstance(expr, syntax.Then | syntax.Of)
    return found is None or (is_step and not accepts(FLOW, type_of(found.value)))


@dataclass(slots=True)
class _Binding:
    """A call while its arguments are looked at.

    named: those with a name, which is surer than a place. wrong: names that it does not take.
    surplus: where there are more than it takes. twice: those given again. first: where each was given first.
    """

    context: Context
    signature: Signature
    place: Place
    bound: dict[str, Argument] = field(default_factory=dict[str, Argument])
    others: list[tuple[str, Argument]] = field(default_factory=list[tuple[str, Argument]])
    wrong: dict[str, Place] = field(default_factory=dict[str, Place])
    surplus: list[Place] = field(default_factory=list[Place])
    named: frozenset[str] = frozenset()
    twice: set[str] = field(default_factory=set[str])
    first: dict[str, Place] = field(default_factory=dict[str, Place])
    by_name: Mapping[str, Parameter] = field(init=False)

    def __post_init__(self) -> None:
        every = (*self.signature.parameters, *self.signature.named)
        self.by_name = {p.name: p for p in every}

    def add(self, arg: syntax.Arg, free: Iterator[Parameter], scope: Scope) -> None:
        at = scope.place(arg.name_span or arg.value.span)
        parameter = next(free, None) if arg.name is None else self.by_name.get(arg.name)
        rest = self.signature.rest
        if parameter is not None and arg.name is None and parameter.name in self.named:
            self.first[parameter.name] = at
        elif parameter is not None:
            self._to(parameter, arg, at, scope)
        elif arg.name is not None and not self.signature.rest_named:
            self.wrong[arg.name] = at
        elif rest is None:
            self.surplus.append(at)
        else:
            value = self.context.value(arg.value, scope, rest)
            self.others.append((arg.name or "", Argument(value, scope.place(arg.span))))

    def _to(self, parameter: Parameter, arg: syntax.Arg, at: Place, scope: Scope) -> None:
        name = parameter.name
        if name in self.first:
            self.twice.add(name)
            first = Label(self.first[name], "first given here")
            said = f"`{name}` is given twice"
            help_ = "keep the one that is meant"
            self.context.error("E114", said, at, secondary=(first,), help=help_)
        self.first.setdefault(name, scope.place(arg.value.span))
        if name not in self.bound:
            value = self.context.ruled(arg.value, scope, parameter.type, parameter.rule)
            self.bound[name] = Argument(value, scope.place(arg.value.span))

    @property
    def is_strange(self) -> bool:
        """Whether most of its arguments are for something else: what is called is the wrong one."""
        unfit = len(self.wrong) + len(self.surplus)
        if not self.wrong or unfit < max(2, len(self.bound)):
            return False
        return not any(near(name, self.by_name) for name in self.wrong)

    def judged(self) -> frozenset[str]:
        """What is wrong with the names is reported, and what is missing; what a wrong name may stand for."""
        absent = [name for name in self.by_name if name not in self.bound]
        if self.is_strange:
            self._takes_none_of()
            return frozenset(absent)
        for place in self.surplus:
            self._takes_no_more(place)
        lacking = [p for p in self.signature.parameters if p.required and p.name in absent]
        swapped = len(lacking) == len(self.wrong) == 1  # one name is wrong and one lacks
        unsure: set[str] = set()
        for name, at in self.wrong.items():
            meant = [lacking[0].name] if swapped else near(name, self.by_name)
            unsure |= set(meant) if swapped else meant_by(name, self.by_name, absent)
            self._takes_none(name, at, meant)
        for parameter in lacking:
            if parameter.name not in unsure:
                self._needs(parameter)
        return frozenset({*unsure, *self.wrong, *self.twice, *(p.name for p in lacking)})

    def _takes_none_of(self) -> None:
        """E111, once for all names."""
        names = either([f"`{name}`" for name in self.wrong])
        first, *others = self.wrong.values()
        self.context.error(
            "E111",
            f"{self.signature.what} takes no {names}",
            first,
            secondary=tuple(Label(place, "and this") for place in others),
            help=_takes(self.by_name),
        )

    def _takes_no_more(self, place: Place) -> None:
        count = len(self.signature.parameters)
        most = f"{_arguments(count)} at most" if count else "no arguments"
        message = f"{self.signature.what} takes {most}"
        self.context.error("E113", message, place, help=_takes(self.by_name))

    def _takes_none(self, name: str, place: Place, meant: Sequence[str]) -> None:
        guesses = either([f"`{guess}`" for guess in meant])
        self.context.error(
            "E111",
            f"{self.signature.what} takes no `{name}`",
            place,
            help=f"did you mean {guesses}?" if guesses else _takes(self.by_name),
            instead="".join(meant[:1]),
            about=name if self.signature.is_declared else "",
        )

    def _needs(self, parameter: Parameter) -> None:
        self.context.error(
            "E112",
            f"{self.signature.what} needs `{parameter.name}`",
            self.place,
            help=f"add `{parameter.name} = …`",
            secondary=(parameter.rule,) if parameter.rule is not None else (),
        )


def _arguments(count: int) -> str:
    return {0: "no arguments", 1: "one argument"}.get(count, f"{count} arguments")


def _takes(by_name: Mapping[str, object]) -> str:
    return "it takes " + ", ".join(f"`{name}`" for name in by_name) if by_name else ""
