"""`podium test`: a file's tests and runs on the simulator, under hundreds of schedules of faults."""

import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from podium.dsl.compile import Choice
from podium.dsl.draft import verifiers
from podium.dsl.names import did_you_mean
from podium.dsl.parse import parse
from podium.dsl.problem import Problem, ProgramError
from podium.dsl.program import Program
from podium.dsl.source import Source
from podium.dsl.values import Tasks

from ..call import CallError
from ..functions import Function, load
from ..library import DiskLibrary, allowance
from . import units
from .doors import Doors
from .exits import Exit, ShellError
from .inputs import allow_rules, parameters
from .loading import params, reach
from .options import json_option, params_option, settings_option, verbose_option
from .project import NAME as PROJECT_FILE
from .project import read_project
from .reports import reject, show
from .safe import safe, safe_json
from .texts import read_program

if TYPE_CHECKING:
    from ..testing.checking import Checked, File
    from ..testing.telling import Failure

# What the simulator must not ask for: it calls nothing, reads no variable, and runs Python only where allowed.
_FREE = ("host", "env", "python")


@dataclass(frozen=True, slots=True)
class Opened:
    """A file to test, its subjects' checks, what is to be said of it, and of its runs."""

    file: "File"
    checks: "list[Checked]"
    simulated: tuple[str, ...]
    warnings: tuple[Problem, ...]


@click.command(
    short_help="Test a program's promises on the simulator.",
    epilog="Example: podium test main.team --cases 300 --seed 7",
)
@click.argument("file", type=click.Path())
@click.argument("names", nargs=-1, metavar="[TEST]...")
@click.option(
    "--cases",
    type=click.IntRange(1),
    default=300,
    show_default=True,
    help="How many cases in all.",
)
@click.option("--seed", default=0, show_default=True, help="Seed of every choice by chance.")
@click.option("--time", "most", default="60s", show_default=True, help="Begin no case after that.")
@click.option("--case", "number", type=click.IntRange(1), help="Only this case of each.")
@settings_option
@params_option
@click.option(
    "--allow", multiple=True, metavar="KIND:PATTERN", help="Allow file; run python verifiers."
)
@click.option("--junit", metavar="PATH", help="Also write a report in JUnit's XML.")
@json_option
@click.option("-q", "--quiet", is_flag=True, help="No progress, and no report where all is kept.")
@verbose_option
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    file: str,
    names: tuple[str, ...],
    cases: int,
    seed: int,
    most: str,
    number: int | None,
    settings: tuple[str, ...],
    params_file: str | None,
    allow: tuple[str, ...],
    junit: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Try the tests and the runs of FILE, or those named, under faults on the simulator.

    Nothing is called and nothing is paid. A test keeps what it says, a run what the engine promises: budgets,
    one outcome for each node, an end. Where one does not, the smallest program and faults that show it are
    printed. Exit codes: 0 all is kept; 1 a promise was broken; 2 wrong program or usage; 4 could not be tried.
    """
    doors = ctx.obj or Doors()
    try:
        write = None if junit is None else _junit()
        here = opened(file, names, settings, params_file, allow, doors.environ)
        if not as_json:
            _say(here, quiet=quiet)
        checks = _spread(here.checks, cases, number)
        _check(here.file, checks, seed, units.seconds(most), number, quiet=quiet or as_json)
    except ProgramError as error:
        reject(error, as_json=as_json)
    except ModuleNotFoundError as error:
        if (said := _without(error)) is None:
            raise
        raise said from error
    options = _options(settings, params_file, allow)
    told = {one.subject.name: _told(one, file, seed, options) for one in checks}
    if write is not None and junit is not None:
        write(Path(junit), file, checks, told)
    if as_json:
        click.echo(safe_json(_json(file, seed, checks, told)))
    else:
        _report(checks, told, most, quiet=quiet)
    ctx.exit(_exit(checks))


def _junit() -> Callable[..., None]:
    """Loaded before anything is tried: what it needs may not be there."""
    from .junit import write

    return write


def _without(error: ModuleNotFoundError) -> ShellError | None:
    """What to say where a package is missing that only testing needs."""
    name = (error.name or "").partition(".")[0]
    if name not in ("trio", "junitparser"):
        return None
    return ShellError(f"this needs {name}: pip install 'podium[test]'", Exit.FAILED)


# --- what is tested ------------------------------------------------------------------------------


def opened(
    path: str,
    names: Sequence[str] = (),
    settings: Sequence[str] = (),
    params_file: str | None = None,
    allow: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
) -> Opened:
    """The subjects of the file at path. Raises ProgramError and ShellError."""
    from ..testing.cases import subjects
    from ..testing.checking import Checked, File

    source = read_program(path)
    tree, _ = parse(source)
    library = DiskLibrary(source.name)
    rules = (*allow_rules(allow, ()), *read_project(library.root / PROJECT_FILE).rules)
    allowed = allowance(rules)
    declared = [one.name for one in params(tree)]
    choice = Choice(
        params=parameters(settings, params_file, declared, environ or {}),
        allow=lambda kind, value: kind in _FREE or allowed(kind, value),
    )
    _known(source, names, [d.name for d in tree.declarations if d.kind in ("test", "run")])
    found, warnings = subjects(source, library, choice, names)
    reach(library.root)
    refs = dict.fromkeys(ref for one in found for ref in _python(one.program))
    bindings = {ref: _loaded(ref) for ref in refs if allowed("python", ref)}
    others = tuple(ref for ref in refs if ref not in bindings)
    file = File(source, library, choice, bindings)
    return Opened(file, [Checked(one, 0) for one in found], others, warnings)


def _known(source: Source, names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            help_ = did_you_mean(name, known) or f"it has {', '.join(known) or 'neither'}"
            raise ShellError(f"{source.name} has no test or run {name}; {help_}")
    if not known:
        raise ShellError(
            f"{source.name} has no test and no run: write `test NAME {{ flow = ... }}`"
        )


def _python(program: Program) -> Iterable[str]:
    """The functions of the user's own that judge in program."""
    for verifier in verifiers(program.flow, Tasks(program.tasks)):
        ref = str(verifier.args.get("ref", ""))
        if verifier.kind == "python" and not ref.startswith("podium."):
            yield ref


def _loaded(ref: str) -> Function:
    try:
        return load(ref, {}, "verifier")
    except CallError as error:
        raise ShellError(error.message, Exit.FAILED) from error


def _say(here: Opened, *, quiet: bool) -> None:
    if here.warnings:
        show(here.warnings, as_json=False)
    for ref in () if quiet else here.simulated:
        click.echo(
            f'podium: python("{safe(ref)}") is not run; the simulator scores in its place '
            f"(--allow python:{safe(ref)} runs it)",
            err=True,
        )


# --- trying --------------------------------------------------------------------------------------


def _spread(checks: "Sequence[Checked]", cases: int, number: int | None) -> "list[Checked]":
    from ..testing.checking import spread

    wanted = len(checks) if number is not None else cases
    return spread([one.subject for one in checks], wanted)


def _check(
    file: "File",
    checks: "Sequence[Checked]",
    seed: int,
    seconds: float,
    number: int | None,
    *,
    quiet: bool,
) -> None:
    from ..testing.checking import check, check_case

    if number is not None:
        for one in checks:
            check_case(file, one, seed, number)
        return
    clock = _Clock(checks, time.monotonic() + seconds, quiet=quiet)
    check(file, checks, seed, goes_on=clock.goes_on)
    clock.clear()


class _Clock:
    """Says when it is enough, and meanwhile on a terminal how far it is."""

    def __init__(self, checks: "Sequence[Checked]", until: float, *, quiet: bool) -> None:
        self._checks, self._until = checks, until
        self._shows = not quiet and sys.stderr.isatty()
        self._shown = 0.0

    def goes_on(self) -> bool:
        now = time.monotonic()
        if self._shows and now - self._shown > 0.2:
            self._shown = now
            done, wanted = (sum(getattr(c, a) for c in self._checks) for a in ("done", "wanted"))
            click.echo(f"\r{done} of {wanted} cases", err=True, nl=False)
        return now < self._until

    def clear(self) -> None:
        if self._shows:
            click.echo("\r" + " " * 40 + "\r", err=True, nl=False)


# --- the report ----------------------------------------------------------------------------------


def _options(
    settings: Sequence[str], params_file: str | None, allow: Sequence[str]
) -> Sequence[str]:
    """What must be said again for the same cases."""
    words = [word for setting in settings for word in ("--set", setting)]
    words += [] if params_file is None else ["--params", params_file]
    return words + [word for rule in allow for word in ("--allow", rule)]


def _told(one: "Checked", file: str, seed: int, options: Sequence[str]) -> "Failure | None":
    from ..testing.telling import failure

    return failure(one, file, seed, options)


def _report(
    checks: "Sequence[Checked]", told: "dict[str, Failure | None]", most: str, *, quiet: bool
) -> None:
    if quiet and all(one.kept for one in checks):
        return
    width = max(len(one.subject.name) for one in checks)
    for one in checks:
        click.echo(f"{safe(one.subject.name):{width}}  {safe(line(one))}")
    for failure in filter(None, told.values()):
        click.echo("\n" + safe(failure.told()))
    done, wanted = sum(one.done for one in checks), sum(one.wanted for one in checks)
    if any(one.goes_on for one in checks):
        click.echo(f"podium: stopped after {most}, with {done} of {wanted} cases done", err=True)


def line(one: "Checked") -> str:
    """How one test or run did, in a few words."""
    kind = "run " if one.subject.test is None else "test"
    cases = units.counted(one.done, "case")
    if one.stuck:
        return f"{kind}  could not be tried: {one.stuck}"
    if one.found is not None:
        return f"{kind}  broke a promise in case {one.found.case.number}"
    return f"{kind}  kept in {cases}" if one.done else f"{kind}  not tried: no time was left"


def _json(
    file: str, seed: int, checks: "Sequence[Checked]", told: "dict[str, Failure | None]"
) -> dict[str, object]:
    return {
        "schema": 1,
        "file": file,
        "seed": seed,
        "kept": all(one.kept for one in checks),
        "complete": not any(one.goes_on for one in checks),
        "subjects": [_subject(one, told[one.subject.name]) for one in checks],
    }


def _subject(one: "Checked", failure: "Failure | None") -> dict[str, object]:
    return {
        "name": one.subject.name,
        "kind": "run" if one.subject.test is None else "test",
        "cases": one.done,
        "wanted": one.wanted,
        "kept": one.kept,
        "stuck": one.stuck or None,
        "failure": None
        if failure is None
        else {
            "case": failure.case,
            "promise": failure.promise,
            "message": failure.sentence,
            "program": failure.program or None,
            "given": list(failure.given),
            "seed": failure.seed,
            "command": failure.command,
        },
    }


def _exit(checks: "Sequence[Checked]") -> Exit:
    if any(one.found is not None for one in checks):
        return Exit.NOT_PASSED
    return Exit.PASSED if all(one.kept for one in checks) else Exit.FAILED
