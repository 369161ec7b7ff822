"""`podium pause`: a live run starts nothing new, keeps what it has, and can be resumed."""

import click

from ..event import Ordered
from .options import json_option, store_option
from .ordering import give, say


@click.command(
    short_help="Pause a live run; it can be resumed.",
    epilog="Example: podium pause 2026-11-30-0c1b7a1b3",
)
@click.argument("run", required=False)
@store_option
@json_option
def command(run: str | None, store: str, as_json: bool) -> None:
    """Pause RUN (default: the only live one): calls in flight end first, and no new one is sent."""
    given = give(store, run, Ordered("pause"))
    text = f"Run {given.run.id} pauses as soon as its calls in flight have ended."
    say(given, f"{text}\nResume: podium resume {given.run.id}", as_json=as_json)
