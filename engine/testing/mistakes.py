"""Mistakes for generated programs: each planted once, with the code and the line that must be reported.

A planter gets a program as tokens with positions and gives edits, or None where the program has no place for it.
Where a mistake needs a part that few programs have, the planter brings the part along, behind all else.

One file of some length: a table, and the planters in its rows, each of a few lines.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from hypothesis import assume
from hypothesis import strategies as st

from podium.dsl import syntax as s
from podium.dsl.library import MemoryLibrary
from podium.dsl.parse import parse
from podium.dsl.problem import Edit, apply
from podium.dsl.source import Source, Span

from .strategies import Generated, Printer

_NAME = "mistake.team"


@dataclass(frozen=True)
class Mistake:
    """A program with one mistake. code, where and line: of the one error that the checker must report.

    where: the name of the source, its own but for a mistake in a file that it imports.
    """

    code: str
    what: str
    text: str
    line: int
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    where: str = _NAME

    @property
    def source(self) -> Source:
        return Source(_NAME, self.text)

    @property
    def library(self) -> MemoryLibrary:
        """The standard library, and the files, as modules and as texts."""
        return MemoryLibrary(modules=self.files, files=self.files)

    def _repr_pretty_(self, printer: "Printer", cycle: bool) -> None:
        """How Hypothesis shows it."""
        printer.text(repr(self))

    def __repr__(self) -> str:
        return f"\n{self.code} in line {self.line}: {self.what}\n{self.text}"


@dataclass(frozen=True)
class _Spot:
    """One change: edits, and the offset, after them, of the mistake. files: what it needs besides.

    where: the source in whose first line the mistake is, if not in the text itself.
    """

    edits: tuple[Edit, ...]
    at: int
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    where: str = _NAME


@dataclass(frozen=True)
class _Read:
    """A program as read: its text, its tree with positions."""

    text: str
    tree: s.File

    def every(self) -> Iterator[s.Node]:
        waiting: list[s.Node] = [self.tree]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(s.children(node))

    def run(self) -> s.Declaration:
        return next(d for d in self.tree.declarations if d.kind == "run")

    def field(self, declaration: s.Declaration, name: str) -> s.Field | None:
        value = declaration.value
        if isinstance(value, s.With):
            value = value.record
        fields = value.fields if isinstance(value, s.Record) else ()
        return next((f for f in fields if f.name == name), None)

    def calls(self, *names: str) -> list[s.Call]:
        found = [n for n in self.every() if isinstance(n, s.Call) and _called(n) in names]
        return sorted(found, key=lambda call: call.span.start)

    def of(self, kind: str) -> list[s.Declaration]:
        return [d for d in self.tree.declarations if d.kind == kind]


Planter = Callable[[_Read], Iterator[_Spot]]


def _called(call: s.Call) -> str:
    return call.function.name if isinstance(call.function, s.Name) else ""


def _put(at: int, new: str, mark: int = 0) -> _Spot:
    """Insert new; the mistake is mark characters into it."""
    return _Spot((Edit(Span(at, at), new),), at + mark)


def _swap(span: Span, new: str, mark: int = 0) -> _Spot:
    return _Spot((Edit(span, new),), span.start + mark)


def _inside(call: s.Call, argument: str) -> _Spot:
    """One more argument of a call."""
    at = call.span.end - 1
    lead = ", " if call.args else ""
    if not call.args:
        return _put(at, argument)
    return _put(call.args[-1].span.end, lead + argument, len(lead))


# --- in place ------------------------------------------------------------------------------------


def _misspelt_use(kinds: tuple[str, ...]) -> Planter:
    """A name that stands for a declaration of one of the kinds, with a letter more where it is used."""

    def plant(read: _Read) -> Iterator[_Spot]:
        names = {d.name for d in read.tree.declarations if d.kind in kinds}
        for node in read.every():
            if isinstance(node, s.Name) and node.name in names:
                yield _swap(node.span, f"{node.name}x")

    return plant


def _misspelt_import(read: _Read) -> Iterator[_Spot]:
    for statement in read.tree.imports:
        for taken in statement.names or ():
            yield _swap(taken.span, f"{taken.name}x")


def _misspelt_module(read: _Read) -> Iterator[_Spot]:
    for statement in read.tree.imports:
        yield _swap(statement.module_span, f"{statement.module}x")


def _misspelt_form(read: _Read) -> Iterator[_Spot]:
    for call in read.calls("team", "parallel", "repeat", "fallback", "sample", "top"):
        yield _swap(call.function.span, f"{_called(call)}x")


def _misspelt_word(read: _Read) -> Iterator[_Spot]:
    for call in read.calls("team", "parallel"):
        for arg in call.args:
            if arg.name in _WORDY and isinstance(arg.value, s.Name) and arg.value.name != "agent":
                yield _swap(arg.value.span, f"{arg.value.name}x")


_WORDY = ("order", "ceo", "split", "on_exhausted", "sees")


def _misspelt_field(read: _Read) -> Iterator[_Spot]:
    for declaration in read.tree.declarations:
        if declaration.kind in ("model", "role", "task", "run"):
            value = declaration.value
            for one in value.fields if isinstance(value, s.Record) else ():
                yield _put(one.span.start, f"{one.name}x = 1\n  ")


def _misspelt_argument(read: _Read) -> Iterator[_Spot]:
    for call in read.calls("team", "parallel", "repeat", "fallback"):
        yield _inside(call, "ruonds = 2")


def _missing_field(read: _Read) -> Iterator[_Spot]:
    for declaration in read.tree.declarations:
        needed = {"task": "statement", "role": "prompt", "model": "endpoint", "run": "flow"}
        one = read.field(declaration, needed.get(declaration.kind, ""))
        if one is not None and isinstance(declaration.value, s.Record):
            yield _Spot((Edit(one.span, ""),), declaration.name_span.start)


def _repeated_field(read: _Read) -> Iterator[_Spot]:
    for declaration in read.tree.declarations:
        value = declaration.value
        if isinstance(value, s.Record) and value.fields:
            last = value.fields[-1]
            text = read.text[last.span.start : last.span.end]
            yield _put(last.span.end, f"\n  {text}", 3)


def _repeated_argument(read: _Read) -> Iterator[_Spot]:
    for call in read.calls("team", "parallel", "repeat", "top", "sample"):
        if call.args and call.args[0].name is None:
            word = {"repeat": "max", "top": "k", "sample": "k"}.get(_called(call), "n")
            yield _inside(call, f"{word} = 2")


def _too_many(read: _Read) -> Iterator[_Spot]:
    for call in read.calls("sample"):
        yield _inside(call, "1")


def _wrong_number(new: str) -> Planter:
    """Another value for a count."""

    def plant(read: _Read) -> Iterator[_Spot]:
        for call in read.calls("team", "parallel", "repeat", "sample", "top"):
            for arg in call.args:
                if isinstance(arg.value, s.Number):
                    yield _swap(arg.value.span, new)

    return plant


def _no_unit(read: _Read) -> Iterator[_Spot]:
    """A bare number in a budget."""
    for items in _budgets(read):
        yield _put(items.items[0].span.start, "5, ")


def _twice(read: _Read) -> Iterator[_Spot]:
    for items in _budgets(read):
        last = items.items[-1]
        yield _put(last.span.end, f", {read.text[last.span.start : last.span.end]}", 2)


def _no_budget(read: _Read) -> Iterator[_Spot]:
    for items in _budgets(read):
        if len(items.items) == 1:
            yield _swap(items.items[0].span, "0 tokens")


def _budgets(read: _Read) -> Iterator[s.ListExpr]:
    for node in read.every():
        match node:
            case s.Field(name="budget", value=s.ListExpr() as items) if items.items:
                yield items
            case s.Arg(name="budget", value=s.ListExpr() as items) if items.items:
                yield items
            case _:
                pass


def _slot(old: str, new: str) -> Planter:
    """Another text for a part of a slot."""

    def plant(read: _Read) -> Iterator[_Spot]:
        for node in read.every():
            if isinstance(node, s.PromptSlot):
                inside = read.text[node.span.start : node.span.end]
                if (at := inside.find(old)) >= 0:
                    start = node.span.start + at
                    yield _swap(Span(start, start + len(old)), new)

    return plant


def _again(read: _Read) -> Iterator[_Spot]:
    """A declaration, once more."""
    for declaration in read.tree.declarations:
        yield _end(read, f"verifier {declaration.name} = exact(1)", 9)


def _without_of(read: _Read) -> Iterator[_Spot]:
    for node in read.every():
        match node:
            case s.Of(wrapper=s.Call() as call) if _called(call) == "parallel":
                yield _Spot((Edit(Span(call.span.end, node.span.end), ""),), node.span.start)
            case _:
                pass


def _no_bound(read: _Read) -> Iterator[_Spot]:
    for call in read.calls("repeat"):
        yield _swap(Span(call.function.span.end, call.span.end), "()")


def _reducer_behind_one(read: _Read) -> Iterator[_Spot]:
    yield _behind_flow(read, "vote -> vote", len("vote -> "))


def _joiner_behind_one(read: _Read) -> Iterator[_Spot]:
    """A step that wants a task behind one that gives an attempt."""
    role = 'role planted { prompt = """{{ task.name }}""" }'
    yield _behind_flow(read, "vote -> planted", len("vote -> "), role)


def _behind_flow(read: _Read, steps: str, mark: int, more: str = "") -> _Spot:
    """The run's flow, two copies of it, and steps behind."""
    one = read.field(read.run(), "flow")
    assert one is not None
    assert one.value is not None
    span = one.value.span
    old = read.text[span.start : span.end]
    new = f"parallel(2) of ({old})\n    -> {steps}"
    return _Spot(
        (Edit(span, new), Edit(Span(len(read.text), len(read.text)), f"\n{more}\n")),
        span.start + len(new) - len(steps) + mark,
    )


def _child_over_parent(read: _Read) -> Iterator[_Spot]:
    yield from _limited(read, "team(1, budget = [9_000 calls])", "8_000 calls")


def _shares_over(read: _Read) -> Iterator[_Spot]:
    flow = "parallel(3, split = even) of team(1, budget = [40%]) -> vote"
    yield from _limited(read, flow, "8_000 calls")


def _promised_over(read: _Read) -> Iterator[_Spot]:
    flow = "parallel(3, split = even) of team(1, budget = [3_000 calls]) -> vote"
    yield from _limited(read, flow, "8_000 calls")


def _share_of_nothing(read: _Read) -> Iterator[_Spot]:
    yield from _limited(read, "team(1, budget = [40%])", "")


def _too_large(read: _Read) -> Iterator[_Spot]:
    yield from _limited(read, "parallel(1_000) of parallel(1_000) of agent -> vote", "8_000 calls")


def _limited(read: _Read, flow: str, budget: str) -> Iterator[_Spot]:
    """One more run, of flow under budget, where no model costs anything."""
    costs = ("price", "rent")
    if any(f.name in costs for d in read.of("model") for f in _fields_of(d)) and not budget:
        return
    model = f"  model = {read.of('model')[0].name}\n" if read.of("model") else ""
    limits = f"  budget = [{budget}]\n" if budget else ""
    head = f"run planted {{\n  task = {read.of('task')[0].name}\n{model}{limits}  flow = "
    yield _end(read, f"{head}{flow}\n}}", len(head))


def _fields_of(declaration: s.Declaration) -> tuple[s.Field, ...]:
    return declaration.value.fields if isinstance(declaration.value, s.Record) else ()


def _no_verifier(flow: str, code_at: str) -> Planter:
    """A run on a task that nothing scores."""

    def plant(read: _Read) -> Iterator[_Spot]:
        model = f"  model = {read.of('model')[0].name}\n" if read.of("model") else ""
        head = f'task planted_task {{ statement = "Go." }}\nrun planted {{\n  task = planted_task\n{model}'
        text = f"{head}  budget = [9k tokens]\n  flow = {flow}\n}}"
        yield _end(read, text, text.index(code_at, len(head)))

    return plant


def _cycle(read: _Read) -> Iterator[_Spot]:
    yield _Spot(
        (Edit(Span(len(read.text), len(read.text)), '\nimport "./a.team" as planted\n'),),
        0,
        {"./a.team": 'import "./b.team" as b\n', "./b.team": 'import "./a.team" as a\n'},
        "./b.team",
    )


# --- brought along -------------------------------------------------------------------------------


def _end(read: _Read, text: str, mark: int) -> _Spot:
    """A declaration behind all others."""
    return _put(len(read.text), f"\n{text}\n", 1 + mark)


def _behind(text: str, at: str = "") -> Planter:
    """A declaration with a mistake; at: where in it the mistake is."""
    return lambda read: iter((_end(read, text, text.rindex(at) if at else 0),))


_ROLE = 'role planted_role { prompt = """{{ attempt.answer }}""" }\n'
_TRIAGE = 'role planted_role { prompt = """{{ task.name }}"""  output = { case: "a" | "b" } }\n'

# code, what is wrong, planter. One code may stand several times.
TABLE: tuple[tuple[str, str, Planter], ...] = (
    ("E105", "a misspelt role", _misspelt_use(("role",))),
    ("E105", "a misspelt model", _misspelt_use(("model",))),
    ("E105", "a misspelt task", _misspelt_use(("task",))),
    ("E105", "a misspelt verifier", _misspelt_use(("verifier",))),
    ("E105", "a misspelt flow", _misspelt_use(("flow",))),
    ("E105", "a misspelt parameter", _misspelt_use(("param",))),
    ("E105", "a misspelt form", _misspelt_form),
    ("E105", "a misspelt type", _behind("flow planted(n: itn) = parallel(n) of agent -> vote", "itn")),
    ("E115", "a misspelt name in an import", _misspelt_import),
    ("E104", "a misspelt module", _misspelt_module),
    ("E125", "a misspelt word", _misspelt_word),
    ("E106", "an unknown field", _misspelt_field),
    ("E111", "an unknown argument", _misspelt_argument),
    ("E107", "a missing field", _missing_field),
    ("E108", "a field twice", _repeated_field),
    ("E114", "an argument twice", _repeated_argument),
    ("E113", "an argument too many", _too_many),
    ("E112", "a missing argument", _behind("flow planted = agent -> team()", "team")),
    ("E103", "a name twice", _again),
    ("E109", "an import cycle", _cycle),
    ("E116", "parameters of a role", _behind('role planted(n: int) { prompt = "Go." }', "planted")),
    ("E117", "a call of what cannot be called", _behind(
        'verifier planted_v = exact("4")\nflow planted = parallel(2) of agent -> best(by = planted_v(3))',
        "planted_v(3)")),
    ("E120", "a text for a number", _wrong_number('"two"')),
    ("E120", "a condition that is a number", _behind(
        f"{_ROLE}flow planted = repeat(2, until = score) of planted_role", "score")),
    ("E121", "nothing for a count", _wrong_number("0")),
    ("E121", "a default outside its bounds", _behind("param planted: int(1 to 4) = 9", "9")),
    ("E308", "a bare number in a budget", _no_unit),
    ("E307", "a dimension twice", _twice),
    ("E309", "a budget of nothing", _no_budget),
    ("T020", "a wrong unit", _behind("flow planted = team(2, budget = [2m tokens])", "2m tokens")),
    ("E202", "a task for an attempt", _joiner_behind_one),
    ("E202", "branches that differ", _behind(
        f"{_ROLE}flow planted = parallel of [agent, planted_role]", "parallel")),
    ("E204", "a reducer behind one attempt", _reducer_behind_one),
    ("E205", "a case that is not covered", _behind(
        f"{_TRIAGE}flow planted = route(by = planted_role) of {{ a = agent }}", "{ a = agent }")),
    ("E206", "a member that mentions an attempt", _behind(
        f"{_ROLE}flow planted = team(members = [2 of planted_role])", "[2 of")),
    ("E207", "a number outside a list", _behind("flow planted = 3 of agent", "3")),
    ("E208", "a number before a chain", _behind(
        f"{_ROLE}flow planted = parallel of [3 of agent -> planted_role, agent]", "3 of")),
    ("E210", "more needed than there are", _behind("flow planted = parallel(3, need = 4) of agent", "4")),
    ("E211", "a list for a flow", _behind("flow planted = [agent, team(2)]", "[agent")),
    ("E212", "an order without its CEO", _behind("flow planted = team(3, order = ceo)", "ceo")),
    ("E213", "`of` left out", _without_of),
    ("E214", "an agent in a statement", _behind(
        'task planted { statement = """Do it, {{ self.name }}.""" }', "self")),
    ("E215", "a misspelt field of a slot", _slot("task.statement", "task.statment")),
    ("E216", "a misspelt filter", _slot("clip", "clp")),
    ("E201", "best without a verifier", _no_verifier("parallel(2) of agent -> best", "best")),
    ("E203", "a score that nothing gives", _no_verifier("team(2, until = score >= 1)", "team")),
    ("E209", "a pass that nothing gives", _no_verifier(
        "parallel(2, stop = first_pass) of agent -> vote", "parallel")),
    ("E217", "a fallback that accepts nothing", _no_verifier("fallback of [agent, team(2)]", "fallback")),
    ("E301", "a child over its parent", _child_over_parent),
    ("E302", "branches that are promised too much", _promised_over),
    ("E303", "a share of nothing", _share_of_nothing),
    ("E304", "shares over the whole", _shares_over),
    ("E305", "too many agents", _too_large),
    ("E401", "a loop without a bound", _no_bound),
    ("E402", "a flow of itself", _behind("flow planted = planted_too\nflow planted_too = planted", "planted")),
)  # fmt: skip
CODES = frozenset(code for code, _, _ in TABLE)
"""The codes that can be planted."""


def planted(made: Generated, code: str, what: str, planter: Planter) -> list[Mistake]:
    """The program with the mistake, once for each place that it can have."""
    tree, _ = parse(made.source)
    spots = list(planter(_Read(made.text, tree)))
    return [_mistake(made, code, what, spot) for spot in spots]


def _mistake(made: Generated, code: str, what: str, spot: _Spot) -> Mistake:
    text = apply(made.text, spot.edits)
    line = text.count("\n", 0, spot.at) + 1
    return Mistake(code, what, text, line, {**made.files, **spot.files}, spot.where)


@st.composite
def mistakes(
    draw: st.DrawFn, made: st.SearchStrategy[Generated], code: str | None = None
) -> Mistake:
    """The programs with one mistake each; of one code, where it is given."""
    rows = [row for row in TABLE if code in (None, row[0])]
    name, what, planter = draw(st.sampled_from(rows))
    found = planted(draw(made), name, what, planter)
    assume(found)
    return draw(st.sampled_from(found))
