"""`podium fmt`: programs in the one layout."""

import difflib
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from podium.dsl.format import FormatError, format_text
from podium.dsl.problem import ProgramError
from podium.dsl.source import Source

from .exits import Exit
from .reports import show
from .safe import safe
from .texts import STDIN, read_program, write_whole


@click.command(short_help="Format programs.", epilog="Example: podium fmt --diff hello.team")
@click.argument("files", nargs=-1, required=True, type=click.Path())
@click.option("--check", "only_check", is_flag=True, help="Change nothing; exit 1 if it would.")
@click.option("--diff", is_flag=True, help="Change nothing; print what would change.")
@click.pass_context
def command(ctx: click.Context, files: tuple[str, ...], only_check: bool, diff: bool) -> None:
    """Format FILES in place; a folder stands for its .team files, - for standard input to output."""
    changed, failed = 0, False
    for path in expanded(files):
        try:
            source = read_program(path)
            new = format_text(source)
        except (ProgramError, FormatError) as error:
            show(error.problems, as_json=False)
            failed = True
            continue
        changed += new != source.text
        _deliver(path, source, new, only_check=only_check, diff=diff)
    if failed:
        ctx.exit(Exit.USAGE)
    if changed and (only_check or diff):
        ctx.exit(Exit.NOT_PASSED)


def expanded(paths: tuple[str, ...]) -> Iterator[str]:
    """The files meant by paths, each folder replaced by the .team files below it, in order."""
    for path in paths:
        if path != STDIN and Path(path).is_dir():
            yield from (str(found) for found in sorted(Path(path).rglob("*.team")))
        else:
            yield path


def _deliver(path: str, source: Source, new: str, *, only_check: bool, diff: bool) -> None:
    if diff:
        click.echo(safe(unified(source, new)), nl=False)
    elif only_check:
        if new != source.text:
            click.echo(f"{safe(path)} is not formatted", err=True)
    elif path == STDIN:
        sys.stdout.write(new)
    elif new != source.text:
        write_whole(Path(path), new)
        click.echo(f"{safe(path)} formatted", err=True)


def unified(source: Source, new: str) -> str:
    """The change as a unified diff; empty where there is none."""
    old_lines, new_lines = source.text.splitlines(True), new.splitlines(True)
    diff = difflib.unified_diff(old_lines, new_lines, source.name, f"{source.name} (formatted)")
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in diff)
