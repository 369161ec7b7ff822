"""`podium tasks`: the task families, what each is, and the problems that ship with one."""

from dataclasses import asdict

import click
from rich.table import Table
from rich.text import Text

from podium.dsl.library import LibraryError

from ..families import Family, families, names
from .exits import ShellError
from .options import json_option
from .output import columns, stdout_console
from .safe import safe_json


@click.command(
    short_help="List the task families, or the problems of one.",
    epilog="Example: podium run -e 'parallel(8) of agent -> best' --task words:7",
)
@click.argument("family", required=False)
@json_option
def command(family: str | None, as_json: bool) -> None:
    """List the task families; of FAMILY the names of its problems, for --task FAMILY:NAME."""
    if family is not None:
        _one(family, as_json=as_json)
    elif as_json:
        listed = [_json(name, entry) for name, entry in families().items()]
        click.echo(safe_json({"schema": 1, "families": listed}))
    else:
        stdout_console().print(_table())


def _one(name: str, *, as_json: bool) -> None:
    try:
        shipped = names(name)
    except LibraryError as error:
        raise ShellError(f"{error}; {error.help}" if error.help else str(error)) from error
    entry = families()[name]
    if as_json:
        click.echo(safe_json({"schema": 1, **_json(name, entry), "problems": list(shipped)}))
        return
    for word in shipped:
        click.echo(f"{name}:{word}")
    if not shipped:
        click.echo(f"{name}:0, {name}:1, … by {entry.named}")


def _json(name: str, entry: Family) -> dict[str, str | bool]:
    fields = {key: value for key, value in asdict(entry).items() if key not in ("make", "names")}
    return {"name": name, **fields, "load": bool(entry.load)}


def _table() -> Table:
    heads = ("family", "kind", "score", "needs", "baseline")
    table = columns(heads, wraps=("needs", "baseline"))
    for name, entry in families().items():
        cells = (name, entry.kind, entry.score, entry.needs, entry.baseline)
        table.add_row(*map(Text, cells))
    return table
