"""`podium ps`: the live runs of a store."""

import time
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from podium.dsl.program import Budget

from ..answer import budget_json
from ..fold import Fold
from ..store import RunRecord, Store
from .options import json_option, store_option
from .ordering import live_runs
from .output import columns, stdout_console
from .progress import one_line
from .reading import fold_of, open_store
from .safe import safe_json, safe_line


@click.command(short_help="List the live runs.", epilog="Example: podium ps")
@store_option
@json_option
def command(store: str, as_json: bool) -> None:
    """List the runs of the store that some process runs now. `podium show` lists all runs."""
    with open_store(Path(store)) as opened:
        found = [(record, fold_of(opened, record)) for record in live_runs(opened)]
        if as_json:
            rows = [_as_json(opened, record, folded) for record, folded in found]
            click.echo(safe_json({"schema": 1, "runs": rows}))
        elif found:
            stdout_console().print(_table(opened, found))
        else:
            click.echo("no run is live; `podium show` lists all runs", err=True)


def _table(store: Store, found: list[tuple[RunRecord, Fold]]) -> Table:
    table = columns(("run", "name", "pid", "so far"), wraps=("so far",))
    for record, folded in found:
        owner = store.owner(record.id)
        so_far = one_line(folded, folded.budget or Budget(), time.time())
        pid = "" if owner is None else str(owner.pid)
        table.add_row(*map(Text, (record.id, safe_line(record.name, 40), pid, so_far)))
    return table


def _as_json(store: Store, record: RunRecord, folded: Fold) -> dict[str, Any]:
    owner = store.owner(record.id)
    return {
        "run": record.id,
        "name": record.name,
        "pid": None if owner is None else owner.pid,
        "host": None if owner is None else owner.host,
        "created": record.created,
        "seconds": folded.seconds_at(time.time()),
        "score": None if folded.best is None else folded.best.score,
        "passed": None if folded.best is None else folded.best.passed,
        "spent": folded.total.as_json(),
        "budget": budget_json(folded.budget or Budget()),
        "held": folded.held,
    }
