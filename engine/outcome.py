"""How a node ended. Each node of a run ends in exactly one of these."""

from dataclasses import dataclass
from typing import Literal

from .places import is_within


@dataclass(frozen=True, slots=True)
class Passed:
    """What it returns passed, whatever its children did."""


@dataclass(frozen=True, slots=True)
class Finished:
    """An answer that did not pass, or nothing to verify it with."""


@dataclass(frozen=True, slots=True)
class Exhausted:
    """account: the budget that had no room, as the ledger names it; dimension: usd, tokens, calls, time, or by:
    the run's deadline by the clock."""

    account: str
    dimension: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """Ended early on purpose. cause: lost (another branch won), enough, or, of a run, user; of a team or a repeat,
    which has an answer then that did not pass, plateau or ceo."""

    cause: Literal["lost", "plateau", "ceo", "enough", "user"]


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
    """Of a run only. cause: budget, outage, verifier, disk or user. It can be resumed.

    message: for people, what the verifier, the endpoint or the disk said; empty where the cause says all.
    """

    cause: str
    message: str = ""


# The cause with which a run is interrupted that is to end for good: it ends Stopped("user"), not Paused.
STOP = "stop"
# Why a run ended that was stopped so, where what it has passed, which is then its outcome.
BY_USER = "stopped by the user"

Outcome = Passed | Finished | Exhausted | Stopped | Failed | Cancelled | Paused


@dataclass(frozen=True, slots=True)
class Named:
    """A run's two names: id, with which the ledger's names of its accounts begin, and name, in its program.

    People know its own budget as `run main`, those below it by the address of their node, and those above
    it, a tenant's, by their name.
    """

    id: str
    name: str

    def shown(self, account: str) -> str:
        """The account as people know it. Two budgets around one node are not told apart."""
        if account == self.id:
            return f"run {self.name}"
        below = account.removeprefix(f"{self.id}/")
        return account if below == account else below.rstrip("'")

    def account(self, shown: str) -> str:
        """The account that `shown` gave that name."""
        if shown == f"run {self.name}":
            return self.id
        return f"{self.id}/{shown}" if is_within(shown, self.name) else shown


# What ends a team or a repeat by a rule of its own, before its rounds are over.
Rule = Literal["ceo", "plateau"]
_RULES: tuple[Rule, ...] = ("ceo", "plateau")


def rule_of(why: str) -> Rule | None:
    """The rule that a reason names, alone or among others: `plateau`, `round and plateau`."""
    named = why.split(" and ")
    return next((rule for rule in _RULES if rule in named), None)


# The outcomes of those: they give an answer, as Finished does.
BY_RULE = tuple(map(Stopped, _RULES))


def ended_by_rule(name: str, why: str) -> bool:
    """Whether a node of this word and reason came to its end by its own rule: nothing in it was cancelled."""
    return name == "stopped" and rule_of(why) is not None


# A budget by what it bounds, as people say it: the token budget. Of time it is the time budget.
BUDGETS = {"usd": "dollar", "tokens": "token", "calls": "call"}
_BY = "deadline `by` of "


def word(outcome: Outcome) -> str:
    """The outcome as one lower-case word: what JSON and tables show."""
    return type(outcome).__name__.lower()


def reason(outcome: Outcome, run: Named) -> str:
    """Why, as a short clause; empty where there is nothing to add. run: whose outcome it is, or its node's."""
    match outcome:
        case Passed() | Finished() | Cancelled():  # most of them
            return ""
        case Exhausted(account=account, dimension="by"):
            return f"{_BY}{run.shown(account)}"
        case Exhausted(account=account, dimension=dimension):
            return f"{dimension} budget of {run.shown(account)}"
        case Stopped(cause=cause) | Paused(cause=cause, message=""):
            return cause
        case Failed(kind=cause, message=message) | Paused(cause=cause, message=message):
            return f"{cause}: {message}"


def outcome_of(name: str, why: str, run: Named) -> Outcome:
    """The outcome of run that `word` and `reason` said, read back from a store."""
    match name:
        case "passed":
            return Passed()
        case "cancelled":
            return Cancelled()
        case "paused":
            cause, _, message = why.partition(": ")
            return Paused(cause, message)
        case "stopped":
            return Stopped(rule_of(why) or "user")
        case "exhausted":
            if why.startswith(_BY):
                return Exhausted(run.account(why.removeprefix(_BY)), "by")
            dimension, _, shown = why.partition(" budget of ")
            return Exhausted(run.account(shown), dimension)
        case "failed":
            kind, _, message = why.partition(": ")
            return Failed(kind, message)
        case _:
            return Finished()
