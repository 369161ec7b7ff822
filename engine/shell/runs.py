"""The runs of a store as a list: those that a person looks for, with the notes on them."""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

import click
from rich.text import Text

from ..event import Improved
from ..notes import Note
from ..store import RunRecord, Store
from .exits import ShellError
from .output import columns, stdout_console
from .reading import program_of
from .safe import safe_json, safe_line
from .units import seconds, show_count

STATES = (
    "running", "died", "paused", "interrupted",
    "passed", "finished", "exhausted", "stopped", "failed", "cancelled",
)  # fmt: skip
_MAX_NOTE = 60  # characters of the last note in the list


@dataclass(frozen=True, slots=True)
class Filters:
    """Which runs are listed: those to which all of it applies. since: as typed. last: so many at most, the newest.

    name, task, note: texts that are in it, whatever their case.
    """

    name: str | None = None
    states: tuple[str, ...] = ()
    since: str | None = None
    task: str | None = None
    note: str | None = None
    last: int | None = None

    @property
    def is_empty(self) -> bool:
        return self == Filters()


@dataclass(frozen=True, slots=True)
class Listed:
    """A run in the list. state: in a word or two."""

    record: RunRecord
    state: str
    notes: Sequence[Note]


def list_runs(store: Store, filters: Filters, *, as_json: bool) -> None:
    """Print the runs that filters let through, the newest first."""
    found = list(chosen(store, filters, time.time()))
    if as_json:
        click.echo(safe_json({"schema": 1, "runs": [_as_json(store, one) for one in found]}))
        return
    if not found:
        click.echo("no runs yet" if filters.is_empty else "no run is like that", err=True)
        return
    table = columns(
        ("run", "name", "started", "state", "score", "tokens", "notes"),
        right=("score", "tokens"),
        wraps=("state", "notes"),
    )
    for one in found:
        table.add_row(*map(Text, _row(store, one)))
    stdout_console().print(table)


def chosen(store: Store, filters: Filters, now: float) -> Iterator[Listed]:
    """The runs that filters let through, the newest first. now: seconds since the epoch."""
    notes: dict[str, list[Note]] = {}
    for note in store.notes():
        notes.setdefault(note.run, []).append(note)
    since = None if filters.since is None else moment(filters.since, now)
    count = 0
    for record in store.runs():
        if filters.last is not None and count >= filters.last:
            return
        one = Listed(record, state_of(store, record), notes.get(record.id, []))
        if (since is None or record.created >= since) and _fits(one, filters):
            count += 1
            yield one


def _fits(one: Listed, filters: Filters) -> bool:
    """The cheap questions first: for the last one the run's program is compiled."""
    record = one.record
    if filters.states and one.state.partition(" ")[0].rstrip(",") not in filters.states:
        return False
    wanted: Sequence[tuple[str | None, Callable[[], Sequence[str]]]] = (
        (filters.name, partial(_names, record)),
        (filters.note, lambda: [note.text for note in one.notes]),
        (filters.task, partial(_tasks, record)),
    )
    return all(text is None or _is_in(text, there()) for text, there in wanted)


def _is_in(text: str, there: Sequence[str]) -> bool:
    return any(text.casefold() in one.casefold() for one in there)


def _names(record: RunRecord) -> list[str]:
    """What a run is known by: its name, its file, the flow it was given on the command line."""
    found = (record.name, file_of(record), record.request.get("expression"))
    return [one for one in found if isinstance(one, str)]


def _tasks(record: RunRecord) -> list[str]:
    program = program_of(record)
    named = record.request.get("task")
    found = [named] if isinstance(named, str) else []
    return found + ([] if program is None else [task.name for task in program.tasks])


def file_of(record: RunRecord) -> str:
    """The name of the text the run started from; empty where it came as an object."""
    source = record.request.get("source")
    name = source.get("name") if isinstance(source, Mapping) else None
    return name if isinstance(name, str) else ""


def moment(text: str, now: float) -> float:
    """`2h`, `3d`: so long before now; `2026-12-01`, `2026-12-01 07:00`: then, in local time. Raises ShellError."""
    if re.fullmatch(r"[\d.]+\s*(ms|s|m|h|d)[\d.\s\w]*", text.strip()):
        return now - seconds(text)
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError):
        raise ShellError(
            f'"{safe_line(text, 40)}" is no moment: write 2h, 3d, 2026-12-01, or "2026-12-01 07:00"'
        ) from None


def state_of(store: Store, record: RunRecord) -> str:
    """How the run stands, in a word or two."""
    if record.outcome is not None and record.status != "running":
        return safe_line(str(record.outcome.get("outcome", record.status)), 40)
    if record.status == "running":
        owner = store.owner(record.id)
        return "died, can be resumed" if owner is None else f"running (pid {owner.pid})"
    return record.status


def _row(store: Store, one: Listed) -> tuple[str, ...]:
    record, score = one.record, _score(store, one.record)
    return (
        record.id,
        safe_line(record.name, 40),
        time.strftime("%Y-%m-%d %H:%M", time.localtime(record.created)),
        one.state,
        f"{score:.6g}" if isinstance(score, int | float) else "",
        show_count(store.spent(record.id).tokens),
        _noted(one.notes),
    )


def _noted(notes: Sequence[Note]) -> str:
    """The last note, and how many are before it."""
    if not notes:
        return ""
    before = f" (+{len(notes) - 1:,})" if len(notes) > 1 else ""
    return safe_line(notes[-1].text, _MAX_NOTE) + before


def _as_json(store: Store, one: Listed) -> dict[str, Any]:
    record, spent = one.record, store.spent(one.record.id)
    return {
        "run": record.id,
        "name": record.name,
        "file": file_of(record) or None,
        "created": record.created,
        "status": record.status,
        "live": store.owner(record.id) is not None,
        "outcome": None if record.outcome is None else record.outcome.get("outcome"),
        "score": _score(store, record),
        "calls": spent.calls,
        "tokens": spent.tokens,
        "notes": notes_json(one.notes),
    }


def notes_json(notes: Sequence[Note]) -> list[dict[str, Any]]:
    return [{"time": note.time, "text": note.text} for note in notes]


def _score(store: Store, record: RunRecord) -> Any:
    """Of a run that has an end what it gave; of one that lives or died the best so far."""
    if record.outcome is not None and record.status != "running":
        return record.outcome.get("score")
    events = (stamped.event for stamped in store.events(record.id))
    return next((e.score for e in reversed([e for e in events if isinstance(e, Improved)])), None)
