"""Options that `run` and `resume` share."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from .cli import set_verbose
from .session import Viewing

F = TypeVar("F", bound=Callable[..., Any])
DEFAULT_STORE = ".podium/runs.db"

store_option = click.option(
    "--store", default=DEFAULT_STORE, show_default=True, metavar="PATH", help="Where runs are kept."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
verbose_option = click.option(
    "-v",
    "--verbose",
    is_flag=True,
    expose_value=False,
    callback=set_verbose,
    help="Show what went wrong inside Podium.",
)
_VIEWING = (
    store_option,
    json_option,
    click.option("--events", metavar="PATH", help="Write every event as a JSON line."),
    click.option("--out", metavar="DIR", help="Keep the best answer so far in this folder."),
    click.option(
        "-q",
        "--quiet",
        is_flag=True,
        help="No progress; a summary only where the run did not pass.",
    ),
    verbose_option,
)


def viewing_options(function: F) -> F:
    """--store --json --events --out --quiet -v, given to function as the keywords of `viewing`."""
    for option in reversed(_VIEWING):
        function = option(function)
    return function


def viewing(
    *, store: str, as_json: bool, events: str | None, out: str | None, quiet: bool
) -> Viewing:
    return Viewing(store, as_json, quiet, events, out)
