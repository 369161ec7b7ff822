"""`podium note`: a remark on a run, kept beside it in the store."""

from pathlib import Path

import click

from ..notes import MOST
from .exits import ShellError
from .options import json_option, store_option
from .reading import find_run, open_store
from .runs import notes_json
from .safe import safe_json
from .units import counted


@click.command(
    short_help="Write a note on a run.",
    epilog="Example: podium note 2026-11-30-0c1b7a1b3 'new prompt for the critic #keep'",
)
@click.argument("run")
@click.argument("text")
@store_option
@json_option
def command(run: str, text: str, store: str, as_json: bool) -> None:
    """Write TEXT on RUN, live or not. Notes are added and never changed; `podium show` has them, and finds runs by
    them: a word such as #keep serves as a tag."""
    kept = text.strip().encode("utf-8", "backslashreplace").decode()
    if not kept:
        raise ShellError("the note is empty: write what there is to remember of the run")
    if len(kept) > MOST:
        raise ShellError(f"the note has {len(kept):,} characters; at most {MOST:,} are kept")
    with open_store(Path(store)) as opened:
        record = find_run(opened, run)
        opened.note(record.id, kept)
        notes = opened.notes(record.id)
    if as_json:
        click.echo(safe_json({"schema": 1, "run": record.id, "notes": notes_json(notes)}))
    else:
        click.echo(f"Run {record.id} has {counted(len(notes), 'note')}.", err=True)
