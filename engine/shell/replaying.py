"""`podium run --replay STORE [RUN]`: a recorded run again, without a server, and whether it comes to the same."""

from functools import partial
from pathlib import Path

import anyio
import click

from ..agent import window_of
from ..event import RunStarted, Stamped
from ..replay import Replayed, replay
from ..store import RunRecord, Store
from .exits import Exit, ShellError
from .reading import find_run, open_store, program_of
from .safe import safe, safe_json


def replay_run(store: str, run: str | None, *, seed: int | None, as_json: bool) -> Exit:
    """Replay run (default: the newest one that has ended) and say whether it is the same. Raises ShellError."""
    with open_store(Path(store)) as opened:
        record = find_run(opened, run) if run is not None else _latest(opened)
        done = _replayed(opened, record, seed or 0)
    same = not done.difference
    if as_json:
        click.echo(
            safe_json(
                {
                    "schema": 1,
                    "run": record.id,
                    "same": same,
                    "transcript": done.recorded,
                    "replayed": done.again,
                    "difference": done.difference,
                }
            )
        )
    elif same:
        click.echo(f"Run {record.id} replays to the same transcript, {done.recorded[:16]}")
    else:
        click.echo(f"Run {record.id} replays to another transcript:\n  {safe(done.difference)}")
    return Exit.PASSED if same else Exit.NOT_PASSED


def _latest(store: Store) -> RunRecord:
    ended = next((record for record in store.runs() if record.status == "ended"), None)
    if ended is None:
        raise ShellError("no run of this store has ended: there is nothing to replay")
    return ended


def _replayed(store: Store, record: RunRecord, seed: int) -> Replayed:
    if record.status != "ended":
        raise ShellError(f"run {record.id} has not ended; `podium resume {record.id}` ends it")
    program = program_of(record)
    if program is None:
        raise ShellError(f"run {record.id} was started without its text: it cannot be replayed")
    events = list(store.events(record.id))
    windows = _windows(events)
    window = partial(window_of, program, windows)
    return anyio.run(lambda: replay(program, events, window, seed=seed))


def _windows(events: list[Stamped]) -> dict[str, int]:
    """The windows of the last life: what was asked last was asked under them."""
    found: dict[str, int] = {}
    for stamped in events:
        if isinstance(stamped.event, RunStarted):
            found.update(stamped.event.windows)
    return found
