"""A failing case made as small as it can be: first its faults, then the program, as long as it breaks the same.

Everything follows from the case: how much is tried is bounded by simulated calls, not by the time it takes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from podium.dsl import syntax as s
from podium.dsl.compile import Choice
from podium.dsl.faults import FAULTS
from podium.dsl.format import FormatError, format_text, same
from podium.dsl.library import Library
from podium.dsl.parse import parse
from podium.dsl.problem import ProgramError
from podium.dsl.source import Source
from podium.dsl.tried import Fault
from podium.dsl.types import TIME

from ..functions import Bindings
from .cases import Case, Subject, Tried, subjects, tried
from .faults import LATEST_S
from .smaller import smaller
from .trees import NOWHERE, listed, printed
from .words import tree_of

# About as long as eighty cases of thirty calls take. Beside its calls a case counts for some.
EFFORT = 4_000
_EACH = 20


@dataclass(frozen=True, slots=True)
class Shrunk:
    """text: the smallest file that still breaks the promise, its test with the faults as its `given`; "" where
    the program could not be made smaller without losing what it means. tried: what happens in it."""

    text: str
    tried: Tried


def shrunk(
    source: Source,
    library: Library,
    choice: Choice,
    subject: Subject,
    found: Tried,
    *,
    bindings: Bindings | None = None,
) -> Shrunk:
    """The smallest form of a case of subject that broke a promise."""
    hunt = _Hunt(library, choice, subject, found, bindings)
    hunt.fewer_faults()
    hunt.smaller_program(source)
    hunt.fewer_faults()
    return Shrunk(hunt.text(source), hunt.best)


@dataclass(slots=True)
class _Hunt:
    """best: the smallest failure so far. tree: the program in which it was seen, None for the file as it is."""

    library: Library
    choice: Choice
    subject: Subject
    best: Tried
    bindings: Bindings | None
    tree: s.File | None = None
    spent: int = 0
    wanted: tuple[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.wanted = _what(self.best)

    def text(self, source: Source) -> str:
        """The program, with the faults of the best in its test."""
        if self.tree is None:
            return ""
        return _text(source, _given(self.tree, self.subject.name, self.best.case.faults))

    def fails(self, subject: Subject, case: Case) -> bool:
        """Whether the case breaks the same promise; if so, it is the best."""
        if self.spent >= EFFORT:
            return False
        again = tried(subject, case, self.bindings, replay=self.wanted[0] == "replay")
        self.spent += _EACH + again.simulation.calls
        if not again.broken or _what(again) != self.wanted:
            return False
        self.best = again
        return True

    def fewer_faults(self) -> None:
        """Leave faults out, then make those that stay rarer, shorter and later."""
        while any(
            self.fails(self.subject, replace(self.best.case, faults=faults))
            for faults in _simpler(self.best.case.faults)
        ):
            pass

    def smaller_program(self, source: Source) -> None:
        """Greedy: go on behind the simplification that was taken last, until a whole round takes none."""
        tree, start = parse(source)[0], 0
        if not self._holds(source, tree):
            return
        while (step := self._step(source, tree, start)) or start:
            tree, start = step or (tree, 0)

    def _step(self, source: Source, tree: s.File, start: int) -> tuple[s.File, int] | None:
        """The first simplification from start on that breaks the same, with its number."""
        for number, less in enumerate(smaller(tree, self.subject.name)):
            if number >= start and self._holds(source, less):
                return less, number
        return None

    def _holds(self, source: Source, tree: s.File) -> bool:
        """Whether the program of tree breaks the same promise under the faults of the best."""
        if self.spent >= EFFORT:
            return False
        faults = self.best.case.faults
        made = _given(tree, self.subject.name, faults)
        again = Source(source.name, printed(made))
        try:
            (subject,), _ = subjects(again, self.library, self.choice, [self.subject.name])
        except (ProgramError, KeyError):
            return False
        if not self._fails_in(subject):
            return False
        self.tree, self.subject = made, subject
        return True

    def _fails_in(self, subject: Subject) -> bool:
        try:
            return self.fails(subject, self.best.case)
        except ProgramError:  # of a budget that cannot hold a call
            return False


def _what(found: Tried) -> tuple[str, str]:
    """Which promise: of a test its rule too; one of the engine's is the same wherever it is broken."""
    first = found.broken[0]
    return first.promise, first.who if first.promise in ("always", "never", "at_most") else ""


# --- faults --------------------------------------------------------------------------------------


def _simpler(faults: tuple[Fault, ...]) -> Iterator[tuple[Fault, ...]]:
    for number in range(len(faults)):
        yield (*faults[:number], *faults[number + 1 :])
    for number, one in enumerate(faults):
        for easier in _easier(one):
            yield (*faults[:number], easier, *faults[number + 1 :])


def _easier(fault: Fault) -> Iterator[Fault]:
    for spec in FAULTS[fault.name].params:
        value = fault.args[spec.name]
        for less in _less(spec.name, value, is_time=spec.type == TIME):
            yield replace(fault, args={**fault.args, spec.name: less})


def _less(name: str, value: float, *, is_time: bool) -> Iterator[float]:
    if name == "which":
        if value != 1 or isinstance(value, float):
            yield 1
    elif name == "after":
        later = value * 2 + 1
        if later < (LATEST_S if is_time else 100):
            yield float(later) if is_time else int(later)
    elif value >= 2:
        yield float(value // 2)


# --- text ----------------------------------------------------------------------------------------


def _given(tree: s.File, name: str, faults: tuple[Fault, ...]) -> s.File:
    """tree with these faults in its test of that name; a run is left as it is."""
    return replace(
        tree,
        declarations=tuple(
            replace(one, value=_with_given(one.value, faults))
            if one.name == name and one.kind == "test" and one.value is not None
            else one
            for one in tree.declarations
        ),
    )


def _with_given(value: s.Expr, faults: tuple[Fault, ...]) -> s.Expr:
    given = s.Field("given", NOWHERE, None, listed(*map(tree_of, faults)), NOWHERE)
    match value:
        case s.Record(fields=fields) if not faults:
            return replace(value, fields=tuple(one for one in fields if one.name != "given"))
        case s.Record():
            return _set(value, given)
        case s.With(record=record):
            return replace(value, record=_set(record, given))
        case _:
            return s.With(value, s.Record((given,), NOWHERE), NOWHERE)


def _set(record: s.Record, field: s.Field) -> s.Record:
    """record with this field where it had one of the name, else behind the others."""
    if all(one.name != field.name for one in record.fields):
        return replace(record, fields=(*record.fields, field))
    fields = tuple(field if one.name == field.name else one for one in record.fields)
    return replace(record, fields=fields)


def _text(source: Source, tree: s.File) -> str:
    """The text of tree in the standard layout; "" where it would not be read as tree."""
    made = Source(source.name, printed(tree))
    read, problems = parse(made)
    if problems or not same(tree, read):
        return ""
    try:
        return format_text(made)
    except FormatError:
        return ""
