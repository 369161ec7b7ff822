"""A program's other texts from the disk, or from the store; and what a program may use beyond its text.

Nothing outside the project is read: its root is the nearest folder with a podium.toml or a .git, else the
folder of the main file. A path is followed through every link before that is decided.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from podium.dsl.library import LibraryError, resolve, standard, tree_name
from podium.dsl.prices import text_name
from podium.dsl.program import Task
from podium.dsl.quantity import Scalar
from podium.dsl.source import Source

from . import families
from .clients.address import VENDOR_URL
from .folders import gathered
from .prices import price_text

ALLOWED_KINDS = ("env", "file", "python", "host", "mcp")
_MARKS = ("podium.toml", ".git")
_MOST_BYTES = 64_000_000  # of one text: a prompt is far shorter, a large set of rows is not


@dataclass(frozen=True, slots=True)
class DiskLibrary:
    """The texts around the program at path main; a name that is no path (`<expression>`) is this folder.

    base: where `openai(…)` goes that gives no address, if that is not the vendor's.
    """

    main: str
    base: str | None = None

    def module(self, name: str, *, is_file: bool, importer: str) -> Source:
        if not is_file:
            return standard(name)
        path = resolve(name, importer)
        return Source(path, self._read(path, name))

    def text(self, path: str, *, importer: str) -> str:
        return self._read(resolve(path, importer), path)

    def tree(self, path: str, *, importer: str) -> str:
        with _told(path):
            return gathered(self._inside(resolve(path, importer), path), path)

    def family(self, name: str, args: Mapping[str, Scalar]) -> Task:
        return families.family(name, args)

    def problems(self, name: str, text: str, args: Mapping[str, Scalar]) -> tuple[Task, ...]:
        return families.problems(name, text, args)

    def price(self, served: str, url: str | None) -> tuple[str, str] | None:
        at = url or self.base or VENDOR_URL
        text = price_text(served, at)
        return None if text is None else (text_name(served, url or ""), text)

    @property
    def root(self) -> Path:
        return project_root(Path.cwd() if self.main.startswith("<") else Path(self.main).parent)

    def _read(self, path: str, written: str) -> str:
        with _told(written):
            found = self._inside(path, written)
            if found.is_dir():
                raise LibraryError(f'"{written}" is a folder')
            with found.open("rb") as file:
                raw = file.read(_MOST_BYTES + 1)
        return _decoded(raw, written)

    def _inside(self, path: str, written: str) -> Path:
        found = Path(path).resolve()
        if not found.is_relative_to(self.root):
            raise LibraryError(f'"{written}" is outside the project', code="E502")
        return found


@contextmanager
def _told(written: str) -> Generator[None]:
    """What goes wrong with a file, as LibraryError. written: its path as the program has it."""
    try:
        yield
    except FileNotFoundError as error:
        raise LibraryError(f'there is no file "{written}"') from error
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: a loop of links
        why = getattr(error, "strerror", None) or str(error)
        raise LibraryError(f'"{written}" cannot be read: {why}') from error


def _decoded(raw: bytes, written: str) -> str:
    if len(raw) > _MOST_BYTES:
        raise LibraryError(f'"{written}" is longer than {_MOST_BYTES:,} bytes')
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise LibraryError(f'"{written}" is not UTF-8 text: see line {line}') from error


def project_root(folder: Path) -> Path:
    """The nearest folder from folder upwards with a podium.toml or a .git, else folder; links resolved."""
    start = folder.resolve()
    for candidate in (start, *start.parents):
        if any((candidate / mark).exists() for mark in _MARKS):
            return candidate
    return start


@dataclass(frozen=True, slots=True)
class StoredLibrary:
    """The texts a run was made from (`Program.sources`), so that it compiles again without the disk.

    Task families are code, not text: they come from the installed package.
    """

    sources: Sequence[Source]

    def module(self, name: str, *, is_file: bool, importer: str) -> Source:
        return self._source(resolve(name, importer) if is_file else name)

    def text(self, path: str, *, importer: str) -> str:
        return self._source(resolve(path, importer)).text

    def tree(self, path: str, *, importer: str) -> str:
        name = tree_name(path, importer)  # runs of before there were trees have none
        return next((one.text for one in self.sources if one.name == name), "")

    def family(self, name: str, args: Mapping[str, Scalar]) -> Task:
        return families.family(name, args)

    def problems(self, name: str, text: str, args: Mapping[str, Scalar]) -> tuple[Task, ...]:
        return families.problems(name, text, args)

    def price(self, served: str, url: str | None) -> tuple[str, str] | None:
        name = text_name(served, url or "")
        return next(((name, one.text) for one in self.sources if one.name == name), None)

    def _source(self, name: str) -> Source:
        for source in self.sources:
            if source.name == name:
                return source
        raise LibraryError(f"the stored run holds no `{name}`")


# --- what a program may use ----------------------------------------------------------------------


def allowance(rules: Iterable[str]) -> Callable[[str, str], bool]:
    """allow(kind, name): whether one of the `KIND:PATTERN` rules names it; `*` matches anything.

    Raises ValueError on a rule that is none.
    """
    pairs = [_rule(rule) for rule in rules]

    def allow(kind: str, name: str) -> bool:
        return any(kind == of and fnmatchcase(name, pattern) for of, pattern in pairs)

    return allow


def _rule(rule: str) -> tuple[str, str]:
    kind, _, pattern = rule.partition(":")
    if kind not in ALLOWED_KINDS or not pattern:
        kinds = ", ".join(ALLOWED_KINDS)
        raise ValueError(f"{rule!r} is not KIND:PATTERN; KIND is one of {kinds}")
    return kind, pattern
