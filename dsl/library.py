"""Where a program's other texts come from. The language itself reads no disk: shells bring a `Library`."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from posixpath import basename, dirname, join, normpath
from typing import Protocol

from .names import did_you_mean
from .program import Task
from .quantity import Scalar
from .source import Source

# The name of a text that has files ends so, and no other's does.
TREE = "/"


class LibraryError(Exception):
    """A text that cannot be had; the message is a clause for a person: `there is no file "x.team"`.

    code is the problem's code: E502 for one outside the project, E104 for one that is missing or unreadable.
    help says what to write instead, where that is known; argument names the one of a family's that is wrong.
    """

    def __init__(
        self, message: str, code: str = "E104", *, help: str = "", argument: str = ""
    ) -> None:
        super().__init__(message)
        self.code = code
        self.help = help
        self.argument = argument


class ArgumentError(ValueError):
    """An argument that a task family does not take, or not with this value."""

    def __init__(self, argument: str, message: str, *, help: str = "") -> None:
        super().__init__(message)
        self.argument = argument
        self.help = help


def resolve(path: str, importer: str) -> str:
    """The name of the text that importer calls path: path seen from importer's folder."""
    return normpath(join(dirname(importer), path))


def standard(name: str) -> Source:
    """The module name of the standard library (`std.flows`), which is part of the package.

    Raises LibraryError where there is none.
    """
    word = name.removeprefix("std.")
    entry = files("podium").joinpath("stdlib").joinpath(f"{word}.team")
    if name == word or not word.isidentifier() or not entry.is_file():
        known = modules()
        help_ = did_you_mean(name, known) or f"modules are {', '.join(known)}"
        raise LibraryError(f"there is no module `{name}`", help=help_)
    return Source(name, entry.read_text(encoding="utf-8"))


def modules() -> tuple[str, ...]:
    """The names of the standard library's modules, in order."""
    names = (entry.name for entry in files("podium").joinpath("stdlib").iterdir())
    return tuple(sorted(f"std.{n.removesuffix('.team')}" for n in names if n.endswith(".team")))


def no_family(name: str, families: Iterable[str]) -> LibraryError:
    """The error of a family that is none of families."""
    known = sorted(families)
    meant = did_you_mean(name, known)
    help_ = f"families are {', '.join(known)}" if known else "there are no families here"
    return LibraryError(f"there is no task family `{name}`", help=meant or help_)


def tree_name(path: str, importer: str) -> str:
    """The name of the text that has the files which importer calls path."""
    return f"{resolve(path, importer)}{TREE}"


class Library(Protocol):
    """Raises LibraryError from every method where the text cannot be had."""

    def module(self, name: str, *, is_file: bool, importer: str) -> Source:
        """The module `std.roles`, or the file in quotes relative to the source named importer."""
        ...

    def text(self, path: str, *, importer: str) -> str:
        """What `file(path)` or `rows(path)` stands for."""
        ...

    def tree(self, path: str, *, importer: str) -> str:
        """The files of the folder at path, or the one file there, as one text: a JSON object with each file under
        its path within the folder (`podium.engine.workspace`)."""
        ...

    def family(self, name: str, args: Mapping[str, Scalar]) -> Task:
        """The task `family("name", …)`: a problem that ships with its verifier. name may end with `:NAME`."""
        ...

    def problems(self, name: str, text: str, args: Mapping[str, Scalar]) -> tuple[Task, ...]:
        """The tasks in the text of a file of the user's, which the family reads."""
        ...

    def price(self, served: str, url: str | None) -> tuple[str, str] | None:
        """The name and the text (`prices.written`) of a listed price: of the model served under this name at url,
        which is None where `openai(…)` gives none. None where no list has it."""
        ...


@dataclass(frozen=True)
class MemoryLibrary:
    """Texts held in memory, by name as written; for tests, one-liners and stored runs."""

    modules: Mapping[str, str] = field(default_factory=dict[str, str])
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    families: Mapping[str, Task] = field(default_factory=dict[str, Task])

    def module(self, name: str, *, is_file: bool, importer: str) -> Source:
        if name not in self.modules:
            if not is_file:
                return standard(name)
            raise LibraryError(f"there is no file {name!r}")
        return Source(name, self.modules[name])

    def text(self, path: str, *, importer: str) -> str:
        if path not in self.files:
            raise LibraryError(f"there is no file {path!r}")
        return self.files[path]

    def tree(self, path: str, *, importer: str) -> str:
        top = f"{path.rstrip('/')}/"
        found = {
            name.removeprefix(top): text
            for name, text in self.files.items()
            if name.startswith(top)
        }
        if path in self.files:
            found = {basename(path): self.files[path]}
        if not found:
            raise LibraryError(f'there is no file or folder "{path}"')
        return json.dumps({name: {"text": text} for name, text in found.items()})

    def family(self, name: str, args: Mapping[str, Scalar]) -> Task:
        if name not in self.families:
            raise no_family(name, self.families)
        return self.families[name]

    def price(self, served: str, url: str | None) -> tuple[str, str] | None:
        return None

    def problems(self, name: str, text: str, args: Mapping[str, Scalar]) -> tuple[Task, ...]:
        return (self.family(name, args),)
