"""`podium.toml`: what the project's programs may use, read with the care that programs are read with."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from podium.dsl.names import did_you_mean, near
from podium.dsl.problem import Edit, Problem, ProgramError, whole
from podium.dsl.source import Place, Source, Span

from ..library import ALLOWED_KINDS
from .texts import read_text

NAME = "podium.toml"
# Every key there is, by table, with what it holds; the reference is written from it.
KEYS: Mapping[str, Mapping[str, str]] = {
    "allow": {
        "env": 'Environment variables that `env("…")` may read: `["FAST_KEY", "TEAM_*"]`',
        "file": 'Files that `file("…")` and `rows("…")` may read: `["issue.md", "data/*"]`',
        "python": 'Functions that `python("…")` may call: `["checks.unit:*"]`',
        "host": 'Servers outside this machine that may be called: `["10.0.0.7"]`',
        "mcp": 'Commands that `mcp(…)` may start, outside the sandbox: `["uvx mcp-server-fetch"]`',
    }
}
assert tuple(KEYS["allow"]) == ALLOWED_KINDS
_WHERE = re.compile(r"\(at (?:line (\d+), column (\d+)|end of document)\)")


@dataclass(frozen=True, slots=True)
class Project:
    """What the file at path allows, as KIND:PATTERN; path None: the project has none."""

    path: str | None = None
    rules: Sequence[str] = ()


def read_project(path: Path) -> Project:
    """The project file at path, where there is one. Raises ProgramError with every mistake of it."""
    if not path.is_file():
        return Project()
    source = Source(str(path), read_text(str(path), "the project file"))
    try:
        table = cast(dict[str, object], tomllib.loads(source.text))  # TOML's keys are text
    except tomllib.TOMLDecodeError as error:
        raise ProgramError((_no_toml(source, str(error)),)) from error
    problems = tuple(_problems(source, table))
    if problems:
        raise ProgramError(problems)
    allow = cast(dict[str, list[str]], table.get("allow", {}))  # as _problems has seen
    rules = [f"{kind}:{pattern}" for kind in allow for pattern in allow[kind]]
    return Project(str(path), rules)


def shown(project: Project) -> Iterator[str]:
    """What a plan says of the project: a line, where it has a file."""
    if project.path is not None:
        yield f"Project {project.path} allows {', '.join(project.rules) or 'nothing'}."


# --- what is wrong with it -----------------------------------------------------------------------


def _no_toml(source: Source, message: str) -> Problem:
    """T002 where the parser of TOML says it is; that is in the words of its message."""
    found = _WHERE.search(message)
    end = len(source.text)
    start = end
    if found and found[1]:
        lines = source.text.split("\n")[: int(found[1]) - 1]
        start = min(end, sum(len(line) + 1 for line in lines) + int(found[2]) - 1)
    why = _WHERE.sub("", message).strip()
    place = Place(source, Span(start, min(start + 1, end)))
    return Problem("T002", f"this is not TOML: {why[:1].lower()}{why[1:]}", place)


def _problems(source: Source, table: Mapping[str, object]) -> Iterator[Problem]:
    for name, value in table.items():
        at = _key(source, name)
        if name not in KEYS:
            yield _unknown(name, f"the project file has no `{name}`", KEYS, at)
        elif not isinstance(value, dict):
            yield _wrong(f"`{name}` is a table, not {_said(value)}", at, f"write `[{name}]`")
        else:
            # TOML's keys are text; isinstance loses the parameters, here and below.
            yield from _inside(source, name, cast(dict[str, object], value))


def _inside(source: Source, table: str, values: Mapping[str, object]) -> Iterator[Problem]:
    for name, value in values.items():
        at = _key(source, name, table)
        example = f'write, for example, `{name} = ["NAME"]`'
        if name not in KEYS[table]:
            yield _unknown(name, f"[{table}] has no `{name}`", KEYS[table], at)
        elif not isinstance(value, list):
            yield _wrong(f"`{name}` is a list of patterns, not {_said(value)}", at, example)
        else:
            wrong = [i for i in cast(list[object], value) if not isinstance(i, str) or not i]
            if wrong:
                message = f"`{name}` holds patterns, which are texts, not {_said(wrong[0])}"
                yield _wrong(message, at, example)


def _unknown(name: str, message: str, known: Mapping[str, object], at: Place) -> Problem:
    help_ = did_you_mean(name, known, 1) or "it has " + ", ".join(f"`{key}`" for key in known)
    guess = near(name, known, 1)
    edits = (Edit(at.span, guess[0]),) if guess else ()
    return Problem("E106", message, at, help=help_, edits=edits)


def _wrong(message: str, at: Place, help_: str) -> Problem:
    return Problem("E120", message, at, help=help_)


def _said(value: object) -> str:
    match value:
        case bool():
            return "true or false"
        case str():
            return "an empty text" if not value else "a text"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case dict():
            return "a table"
        case _:
            return "a date or a time"


def _key(source: Source, name: str, table: str = "") -> Place:
    """Where the key stands: the parser of TOML does not tell, so it is looked for line by line."""
    key = re.escape(name)
    here, at = "", 0
    for line in source.text.split("\n"):
        if header := re.match(r"\s*\[+\s*\"?([^\]\"]+?)\"?\s*\]", line):
            here = header[1]
            if not table and here.partition(".")[0].strip() == name:
                return Place(source, Span(at + header.start(1), at + header.start(1) + len(name)))
        dotted = rf"\s*(?:{re.escape(table)}\s*\.\s*)?" if table and here != table else r"\s*"
        inside = not table or here in (table, "")
        found = re.match(rf"{dotted}[\"']?({key})[\"']?\s*[.=]", line) if inside else None
        if found:
            return Place(source, Span(at + found.start(1), at + found.end(1)))
        at += len(line) + 1
    return whole(source)
