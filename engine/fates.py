"""What became of each request to a model, as the events tell it. Pure.

Every try is counted once, under the one word that says what became of it in the end: one that failed is `failed`
until it is sent again, an answer that could not be read is `answered` until it is asked for once more.
"""

from dataclasses import dataclass, field
from operator import add
from typing import Literal, NamedTuple, get_args

from .event import CallAnswered, CallFailed, CallIntended
from .ledger import NOTHING

Fate = Literal[
    "answered",
    "cut",  # answered, but by the cap on its length and not by the model's own end
    "repaired",  # answered, but could not be read: its question was asked once more
    "reused",  # answered by an earlier run, and free
    "retried",  # failed, and was sent again
    "failed",  # for good
    "cancelled",  # closed in the air, when a race was lost, time was up, or the run was stopped
    "lost",  # in the air when the process died
]
FATES: tuple[Fate, ...] = get_args(Fate)


class Tries(NamedTuple):
    """How many tries came to what."""

    answered: int = 0
    cut: int = 0
    repaired: int = 0
    reused: int = 0
    retried: int = 0
    failed: int = 0
    cancelled: int = 0
    lost: int = 0

    def plus(self, other: "Tries") -> "Tries":
        return Tries._make(map(add, self, other))


NO_TRIES = Tries()
_ONE = {fate: Tries(**{fate: 1}) for fate in FATES}


def one(fate: Fate) -> Tries:
    """A single try of this fate."""
    return _ONE[fate]


def fate_of(intent: CallIntended | None, event: CallAnswered | CallFailed) -> Fate:
    """What became of a try, as far as its own end tells."""
    match event:
        case CallAnswered(reply=reply):
            if intent is not None and intent.held == NOTHING:
                return "reused"
            return "answered" if reply.get("finish", "stop") in ("stop", "tool_calls") else "cut"
        case CallFailed(kind="cancelled"):
            return "cancelled"
        case CallFailed(kind="lost"):
            return "lost"
        case CallFailed():
            return "failed"


def earlier(intent: CallIntended) -> str:
    """The address of the call whose answer could not be read, if intent asks for it once more; else empty."""
    return f"{intent.address.removesuffix('/c2')}/c1" if intent.address.endswith("/c2") else ""


@dataclass(slots=True)
class Fates:
    """Feed it a run's tries in order. It keeps a word for each call that another try may still follow."""

    _last: dict[str, Fate] = field(default_factory=dict[str, Fate])

    def begun(self, intent: CallIntended) -> tuple[str, Fate, Fate] | None:
        """The call whose fate changes because intent was sent: its address, what it was, what it is now."""
        if intent.kind != "model":
            return None
        if self._last.get(intent.address) == "failed":
            del self._last[intent.address]
            return intent.address, "failed", "retried"
        before = earlier(intent)
        was = self._last.get(before)
        if was not in ("answered", "cut"):
            return None
        del self._last[before]
        return before, was, "repaired"

    def ended(self, intent: CallIntended | None, event: CallAnswered | CallFailed) -> Fate | None:
        """What became of the try; None where it was no request to a model."""
        if intent is not None and intent.kind != "model":
            return None
        fate = fate_of(intent, event)
        if fate == "failed" or event.address.endswith("/c1"):
            self._last[event.address] = fate
        return fate
