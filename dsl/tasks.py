"""Tasks: declared in fields, made by a family, or one for each line of a file."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace

from .conditions import only
from .context import Bound, Context
from .fields import Got
from .folders import given_files
from .kinds import PASS_NAMES
from .library import LibraryError
from .problem import Problem
from .problem_sets import of_family
from .program import Compare, Condition, Task, Verifier
from .quantity import Scalar
from .reading import as_text, as_word
from .tools import tools_of
from .types import TASK
from .values import BAD, Json, Noun, Row, RowSet, Scope, Tasks, Unknown, Value, is_condition

MOST_ROWS = 100_000


def build(context: Context, noun: Noun, got: Got) -> Value:
    """The task that the noun's fields describe."""
    use = got.value("use")
    verify = got.value("verify")
    verify = verify if isinstance(verify, Verifier) else None if got.lacks("verify") else _SOME
    if verify is not None and got.known("use"):
        verify = replace(verify, use="final" if as_word(use, "") == "final" else "always")
    _has_what_judges_need(context, noun, got, verify)
    better = as_word(got.value("better"), "higher")
    task = Task(
        noun.name,
        as_text(got.value("statement")),
        verify,
        _pass_rule(context, got),
        "lower" if better == "lower" else "higher",
        _baseline(context, noun, got),
        given_files(context, got),
    )
    offered = tools_of(context, noun, got)
    has_files = got.given("files")
    works = as_word(got.value("style"), "work" if offered or has_files else "discuss") == "work"
    return Tasks((task,), offered, works, got.at("files") if has_files else None)


# What stands for a verifier with a mistake, or of a parameter without a value: whatever one may do, it may.
_SOME = Verifier("verify", "python", {})
_SOME_RULE = Compare("score", ">=", 0)


def _baseline(context: Context, noun: Noun, got: Got) -> str | None:
    baseline = got.value("baseline")
    if got.given("baseline") and baseline is not None and got.lacks("verify"):
        context.error(
            "E107",
            f"task `{noun.name}` has a `baseline`, and no `verify` to score it",
            got.at("baseline"),
            help="add `verify = …`, or delete `baseline`",
        )
    return baseline if isinstance(baseline, str) else None


def _has_what_judges_need(context: Context, noun: Noun, got: Got, verify: Verifier | None) -> None:
    leaves = () if verify is None else verify.leaves()
    if got.lacks("baseline") and any(one.args.get("against") == "baseline" for one in leaves):
        context.error(
            "E107",
            f"a judge of task `{noun.name}` compares with its `baseline`, and it has none",
            got.at("verify"),
            help="add `baseline = …`, or leave `against` out",
        )


def _pass_rule(context: Context, got: Got) -> Condition | None:
    rule = got.value("pass")
    if not is_condition(rule):
        return None if got.lacks("pass") else _SOME_RULE
    only(context, rule, PASS_NAMES, "a pass rule", got.at("pass"))
    return rule


# --- families ------------------------------------------------------------------------------------


def _family(context: Context, bound: Bound) -> Value:
    name = bound.value("name")
    args: dict[str, Scalar] = {}
    for key, arg in bound.rest:
        if isinstance(arg.value, Unknown) or not key:
            return Unknown(TASK)
        match arg.value:
            case str() | int() | float():
                args[key] = arg.value
            case _:
                args[key] = None
    if not isinstance(name, str):
        return Unknown(TASK)
    if isinstance(path := args.get("file"), str):
        rest = {key: value for key, value in args.items() if key != "file"}
        at = next(arg.place for key, arg in bound.rest if key == "file")
        return of_family(context, name, path, rest, at)
    try:
        return Tasks((context.library.family(name, args),))
    except LibraryError as error:
        at = next((arg.place for key, arg in bound.rest if key == error.argument), bound.at("name"))
        context.error(error.code, str(error), at, help=error.help)
        return BAD


# --- rows ----------------------------------------------------------------------------------------


def _rows(context: Context, bound: Bound) -> Value:
    path = bound.value("path")
    if not isinstance(path, str):
        return Unknown(TASK)
    text = context.text(path, bound.at("path"))
    lines = None if text is None else _parsed(context, text, path, bound)
    return RowSet(path, lines, bound.at("path"))


def _why(error: Exception) -> str:
    """Without the line that `json` counts: it was given only one."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg[:1].lower()}{error.msg[1:]} at column {error.colno}"
    return str(error)


def _parsed(
    context: Context, text: str, path: str, bound: Bound
) -> tuple[tuple[int, Json], ...] | None:
    lines: list[tuple[int, Json]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row: Json = json.loads(line)
        except (ValueError, RecursionError) as error:
            where = f"line {number} of {path} is no JSON"
            context.error("E131", f"{where}: {_why(error)}", bound.at("path"))
            return None
        if not isinstance(row, dict):
            context.error("E131", f"line {number} of {path} is no JSON object", bound.at("path"))
            return None
        lines.append((number, row))
    if not lines or len(lines) > MOST_ROWS:
        found = f"{len(lines):,}" if lines else "no"
        context.error("E131", f"{path} has {found} rows", bound.at("path"))
        return None
    return tuple(lines)


def each_row(
    rows: RowSet,
    amended: Callable[[Value], Value],
    problems: list[Problem],
) -> Value:
    """A task for each line; amended makes the task of one row. Stops at the first line with a mistake.

    problems: what has been reported; what a line adds to it is told with that line's number.
    """
    if rows.lines is None:
        return amended(BAD)
    tasks: list[Task] = []
    last = Tasks(())
    for number, row in rows.lines:
        before = len(problems)
        made = amended(Row(row))
        if len(problems) > before:
            note = f"seen with line {number} of {rows.path}"
            problems[before:] = [replace(p, notes=(*p.notes, note)) for p in problems[before:]]
            return BAD
        if isinstance(made, Tasks):
            last = made
            tasks += [replace(task, name=f"{task.name}/{number}") for task in made.tasks]
    return replace(last, tasks=tuple(tasks))  # but for what stands in its fields all are alike


def row_scope(scope: Scope, row: Value) -> Scope:
    """scope with `row` in it."""
    return Scope(scope.module, scope.source, {**scope.locals, "row": row})


def named(tasks: Tasks, name: str) -> Tasks:
    """The tasks under the name of their declaration; rows keep their line."""
    return replace(
        tasks,
        tasks=tuple(
            replace(task, name="/".join([name, *task.name.split("/")[1:]])) for task in tasks.tasks
        ),
    )


BUILDERS: Mapping[str, Callable[[Context, Bound], Value]] = {"family": _family, "rows": _rows}
