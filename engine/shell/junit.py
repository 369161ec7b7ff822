"""The report of `podium test` in JUnit's XML, as build servers read it."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path

from junitparser import Error, JUnitXml, TestCase, TestSuite
from junitparser import Failure as Failed

from ..testing.checking import Checked
from ..testing.telling import Failure
from .safe import safe
from .texts import write_whole


def write(
    path: Path, file: str, checks: Sequence[Checked], told: Mapping[str, Failure | None]
) -> None:
    """One suite for the file, one case for each test and run. Raises ShellError where path cannot be written."""
    suite = TestSuite(file)
    for one in checks:
        suite.add_testcase(_case(file, one, told[one.subject.name]))
    report = JUnitXml("podium test")
    report.add_testsuite(suite)
    text = BytesIO()
    # junitparser types its parameter in part.
    report.write(text)  # pyright: ignore[reportUnknownMemberType]
    write_whole(path, text.getvalue().decode("utf-8"))


def _case(file: str, one: Checked, failure: Failure | None) -> TestCase:
    case = TestCase(one.subject.name, file)
    if failure is not None:
        found = Failed(safe(failure.sentence), failure.promise)
        found.text = safe(failure.told())
        case.result = [found]
    elif one.stuck:
        case.result = [Error(safe(one.stuck), "stuck")]
    return case
