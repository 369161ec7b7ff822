"""`podium run`: a program, an expression, or one run of a file."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from podium.dsl.parse import parse
from podium.dsl.problem import ProgramError

from ..request import to_json
from .artifacts import require_room
from .detach import Detachable, announce, detach, detach_option
from .doors import Doors
from .ending import conclude, not_begun
from .exits import ShellError
from .inputs import asked_of
from .loading import Loaded, load, params
from .options import (
    allow_option,
    caps_options,
    model_options,
    params_option,
    settings_option,
    unsafe_option,
    viewing,
    viewing_options,
)
from .replaying import replay_run
from .reports import reject, show
from .safe import safe
from .session import RunningRun, carry
from .texts import read_program

if TYPE_CHECKING:
    from ..run import Engine


class RunCommand(Detachable):
    """`podium run FILE --help` also lists the file's own parameters."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["podium.file"] = next((a for a in args if a.endswith(".team")), None)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        file: str | None = ctx.meta.get("podium.file")
        if file is not None and Path(file).is_file() and (rows := parameter_help(file)):
            with formatter.section(f"Parameters of {safe(file)} (--set NAME=VALUE)"):
                formatter.write_dl(rows)


def parameter_help(file: str) -> list[tuple[str, str]]:
    """Each parameter as `name: type = default` with its documentation; empty on an unreadable file."""
    try:
        source = read_program(file)
    except ProgramError:
        return []
    tree, _ = parse(source)
    return [
        (
            safe(_declared(source.text[d.name_span.start : d.span.end])),
            safe(" ".join(d.doc.split())),
        )
        for d in params(tree)
    ]


def _declared(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:57] + "..."


@click.command(
    cls=RunCommand,
    short_help="Run a program.",
    epilog="Example: podium run hello.team --set topic='the sea' --max-usd 1",
)
@click.argument("file", required=False, type=click.Path())
@click.argument("run", required=False)
@click.option("-e", "--expression", metavar="EXPR", help="Run this flow.")
@click.option(
    "--task",
    metavar="NAME",
    help="Its task: one of FILE, a family (words, words:7), or a set.jsonl.",
)
@settings_option
@params_option
@caps_options
@click.option("--seed", type=int, help="Seed of every choice by chance.")
@model_options
@allow_option
@unsafe_option
@click.option(
    "--replay",
    metavar="STORE",
    help="Run a recorded run of STORE again without a server, and compare: podium run --replay STORE [RUN].",
)
@detach_option
@viewing_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    file: str | None,
    unsafe_sandbox: bool,
    replay: str | None,
    detached: bool,
    **given: Any,
) -> None:
    """Run FILE (- reads standard input), or its run named RUN.

    The answer goes to standard output, everything else to standard error. Exit codes: 0 passed, or
    nothing to verify; 1 not passed; 2 wrong program or usage; 3 budget exhausted or paused; 4 endpoint,
    credentials or verifier failed; 5 a mistake in Podium; 130 interrupted.
    """
    asked, shown = asked_of(given)
    doors = ctx.obj or Doors()
    view = viewing(**shown)
    if replay is not None:
        ctx.exit(replay_run(replay, file, seed=asked.seed, as_json=view.as_json))
    if detached:
        detach(ctx, store=view.store, as_json=view.as_json)
    try:
        loaded = load(file, asked, doors.environ)
        if loaded.warnings and not view.as_json:
            show(loaded.warnings, as_json=False)
        opened = partial(doors.opened, view.store, unsafe_sandbox=unsafe_sandbox)
        ended = carry(opened, partial(_begin, loaded, view.out), view)
    except ProgramError as error:
        reject(error, as_json=view.as_json)
    except ShellError as error:
        not_begun(error, view)
        raise
    ctx.exit(conclude(ended, view))


async def _begin(loaded: Loaded, out: str | None, engine: "Engine") -> RunningRun:
    require_room(loaded.program, out or loaded.program.out)
    kept = replace(loaded.request, texts=loaded.program.sources)
    run = await engine.start(loaded.program, request=to_json(kept))
    await announce(run)
    return run
