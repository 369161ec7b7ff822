"""`podium resume`: take up a run that was stopped, paused or killed."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from podium.dsl.problem import ProgramError

from ..event import CallAnswered, CallFailed, CallIntended
from ..library import project_root
from ..store import RunOwned, RunRecord, Store
from .detach import Detachable, announce, detach, detach_option
from .doors import Doors
from .ending import conclude, not_begun
from .exits import ShellError
from .loading import reach
from .options import viewing, viewing_options
from .reading import find_run, open_store
from .reports import reject
from .safe import safe_line
from .session import RunningRun, carry
from .units import show_count, show_usd

if TYPE_CHECKING:
    from ..run import Engine


@click.command(
    cls=Detachable,
    short_help="Take up a run that was stopped, paused or killed.",
    epilog="Example: podium resume",
)
@click.argument("run", required=False)
@detach_option
@viewing_options
@click.pass_context
def command(ctx: click.Context, /, *, run: str | None, detached: bool, **shown: Any) -> None:
    """Take up RUN (default: the latest that has not ended) where it stopped.

    Answered calls are not paid again. Output and exit codes are those of `podium run`.
    """
    doors = ctx.obj or Doors()
    view = viewing(**shown)
    if detached:
        detach(ctx, store=view.store, as_json=view.as_json)
    with open_store(Path(view.store)) as store:
        record = chosen(store, run)
        if run is None and not view.quiet:
            click.echo(f"Taking up run {record.id} ({safe_line(record.name, 60)}).", err=True)
        if warning := paid_again(store, record):
            click.echo(warning, err=True)
    reach(project_root(Path.cwd()))
    try:
        ended = carry(partial(doors.opened, view.store), partial(_begin, record.id), view)
    except ProgramError as error:
        reject(error, as_json=view.as_json)
    except ShellError as error:
        not_begun(error, view, record.id)
        raise
    ctx.exit(conclude(ended, view))


def chosen(store: Store, run: str | None) -> RunRecord:
    """The run named, or the latest unfinished one. Raises ShellError."""
    if run is not None:
        return find_run(store, run)
    record = store.latest_unfinished()
    if record is not None:
        return record
    for live in store.runs():
        if live.status != "ended" and (owner := store.owner(live.id)) is not None:
            raise ShellError(str(RunOwned(live.id, owner.pid, owner.host)))
    raise ShellError("every run here has ended: `podium show` lists them")


def paid_again(store: Store, record: RunRecord) -> str:
    """What was in flight when the run died: charged at its worst case, and sent again. Empty if nothing."""
    open_: dict[tuple[str, int], CallIntended] = {}
    for stamped in store.events(record.id):
        event = stamped.event
        match event:
            case CallIntended():
                open_[(event.address, event.try_)] = event
            case CallAnswered() | CallFailed():
                open_.pop((event.address, event.try_), None)
            case _:
                pass
    if not open_:
        return ""
    usd = sum(event.held.usd for event in open_.values())
    tokens = sum(event.held.tokens for event in open_.values())
    calls = "1 call was" if len(open_) == 1 else f"{len(open_)} calls were"
    return (
        f"{calls} in flight when run {record.id} died and will be paid again: "
        f"at most {show_usd(usd)} and {show_count(tokens)} tokens."
    )


async def _begin(run: str, engine: "Engine") -> RunningRun:
    resumed = await engine.resume(run)
    announce(resumed.id)
    return resumed
