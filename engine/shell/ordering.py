"""Giving an order to a run that another process may have: what `pause`, `stop` and `topup` share."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

from ..event import Ordered
from ..store import RunRecord, Store
from .exits import ShellError
from .reading import find_run, open_store
from .safe import safe_json

# A live run looks for orders twice a second; one that is busy with its disk takes a little longer.
WAIT_S = 5.0
# How often the wait for that looks: a person does not notice, and a look costs less than a millisecond.
_LOOK_S = 0.05


@dataclass(frozen=True, slots=True)
class Given:
    """taken: whether the run has taken the order; one that nobody runs takes it in its next life."""

    run: RunRecord
    live: bool
    taken: bool


def give(path: str, run: str | None, order: Ordered, *, live_only: bool = True) -> Given:
    """Give order to the run (default: the only live one), and wait until it took it. Raises ShellError."""
    with open_store(Path(path)) as store:
        record = live_or_named(store, run)
        live = store.owner(record.id) is not None
        _refuse(record, live=live, live_only=live_only)
        number = store.order(record.id, order).number
        if live:
            live = _live_until(store, record.id, lambda: taken(store, record.id, number))
        return Given(record, live, taken(store, record.id, number))


def _refuse(record: RunRecord, *, live: bool, live_only: bool) -> None:
    if record.status == "ended":
        raise ShellError(f"run {record.id} has ended; it takes no orders")
    if live_only and not live:
        raise ShellError(
            f"nobody runs {record.id} now; `podium resume {record.id}` takes it up where it stopped"
        )


def taken(store: Store, run: str, number: int) -> bool:
    """Whether the run took the order of that number."""
    return any(
        isinstance(stamped.event, Ordered) and stamped.event.number == number
        for stamped in store.events(run)
    )


def live_runs(store: Store) -> list[RunRecord]:
    """The runs that some process runs now, the newest first."""
    return [run for run in store.runs() if store.owner(run.id) is not None]


def live_or_named(store: Store, run: str | None) -> RunRecord:
    """The run that run names, else the only live one. Raises ShellError."""
    return _only_live(store) if run is None else find_run(store, run)


def _only_live(store: Store) -> RunRecord:
    """The one run that is live. Raises ShellError where there is none, or where there are several."""
    match live_runs(store):
        case [record]:
            return record
        case []:
            raise ShellError("no run of this store is live; `podium show` lists them all")
        case several:
            ids = ", ".join(record.id for record in several[:5])
            raise ShellError(f"several runs are live, name one of them: {ids}")


def _live_until(store: Store, run: str, true: Callable[[], bool]) -> bool:
    """Wait for true, no longer than WAIT_S and while run is live; gives whether it still is."""
    end = time.monotonic() + WAIT_S
    while (live := store.owner(run) is not None) and not true() and time.monotonic() < end:
        time.sleep(_LOOK_S)
    return live


def say(given: Given, text: str, *, as_json: bool) -> None:
    """What became of the order, for a person (text) or a program."""
    if as_json:
        click.echo(safe_json({"schema": 1, "run": given.run.id, "taken": given.taken}))
    elif given.live and not given.taken:
        click.echo(
            f"The order is written, but run {given.run.id} has not taken it yet:"
            f" `podium show {given.run.id}` says how it stands."
        )
    else:
        click.echo(text)
