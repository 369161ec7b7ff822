"""Options that commands share."""

from collections.abc import Callable, Sequence
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
range_option = click.option(
    "--range",
    "score_range",
    metavar="LOW,HIGH",
    help="What scores can be ('0,1', '0,'), where the verifier does not say it.",
)
verbose_option = click.option(
    "-v",
    "--verbose",
    is_flag=True,
    expose_value=False,
    callback=set_verbose,
    help="Show what went wrong inside Podium.",
)
settings_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set a parameter; so does the variable PODIUM_PARAM_NAME of the environment.",
)
allow_option = click.option(
    "--allow", multiple=True, metavar="KIND:PATTERN", help="Allow env, file, python, host, mcp."
)
unsafe_option = click.option(
    "--unsafe-sandbox",
    is_flag=True,
    help="Start programs without a sandbox: they may then do all that you may. The result says so.",
)
params_option = click.option(
    "--params", "params_file", metavar="FILE", help="Parameters from a TOML file."
)
_CAPS = (
    click.option("--max-usd", metavar="DOLLARS", help="Spend at most this; only tightens."),
    click.option("--max-tokens", metavar="COUNT", help="Use at most so many tokens (400k, 2M)."),
    click.option("--max-time", metavar="TIME", help="Run at most so long (90s, 30m, 1h30m)."),
    click.option("--by", metavar="CLOCK", help="End by then (07:00 or '2026-12-01 07:00')."),
)
_MODELS = (
    click.option(
        "--model",
        "models",
        multiple=True,
        metavar="[NAME=]URL",
        help="Serve the default model, or the model NAME, from URL (URL#served picks one there).",
    ),
    click.option(
        "--price",
        "prices",
        multiple=True,
        metavar="[NAME:]RATES",
        help="Its price: input=0.25,output=2 in dollars per 1M tokens, or free.",
    ),
)
_VIEWING = (
    store_option,
    json_option,
    click.option("--events", metavar="PATH", help="Write every event as a JSON line."),
    click.option(
        "--out",
        metavar="DIR",
        help="Keep the best answer so far in this folder, and at the end its files in DIR/files.",
    ),
    click.option(
        "--notify",
        metavar="CMD",
        help="Run CMD with JSON on its input when the run gets better, pauses or ends.",
    ),
    click.option(
        "-q",
        "--quiet",
        is_flag=True,
        help="No progress; a summary only where the run did not pass.",
    ),
    verbose_option,
)


def viewing_options(function: F) -> F:
    """--store --json --events --out --notify --quiet -v, given to function as the keywords of `viewing`."""
    return _all(_VIEWING, function)


def caps_options(function: F) -> F:
    """--max-usd --max-tokens --max-time --by."""
    return _all(_CAPS, function)


def model_options(function: F) -> F:
    """--model --price."""
    return _all(_MODELS, function)


def _all(options: Sequence[Callable[[F], F]], function: F) -> F:
    for option in reversed(options):
        function = option(function)
    return function


def viewing(
    *,
    store: str,
    as_json: bool,
    events: str | None,
    out: str | None,
    notify: str | None,
    quiet: bool,
) -> Viewing:
    return Viewing(store, as_json, quiet, events, out, notify)
