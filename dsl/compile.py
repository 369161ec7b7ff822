"""The pipeline from text to `Program`, and nothing else."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from .library import Library
from .problem import Problem
from .program import Budget, Model, Program
from .source import Source


@dataclass(frozen=True, slots=True)
class Choice:
    """What a caller picks of a file: run None takes `main`, else the only run.

    params: values as text (`--set`) or already typed, by name, with their origin ("--set", "PODIUM_PARAM_x" …).
    expression and task make a run of their own (`-e EXPR --task NAME`): the file may then be empty.
    task names a task of the file, else a family (`words`). models replace those of the file by name;
    default_model replaces the default one (`--model URL`). caps: bounds from outside, which only tighten.
    allow(kind, name) says whether host code, a file, a variable or a host may be used; None allows all.
    """

    run: str | None = None
    params: Mapping[str, tuple[str | int | float | bool, str]] = field(
        default_factory=dict[str, tuple[str | int | float | bool, str]]
    )
    expression: str | None = None
    task: str | None = None
    models: Mapping[str, Model] = field(default_factory=dict[str, Model])
    default_model: Model | None = None
    caps: Budget = Budget()
    allow: Callable[[str, str], bool] | None = None


def check(source: Source, library: Library) -> tuple[Problem, ...]:
    """Every mistake of source and of what it imports, in order; warnings included. Never raises."""
    raise NotImplementedError


def compile_run(
    source: Source, library: Library, choice: Choice
) -> tuple[Program, tuple[Problem, ...]]:
    """The chosen run as a Program, with the warnings. Raises ProgramError on any error."""
    raise NotImplementedError
