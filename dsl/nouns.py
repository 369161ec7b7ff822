"""Models and roles, from their fields to the records the engine reads."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

from . import prefixes, prices, tools
from .context import Context
from .convert import budget_of
from .fields import Got
from .model import Endpoint, Limits, Model, Price, Rent, Sampling
from .program import Budget, OutputField, Role, Template, Text, Tool
from .prompts import roots
from .quantity import Scalar
from .reading import as_int, as_text, as_word, items, scalar, show
from .shapes import SOME_OUTPUT
from .source import Place
from .values import Fields, Noun, Policy, Quantity, Ratio, Schema, Unknown, Value
from .verifiers import host_of, is_loopback

_PER = 1_000_000  # a Price is in micro-dollars per so many tokens
SOME_PRICE = Price(1, 1, 1, 1)
"""What stands for a price with a mistake, or of a parameter without a value: it is known, and may be nothing."""


# --- models --------------------------------------------------------------------------------------


def build_model(context: Context, noun: Noun, got: Got) -> Model:
    """The model that the fields describe, or the one that stands in for it."""
    name = context.model_name(noun)
    if name in context.models:
        return prices.listed(context, replace(context.models[name], name=name))
    endpoints = tuple(e for e in items(got.value("endpoint")) if isinstance(e, Endpoint))
    window = got.value("context")
    model = Model(
        name,
        endpoints,
        _price(context, got, endpoints),
        int(window.amount) if isinstance(window, Quantity) else None,
        _limits(context, got.value("limits")),
        sampling(got.value("sampling")),
        _profile(got.value("profile")),
        _rent(context, got) if got.given("rent") else None,
    )
    return prices.listed(context, model)


def _price(context: Context, got: Got, endpoints: tuple[Endpoint, ...]) -> Price | None:
    """As given; left out it is nothing on this machine, and unknown elsewhere."""
    if not got.lacks("price"):
        price = got.value("price")
        return Price() if price is None else _tiers(context, price, got.at("price"))
    if not got.lacks("rent"):
        return Price()
    if not endpoints or any(isinstance(e, Unknown) for e in items(got.value("endpoint"))):
        return SOME_PRICE
    return Price() if all(_is_here(e) for e in endpoints) else None


def _is_here(endpoint: Endpoint) -> bool:
    if endpoint.kind == "local":
        return True
    host = host_of(endpoint.base_url) if isinstance(endpoint.base_url, str) else None
    return host is not None and is_loopback(host)


def _tiers(context: Context, price: Value, place: Place) -> Price | None:
    """A record of rates, or a list of them: the first is of any prompt, the others of longer and longer ones."""
    tiers = [tier for tier in items(price) if isinstance(tier, Fields)]
    made = [(_above(tier), _rates(context, tier)) for tier in tiers]
    if not made:
        return SOME_PRICE
    (first, price_of_any), *longer = made
    bounds = [0 if above is None else above for above, _ in longer]
    rising = all(low < high for low, high in itertools.pairwise((0, *bounds)))
    if any(_is_unsure(tier) for tier in tiers):
        return price_of_any
    if first is not None or not rising:
        context.error(
            "E212",
            "the prices of longer prompts do not rise from tier to tier",
            place,
            help="the first tier has no `above`, each of the others a higher one than the tier before: "
            "`[{ input = $1 per 1M tokens }, { above = 200k tokens, input = $2 per 1M tokens }]`",
        )
        return price_of_any
    return replace(price_of_any, longer=tuple(zip(bounds, (p for _, p in longer), strict=True)))


def _is_unsure(tier: Fields) -> bool:
    return "above" in tier.unsure or isinstance(tier.values.get("above"), Unknown)


def _above(tier: Fields) -> int | None:
    above = tier.values.get("above")
    return int(above.amount) if isinstance(above, Quantity) else None


def _rates(context: Context, price: Fields) -> Price:
    rate = {
        name: _per_million(context, value, price.places[name])
        for name, value in price.values.items()
        if name != "above"
    }
    full = rate.get("input", 0)
    return Price(
        full, rate.get("cached", full), rate.get("cache_write", full), rate.get("output", 0)
    )


def _per_million(context: Context, value: Value, place: Place) -> int:
    match value:
        case Ratio(amount=Quantity("usd", micro), unit=Quantity("tokens", count)) if micro >= 0:
            return round(micro * _PER / count)
        case Ratio():
            context.error(
                "E308",
                "a price is dollars per tokens",
                place,
                help="write, for example, `$0.30 per 1M tokens`",
            )
        case _:
            pass
    return 0


def _rent(context: Context, got: Got) -> Rent | None:
    rent: Rent | None = None
    match got.value("rent"):
        case Ratio(amount=Quantity("usd", micro), unit=Quantity("time", seconds)) if (
            micro >= 0 and seconds > 0
        ):
            rent = Rent(int(micro), float(seconds)) if micro else None
        case Unknown():
            pass
        case _:
            context.error("E308", "rent is dollars per time", got.at("rent"), help="`$3 per 1h`")
    if got.given("price"):
        context.error(
            "E212", "a model has a price or a rent, not both", got.at("rent"), help="delete one"
        )
    return rent


def _limits(context: Context, value: Value) -> Limits:
    if not isinstance(value, Fields):
        return Limits()
    windows: dict[str, tuple[int, float]] = {}
    for rate in items(value.values.get("rate")):
        match rate:
            case Ratio(
                amount=Quantity("calls" | "tokens" as what, count), unit=Quantity("time", seconds)
            ) if what not in windows:
                windows[what] = (int(count), float(seconds))
            case Ratio(amount=Quantity(what)) if what in windows:
                context.error(
                    "E307", f"the limits give {what} twice", value.places["rate"], help="keep one"
                )
            case Ratio():
                context.error(
                    "E308",
                    "a limit is calls or tokens per time",
                    value.places["rate"],
                    help="write, for example, `[500 calls per 1m, 2M tokens per 1m]`",
                )
            case _:
                pass
    inflight = value.values.get("inflight")
    return Limits(
        inflight if isinstance(inflight, int) else None,
        windows.get("calls"),
        windows.get("tokens"),
    )


def sampling(value: Value) -> Sampling:
    """The fields of `sampling`; those not given are None."""
    if not isinstance(value, Fields):
        return Sampling()
    v = value.values
    top_k = v.get("top_k")
    return Sampling(
        _float(v.get("temperature")),
        _float(v.get("top_p")),
        top_k if isinstance(top_k, int) else None,
        _float(v.get("min_p")),
        tuple(as_text(item) for item in items(v.get("stop"))),
    )


def _float(value: Value) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _profile(value: Value) -> Mapping[str, Scalar]:
    match value:
        case str():
            return {"name": value}
        case Fields(values=values):
            return {name: _kept(v) for name, v in values.items()}
        case _:
            return {}


def _kept(value: Value) -> Scalar:
    made = scalar(value)
    return show(value) if made is None and value is not None else made


# --- roles ---------------------------------------------------------------------------------------


def build_role(context: Context, noun: Noun, got: Got) -> Role:
    """The role that the fields describe; what it takes follows from what its prompts mention."""
    prompt, system = got.value("prompt"), got.value("system")
    system = system if isinstance(system, Template) else None
    own = tools.tools_of(context, noun, got)
    takes = _takes(prompt, system, own) if isinstance(prompt, Template) else frozenset({"?"})
    prompt = prompt if isinstance(prompt, Template) else Template((Text(""),))
    model, cap = got.value("model"), got.value("max_output")
    role = Role(
        noun.name,
        prompt,
        system,
        model.name if isinstance(model, Model) else None,
        _output(got),
        int(cap.amount) if isinstance(cap, Quantity) else None,
        as_int(got.value("turns"), 20),
        seen(got.value("sees"))[0] if got.known("sees") else None,
        sampling(got.value("sampling")),
        _budget(got),
        takes,
        own,
        tools.policy_of(context, noun, got, own),
        seen(got.value("sees"))[1] if got.known("sees") else None,
    )
    prefixes.first(context, noun)
    return role


def _output(got: Got) -> tuple[OutputField, ...] | None:
    output = got.value("output")
    if isinstance(output, Schema):
        return output.fields
    return None if got.lacks("output") else SOME_OUTPUT


def _budget(got: Got) -> Budget | None:
    return budget_of(got.value("budget")) if got.known("budget") else None


def _takes(prompt: Template, system: Template | None, own: Sequence[Tool]) -> frozenset[str]:
    mentioned = (roots(prompt) | roots(system)) & {"attempt", "attempts"}
    looked_up = {"attempts"} if any(tool.kind == "attempts" for tool in own) else set[str]()
    return frozenset(mentioned | looked_up or {"task"})


def seen(value: Value) -> tuple[str, int | None]:
    """`sees`, as word and number: `last(2)` is ("last", 2)."""
    if isinstance(value, Policy):
        return value.name, int(value.amount)
    return as_word(value, "board"), None
