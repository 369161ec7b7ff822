"""What the parts of the evaluator need of each other; `evaluate.Evaluator` is the one that has it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from . import syntax
from .library import Library
from .model import Model
from .problem import Label, Severity
from .program import Flow
from .shapes import Shapes
from .source import Place, Source
from .types import Type
from .values import BAD, Argument, Module, Noun, Scope, Unknown, UserFlow, Value


class Found(NamedTuple):
    """What a name stands for; a tuple of its own, because `none` is a value."""

    value: Value


class Context(Protocol):
    """Mistakes are reported, never raised; a mistake's value is `BAD`, about which nothing more is said."""

    @property
    def reading(self) -> bool:
        """A run is being compiled: files are read, and of an `if` only the branch taken is looked at."""
        ...

    @property
    def errors(self) -> int:
        """How many were reported so far."""
        ...

    @property
    def full(self) -> bool:
        """So much was reported that nothing more is looked into."""
        ...

    @property
    def library(self) -> Library: ...

    @property
    def models(self) -> Mapping[str, Model]:
        """Those that stand in for the file's, by name."""
        ...

    @property
    def shapes(self) -> Shapes: ...

    def value(self, expr: syntax.Expr, scope: Scope, want: Type) -> Value:
        """What expr stands for, converted to want; BAD where it cannot be."""
        ...

    def ruled(self, expr: syntax.Expr, scope: Scope, want: Type, rule: Label | None) -> Value:
        """As value; a report that expr is no want shows the rule too, which says what is wanted."""
        ...

    def origin(self, thing: object, field: str) -> Place | None:
        """Where the noun that thing was built from gives the field; None for what was not built from one."""
        ...

    def price_text(self, served: str, url: str | None) -> str | None:
        """The listed price of such a model, as `prices.written` has it."""
        ...

    def raw(self, expr: syntax.Expr, scope: Scope, want: Type) -> Value:
        """What expr stands for, before it is converted."""
        ...

    def fit(self, value: Value, want: Type, place: Place) -> Value:
        """value as a want; BAD where it is none, which is reported at place."""
        ...

    def find(self, name: str, scope: Scope | None) -> Found | None:
        """What name stands for; None where nothing has it. scope None: the prelude's. Words are not names."""
        ...

    def choices(self, expr: syntax.Expr, scope: Scope) -> tuple[str, ...]:
        """The texts that a parameter of this name may be, where it declares them."""
        ...

    def declared(self, module: Module, declaration: syntax.Declaration) -> Value:
        """What declaration stands for; worked out once."""
        ...

    def built(self, noun: Noun) -> Value:
        """The Model, Role, Tasks … that noun describes; worked out once."""
        ...

    def expand(
        self,
        flow: UserFlow,
        args: Mapping[str, Value],
        place: Place,
        given: Mapping[str, Place] | None = None,
    ) -> Value:
        """The flow with its parameters filled in, each with a value; place is that of the call.

        given: where arguments stand, for what is wrong with one and shows only inside.
        """
        ...

    def call(self, callee: Value, place: Place) -> Value:
        """callee without arguments, in a place where a flow is wanted."""
        ...

    def model_name(self, noun: Noun) -> str:
        """The noun's name among all models of the run: its own, unless another has taken it."""
        ...

    def relabelled(self, flow: Flow, label: str) -> Flow:
        """flow under another label."""
        ...

    def text(self, path: str, place: Place) -> str | None:
        """The text of a file; None where it is not read, or could not be (which was reported)."""
        ...

    def tree(self, path: str, place: Place) -> Source | None:
        """The text that has the files at path, as `Library.tree` has it; None as of `text`."""
        ...

    def ask(self, kind: str, value: str, place: Place) -> None:
        """Remember that `kind:value` needs permission where the run uses it."""
        ...

    def error(
        self,
        code: str,
        message: str,
        place: Place,
        *,
        label: str = "",
        help: str = "",
        secondary: tuple[Label, ...] = (),
        notes: tuple[str, ...] = (),
        instead: str = "",
        about: str = "",
        severity: Severity = "error",
    ) -> None:
        """Report a mistake. instead: the one name that was probably meant by the name at place.

        about: a name that nothing has, or what a task lacks; of all uses in a file only the first is told.
        """
        ...


@dataclass(frozen=True, slots=True)
class Bound:
    """A call with its arguments, each in its place; inner: what follows `of`.

    inner_is_sure: nothing was wrong with it; else it may be meant for a list, which brings its own number.
    unsure: parameters that may have been given under a wrong name: nothing follows from their absence.
    """

    name: str
    args: Mapping[str, Argument]
    place: Place
    scope: Scope | None = None
    rest: tuple[tuple[str, Argument], ...] = ()
    inner: Argument | None = None
    inner_is_sure: bool = True
    unsure: frozenset[str] = frozenset()

    @property
    def wrapped(self) -> Value:
        """What follows `of`; unknown where nothing does."""
        return BAD if self.inner is None else self.inner.value

    @property
    def wrapped_at(self) -> Place:
        return self.place if self.inner is None else self.inner.place

    def given(self, name: str) -> bool:
        return name in self.args

    def lacks(self, name: str) -> bool:
        """Whether it was surely not given."""
        return name not in self.args and name not in self.unsure

    def value(self, name: str) -> Value:
        """The argument's value; None where it was not given."""
        if name in self.args:
            return self.args[name].value
        return None if self.lacks(name) else BAD

    def known(self, name: str) -> bool:
        """Given, and not a parameter without a value."""
        return name in self.args and not isinstance(self.args[name].value, Unknown)

    def at(self, name: str) -> Place:
        """Where the argument stands; the call itself where it was not given."""
        return self.args[name].place if name in self.args else self.place
