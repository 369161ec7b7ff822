"""Hypothesis strategies of whole programs: well typed, quick to make, and shrinking to a few readable lines.

    @given(programs())
    def test_my_tool_reads_every_program(made: Generated) -> None:
        my_tool(made.text)

Needs Hypothesis, which Podium itself does not: `pip install hypothesis`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

try:
    from hypothesis import strategies as st
except ImportError as error:
    raise ImportError(
        "podium.engine.testing.strategies needs Hypothesis: install it with `pip install hypothesis`"
    ) from error

from podium.dsl import syntax
from podium.dsl.format import format_text
from podium.dsl.lex import begin, end, in_column_1, lex
from podium.dsl.library import MemoryLibrary
from podium.dsl.source import Source

from .grow import FORMS, Flows, Shape
from .nouns import Nouns
from .rooms import Room
from .trees import file, printed

VERIFIERS = (
    "contains", "exact", "number", "choice", "python", "all_of", "any_of", "weighted", "http", "command",
    "judge", "panel",
)  # fmt: skip
"""The kinds of verifiers that run."""


class Printer(Protocol):
    """What Hypothesis gives to show a value with."""

    def text(self, text: str) -> None: ...


_FUEL = 3  # how deep flows nest
_NAME = "generated.team"


@dataclass(frozen=True)
class Generated:
    """A program that the checker accepts and the engine runs. text: its tree in the standard layout.

    run: the name of its run. files: the texts that it reads, by path. allow: what it must be allowed, as
    `--allow` takes it. Its tree has no positions: parse the text for one that has.
    """

    tree: syntax.File
    run: str = "main"
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    allow: tuple[str, ...] = ()

    @cached_property
    def text(self) -> str:
        return format_text(Source(_NAME, printed(self.tree)))

    @property
    def source(self) -> Source:
        return Source(_NAME, self.text)

    @property
    def library(self) -> MemoryLibrary:
        """The standard library, and the files."""
        return MemoryLibrary(files=self.files)

    def _repr_pretty_(self, printer: "Printer", cycle: bool) -> None:
        """How Hypothesis shows it."""
        printer.text(repr(self))

    def __repr__(self) -> str:
        return f"\n{self.text}"


@st.composite
def programs(
    draw: st.DrawFn,
    *,
    flows: Collection[str] = FORMS,
    budgets: bool = True,
    verifiers: Collection[str] = VERIFIERS,
    teams: bool = True,
) -> Generated:
    """Programs with one run, `main`, of a task and a flow.

    flows: forms that may be used, of `FORMS`; roles, `parallel` and reducers always may. budgets False: none,
    and every model is free. verifiers: kinds to choose from; empty for tasks that nothing scores. teams False:
    no team.
    """
    unknown = [*(set(flows) - FORMS), *(set(verifiers) - set(VERIFIERS))]
    if unknown:
        raise ValueError(
            f"there is no {unknown[0]!r}; there is {', '.join(sorted(FORMS))}, {VERIFIERS}"
        )
    kinds = tuple(kind for kind in VERIFIERS if kind in verifiers)
    nouns = Nouns(draw, budgets=budgets, verifiers=kinds)
    forms = frozenset(flows) - (frozenset() if teams else {"team", "standard"})
    edition = nouns.pick(None, 2026)
    nouns.models()
    task = nouns.task()
    chosen = nouns.whole_budget()
    growing = Flows(nouns, forms)
    shape: Shape = "several" if nouns.verified and nouns.maybe(6) else "solve"
    flow = growing.flow(shape, nouns.pick(*range(_FUEL + 1)), Room(tuple(chosen.items())))
    nouns.run(task, flow, chosen)
    tree = file(nouns.imports(), tuple(nouns.declared.values()), edition)
    return Generated(tree, "main", nouns.files, tuple(dict.fromkeys(nouns.allow)))


# --- comments ------------------------------------------------------------------------------------


@st.composite
def commented(draw: st.DrawFn, made: st.SearchStrategy[Generated]) -> str:
    """Texts of the programs with line breaks and comments anywhere one may stand."""
    text = draw(made).text
    tokens = lex(text).tokens
    places = draw(st.lists(st.integers(0, len(tokens)), max_size=6, unique=True))
    parts: list[str] = []
    at = 0
    for number in sorted(places):
        stop = begin(tokens[number]) if number < len(tokens) else len(text)
        first = number == len(tokens) or in_column_1(text, tokens[number])
        parts += [text[at:stop], draw(_COLUMN_1 if first else _INSIDE)]
        at = stop
    return "".join([*parts, text[at:]])


_COLUMN_1 = st.sampled_from(["# own\n", "## doc\n", "\n# apart\n\n", "\n\n", "  # in\n"])
_INSIDE = st.sampled_from([" # why\n  ", "\n  ", "\n  # own\n  ", "\n\n  ## more\n\n    ", "#\n "])


# --- changed tokens ------------------------------------------------------------------------------


@st.composite
def garbled(draw: st.DrawFn, made: st.SearchStrategy[Generated]) -> str:
    """Texts of the programs with one token blanked, doubled, swapped with the next, or another put before it."""
    text = draw(made).text
    tokens = lex(text).tokens
    at = draw(st.integers(0, len(tokens) - 2))
    (a, b), (c, d) = ((begin(token), end(token)) for token in tokens[at : at + 2])
    match draw(st.sampled_from(["blank", "double", "swap", "insert"])):
        case "blank":
            return text[:a] + " " * (b - a) + text[b:]
        case "double":
            return f"{text[:b]} {text[a:]}"
        case "swap":
            return text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]
        case _:
            other = draw(st.sampled_from(tokens))
            return f"{text[:a]}{other} {text[a:]}"
