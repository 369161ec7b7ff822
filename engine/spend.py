"""What a node or a run has spent, in the units of the ledger and of JSON answers. Pure."""

from collections.abc import Collection, Iterable
from typing import Any

from podium.dsl.program import Program

from .call import Usage
from .event import CallAnswered, CallFailed
from .fates import NO_TRIES, Tries
from .ledger import NOTHING, Amount
from .quick import quick

MICRO = 1_000_000  # micro-dollars in a dollar
_NO_TOKENS = Usage()


@quick(frozen=True, slots=True)
class Spend:
    """amount: as settled. usage: tokens by kind, as reported or bounded.

    unknown: calls whose cost is not the server's figure but an upper bound of ours.
    bounds: what of amount such calls are charged: all that may be too much in it, and nothing is too little.
    unpriced: calls of models without a known price, whose dollars are nobody's figure.
    tries: requests to models, by what became of them.
    rent: micro-dollars of amount that are no call's. rented_ms: how long calls of models with a rent took.
    """

    amount: Amount = NOTHING
    usage: Usage = _NO_TOKENS
    unknown: int = 0
    unpriced: int = 0
    bounds: Amount = NOTHING
    tries: Tries = NO_TRIES
    rent: int = 0
    rented_ms: int = 0

    def plus(self, other: "Spend") -> "Spend":
        if self is NO_SPEND:  # of most nodes one call is all: they share its figures
            return other
        return Spend(
            self.amount.plus(other.amount),
            self.usage.plus(other.usage),
            self.unknown + other.unknown,
            self.unpriced + other.unpriced,
            self.bounds if other.bounds is NOTHING else self.bounds.plus(other.bounds),
            self.tries.plus(other.tries),
            self.rent + other.rent,
            self.rented_ms + other.rented_ms,
        )

    @property
    def usd(self) -> float | None:
        """Dollars; None where a model without a known price was called."""
        return None if self.unpriced else self.amount.usd / MICRO

    def as_json(self) -> dict[str, Any]:
        """The `spent` object of every JSON answer.

        Of the tokens, fresh, cached and cache_write make up input, reasoning is part of output, and total is what
        budgets count: input, output, and the bounds of calls whose server told nothing.
        """
        usage = self.usage
        return {
            "usd": self.usd,
            "rent_usd": self.rent / MICRO,
            "calls": self.amount.calls,
            "tokens": {
                "total": self.amount.tokens,
                "input": usage.input,
                "fresh": usage.fresh,
                "cached": usage.cached,
                "cache_write": usage.cache_write,
                "output": usage.output,
                "reasoning": usage.reasoning,
            },
            "tries": self.tries._asdict(),
            "unknown_calls": self.unknown,
            "bounds": {
                "usd": None if self.unpriced else self.bounds.usd / MICRO,
                "tokens": self.bounds.tokens,
            },
        }


NO_SPEND = Spend()


def spend_of(
    event: CallAnswered | CallFailed, model: str, unpriced: Collection[str], tries: Tries = NO_TRIES
) -> Spend:
    """What the try that event ends cost. model: "" for a verifier. unpriced: the models without a price."""
    failed = isinstance(event, CallFailed) and event.estimated
    unknown = failed or event.usage.estimated
    return Spend(
        event.spent,
        event.usage,
        unknown=int(unknown),
        unpriced=int(model in unpriced),
        bounds=event.spent if unknown else NOTHING,
        tries=tries,
    )


def total_of(spends: Iterable[Spend]) -> Spend:
    total = NO_SPEND
    for spend in spends:
        total = total.plus(spend)
    return total


def unpriced(program: Program) -> frozenset[str]:
    """The names of the program's models whose price is unknown."""
    return frozenset(name for name, model in program.models.items() if model.price is None)


def rented(program: Program) -> frozenset[str]:
    """The names of the program's models that have a rent."""
    return frozenset(name for name, model in program.models.items() if model.rent is not None)


def rent_share(spend: Spend, whole: Spend) -> int | None:
    """What of the rent of the whole run is spend's by the time of its calls, in micro-dollars: information, and
    charged nowhere. None without a rent, or where no call took any time."""
    if not whole.rent or not whole.rented_ms:
        return None
    return whole.rent * spend.rented_ms // whole.rented_ms
