"""From the command line to a checked program: the file, its parameters, its models, what it may use."""

import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from podium.dsl import syntax
from podium.dsl.parse import parse
from podium.dsl.problem import Problem
from podium.dsl.program import Program
from podium.dsl.source import Source

from ..clients.address import BASE
from ..library import ALLOWED_KINDS, DiskLibrary, allowance
from ..request import Request, compiled
from .exits import ShellError
from .inputs import Asked, allow_rules, only_program, request_of
from .texts import read_program, read_text

EXPRESSION = "<expression>"
PROJECT = "podium.toml"


@dataclass(frozen=True, slots=True)
class Loaded:
    """A program, ready to run, with its warnings."""

    request: Request
    program: Program
    warnings: tuple[Problem, ...]


def load(file: str | None, asked: Asked, environ: Mapping[str, str]) -> Loaded:
    """The chosen run of file (None: of the expression, else of the only program here).

    Raises ProgramError on a wrong program and ShellError on a wrong use.
    """
    source = _source(file, asked)
    tree, _ = parse(source)
    request = request_of(source, asked, (d.name for d in params(tree)), environ)
    library = DiskLibrary(source.name)
    rules = (*allow_rules(asked.allow, request.models), *project_rules(library.root / PROJECT))
    program, warnings = compiled(request, library, allowance(rules), default_url=environ.get(BASE))
    _check_models(request, program, tree)
    reach(library.root)
    return Loaded(request, program, warnings)


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


# --- the project -------------------------------------------------------------------------------


def project_rules(path: Path) -> list[str]:
    """What `[allow]` of the project file at path allows, as KIND:PATTERN; nothing where there is none.

    Raises ShellError on a file that is no such thing.
    """
    if not path.is_file():
        return []
    try:
        table = tomllib.loads(read_text(str(path), "the project file"))
    except tomllib.TOMLDecodeError as error:
        raise ShellError(f"{path} is not TOML: {error}") from error
    return rules_in(table.get("allow", {}), str(path))


def rules_in(table: object, path: str) -> list[str]:
    """The rules of one `[allow]` table."""
    if not isinstance(table, dict):
        raise ShellError(f'{path}: allow is a table of lists, such as env = ["FAST_KEY"]')
    rules: list[str] = []
    for kind, patterns in cast(dict[str, object], table).items():  # TOML's keys are text
        if kind not in ALLOWED_KINDS or not isinstance(patterns, list):
            kinds = ", ".join(ALLOWED_KINDS)
            raise ShellError(f"{path}: allow.{kind} is not a list of patterns for one of {kinds}")
        rules.extend(f"{kind}:{pattern}" for pattern in cast(list[object], patterns) if pattern)
    return rules
