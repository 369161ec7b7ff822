"""`podium explain`: what a problem's code means, with a program that earns it and one that does not."""

import textwrap
from collections.abc import Iterator
from dataclasses import asdict

import click

from podium.dsl.catalogue import Entry, Example, catalogue, sections
from podium.dsl.names import did_you_mean

from .exits import ShellError
from .options import json_option
from .safe import safe, safe_json, safe_line

_WIDTH = 88  # of the sentences; programs stand as they are
_LONGEST = 40  # characters shown of a code that does not exist


@click.command(short_help="Say what a problem's code means.", epilog="Example: podium explain E105")
@click.argument("code", required=False)
@json_option
def command(code: str | None, as_json: bool) -> None:
    """Say what CODE means, why it is a mistake and how it is mended; without CODE list them all."""
    if code is None:
        click.echo(_listed_json() if as_json else _listed())
        return
    entry = entry_of(code)
    click.echo(safe_json(as_data(entry)) if as_json else safe("\n".join(page(entry))))


def entry_of(code: str) -> Entry:
    """The entry of code, in small letters or large. Raises ShellError where there is none."""
    known = catalogue()
    wanted = code.strip().upper()
    if wanted not in known:
        help_ = did_you_mean(wanted, known) or "`podium explain` lists all"
        raise ShellError(f"there is no problem `{safe_line(code, _LONGEST)}`; {help_}")
    return known[wanted]


def page(entry: Entry) -> Iterator[str]:
    """The entry in lines."""
    yield f"{entry.code}: {entry.title}"
    yield ""
    yield textwrap.fill(entry.why, _WIDTH, break_long_words=False, break_on_hyphens=False)
    for heading, text in sections(entry):
        yield f"\n{heading}:\n"
        yield textwrap.indent(text, "    ")


def as_data(entry: Entry) -> dict[str, object]:
    """The entry for a program; a failing or mended example that does not exist is null."""
    return {
        "schema": 1,
        "code": entry.code,
        "title": entry.title,
        "why": entry.why,
        "files": dict(entry.files),
        "failing": _example(entry.failing),
        "mended": _example(entry.mended),
    }


def _example(example: Example | None) -> dict[str, object] | None:
    """The text is shortened by what fill says: `…` stands for that part, so many times."""
    return None if example is None else asdict(example)


def _listed() -> str:
    return "\n".join(f"{entry.code}  {entry.title}" for entry in catalogue().values())


def _listed_json() -> str:
    problems = [{"code": e.code, "title": e.title} for e in catalogue().values()]
    return safe_json({"schema": 1, "problems": problems})
