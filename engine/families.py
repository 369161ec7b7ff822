"""The task families that ship with Podium: an index that is data, and the functions that it names.

`NAME` after a colon picks a problem: `words:7` is the one of seed 7, `choice:tides` the one of that name. What it
stands for, and which families read problems from files of the user's, the index says.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any, cast

from podium.dsl.library import ArgumentError, LibraryError, no_family
from podium.dsl.names import did_you_mean
from podium.dsl.program import Task
from podium.dsl.quantity import Scalar


@dataclass(frozen=True, slots=True)
class Family:
    """A line of the index. make, load, names: `module:function`, the last two "" where there is none.

    make: of arguments, a Task. load: of a file's text and arguments, its Tasks. names: of the problems that ship.
    named: the argument that a name after the colon stands for; where that is a number, first is the one to show.
    score: its range, for people. baseline: what an answer without any skill is worth, and which that is. needs:
    what must be installed or at hand.
    least, most: the same range as numbers; None where that end is open.
    """

    make: str
    about: str
    kind: str
    score: str
    baseline: str
    named: str
    needs: str = ""
    load: str = ""
    names: str = ""
    first: int = 0
    least: float | None = None
    most: float | None = None


@cache
def families() -> Mapping[str, Family]:
    """The families by name. Nothing is imported."""
    text = files("podium").joinpath("tasks").joinpath("index.json").read_text(encoding="utf-8")
    found = cast(Mapping[str, dict[str, Any]], json.loads(text))  # ours, and tested
    return {name: Family(**fields) for name, fields in found.items()}


def family(name: str, args: Mapping[str, Scalar]) -> Task:
    """The task that the family makes of args; name may end with `:NAME`. Raises LibraryError."""
    head, colon, rest = name.partition(":")
    known = _known(head)
    if colon:
        args = {known.named: _whole(rest), **args}
    return cast(Task, _told(head, name)(lambda: _function(known.make)(**args)))  # as the index says


def problems(name: str, text: str, args: Mapping[str, Scalar]) -> tuple[Task, ...]:
    """The tasks in a file's text, by the family's own reader. Raises LibraryError."""
    known = _known(name)
    if not known.load:
        readers = sorted(one for one, entry in families().items() if entry.load)
        raise LibraryError(
            f"task family `{name}` reads no files", help=f"those that do are {', '.join(readers)}"
        )
    load = cast(Callable[..., Sequence[Task]], _function(known.load))  # as the index says
    return tuple(_told(name, "")(lambda: load(text, **args)))


def names(name: str) -> tuple[str, ...]:
    """The names of the problems that ship with the family; none where it makes them of numbers."""
    known = _known(name)
    if not known.names:
        return ()
    return tuple(cast(Callable[[], Sequence[str]], _function(known.names))())  # as the index says


def _known(name: str) -> Family:
    if name not in families():
        raise no_family(name, families())
    return families()[name]


def _function(ref: str) -> Callable[..., Any]:
    module, _, attribute = ref.partition(":")
    return cast(Callable[..., Any], getattr(import_module(module), attribute))


def _whole(text: str) -> Scalar:
    return int(text) if text.isdecimal() and len(text) < 19 else text


def _told(name: str, written: str) -> Callable[[Callable[[], Any]], Any]:
    """Calls what it is given; a wrong argument becomes an error that names the family."""

    def call(make: Callable[[], Any]) -> Any:
        try:
            return make()
        except ArgumentError as error:
            help_ = error.help
            if written.partition(":")[2] and not help_:
                shipped = names(name)
                help_ = did_you_mean(written.partition(":")[2], shipped) if shipped else ""
            message = f"task family `{name}`: {error}"
            raise LibraryError(message, help=help_, argument=error.argument) from error

    return call
