"""`podium resume`: take up a run that was stopped, paused or killed."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from podium.dsl.problem import ProgramError

from ..event import CallAnswered, CallFailed, CallIntended
from ..library import project_root
from ..request import Request, from_json, to_json
from ..store import RunOwned, RunRecord, Store
from .changed import loaded_now, since, told
from .detach import Detachable, announce, detach, detach_option
from .doors import Doors
from .ending import conclude, not_begun
from .exits import ShellError
from .loading import Loaded, reach
from .options import allow_option, unsafe_option, viewing, viewing_options
from .reading import find_run, fold_of, open_store
from .reports import reject
from .safe import safe_line
from .session import RunningRun, carry
from .units import counted, plural, show_tokens, show_usd

if TYPE_CHECKING:
    from ..run import Engine


@click.command(
    cls=Detachable,
    short_help="Take up a run that was stopped, paused or killed.",
    epilog="Example: podium resume",
)
@click.argument("run", required=False)
@click.option(
    "--fork",
    is_flag=True,
    help="Start a new run of the files as they are now; what is asked again is not paid again.",
)
@allow_option
@unsafe_option
@detach_option
@viewing_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    run: str | None,
    fork: bool,
    allow: tuple[str, ...],
    unsafe_sandbox: bool,
    detached: bool,
    **shown: Any,
) -> None:
    """Take up RUN (default: the latest that has not ended, one that failed last) where it stopped.

    Answered calls are not paid again, and the run goes on with the text it began with. With --fork a new run
    of the files as they are now starts, from RUN or the latest unfinished one, and uses RUN's answers wherever
    it asks the same; --allow is for a fork, since a run that goes on keeps what it was allowed. Output and exit
    codes are those of `podium run`.
    """
    doors = ctx.obj or Doors()
    view = viewing(**shown)
    if detached:
        detach(ctx, store=view.store, as_json=view.as_json)
    with open_store(Path(view.store)) as store:
        record = find_run(store, run) if fork and run is not None else chosen(store, run)
        if not view.quiet:
            _say_changes(store, record, fork=fork)
        if not view.quiet and not fork:
            _say_which(record, chosen=run is None)
        if not fork and (warning := paid_again(store, record)):
            click.echo(warning, err=True)
    reach(project_root(Path.cwd()))
    try:
        begin = partial(_begin, record.id)
        if fork:
            begin = partial(_fork, record.id, loaded_now(_asked(record), allow, doors.environ))
        opened = partial(doors.opened, view.store, unsafe_sandbox=unsafe_sandbox)
        ended = carry(opened, begin, view)
    except ProgramError as error:
        reject(error, as_json=view.as_json)
    except ShellError as error:
        not_begun(error, view, record.id)
        raise
    ctx.exit(conclude(ended, view))


def _asked(record: RunRecord) -> Request:
    """Raises ShellError for a run that came without its text."""
    try:
        return from_json(record.request)
    except (KeyError, TypeError) as error:
        raise ShellError(f"run {record.id} was started without its text: start it anew") from error


def _say_which(record: RunRecord, *, chosen: bool) -> None:
    """Which run is taken up, where nobody named one; of one that failed also why, as it may do so again."""
    if chosen:
        click.echo(f"Taking up run {record.id} ({safe_line(record.name, 60)}).", err=True)
    if record.failure:
        why = safe_line(record.failure, 300)
        click.echo(f"It failed: {why}\nUnless that is mended, it fails again.", err=True)


def _say_changes(store: Store, record: RunRecord, *, fork: bool) -> None:
    """What has changed in the files since the run began, on standard error."""
    if not record.request or not (found := since(_asked(record))):
        return
    click.echo(f"Since run {record.id} began:", err=True)
    for line in told(found, fold_of(store, record)):
        click.echo(f"  {line}", err=True)
    goes_on = "The run goes on with the text it began with; --fork starts one of the new text."
    click.echo("The fork runs the new text." if fork else goes_on, err=True)


def chosen(store: Store, run: str | None) -> RunRecord:
    """The run named, which no process may own, or the latest unfinished one. Raises ShellError."""
    if run is not None:
        named = find_run(store, run)
        if (owner := store.owner(named.id)) is not None:
            raise ShellError(str(RunOwned(named.id, owner.pid, owner.host)))
        return named
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
    calls = f"{counted(len(open_), 'call')} {plural(len(open_), 'was', 'were')}"
    return (
        f"{calls} in flight when run {record.id} died and will be paid again: "
        f"at most {show_usd(usd)} and {show_tokens(tokens)}."
    )


async def _fork(run: str, loaded: Loaded, engine: "Engine") -> RunningRun:
    kept = replace(loaded.request, texts=loaded.program.sources)
    forked = await engine.start(loaded.program, request=to_json(kept), fork=run)
    await announce(forked)
    return forked


async def _begin(run: str, engine: "Engine") -> RunningRun:
    resumed = await engine.resume(run)
    await announce(resumed)
    return resumed
