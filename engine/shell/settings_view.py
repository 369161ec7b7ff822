"""What a run is set to, as text: a line for the run, each model, and each part that can be set. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from podium.dsl.program import Program

from ..plan import Plan
from ..plan.settings import Settings, of_models, of_node, of_run
from ..spend import MICRO
from ..value import Json
from .units import show_bound, show_count, show_usd

_RATES = {"input": "in", "cached": "cached", "cache_write": "written to cache", "output": "out"}
_TOKENS = ("context", "max_output")


def in_force(program: Program, planned: Plan) -> Iterator[str]:
    """A line for each, defaults included, and one for each role of a team."""
    yield f"run {program.name}: {listed(of_run(program))}"
    for name, settings in of_models(program).items():
        yield f"model {name}: {listed(settings)}"
    for _, node in planned.root.walk():
        settings = of_node(program, node)
        roles = {name: value for name, value in settings.items() if _is_roles(value)}
        if settings:
            rest = {name: value for name, value in settings.items() if name not in roles}
            yield f"{node.address}: {listed(rest)}"
        yield from (f"  {phrase(name, value)}" for name, value in roles.items())


def _is_roles(value: Json) -> bool:
    first = value[0] if isinstance(value, Sequence) and value else value
    return isinstance(first, Mapping) and "role" in first


def listed(settings: Settings) -> str:
    return ", ".join(phrase(name, value) for name, value in settings.items() if name != "assumed")


def phrase(name: str, value: Json) -> str:
    """The setting and its value; the name is left out where the value says it."""
    shown = show_value(name, value)
    return shown if name == "usd_per_million" else f"{name} {shown}"


def show_value(name: str, value: Json) -> str:
    """A setting's value as text."""
    match value:
        case None:
            return _absent(name)
        case bool():
            return "yes" if value else "no"
        case int() if name in _TOKENS:
            return f"{value:,} tokens"
        case int() if name not in ("seed", "model"):
            return f"{value:,}"
        case Mapping():
            return _record(name, value)
        case str():
            return value
        case Sequence():
            return " and ".join(show_value(name, one) for one in value) or "none"
        case _:
            return str(value)


def _absent(name: str) -> str:
    return {"usd_per_million": "price unknown", "inflight": "all"}.get(name, "none")


def _record(name: str, value: Mapping[str, Json]) -> str:
    match name:
        case "budget":
            return _budget(value)
        case "usd_per_million":
            # As `of_models` makes it, here and below.
            return _price(cast(Mapping[str, float], value))
        case "longer":
            rates = {key: cast(float, one) for key, one in value.items() if key != "above"}
            return f"above {show_count(cast(int, value['above']))} tokens {_price(rates)}"
        case _:  # a role as it stands in a team
            count = f"{value['count']:,} x " if "count" in value else ""
            mode = f"{value['mode']} " if "mode" in value else ""
            named = ("count", "mode", "role", "context")
            rest = {key: one for key, one in value.items() if key not in named}
            return f"{mode}{count}{value['role']} ({listed(rest)})"


def _budget(budget: Mapping[str, Json]) -> str:
    # As `of_budget` makes it: only numbers.
    bounds = {name: cast(float, bound) for name, bound in budget.items()}
    parts = [show_bound(n, b * MICRO if n == "usd" else b) for n, b in bounds.items()]
    return f"[{', '.join(parts)}]" if parts else "none"


def _price(rates: Mapping[str, float]) -> str:
    if not any(rates.values()):
        return "free"
    parts = [f"{show_usd(round(rate * MICRO))} {_RATES[name]}" for name, rate in rates.items()]
    return f"{', '.join(parts)} per 1M tokens"
