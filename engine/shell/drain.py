"""`podium drain`: a live run sends nothing more to a replica of a model, or uses it again."""

from pathlib import Path
from urllib.parse import urlsplit

import click

from ..event import CallIntended, Ordered
from ..fleet import is_called
from ..orders import DRAIN, UNDRAIN
from .options import json_option, store_option
from .ordering import give, say
from .reading import open_store
from .safe import safe_line


def used_by(store: str, run: str) -> frozenset[str]:
    """The replicas that the run's calls to models went to, by name."""
    with open_store(Path(store)) as opened:
        return frozenset(
            stamped.event.replica
            for stamped in opened.events(run)
            if isinstance(stamped.event, CallIntended) and stamped.event.kind == "model"
        )


@click.command(
    short_help="Have a live run let a replica of a model run empty.",
    epilog="Example: podium drain 10.0.0.7:8000; podium drain 10.0.0.7:8000 --back",
)
@click.argument("replica")
@click.argument("run", required=False)
@click.option("--back", is_flag=True, help="Use the replica again.")
@store_option
@json_option
def command(replica: str, run: str | None, back: bool, store: str, as_json: bool) -> None:
    """Have RUN (default: the only live one) send nothing more to REPLICA, as `podium fleet` names it: calls that
    are there end, all others go to the model's other replicas, or wait if it has none. It stays so until it is
    taken back, also when the run is resumed."""
    replica = urlsplit(replica).netloc or replica  # an address, as a file has it
    given = give(store, run, Ordered(UNDRAIN if back else DRAIN, replica=replica))
    name = safe_line(replica, 60)
    used = used_by(store, given.run.id)
    if not any(is_called(one, replica) for one in used):
        others = ", ".join(safe_line(one, 60) for one in sorted(used)) or "none at all"
        click.echo(
            f"podium: run {given.run.id} has used no replica {name} so far, but {others};"
            " the order holds should one come",
            err=True,
        )
    if back:
        text = f"Run {given.run.id} uses {name} again."
    else:
        text = (
            f"Run {given.run.id} sends nothing more to {name}; what is there ends."
            f"\nUse it again: podium drain {name} {given.run.id} --back"
        )
    say(given, text, as_json=as_json)
