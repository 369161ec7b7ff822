"""Files and the names in them: what each declares and imports, and what it never uses.

One namespace a file, whatever the order; imports join it; around it lies the prelude, and around that
the callables of the language.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from . import syntax
from .calls import FORMS
from .kinds import TEAM_CONDITION_NAMES
from .library import Library, LibraryError, modules
from .names import did_you_mean, near
from .parse import parse
from .problem import Label, Problem, Severity
from .source import Place, Source, Span
from .values import Imported, Module

PRELUDE = "std.prelude"
# Words that stand where a name of the file could stand too.
_MEANT = frozenset({"fixed", "adaptive", *TEAM_CONDITION_NAMES})
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
MOST_DEEP = 32  # imports of imports; more is a mistake long before it is a design


@dataclass(slots=True)
class Files:
    """Every file of a program, each read and parsed once. sources is all that was read, in order."""

    library: Library
    problems: list[Problem] = field(default_factory=list[Problem])
    sources: list[Source] = field(default_factory=list[Source])
    modules: dict[str, Module] = field(default_factory=dict[str, Module])
    _open: list[str] = field(default_factory=list[str])
    _prelude: Module | None = None

    def load(self, source: Source) -> Module:
        """source and all it imports, by name."""
        if source.name in self.modules:
            return self.modules[source.name]
        self.sources.append(source)
        file, problems = _parsed(source)
        self.problems.extend(problems)
        module = Module(source, file, {}, {})
        self.modules[source.name] = module
        self._open.append(source.name)
        for declaration in file.declarations:
            self._declare(module, declaration)
        for statement in file.imports:
            self._import(module, statement)
        self._open.pop()
        return module

    @property
    def prelude(self) -> Module:
        if self._prelude is None:
            name = PRELUDE
            try:
                source = self.library.module(name, is_file=False, importer=name)
            except LibraryError:
                source = Source(name, "")
            self._prelude = self.load(source)
        return self._prelude

    def _declare(self, module: Module, declaration: syntax.Declaration) -> None:
        place = Place(module.source, declaration.name_span)
        first = module.declared.setdefault(declaration.name, declaration)
        if first is not declaration:
            self._twice(declaration.name, place, Place(module.source, first.name_span))
        elif not self._is_prelude(module):
            self._shadows(declaration.name, place)

    def _is_prelude(self, module: Module) -> bool:
        """Whether module is the prelude, under its own name or read as a file."""
        return module.source.name == PRELUDE or module.source.text == self.prelude.source.text

    def _twice(self, name: str, place: Place, first: Place) -> None:
        line = first.source.position(first.span.start).line
        self.report(
            "E103",
            f"`{name}` is declared twice",
            place,
            secondary=(Label(first, "first declared here"),),
            help=f"rename one of them; the first is on line {line}",
        )

    def _shadows(self, name: str, place: Place) -> None:
        if name in FORMS or name in _MEANT or name in self.prelude.declared:
            self.report(
                "W606",
                f"`{name}` hides a name of the language",
                place,
                severity="warning",
                help="choose another name",
            )

    # --- imports ---------------------------------------------------------------------------------

    def _import(self, module: Module, statement: syntax.Import) -> None:
        target = self._target(module, statement)
        if target is None:  # whatever was meant to be imported is not missing
            meant = " ".join([statement.module, *near(statement.module, modules())])
            words = frozenset[str](_WORD.findall(meant))
            module.file = replace(module.file, lost=module.file.lost | words)
        if statement.names is None:
            name = statement.alias or _last(statement)
            self._bind(module, name, target, None, Place(module.source, statement.module_span))
            return
        for item in statement.names:
            place = Place(module.source, item.span)
            known = target is None or item.name in target.declared or item.name in target.imported
            if not known and target is not None and not target.file.lost & {item.name, ""}:
                self._no_member(target, item.name, place)
                lost = {*module.file.lost, *near(item.name, target.declared, 1)}  # what was meant
                module.file = replace(module.file, lost=frozenset(lost))
            self._bind(module, item.alias or item.name, target if known else None, item.name, place)

    def _bind(
        self, module: Module, name: str, target: Module | None, member: str | None, place: Place
    ) -> None:
        """name in module from now on; a target that could not be had binds an empty module, silently."""
        if name in module.declared:
            other = Place(module.source, module.declared[name].name_span)
            self._twice(name, place, other)
        elif name in module.imported:
            self._twice(name, place, module.imported[name].place)
        else:
            missing = Module(module.source, _nothing(), {}, {}, is_known=False)
            module.imported[name] = Imported(target or missing, member, place)

    def _target(self, module: Module, statement: syntax.Import) -> Module | None:
        place = Place(module.source, statement.module_span)
        if "://" in statement.module:
            help_ = 'save it in the project: `import "./name.team"`'
            self.report("E104", "nothing is imported from the network", place, help=help_)
            return None
        try:
            source = self.library.module(
                statement.module, is_file=statement.is_file, importer=module.source.name
            )
        except LibraryError as error:
            self.report(error.code, str(error), place, help=error.help)
            return None
        if source.name in self._open:
            path = [*self._open[self._open.index(source.name) :], source.name]
            self.report("E109", f"files import each other: {' -> '.join(path)}", place)
            return None
        if len(self._open) >= MOST_DEEP:
            self.report("E109", f"imports are nested more than {MOST_DEEP} deep", place)
            return None
        return self.load(source)

    def _no_member(self, target: Module, name: str, place: Place) -> None:
        self.report(
            "E115",
            f"{target.source.name} declares no `{name}`",
            place,
            help=did_you_mean(name, target.declared),
        )

    def report(
        self,
        code: str,
        message: str,
        place: Place,
        *,
        severity: Severity = "error",
        secondary: tuple[Label, ...] = (),
        help: str = "",
    ) -> None:
        self.problems.append(
            Problem(code, message, place, severity=severity, secondary=secondary, help=help)
        )


def _last(statement: syntax.Import) -> str:
    """The name of an import without `as`: `roles` of `std.roles`, `house` of "./house.team"."""
    path = statement.module.rstrip("/").rpartition("/")[2] if statement.is_file else ""
    return path.partition(".")[0] if statement.is_file else statement.module.rpartition(".")[2]


def _nothing() -> syntax.File:
    return syntax.File(None, (), (), Span(0, 0))


@lru_cache(maxsize=32)
def _parsed(source: Source) -> tuple[syntax.File, tuple[Problem, ...]]:
    """The tree of source: a run is checked and then compiled, and every program imports the same library."""
    file, problems = parse(source)
    return file, tuple(problems)


# --- what a file says about its own names ---------------------------------------------------------


def mentioned(node: syntax.Node) -> Iterator[str]:
    """Every name that stands somewhere below node, without recursion: chains may be long."""
    waiting: list[syntax.Node] = [node]
    while waiting:
        here = waiting.pop()
        if isinstance(here, syntax.Name):
            yield here.name
        waiting.extend(syntax.children(here))


def unused(module: Module) -> list[Problem]:
    """W603 for each name that a file with something to run declares or imports and never uses."""
    declarations = module.file.declarations
    if not any(d.kind in ("run", "test", "experiment") for d in declarations):
        return []
    uses = {d.name: set(mentioned(d)) for d in declarations}
    used = set[str]().union(*(names - {name} for name, names in uses.items()))
    models = [d for d in declarations if d.kind == "model"]
    places: dict[str, Place] = {
        d.name: Place(module.source, d.name_span)
        for d in declarations
        if d.kind not in ("run", "test", "experiment")
        and not (d.kind == "model" and len(models) == 1)
    }
    places.update((name, item.place) for name, item in module.imported.items())
    return [
        Problem("W603", f"nothing uses `{name}`", place, severity="warning", help="delete it")
        for name, place in places.items()
        if name not in used
    ]


def hidden_by_parameters(module: Module) -> list[Problem]:
    """W607 for each parameter of a flow that hides a name of its file."""
    outer: Mapping[str, object] = {**module.declared, **module.imported}
    return [
        Problem(
            "W607",
            f"parameter `{name}` hides a name of this file",
            Place(module.source, span),
            severity="warning",
            help="choose another name for the parameter",
        )
        for d in module.file.declarations
        for name, span in _parameters(d)
        if name in outer
    ]


def _parameters(declaration: syntax.Declaration) -> Iterator[tuple[str, Span]]:
    yield from ((p.name, p.name_span) for p in declaration.params or ())
    if declaration.of_param is not None and declaration.of_span is not None:
        yield declaration.of_param, declaration.of_span
