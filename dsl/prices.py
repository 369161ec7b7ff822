"""Prices as JSON values, and those that a list has for models without one. Pure.

A listed price is a text like any other that a program is made from: it is kept with the run, so that a run that is
taken up again pays what it began with.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .context import Context
from .model import Endpoint, Model, Price

PRICE_OF = "price of "  # begins the names of such texts


def text_name(served: str, url: str) -> str:
    return f"{PRICE_OF}{served} at {url}"


def to_json(price: Price) -> dict[str, Any]:
    """price as JSON values; `from_json` is its inverse."""
    return {
        "input": price.input,
        "cached": price.cached,
        "cache_write": price.cache_write,
        "output": price.output,
        "longer": [[above, to_json(rates)] for above, rates in price.longer],
    }


def from_json(values: Mapping[str, Any]) -> Price:
    rates = {name: rate for name, rate in values.items() if name != "longer"}
    longer = tuple((above, from_json(one)) for above, one in values.get("longer", ()))
    return Price(**rates, longer=longer)


def written(price: Price, by: str) -> str:
    """The text of a listed price. by: whose list it is of, and of when."""
    return json.dumps({"by": by, "price": to_json(price)})


def listed(context: Context, model: Model) -> Model:
    """model; where its price is not known, with the one that a list has for all of its endpoints."""
    if model.price is not None:
        return model
    found = {_text(context, endpoint) for endpoint in model.endpoints}
    text = found.pop() if len(found) == 1 else None
    if text is None:
        return model
    values = json.loads(text)
    return replace(model, price=from_json(values["price"]), priced_by=values["by"])


def _text(context: Context, endpoint: Endpoint) -> str | None:
    if endpoint.kind != "openai" or not endpoint.name:
        return None
    if isinstance(endpoint.base_url, str | None):
        return context.price_text(endpoint.name, endpoint.base_url)
    return None
