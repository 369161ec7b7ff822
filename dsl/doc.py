"""What a file offers, as data: its reference page before it is laid out. `doc_page` lays it out.

Texts are as they are written in the file; nothing here is escaped. What a flow may cost is counted with the
defaults of its parameters and one agent for what it wraps, where both are known.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from . import syntax
from .arguments import parameter_type
from .bounds import HUGE, Bounds, bounds
from .check import problems_of
from .convert import as_flow, flow_of
from .doc_text import head
from .draft import is_abstract, of_run
from .evaluate import Evaluator
from .lex import scan
from .library import Library
from .problem import ProgramError, has_errors
from .program import Flow, OutputField, Role
from .reading import written
from .scope import Files
from .shapes import TASK_ATTEMPT_MANY, Kind, Shape, common, role_shape, stand_in
from .source import Place, Source, Span
from .types import ANY, Type, describe
from .values import Module, Noun, Scope, Unknown, UserFlow, Value, is_flow

_LONGEST = 200  # characters of a value that are shown; the file has the rest


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter, or a field of a role's output. default None: it must be given."""

    name: str
    type: str
    default: str | None
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Size:
    """agents: at most. least and most: calls. each: of every attempt that comes in. inner: what it wraps
    was counted as one agent."""

    agents: int
    least: int
    most: int
    each: bool = False
    inner: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """A declaration. signature: its name with its parameters. type: `Task -> Attempt`, of flows and roles.

    fields: what it says of itself, as written; of an expression the one field without a name.
    """

    kind: str
    name: str
    signature: str
    doc: str
    type: str = ""
    parameters: tuple[Parameter, ...] = ()
    output: tuple[Parameter, ...] = ()
    fields: tuple[tuple[str, str], ...] = ()
    size: Size | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """What a file offers. doc is the text at its head, imports are as written, entries in the file's order."""

    name: str
    doc: str
    imports: tuple[str, ...]
    entries: tuple[Entry, ...]


def page_of(source: Source, library: Library) -> Page:
    """The page of source. Raises ProgramError with all that is wrong with it, where anything is."""
    files = Files(library)
    main = files.load(source)
    problems = problems_of(files, main)
    if has_errors(problems):
        raise ProgramError(problems)
    pages = _Pages(Evaluator(files, main=main), main)
    imports = tuple(_text(source, statement.span) for statement in main.file.imports)
    return Page(source.name, head(source, main.file), imports, tuple(pages.entries()))


@dataclass(frozen=True, slots=True)
class _Pages:
    """The entries of one file, worked out by the evaluator that checked it."""

    evaluator: Evaluator
    main: Module

    def entries(self) -> Iterator[Entry]:
        for declaration in self.main.file.declarations:
            value = self.evaluator.declared(self.main, declaration)
            yield self._entry(declaration, value)

    def _entry(self, d: syntax.Declaration, value: Value) -> Entry:
        match value:
            case UserFlow():
                return self._flow(d, value)
            case Noun(kind="role"):
                return self._role(d, value)
            case Noun(kind="run"):
                flow = of_run(self.evaluator, value).flow
                return self._plain(d, size=self._size(flow, "task", inner=False))
            case _ if d.kind == "param":
                return Entry(d.kind, d.name, d.name, d.doc, parameters=(self._param(d),))
            case _:
                return self._plain(d)

    def _plain(self, d: syntax.Declaration, size: Size | None = None) -> Entry:
        return Entry(d.kind, d.name, d.name, d.doc, fields=self._fields(d), size=size)

    def _fields(self, d: syntax.Declaration) -> tuple[tuple[str, str], ...]:
        match d.value:
            case None:
                return ()
            case syntax.Record(fields=fields):
                return tuple(
                    (f.name, self._text(f.value.span)) for f in fields if f.value is not None
                )
            case expr:
                return (("", self._text(expr.span)),)

    def _text(self, span: Span) -> str:
        text = _text(self.main.source, span)
        return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"

    # --- parameters ------------------------------------------------------------------------------

    def _param(self, d: syntax.Declaration) -> Parameter:
        kind = self.evaluator.param_type(d, Scope(self.main, self.main.source, {}))
        return self._parameter(d.name, kind, d.value, d.doc)

    def _parameter(
        self, name: str, kind: Type, default: syntax.Expr | None, doc: str = ""
    ) -> Parameter:
        shown = None if default is None else self._text(default.span)
        return Parameter(name, "" if kind == ANY else describe(kind), shown, doc)

    # --- roles -----------------------------------------------------------------------------------

    def _role(self, d: syntax.Declaration, noun: Noun) -> Entry:
        role = self.evaluator.built(noun)
        if not isinstance(role, Role):
            return self._plain(d)
        kept = {"model", "max_output", "tools", "turns", "sees", "sampling", "budget", "context"}
        fields = tuple(f for f in self._fields(d) if f[0] in kept or not f[0])
        output = tuple(_output(field) for field in role.output or ())
        type_ = signature(role_shape(role))
        return Entry(d.kind, d.name, d.name, d.doc, type_, output=output, fields=fields)

    # --- flows -----------------------------------------------------------------------------------

    def _flow(self, d: syntax.Declaration, flow: UserFlow) -> Entry:
        parameters = tuple(
            self._parameter(p.name, parameter_type(self.evaluator, p, flow.outer), p.default)
            for p in d.params or ()
        )
        written_ = ", ".join(_text(self.main.source, p.span) for p in d.params or ())
        of = "" if d.of_param is None else f" of {d.of_param}"
        name = d.name + (f"({written_})" if d.params is not None else "") + of
        shape = self._shape(flow)
        size = self._flow_size(d, flow, shape)
        return Entry(d.kind, d.name, name, d.doc, signature(shape), parameters, size=size)

    def _shape(self, flow: UserFlow) -> Shape:
        """What the flow takes and gives whatever its parameters are."""
        values = self._arguments(flow, known=False)
        made = self.evaluator.expand(flow, values, self._place(flow.declaration))
        return self.evaluator.shapes.of(made) if is_flow(made) else {}

    def _arguments(self, flow: UserFlow, *, known: bool) -> Mapping[str, Value]:
        """A value for each parameter: its default, or (known false) an unknown one; agent or a stand-in inside."""
        d, values = flow.declaration, dict[str, Value]()
        for p in d.params or ():
            kind = parameter_type(self.evaluator, p, flow.outer)
            if known and p.default is not None:
                values[p.name] = self.evaluator.value(p.default, flow.outer, kind)
            else:
                values[p.name] = Unknown(kind)
        if d.of_param is not None:
            values[d.of_param] = self._agent(d) if known else stand_in(d.of_param, self._place(d))
        return values

    def _agent(self, d: syntax.Declaration) -> Flow:
        found = self.evaluator.find("agent", None)
        place = self._place(d)
        value = None if found is None else as_flow(self.evaluator, found.value, place)
        return stand_in("agent", place) if value is None else flow_of(value, place)

    def _place(self, d: syntax.Declaration) -> Place:
        return Place(self.main.source, d.name_span)

    def _flow_size(self, d: syntax.Declaration, flow: UserFlow, shape: Shape) -> Size | None:
        """None where a parameter has no default, or the flow does not wrap a single agent."""
        if any(p.default is None for p in d.params or ()) or not shape:
            return None
        before = len(self.evaluator.problems)
        made = self.evaluator.expand(flow, self._arguments(flow, known=True), self._place(d))
        if len(self.evaluator.problems) > before or not is_flow(made):
            del self.evaluator.problems[before:]
            return None
        kinds = common([self.evaluator.shapes.of(made)])
        return self._size(made, kinds[0], inner=d.of_param is not None) if kinds else None

    def _size(self, flow: Flow, kind: Kind, *, inner: bool) -> Size | None:
        """What flow is for one value of kind; for Many, where it grows with them one by one."""
        if is_abstract(flow) or kind not in self.evaluator.shapes.of(flow):
            return None
        lifted = self.evaluator.shapes.lifted(flow, kind)
        one = bounds(lifted, 1)
        if max(one.agents, one.most) >= HUGE:
            return None
        if kind != "many":
            return Size(one.agents, one.least, one.most, inner=inner)
        several = [bounds(lifted, width) for width in (2, 3)]
        if all(_figures(b) == _figures(one) for b in several):
            return Size(*_figures(one), inner=inner)
        grows = all(_most(b) == (n * one.agents, n * one.most) for n, b in enumerate(several, 2))
        return Size(*_figures(one), each=True, inner=inner) if grows else None


def _figures(b: Bounds) -> tuple[int, int, int]:
    return b.agents, b.least, b.most


def _most(b: Bounds) -> tuple[int, int]:
    return b.agents, b.most


def _output(field: OutputField) -> Parameter:
    name = field.type if isinstance(field.type, str) else " | ".join(f'"{w}"' for w in field.type)
    default = None if field.required else "[]" if field.is_list else written(field.default)
    return Parameter(field.name, f"[{name}]" if field.is_list else name, default)


def signature(shape: Shape) -> str:
    """shape as one line: `Task | Many -> Attempt`. `A` and `B` stand for what any flow takes and gives."""
    if not shape:
        return ""
    gives = list(dict.fromkeys(shape.values()))
    if len(shape) == len(TASK_ATTEMPT_MANY):
        if all(kind == given for kind, given in shape.items()):
            return "A -> A"
        if len(gives) == 1:
            return f"A -> {'B' if gives == ['any'] else gives[0].capitalize()}"
    parts: list[str] = []
    for given in gives:
        takes = " | ".join(kind.capitalize() for kind, g in shape.items() if g == given)
        parts.append(f"{takes} -> {'B' if given == 'any' else given.capitalize()}")
    return ", ".join(parts)


def _text(source: Source, span: Span) -> str:
    """What stands at span on one line, without comments and without the blanks of a list that was broken."""
    parts: list[str] = []
    for token in scan(source.text, span.start, span.end, columns=False):
        match token.type:
            case "COMMENT":
                continue
            case "WS":
                parts += [] if not parts or parts[-1] in ("(", "[", " ") else [" "]
            case "RPAR" | "RSQB":
                while parts and parts[-1] in (" ", ","):
                    parts.pop()
                parts.append(token)
            case _:
                parts.append(" ".join(token.split()))
    return "".join(parts)
