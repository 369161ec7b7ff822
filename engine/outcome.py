"""How a node ended. Each node of a run ends in exactly one of these."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Passed:
    """What it returns passed, whatever its children did."""


@dataclass(frozen=True, slots=True)
class Finished:
    """An answer that did not pass, or nothing to verify it with."""


@dataclass(frozen=True, slots=True)
class Exhausted:
    """account: the budget that had no room; dimension: usd, tokens, calls or time."""

    account: str
    dimension: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """Ended early on purpose. cause: lost (another branch won), plateau, ceo, or enough."""

    cause: Literal["lost", "plateau", "ceo", "enough"]


@dataclass(frozen=True, slots=True)
class Failed:
    """kind: the failure's class (`endpoint`, `credentials`, `verifier`, `reply`, …); message for people."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Cancelled:
    """From outside: the scope was cancelled or the user interrupted."""


@dataclass(frozen=True, slots=True)
class Paused:
    """Of a run only. cause: budget, outage, verifier, disk or user. It can be resumed."""

    cause: str


Outcome = Passed | Finished | Exhausted | Stopped | Failed | Cancelled | Paused


def word(outcome: Outcome) -> str:
    """The outcome as one lower-case word: what JSON and tables show."""
    return type(outcome).__name__.lower()


def reason(outcome: Outcome) -> str:
    """Why, as a short clause; empty where there is nothing to add."""
    match outcome:
        case Exhausted(account=account, dimension=dimension):
            return f"{dimension} budget of {account}"
        case Stopped(cause=cause) | Paused(cause=cause):
            return cause
        case Failed(kind=kind, message=message):
            return f"{kind}: {message}"
        case Passed() | Finished() | Cancelled():
            return ""


def outcome_of(name: str, why: str) -> Outcome:
    """The outcome that `word` and `reason` said, read back from a store."""
    match name:
        case "passed":
            return Passed()
        case "cancelled":
            return Cancelled()
        case "paused":
            return Paused(why)
        case "exhausted":
            dimension, _, account = why.partition(" budget of ")
            return Exhausted(account, dimension)
        case "failed":
            kind, _, message = why.partition(": ")
            return Failed(kind, message)
        case _:
            return Finished()
