"""The arms of a comparison, and what makes a run of one the same run again. Pure."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import cast

import orjson

from podium.dsl.compile import Arranged
from podium.dsl.program import Budget, Program, Task
from podium.dsl.source import Place, Source

from ..request import Request


@dataclass(frozen=True, slots=True)
class Arm:
    """program: of all tasks, under the budget that each run has. request: what compiles it again.

    each: that budget as the experiment has it, without a cap from outside.
    """

    name: str
    program: Program
    request: Request
    each: Budget

    @property
    def tasks(self) -> tuple[Task, ...]:
        return self.program.tasks


def arms_of(found: Arranged, request: Request) -> tuple[Arm, ...]:
    """The arms of an experiment of the file that request names."""
    made = found.experiment
    return tuple(
        Arm(name, program, _with_arm(request, program, (made.name, name)), made.budget)
        for name, program in found.programs.items()
    )


def _with_arm(request: Request, program: Program, arm: tuple[str, str]) -> Request:
    return replace(request, run=None, arm=arm, texts=program.sources)


def digest(arm: Arm) -> str:
    """What a run of arm does, as a short text: the same wherever in a file it stands."""
    program = arm.program
    return digest_of((program.flow, program.models, program.default_model, arm.each))


def task_digest(task: Task) -> str:
    """The same of a task, as its place among others may change."""
    return digest_of(task)


_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATACLASS


def digest_of(facts: object) -> str:
    """A short text that stands for facts: parts of a program, without where they stand in a text."""
    return hashlib.sha256(orjson.dumps(facts, _plain, _OPTIONS)).hexdigest()[:16]


def _plain(value: object) -> object:
    """value as JSON has it, without where anything stands in a text."""
    if isinstance(value, Place | Source):
        return None
    if is_dataclass(value):
        own = {one.name: getattr(value, one.name) for one in fields(value)}
        return {"": type(value).__name__, **own}
    if isinstance(value, frozenset):
        return sorted(map(str, cast(frozenset[object], value)))
    if isinstance(value, Mapping):
        return dict(cast(Mapping[object, object], value))
    raise TypeError(f"{type(value).__name__} is no part of a program")
