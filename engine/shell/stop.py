"""`podium stop`: a live run ends for good with its best so far."""

import click

from ..event import Ordered
from .options import json_option, store_option
from .ordering import give, say


@click.command(
    short_help="End a live run with its best answer so far.",
    epilog="Example: podium stop 2026-11-30-0c1b7a1b3",
)
@click.argument("run", required=False)
@store_option
@json_option
def command(run: str | None, store: str, as_json: bool) -> None:
    """End RUN (default: the only live one) for good: calls in flight end, what there is is judged, and the
    best of it is the answer. `podium pause` is for a run that shall go on later."""
    given = give(store, run, Ordered("stop"))
    text = f"Run {given.run.id} ends as soon as its calls in flight have ended."
    say(given, f"{text}\nIts answer: podium show {given.run.id}", as_json=as_json)
