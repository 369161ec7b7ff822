"""From the command line to a checked program: the file, its parameters, its models, what it may use."""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from podium.dsl import syntax
from podium.dsl.parse import parse
from podium.dsl.problem import Problem
from podium.dsl.program import Program
from podium.dsl.source import Source
from podium.engine.library import DiskLibrary
from podium.engine.request import Request, compiled

from .exits import ShellError
from .inputs import (
    ALLOWED_KINDS,
    Asked,
    allowance,
    allowed_hosts,
    allowed_options,
    only_program,
    request_of,
)
from .texts import read_program, read_text

EXPRESSION = "<expression>"
PROJECT = "podium.toml"


@dataclass(frozen=True, slots=True)
class Loaded:
    """A program, ready to run, with its warnings; allow is what it was checked against."""

    request: Request
    program: Program
    warnings: tuple[Problem, ...]
    allow: Callable[[str, str], bool]


def load(file: str | None, asked: Asked, environ: Mapping[str, str]) -> Loaded:
    """The chosen run of file (None: of the expression, else of the only program here).

    Raises ProgramError on a wrong program and ShellError on a wrong use.
    """
    source = _source(file, asked)
    tree, _ = parse(source)
    request = request_of(source, asked, (d.name for d in params(tree)), environ)
    folder = project_folder(Path.cwd() if file in (None, "-") else Path(str(file)).parent)
    patterns = [*allowed_options(asked.allow), *allowed_hosts(request.models)]
    allow = allowance([*patterns, *project_allows(folder)])
    program, warnings = compiled(request, DiskLibrary(source.name), allow)
    _check_models(request, program, tree)
    return Loaded(request, program, warnings, allow)


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


def project_folder(start: Path) -> Path | None:
    """The nearest folder from start upwards that has a podium.toml."""
    start = start.resolve()
    return next((f for f in (start, *start.parents) if (f / PROJECT).is_file()), None)


def project_allows(folder: Path | None) -> list[tuple[str, str]]:
    """The (kind, pattern) pairs under `[allow]` in the project's podium.toml. Raises ShellError."""
    if folder is None:
        return []
    path = folder / PROJECT
    try:
        table = tomllib.loads(read_text(str(path), "the project file"))
    except tomllib.TOMLDecodeError as error:
        raise ShellError(f"{path} is not TOML: {error}") from error
    return allows(table.get("allow", {}), str(path))


def allows(table: object, path: str) -> list[tuple[str, str]]:
    """The pairs of one `[allow]` table."""
    if not isinstance(table, dict):
        raise ShellError(f'{path}: allow is a table of lists, such as env = ["FAST_KEY"]')
    pairs: list[tuple[str, str]] = []
    for kind, patterns in cast(dict[str, object], table).items():  # TOML's keys are text
        if kind not in ALLOWED_KINDS or not isinstance(patterns, list):
            kinds = ", ".join(ALLOWED_KINDS)
            raise ShellError(f"{path}: allow.{kind} is not a list of patterns for one of {kinds}")
        pairs.extend((kind, str(pattern)) for pattern in cast(list[object], patterns))
    return pairs
