"""The one evaluator: from expressions to typed values, with parameters known or unknown.

Checking evaluates every declaration with unknown parameters, compiling evaluates one run with known
ones, so types and elaboration cannot drift apart. Depth and work are bounded: chains are walked, what
nests is counted, and a program that would expand without measure is a mistake like any other.
It is one class of some length, because all of it shares what is being worked out; what has no need of that
is in the modules it calls.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from . import (
    arguments,
    arithmetic,
    calling,
    expressions,
    faults,
    flows,
    lookup,
    nouns,
    prompts,
    syntax,
    tasks,
)
from .arithmetic import COMPARE
from .blame import as_one, at_argument, at_call, called, ruled, wrong_callee
from .calls import FORMS, Form
from .conditions import condition
from .context import Found
from .convert import fit
from .declared_types import declared_type, of_value
from .fields import Got, declared_noun, got, is_readable, missing, noun_fields
from .forms import has_form
from .kinds import KINDS
from .library import Library, LibraryError, resolve, tree_name
from .model import Endpoint, Model
from .problem import MOST_REPORTS, Edit, Label, Problem, Severity
from .program import Flow, Limited, Verifier
from .reading import show
from .scope import Files
from .shapes import Shapes, stand_in
from .source import Place, Source
from .types import (
    ANY,
    BOOL,
    CONDITION,
    ENDPOINT,
    FAULT,
    FLOW,
    PROMPT,
    VERIFIER,
    ListOf,
    Plain,
    Type,
    accepts,
    describe,
    options,
    words,
)
from .values import (
    BAD,
    Imported,
    Module,
    ModuleName,
    Noun,
    Quantity,
    RowSet,
    Scope,
    Tasks,
    Unknown,
    UserFlow,
    Value,
    Word,
    is_flow,
)

# A level costs up to five frames of the interpreter's usual 1,000; what costs more counts as more levels.
MOST_DEEP = 110
MOST_STEPS = 50_000  # about a second; the rows of a file are not counted
ENOUGH = 5 * MOST_REPORTS  # errors; several may be told of one place, and only the first is kept


@dataclass(frozen=True, slots=True)
class Ask:
    """`kind:value` (env, file, python, host) that a run needs permission for."""

    kind: str
    value: str
    place: Place


@dataclass(eq=False)
class Evaluator:
    """The one `Context`. params: those of main, as they were set."""

    files: Files
    reading: bool = False
    main: Module | None = None
    params: Mapping[str, Value] = field(default_factory=dict[str, Value])
    models: Mapping[str, Model] = field(default_factory=dict[str, Model])
    shapes: Shapes = field(default_factory=Shapes)
    problems: list[Problem] = field(default_factory=list[Problem])
    asked: list[Ask] = field(default_factory=list[Ask])
    texts: dict[str, Source] = field(default_factory=dict[str, Source])
    permits: Callable[[Ask], bool] | None = None
    _declared: dict[int, Value] = field(default_factory=dict[int, Value])
    _built: dict[int, tuple[Noun, Value]] = field(default_factory=dict[int, tuple[Noun, Value]])
    _names: dict[str, Noun] = field(default_factory=dict[str, Noun])
    _working: list[syntax.Declaration] = field(default_factory=list[syntax.Declaration])
    _flows: dict[tuple[object, ...], tuple[Mapping[str, Value], Value]] = field(
        default_factory=dict[tuple[object, ...], tuple[Mapping[str, Value], Value]]
    )
    _depth: int = 0
    _steps: int = 0
    _errors: int = 0

    @property
    def errors(self) -> int:
        return self._errors

    @property
    def full(self) -> bool:
        return self._errors > ENOUGH

    @property
    def library(self) -> Library:
        return self.files.library

    # --- expressions -----------------------------------------------------------------------------

    def value(self, expr: syntax.Expr, scope: Scope, want: Type) -> Value:
        if CONDITION in options(want) and self._depth < MOST_DEEP:
            self._depth += 1
            try:
                found = condition(self, expr, scope)
            finally:
                self._depth -= 1
            if found is not None:
                return found
        if FAULT in options(want) and (found := faults.fault(self, expr, scope, want)) is not None:
            return found
        before = self._errors
        value = self.raw(expr, scope, want)
        if self._errors == before:
            return fit(self, value, want, scope.place(expr.span))
        # Something in it is wrong: that what it gives does not fit is no news.
        found = len(self.problems)
        value = fit(self, value, want, scope.place(expr.span))
        del self.problems[found:]
        return value

    def ruled(self, expr: syntax.Expr, scope: Scope, want: Type, rule: Label | None) -> Value:
        before = len(self.problems)
        value = self.value(expr, scope, want)
        if rule is not None:
            self.problems[before:] = ruled(self.problems[before:], scope.place(expr.span), rule)
        return value

    def origin(self, thing: object, field: str) -> Place | None:
        for noun, made in self._built.values():
            if made is thing:
                written, scope = noun.fields.get(field, (None, None))
                return scope.place(written.name_span) if written and scope else noun.place
        return None

    def fit(self, value: Value, want: Type, place: Place) -> Value:
        return fit(self, value, want, place)

    def raw(self, expr: syntax.Expr, scope: Scope, want: Type) -> Value:
        self._steps += 1
        if self.full:
            return BAD
        if self._depth >= MOST_DEEP or self._steps > MOST_STEPS:
            self._too_much(scope.place(expr.span))
            return BAD
        while isinstance(expr, syntax.Paren):
            expr = expr.inner
        self._depth += 1
        try:
            return self._raw(expr, scope, want)
        finally:
            self._depth -= 1

    def _too_much(self, place: Place) -> None:
        code = "E405" if self._steps > MOST_STEPS else "E404"
        if any(p.code == code for p in self.problems):
            return
        if code == "E405":
            self.error(
                code,
                "the program expands to too many parts",
                place,
                help="count copies with `parallel(n) of …` instead of listing them",
            )
        else:
            self.error(
                code,
                f"this is nested more than {MOST_DEEP} deep",
                place,
                help="name the inner part: `flow inner = …`",
            )

    def _raw(self, expr: syntax.Expr, scope: Scope, want: Type) -> Value:
        match expr:
            case syntax.Name():
                return lookup.name(self, expr, scope, want)
            case syntax.Attribute():
                return lookup.attribute(self, expr, scope)
            case syntax.Call():
                before = len(self.problems)
                value = calling.call(self, expr, scope)
                self.problems[before:] = wrong_callee(self.problems[before:], expr, scope)
                return value
            case syntax.Then() | syntax.Of() if not _takes_flows(want):
                return stand_in("flow", scope.place(expr.span))  # which `fit` refuses
            case syntax.Of():
                return calling.wrap(self, expr, scope)
            case syntax.Then():
                before, steps = len(self.problems), flows.written_steps(expr)
                value = flows.chain(self, expr, scope)
                self.problems[before:] = as_one(self.problems[before:], steps, scope)
                return value
            case syntax.With():
                return self._with(expr, scope)
            case syntax.IfExpr():
                return expressions.choice(self, expr, scope, want)
            case syntax.Binary() if expr.operator in COMPARE and not _takes_truth(want):
                message = f"{describe(want)} is wanted here, not a comparison"
                self.error("E120", message, scope.place(expr.span))
                return BAD
            case syntax.Binary():
                return arithmetic.binary(self, expr, scope)
            case syntax.Unary():
                return arithmetic.unary(self, expr, scope)
            case syntax.Rate():
                return arithmetic.rate(self, expr, scope)
            case syntax.ListExpr():
                before = len(self.problems)
                value = expressions.listed(self, expr, scope, want)
                self.problems[before:] = as_one(self.problems[before:], expr.items, scope)
                return value
            case syntax.Record():
                return expressions.record(self, expr, scope, want)
            case syntax.Prompt():
                if PROMPT in options(want):
                    return prompts.template(self, expr, scope)
                return prompts.constant(self, expr, scope)
            case syntax.String() if PROMPT in options(want):
                return prompts.plain(self, expr, scope)
            case _:
                return expressions.literal(expr)

    # --- `with` ----------------------------------------------------------------------------------

    def _with(self, expr: syntax.With, scope: Scope) -> Value:
        before = self._errors
        value = self.raw(expr.value, scope, ANY)
        match value:
            case Noun():
                return self._amended(value, expr, scope)
            case RowSet():
                return self._rows(value, expr, scope)
            case Unknown():
                return BAD
            case _ if self._errors > before:
                return BAD
            case _:
                self.error(
                    "E116",
                    f"`with` amends a declared role, model, task or run, not {show(value)}",
                    scope.place(expr.value.span),
                    help="give a flow its arguments in a call: `squad(5, lead = fast)`",
                )
                return BAD

    def _amended(self, noun: Noun, expr: syntax.With, scope: Scope) -> Noun:
        fields, unsure = noun_fields(self, noun.kind, expr.record, scope)
        return replace(
            noun,
            fields={**noun.fields, **fields},
            place=scope.place(expr.value.span),
            unsure=(noun.unsure | unsure) - fields.keys(),
        )

    def _rows(self, rows: RowSet, expr: syntax.With, scope: Scope) -> Value:
        fields, unsure = noun_fields(self, "task", expr.record, scope)
        noun = Noun("task", "rows", {}, rows.place, unsure)
        written = replace(noun, fields=fields)
        missing(self, written, expr.record, KINDS["task"].fields)

        def amended(row: Value) -> Value:
            inner, steps = tasks.row_scope(scope, row), self._steps
            with_row = {name: (f, inner) for name, (f, _) in fields.items()}
            made = self._build(replace(noun, fields=with_row))
            self._steps = steps
            return made

        return tasks.each_row(rows, amended, self.problems)

    # --- names and declarations ------------------------------------------------------------------

    def find(self, name: str, scope: Scope | None) -> Found | None:
        if scope is not None:
            if name in scope.locals:
                return Found(scope.locals[name])
            module = scope.module
            if name in module.declared:
                return Found(self.declared(module, module.declared[name]))
            if name in module.imported:
                return Found(self._imported(module.imported[name]))
        prelude = self.files.prelude
        if name in prelude.declared:
            return Found(self.declared(prelude, prelude.declared[name]))
        return Found(FORMS[name]) if name in FORMS else None

    def choices(self, expr: syntax.Expr, scope: Scope) -> tuple[str, ...]:
        name = expr.name if isinstance(expr, syntax.Name) else ""
        declaration, outer = scope.module.declared.get(name), replace(scope, locals={})
        if name in scope.locals:
            params = (self._working[-1].params or ()) if self._working else ()
            kinds = [arguments.parameter_type(self, p, outer) for p in params if p.name == name]
        elif declaration is not None and declaration.kind == "param":
            kinds = [self.param_type(declaration, outer)]
        else:
            kinds = list[Type]()
        return tuple(word for kind in kinds for word in words(kind))

    def _imported(self, item: Imported) -> Value:
        if item.name is None:
            return ModuleName(item.module)
        scope = Scope(item.module, item.module.source, {})
        found = self.find(item.name, scope) if item.name in item.module.declared else None
        return BAD if found is None else found.value

    def declared(self, module: Module, declaration: syntax.Declaration) -> Value:
        key = id(declaration)
        if key in self._declared:
            return self._declared[key]
        scope = Scope(module, module.source, {})
        if self._recurses(declaration, scope.place(declaration.name_span)):
            return BAD
        self._working.append(declaration)
        self._depth += 1
        try:
            value = self._declaration(declaration, scope)
        finally:
            self._depth -= 1
            self._working.pop()
        self._declared[key] = value
        return value

    def _recurses(self, declaration: syntax.Declaration, place: Place) -> bool:
        if not any(d is declaration for d in self._working):
            return False
        path = lookup.flow_path(self._working, declaration)
        self.error(
            "E402",
            f"`{declaration.name}` uses itself: {path}",
            place,
            help="say how often with `repeat(n) of …`" if declaration.kind == "flow" else "",
        )
        return True

    def _declaration(self, declaration: syntax.Declaration, scope: Scope) -> Value:
        if not has_form(declaration):
            return BAD
        kind, place = KINDS[declaration.kind], scope.place(declaration.name_span)
        if declaration.kind == "param":
            return self._param(declaration, scope)
        expr = declaration.value
        if expr is None:
            return BAD
        if declaration.kind == "flow":
            return UserFlow(declaration, scope)
        if isinstance(expr, syntax.Record):
            return declared_noun(self, declaration, expr, scope)
        return self._named(self._noun_value(expr, scope, kind.name), declaration, place)

    def _noun_value(self, expr: syntax.Expr, scope: Scope, kind: str) -> Value:
        if kind == "verifier":
            return self.value(expr, scope, VERIFIER)
        value = self.raw(expr, scope, Plain(kind))
        if isinstance(value, Noun) and value.kind == kind:
            return value
        if kind == "model" and isinstance(value, Endpoint):
            field = syntax.Field("endpoint", expr.span, None, expr, expr.span)
            return Noun(kind, "model", {"endpoint": (field, scope)}, scope.place(expr.span))
        uncalled = kind == "model" and isinstance(value, Form) and value.gives == ENDPOINT
        return fit(self, value, ENDPOINT if uncalled else Plain(kind), scope.place(expr.span))

    def _named(self, value: Value, declaration: syntax.Declaration, place: Place) -> Value:
        match value:
            case Noun() | Verifier():
                return replace(value, name=declaration.name)
            case Tasks():
                return tasks.named(value, declaration.name)
            case _:
                return value

    def _param(self, declaration: syntax.Declaration, scope: Scope) -> Value:
        if scope.module is self.main and declaration.name in self.params:
            return self.params[declaration.name]
        kind = self.param_type(declaration, scope)
        if declaration.value is None:
            return Unknown(kind)
        return self.ruled(declaration.value, scope, kind, arguments.rule(declaration, scope))

    def param_type(self, declaration: syntax.Declaration, scope: Scope) -> Type:
        """The type of a `param`: as declared, else that of its default."""
        if declaration.type is None and declaration.value is not None:
            return of_value(self.raw(declaration.value, scope, ANY))
        return declared_type(self, declaration.type, scope)

    def built(self, noun: Noun) -> Value:
        if id(noun) not in self._built:
            # What stands in it may need it: a team that is no prompt has agents of this role.
            self._built[id(noun)] = (noun, BAD)
            self._built[id(noun)] = (noun, self._build(noun))
        return self._built[id(noun)][1]

    def _build(self, noun: Noun) -> Value:
        made = self._of_kind(noun, got(self, noun))
        return BAD if self.files.problems and not is_readable(noun) else made

    def _of_kind(self, noun: Noun, fields: Got) -> Value:
        match noun.kind:
            case "model":
                return nouns.build_model(self, noun, fields)
            case "role":
                return nouns.build_role(self, noun, fields)
            case "task":
                return tasks.build(self, noun, fields)
            case _:
                return noun

    def model_name(self, noun: Noun) -> str:
        name, number = noun.name, 1
        while name in self._names and self._names[name] is not noun:
            number += 1
            name = f"{noun.name}_{number}"
        self._names[name] = noun
        return name

    def model(self, name: str) -> Model | None:
        """The model that goes by name in this run; None where it has not been asked for."""
        found = self.built(self._names[name]) if name in self._names else None
        return found if isinstance(found, Model) else None

    # --- flows -----------------------------------------------------------------------------------

    def call(self, callee: Value, place: Place) -> Value:
        return calling.bare(self, callee, place)

    def expand(
        self,
        flow: UserFlow,
        args: Mapping[str, Value],
        place: Place,
        given: Mapping[str, Place] | None = None,
    ) -> Value:
        declaration = flow.declaration
        key = (id(declaration), *((name, _identity(v)) for name, v in args.items()))
        if key in self._flows:
            return self._flows[key][1]
        if declaration.value is None or self._recurses(declaration, place):
            return stand_in(declaration.name, place)
        before = len(self.problems)
        self._working.append(declaration)
        self._depth += 2
        try:
            scope = Scope(flow.outer.module, flow.outer.source, args)
            value = self.value(declaration.value, scope, FLOW)
        finally:
            self._depth -= 2
            self._working.pop()
        found = [at_argument(p, given or {}) for p in self.problems[before:]]
        found = [at_call(p, place) for p in found]
        if place != Place(flow.outer.source, declaration.name_span):  # where no call is looked at
            found = [called(p, place) for p in found]
        self.problems[before:] = found
        made = self.relabelled(value, declaration.name) if is_flow(value) else value
        self._flows[key] = (args, made)
        return made

    def relabelled(self, flow: Flow, label: str) -> Flow:
        if isinstance(flow, Limited):
            return replace(flow, label=label, flow=self.relabelled(flow.flow, label))
        return replace(flow, label=label)

    # --- the world and the reports ---------------------------------------------------------------

    def ask(self, kind: str, value: str, place: Place) -> None:
        self.asked.append(Ask(kind, value, place))

    def text(self, path: str, place: Place) -> str | None:
        importer = place.source.name
        read = partial(self.library.text, path, importer=importer)
        found = self._read(resolve(path, importer), path, place, read)
        return None if found is None else found.text

    def tree(self, path: str, place: Place) -> Source | None:
        importer = place.source.name
        read = partial(self.library.tree, path, importer=importer)
        return self._read(tree_name(path, importer), path, place, read)

    def _read(self, name: str, path: str, place: Place, read: Callable[[], str]) -> Source | None:
        """What the run reads at path, once, and keeps under name."""
        if not self.reading:
            return None
        if name in self.texts:
            return self.texts[name]
        if self.permits is not None and not self.permits(Ask("file", path, place)):
            return None
        try:
            self.texts[name] = Source(name, read())
        except LibraryError as error:
            self.error(error.code, str(error), place)
            return None
        return self.texts[name]

    def price_text(self, served: str, url: str | None) -> str | None:
        found = self.library.price(served, url)
        if found is None:
            return None
        self.texts[found[0]] = Source(*found)
        return found[1]

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
        self._errors += severity == "error"
        edits = (Edit(place.span, instead),) if instead else ()
        self.problems.append(
            Problem(
                code,
                message,
                place,
                label=label,
                severity=severity,
                help=help,
                secondary=secondary,
                notes=notes,
                edits=edits,
                about=about,
            )
        )


def _identity(value: Value) -> object:
    """Equal for values that expand a flow to the same: constants by value, the rest by identity."""
    if isinstance(value, str | int | float | bool | None | Word | Quantity):
        return (type(value).__name__, value)
    return id(value)


def _takes_flows(want: Type) -> bool:
    return any(accepts(k, FLOW) or (isinstance(k, ListOf) and k.counted) for k in options(want))


def _takes_truth(want: Type) -> bool:
    """Whether a comparison may stand where a want does, or what is wanted would say better what is wrong."""
    kinds = tuple(options(want))
    return any(accepts(k, BOOL) or k in (CONDITION, FLOW) for k in kinds) or bool(words(want))
