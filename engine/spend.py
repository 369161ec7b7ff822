"""What a node or a run has spent, in the units of the ledger and of JSON answers. Pure."""

from dataclasses import dataclass
from typing import Any

from .call import Usage
from .ledger import NOTHING, Amount

MICRO = 1_000_000  # micro-dollars in a dollar
_NO_TOKENS = Usage()


@dataclass(frozen=True, slots=True)
class Spend:
    """amount: as settled. usage: tokens by kind, as reported or bounded.

    unknown: calls whose cost is not the server's figure but an upper bound of ours.
    unpriced: calls of models without a known price, whose dollars are nobody's figure.
    """

    amount: Amount = NOTHING
    usage: Usage = _NO_TOKENS
    unknown: int = 0
    unpriced: int = 0

    def plus(self, other: "Spend") -> "Spend":
        return Spend(
            self.amount.plus(other.amount),
            self.usage.plus(other.usage),
            self.unknown + other.unknown,
            self.unpriced + other.unpriced,
        )

    @property
    def usd(self) -> float | None:
        """Dollars; None where a model without a known price was called."""
        return None if self.unpriced else self.amount.usd / MICRO

    def as_json(self) -> dict[str, Any]:
        """The `spent` object of every JSON answer. Input includes cached, output includes reasoning."""
        usage = self.usage
        return {
            "usd": self.usd,
            "calls": self.amount.calls,
            "tokens": {
                "input": usage.input,
                "cached": usage.cached,
                "output": usage.output,
                "reasoning": usage.reasoning,
            },
            "unknown_calls": self.unknown,
        }


NO_SPEND = Spend()
