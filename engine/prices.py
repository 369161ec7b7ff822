"""The prices that a well-kept list has, for models whose file gives none: the extra `podium[prices]`.

The list is genai-prices: its data is in its package, and nothing is fetched. A price that this project's own form
cannot say, such as one for each request, is not known.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from importlib.metadata import version
from itertools import chain
from typing import TYPE_CHECKING

from podium.dsl.model import Price
from podium.dsl.prices import written

if TYPE_CHECKING:
    from genai_prices.types import ModelPrice, TieredPrices

    Rate = Decimal | TieredPrices

_MICRO = 1_000_000


def price_text(served: str, url: str) -> str | None:
    """The listed price of the model that the host of url serves under this name, as `prices.written` has it; None
    where it is not listed, or the extra is not installed."""
    try:
        from genai_prices.data_snapshot import DataSnapshot
    except ImportError:
        return None
    # Its own function for this may give a list that was fetched.
    from genai_prices.data import providers

    now = datetime.now(UTC)
    try:
        host, model = DataSnapshot(providers, from_auto_update=False).find_provider_model(
            served, None, None, url
        )
    except LookupError:
        return None
    price = price_of(model.get_prices(now))
    if price is None:
        return None
    by = f"genai-prices {version('genai-prices')}, {host.id} {model.id}, as of {now:%Y-%m-%d}"
    return written(price, by)


def price_of(listed: "ModelPrice") -> Price | None:
    """The listed price in this project's form. A reasoning token that costs more makes every output token dearer:
    nobody knows before a call which it will be."""
    if listed.input_mtok is None or listed.output_mtok is None or listed.requests_kcount:
        return None
    rates = (
        listed.input_mtok,
        _or(listed.cache_read_mtok, listed.input_mtok),
        _or(listed.cache_write_mtok, listed.input_mtok),
        listed.output_mtok,
        _or(listed.output_reasoning_mtok, listed.output_mtok),
    )
    bounds = sorted(set(chain.from_iterable(map(_starts, rates))))
    usual = _at(rates, -1)
    return replace(usual, longer=tuple((above, _at(rates, above)) for above in bounds))


def _or(rate: "Rate | None", other: "Rate") -> "Rate":
    return other if rate is None else rate


def _starts(rate: "Rate") -> Iterator[int]:
    if not isinstance(rate, Decimal):
        yield from (tier.start for tier in rate.tiers)


def _at(rates: "tuple[Rate, Rate, Rate, Rate, Rate]", above: int) -> Price:
    """The price of requests of more than so many tokens of input."""
    into, cached, written_, out, thought = (_micro(rate, above) for rate in rates)
    return Price(into, cached, written_, max(out, thought))


def _micro(rate: "Rate", above: int) -> int:
    """Micro-dollars for a million tokens."""
    if isinstance(rate, Decimal):
        return math.ceil(rate * _MICRO)
    fitting = [tier.price for tier in rate.tiers if tier.start <= above]
    return math.ceil((fitting[-1] if fitting else rate.base) * _MICRO)
