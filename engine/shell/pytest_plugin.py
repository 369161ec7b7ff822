"""The `test` blocks of `*.team` files as tests of pytest: installed with Podium, found by its entry point.

The rule this file keeps: it loads nothing of the engine until a file with a test is collected.
"""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from ..testing.checking import Checked, File

_WORDS = (b"test ", b"test\t")


class BrokenPromise(Exception):
    """A test's promise does not hold; the message is the whole report."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("podium", "tests in .team files")
    group.addoption(
        "--podium-cases", type=int, default=100, metavar="N", help="cases of each (default: 100)"
    )
    group.addoption("--podium-seed", type=int, default=0, metavar="N", help="their seed")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "TeamFile | None":
    if file_path.suffix == ".team" and _has_tests(file_path):
        # What pytest makes nodes with is not typed.
        return TeamFile.from_parent(parent, path=file_path)  # pyright: ignore[reportUnknownMemberType]
    return None


def _has_tests(path: Path) -> bool:
    """Whether some declaration is a test: a word in column 1 starts one."""
    return any(line.startswith(_WORDS) for line in path.read_bytes().splitlines())


class TeamFile(pytest.File):
    """A program; its items are its tests. One with a mistake is told of as `podium check` does."""

    def collect(self) -> Iterator["TeamItem"]:
        from podium.dsl import report
        from podium.dsl.problem import ProgramError

        from .exits import ShellError
        from .test import opened

        path = str(self.path)
        try:
            file = opened(path)
        except ProgramError as error:
            raise self.CollectError(report.plain(error.problems)) from None
        except ShellError as error:
            raise self.CollectError(error.message) from None
        for one in file.checks:
            if one.subject.test is not None:
                named = {"name": one.subject.name, "check": partial(_tried, file.file, one)}
                yield TeamItem.from_parent(self, **named)  # pyright: ignore[reportUnknownMemberType]  # as above


class TeamItem(pytest.Item):
    """One test of a program: many cases of it."""

    def __init__(self, *, check: Any, **named: Any) -> None:
        super().__init__(**named)  # pyright: ignore[reportUnknownMemberType]  # as above
        self.check = check

    def runtest(self) -> None:
        from ..testing.telling import failure

        # The options are declared above, as whole numbers.
        cases, seed = (cast(int, self.config.getoption(f"--podium-{o}")) for o in ("cases", "seed"))
        done: Checked = self.check(cases, seed)
        path = os.path.relpath(self.path, self.config.invocation_params.dir)
        if (found := failure(done, path, seed)) is not None:
            raise BrokenPromise(found.told())
        if done.stuck:
            raise BrokenPromise(f"{self.name} could not be tried: {done.stuck}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, BrokenPromise):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"test {self.name}"


def _tried(file: "File", one: "Checked", cases: int, seed: int) -> "Checked":
    from ..testing.checking import check, spread

    checks = spread([one.subject], cases)
    check(file, checks, seed, goes_on=lambda: True)
    return checks[0]
