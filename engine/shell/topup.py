"""`podium topup`: more budget for a run, live or paused."""

import re
from pathlib import Path

import click

from podium.dsl.problem import ProgramError
from podium.dsl.program import Budget

from ..caps import budget_of
from ..event import AccountOpened
from ..orders import topup, unbounded
from ..store import RunRecord, Store
from .exits import ShellError
from .options import json_option, store_option
from .ordering import give, live_or_named, say
from .reading import fold_of, open_store
from .safe import safe_line
from .units import show_budget


@click.command(
    short_help="Give a run more budget.",
    epilog="Example: podium topup 2026-11-30-0c1b7a1b3 '[$5, 30m]'",
)
@click.argument("words", nargs=-1, required=True, metavar="[RUN] BUDGET")
@store_option
@json_option
@click.pass_context
def command(ctx: click.Context, /, *, words: tuple[str, ...], store: str, as_json: bool) -> None:
    """Add BUDGET, such as '[$5, 1M tokens, 30m]', to the budget of RUN (default: the only live one). A live run
    goes on with it at once, a paused one when it is resumed. A budget inside the run keeps its size,
    except that those which pause the run (on_exhausted = pause) grow by as much."""
    match words:
        case (more,):
            named = None
        case (named, more):
            pass
        case _:
            raise click.UsageError(f"Got unexpected extra argument ({words[-1]})", ctx)
    added = _budget(more)
    with open_store(Path(store)) as opened:
        record = live_or_named(opened, named)
        before = _bounded(opened, record)
    if record.status != "ended" and (useless := unbounded(before, added)):
        raise ShellError(f"run {record.id} has no limit in {_words(useless)}: nothing to add there")
    given = give(store, record.id, topup(added), live_only=False)
    text = f"Run {record.id} has {show_budget(added)} more."
    if not given.live:
        text += f"\nResume: podium resume {record.id}"
    say(given, text, as_json=as_json)


def _bounded(store: Store, record: RunRecord) -> Budget:
    """In which dimensions the run, or a budget inside it, has a bound; how large does not matter."""
    found = fold_of(store, record).budget or Budget()
    for stamped in store.events(record.id):
        if isinstance(opened := stamped.event, AccountOpened):
            found = Budget(
                opened.usd if found.usd is None else found.usd,
                opened.tokens if found.tokens is None else found.tokens,
                opened.calls if found.calls is None else found.calls,
                opened.seconds if found.seconds is None else found.seconds,
            )
    return found


def _budget(text: str) -> Budget:
    try:
        budget = budget_of(text if text.strip().startswith("[") else f"[{text}]")
    except ProgramError as error:
        unit = ": a number needs a unit" if re.fullmatch(r"[\d.,_ \[\]]+", text) else ""
        raise ShellError(
            f"{safe_line(text, 60)} is no budget{unit};"
            " write '[$5, 1M tokens, 30m, 100 calls]', any of these"
        ) from error
    if budget == Budget():
        raise ShellError("nothing to add: write '[$5, 1M tokens, 30m, 100 calls]', any of these")
    return budget


_DIMENSIONS = {"usd": "dollars", "tokens": "tokens", "calls": "calls", "seconds": "time"}


def _words(dimensions: tuple[str, ...]) -> str:
    return " and ".join(_DIMENSIONS[one] for one in dimensions)
