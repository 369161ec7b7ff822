"""From the command line to a checked program: the file, its parameters, its models, what it may use."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from podium.dsl import syntax
from podium.dsl.parse import parse
from podium.dsl.problem import Problem
from podium.dsl.program import Program
from podium.dsl.source import EXPRESSION, Source

from ..clients.address import BASE
from ..library import DiskLibrary, allowance
from ..request import Request, compiled
from .exits import ShellError
from .inputs import Asked, allow_rules, misspelt, only_program, request_of
from .project import NAME as PROJECT_FILE
from .project import Project, read_project
from .safe import safe
from .texts import read_program


@dataclass(frozen=True, slots=True)
class Loaded:
    """A program, ready to run, with its warnings and what its project allows."""

    request: Request
    program: Program
    warnings: tuple[Problem, ...]
    project: Project


def load(file: str | None, asked: Asked, environ: Mapping[str, str]) -> Loaded:
    """The chosen run of file (None: of the expression, else of the only program here).

    Raises ProgramError on a wrong program and ShellError on a wrong use.
    """
    source = _source(file, asked)
    tree, _ = parse(source)
    declared = [d.name for d in params(tree)]
    for sentence in misspelt(declared, environ):
        click.echo(f"podium: {safe(sentence)}", err=True)
    request = request_of(source, asked, declared, environ)
    library = DiskLibrary(source.name, environ.get(BASE))
    project = read_project(library.root / PROJECT_FILE)
    rules = (*allow_rules(asked.allow, request.models), *project.rules)
    program, warnings = compiled(request, library, allowance(rules), default_url=environ.get(BASE))
    _check_models(request, program, tree)
    reach(library.root)
    return Loaded(request, program, warnings, project)


def reach(root: Path) -> None:
    """Let `python("checks.unit:run")` name modules of the project. Last in line: it shadows nothing."""
    if str(root) not in sys.path:
        sys.path.append(str(root))


def _source(file: str | None, asked: Asked) -> Source:
    if file is None and asked.expression is not None:
        return Source(EXPRESSION, "")
    return read_program(only_program(Path.cwd()) if file is None else file)


def _check_models(request: Request, program: Program, tree: syntax.File) -> None:
    names = {d.name for d in tree.declarations if d.kind == "model"} | program.models.keys()
    for choice in request.models:
        if choice.name is not None and choice.name not in names:
            known = ", ".join(sorted(names))
            raise ShellError(
                f"--model {choice.name}=...: the program has no model {choice.name}; it has {known}"
            )


def params(tree: syntax.File) -> Iterator[syntax.Declaration]:
    """The parameters that the file itself declares."""
    return (d for d in tree.declarations if d.kind == "param")
