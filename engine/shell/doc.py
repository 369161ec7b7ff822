"""`podium doc`: what a file offers, as a reference page."""

from pathlib import Path

import click

from podium.dsl.doc import page_of
from podium.dsl.doc_page import as_json as json_of
from podium.dsl.doc_page import as_markdown
from podium.dsl.doc_text import sentence
from podium.dsl.library import LibraryError, modules, standard
from podium.dsl.problem import ProgramError
from podium.dsl.source import Source

from ..library import DiskLibrary
from .exits import ShellError
from .options import json_option
from .reports import reject
from .safe import safe, safe_json
from .texts import read_program, write_whole


@click.command(
    short_help="Print a file's reference page.",
    epilog="Example: podium doc std.flows",
)
@click.argument("file", required=False, type=click.Path())
@json_option
@click.option("--out", metavar="PATH", type=click.Path(), help="Write the page to this file.")
def command(file: str | None, as_json: bool, out: str | None) -> None:
    """Print the reference page of FILE in Markdown: what it declares, with the text of its `##` comments.

    FILE may be a module of the standard library, such as std.flows; without FILE its modules are listed.
    Lines of a `##` comment that are indented by four are examples. Nothing is called.
    """
    try:
        text = _listed(as_json=as_json) if file is None else _page(file, as_json=as_json)
    except ProgramError as error:
        reject(error, as_json=as_json)
    if out is None:
        click.echo(text, nl=False)
    else:
        write_whole(Path(out), text)
        click.echo(f"wrote {safe(out)}", err=True)


def _page(file: str, *, as_json: bool) -> str:
    page = page_of(source_of(file), DiskLibrary(file))
    return safe_json(json_of(page)) + "\n" if as_json else safe(as_markdown(page))


def source_of(file: str) -> Source:
    """The text of a file, or of the module of that name. Raises ProgramError or ShellError."""
    if not file.startswith("std.") or Path(file).exists():
        return read_program(file)
    try:
        return standard(file)
    except LibraryError as error:
        raise ShellError(f"{error}; {error.help}") from error


def _listed(*, as_json: bool) -> str:
    """The modules of the standard library, each with the first sentence of its head."""
    heads = {name: sentence(page_of(standard(name), DiskLibrary(name)).doc) for name in modules()}
    if as_json:
        listed = [{"name": name, "doc": doc} for name, doc in heads.items()]
        return safe_json({"schema": 1, "modules": listed}) + "\n"
    width = max(map(len, heads))
    return "".join(f"{name:{width}}  {doc}\n" for name, doc in heads.items())
