"""`podium tasks`: the task families, what each is, the problems of one, and what one problem asks."""

from dataclasses import asdict

import click
from rich.table import Table
from rich.text import Text

from podium.dsl.library import LibraryError

from ..families import Family, families, family, names
from ..plan.settings import text as condition
from .exits import ShellError
from .options import json_option
from .output import columns, stdout_console
from .safe import safe, safe_json


@click.command(
    short_help="List the task families, the problems of one, or what one asks.",
    epilog="Example: podium run -e 'parallel(8) of agent -> best' --task words:7",
)
@click.argument("name", required=False, metavar="[FAMILY[:NAME]]")
@json_option
def command(name: str | None, as_json: bool) -> None:
    """List the task families; of FAMILY the names of its problems, for --task FAMILY:NAME; of one what it asks."""
    if name is not None and ":" in name:
        _problem(name, as_json=as_json)
    elif name is not None:
        _one(name, as_json=as_json)
    elif as_json:
        listed = [_json(name, entry) for name, entry in families().items()]
        click.echo(safe_json({"schema": 1, "families": listed}))
    else:
        stdout_console().print(_table())


def _problem(name: str, *, as_json: bool) -> None:
    try:
        task = family(name, {})
    except LibraryError as error:
        raise _refused(error) from error
    head = name.partition(":")[0]
    entry = families()[head]
    passes = "" if task.pass_rule is None else condition(task.pass_rule)
    if as_json:
        told = {"statement": task.statement, "pass": passes, "better": task.better}
        click.echo(safe_json({"schema": 1, "task": task.name, **told, **_json(head, entry)}))
        return
    click.echo(safe(task.statement))
    best = ", lower is better" if task.better == "lower" and "lower" not in entry.score else ""
    click.echo(f"\n{name} is of the family {head} ({entry.about}).")
    click.echo(f"Kind: {entry.kind}. Score: {entry.score}{best}; it passes where {passes}.")


def _refused(error: LibraryError) -> ShellError:
    return ShellError(f"{error}; {error.help}" if error.help else str(error))


def _one(name: str, *, as_json: bool) -> None:
    try:
        shipped = names(name)
    except LibraryError as error:
        raise _refused(error) from error
    entry = families()[name]
    if as_json:
        click.echo(safe_json({"schema": 1, **_json(name, entry), "problems": list(shipped)}))
        return
    for word in shipped:
        click.echo(f"{name}:{word}")
    if not shipped:
        shown = ", ".join(f"{name}:{entry.first + more}" for more in (0, 1))
        click.echo(f"{shown}, … by {entry.named}")


def _json(name: str, entry: Family) -> dict[str, str | bool]:
    hidden = ("make", "names", "first")
    fields = {key: value for key, value in asdict(entry).items() if key not in hidden}
    return {"name": name, **fields, "load": bool(entry.load)}


def _table() -> Table:
    heads = ("family", "kind", "score", "needs", "baseline")
    table = columns(heads, wraps=("needs", "baseline"))
    for name, entry in families().items():
        cells = (name, entry.kind, entry.score, entry.needs, entry.baseline)
        table.add_row(*map(Text, cells))
    return table
