"""`podium fleet`: the servers of a program's models, as they tell of themselves now."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import anyio
import click
from rich.table import Table
from rich.text import Text

from podium.dsl.model import Endpoint, EnvRef, Model
from podium.dsl.problem import ProgramError

from ..call import CallError, Replica
from ..clients.gauges import Load
from ..clients.http import HttpClient
from .doors import Doors
from .exits import Exit
from .inputs import Asked
from .loading import load
from .options import allow_option, json_option, model_options, settings_option, verbose_option
from .output import columns, stdout_console
from .reports import reject
from .safe import safe_json, safe_line

# Without a file there is no flow; the smallest one names the default model, and needs a task.
_ANY_TASK = "words"
_UNTOLD = Load()
_HEADS = ("model", "replica", "kind", "health", "slots", "running", "waiting", "KV", "cache hits")


@dataclass(frozen=True, slots=True)
class Row:
    """One server of a model. slots: calls that are sent there at a time, at most; 0 where it is not there."""

    model: str
    where: str
    kind: str = ""
    health: str = "up"
    slots: int = 0
    context: int | None = None
    load: Load = _UNTOLD

    @property
    def hit_rate(self) -> float | None:
        """Of the prompt tokens since the server started, the share that was in its cache."""
        return (
            self.load.hit / self.load.read if self.load.hit is not None and self.load.read else None
        )


@click.command(
    short_help="Show the servers of a program's models.",
    epilog="Examples: podium fleet main.team; podium fleet --model http://127.0.0.1:8000",
)
@click.argument("file", required=False)
@settings_option
@model_options
@allow_option
@json_option
@verbose_option
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    file: str | None,
    settings: tuple[str, ...],
    models: tuple[str, ...],
    prices: tuple[str, ...],
    allow: tuple[str, ...],
    as_json: bool,
) -> None:
    """Ask the servers of the models that the run of FILE uses, or those of --model, for their health and load.

    What a server does not tell is left out. Cache hits are its own count since it started. No model is called.
    Exit codes: 0 all are there; 2 wrong program or usage; 4 one is not there.
    """
    doors = ctx.obj or Doors()
    free = prices or ("free",)  # nothing is called
    asked = Asked(
        expression=None if file else "agent",
        task=None if file else _ANY_TASK,
        settings=settings,
        max_tokens=None if file else "1B",
        models=models,
        prices=free if models else (),
        allow=allow,
    )
    try:
        program = load(file, asked, doors.environ).program
    except ProgramError as error:
        reject(error, as_json=as_json)
    rows = anyio.run(look, program.models, doors.environ)
    if as_json:
        click.echo(safe_json({"schema": 1, "replicas": [row_json(row) for row in rows]}))
    else:
        stdout_console().print(table(rows))
    ctx.exit(Exit.PASSED if all(row.health in ("up", "embedded") for row in rows) else Exit.FAILED)


async def look(models: Mapping[str, Model], environ: Mapping[str, str]) -> list[Row]:
    """A row for each server of models, in their order; all are asked at once."""
    wanted = [(model, endpoint) for model in models.values() for endpoint in model.endpoints]
    found: list[Row] = [Row(model.name, safe_line(one.name, 60)) for model, one in wanted]
    async with HttpClient(environ) as client, anyio.create_task_group() as tasks:

        async def one(number: int, model: Model, endpoint: Endpoint) -> None:
            found[number] = await _asked(client, model, endpoint)

        for number, (model, endpoint) in enumerate(wanted):
            tasks.start_soon(one, number, model, endpoint)
    return found


async def _asked(client: HttpClient, model: Model, endpoint: Endpoint) -> Row:
    if endpoint.kind == "local":  # asking would start it
        return Row(model.name, f"local({endpoint.name})", "llama.cpp", "embedded")
    try:
        replicas = await client.probe(replace(model, endpoints=(endpoint,)))
        first: Replica = replicas[0]
        told = await client.load(first)
        ready = not client.has_health(first) or await client.is_well(first)
    except CallError as error:
        return Row(model.name, _written(endpoint), health=error.message)
    return Row(
        model.name,
        first.name.partition("@")[2].partition("/")[0] or first.name,
        first.profile,
        "up" if ready else "not ready",
        slots=sum(replica.inflight for replica in replicas),
        context=first.context,
        load=told or _UNTOLD,
    )


def _written(endpoint: Endpoint) -> str:
    """Where it is, as the program says."""
    match endpoint.base_url:
        case None:
            return endpoint.name or "the default address"
        case EnvRef(name=name):
            return f"env({name})"
        case url:
            return url


def table(rows: list[Row]) -> Table:
    drawn = columns(_HEADS, right=_HEADS[4:], wraps=_HEADS)
    for row in rows:
        drawn.add_row(*map(Text, cells(row)))
    return drawn


def cells(row: Row) -> tuple[str, ...]:
    """What the row shows; empty where it is not told."""
    load = row.load
    return (
        safe_line(row.model, 40),
        safe_line(row.where, 60),
        row.kind,
        safe_line(row.health, 200),
        str(row.slots or ""),
        *("" if one is None else f"{one:.0f}" for one in (load.running, load.waiting)),
        *("" if one is None else f"{one:.0%}" for one in (load.cache, row.hit_rate)),
    )


def row_json(row: Row) -> dict[str, Any]:
    load = row.load
    return {
        "model": row.model,
        "replica": row.where,
        "kind": row.kind,
        "health": row.health,
        "slots": row.slots,
        "context": row.context,
        "running": load.running,
        "waiting": load.waiting,
        "kv": load.cache,
        "prompt_tokens": load.read,
        "cached_tokens": load.hit,
        "hit_rate": row.hit_rate,
    }
