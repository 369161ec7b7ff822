"""What holds for every run, whatever went wrong in it: pure functions of its events, last books and program.

Each gives the violations it found as data; an empty tuple means that the promise was kept.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from ..event import (
    AccountOpened,
    CallAnswered,
    CallFailed,
    CallIntended,
    NodeEnded,
    NodeStarted,
    Ordered,
    Rented,
    RunEnded,
    RunStarted,
    Stamped,
)
from ..fold import fold
from ..ledger import NOTHING, Account, Amount, Limit
from ..places import is_within

Promise = Literal[
    "cap", "conservation", "outcomes", "leftover", "termination", "replay", "bill", "bug",
    "always", "never", "at_most",
]  # fmt: skip
"""The engine's own, then those of a `test` (`expectations.broken`)."""


@dataclass(frozen=True, slots=True)
class Violation:
    """promise: which was broken; who: the account or node; event: the number of the event at which, if one."""

    promise: Promise
    who: str
    message: str
    event: int | None = None


class Book(NamedTuple):
    """An account as it was when the run ended."""

    parent: str | None
    limit: Limit
    spent: Amount
    held: Amount


Books = Mapping[str, Book]


def books(accounts: Mapping[str, Account]) -> Books:
    """The accounts of a ledger as they are now."""
    return {
        name: Book(a.parent.name if a.parent else None, a.limit, a.spent, a.held)
        for name, a in accounts.items()
    }


def violations(events: Sequence[Stamped], last: Books, *, run: str) -> tuple[Violation, ...]:
    """All that can be told from one run's list. last: the books at its end. run: its id."""
    return (
        *cap(events),
        *conservation(events, last, run=run),
        *outcomes(events),
        *leftover(events, last),
    )


# --- cap ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Open:
    """The accounts of a run as its events tell them."""

    limits: dict[str, Limit] = field(default_factory=dict[str, Limit])
    parents: dict[str, str] = field(default_factory=dict[str, str])
    taken: dict[str, Amount] = field(default_factory=dict[str, Amount])
    over: dict[str, Amount] = field(default_factory=dict[str, Amount])
    held: dict[tuple[str, int], CallIntended] = field(
        default_factory=dict[tuple[str, int], CallIntended]
    )
    rents: dict[str, Amount] = field(default_factory=dict[str, Amount])

    def chain(self, account: str) -> Iterable[str]:
        while account:
            yield account
            account = self.parents.get(account, "")

    def add(self, account: str, amount: Amount, over: Amount = NOTHING) -> None:
        for name in self.chain(account):
            self.taken[name] = self.taken.get(name, NOTHING).plus(amount)
            self.over[name] = self.over.get(name, NOTHING).plus(over)


def cap(events: Iterable[Stamped]) -> tuple[Violation, ...]:
    """At every event, at every account: spent + held <= limit, but for what a server took beyond its cap."""
    open_ = _Open()
    found: list[Violation] = []
    for stamped in events:
        account = _step(open_, stamped)
        for name in open_.chain(account):
            taken = open_.taken.get(name, NOTHING).minus(open_.over.get(name, NOTHING))
            if text := above(open_.limits.get(name, Limit()), taken):
                found.append(Violation("cap", name, text, stamped.number))
    return tuple(found)


def _step(open_: _Open, stamped: Stamped) -> str:
    """Take one event in; the account whose figures rose, if any."""
    match stamped.event:
        case AccountOpened() as event:
            open_.limits[event.address] = Limit(event.usd, event.tokens, event.calls)
            open_.parents[event.address] = event.parent
        case Ordered() as event:
            root = next(iter(open_.limits), "")
            more = (event.usd, event.tokens, event.calls)
            have = open_.limits.get(root, Limit())
            raised = (None if h is None else h + m for h, m in zip(have, more, strict=True))
            open_.limits[root] = Limit(*raised)
        case CallIntended() as event:
            open_.held[event.address, event.try_] = event
            open_.add(event.account, event.held)
            return event.account
        case CallAnswered() | CallFailed() as event:
            intent = open_.held.pop((event.address, event.try_), None)
            held = NOTHING if intent is None else intent.held
            over = Amount(*(max(0, s - h) for s, h in zip(event.spent, held, strict=True)))
            open_.add(event.account, event.spent.minus(held), over)
            return event.account
        case Rented() as event:
            before = open_.rents.get(event.account, NOTHING)
            open_.rents[event.account] = event.held
            open_.add(event.account, event.spent.plus(event.held).minus(before))
            return event.account
        case _:
            pass
    return ""


def above(limit: Limit, taken: Amount) -> str:
    """In words, what of taken is above limit; empty where nothing is."""
    for dimension, bound, have in zip(Amount._fields, limit, taken, strict=True):
        if bound is not None and have > bound:
            return f"{have} {dimension} spent and held of {bound}"
    return ""


# --- conservation ---------------------------------------------------------------------------------


def conservation(events: Sequence[Stamped], last: Books, *, run: str) -> tuple[Violation, ...]:
    """What a node cost is what it spent itself and what its children cost; what an account has spent is what
    was settled there and below. In tokens, dollars and calls."""
    tries = [s.event for s in events if isinstance(s.event, CallAnswered | CallFailed)]
    rents = [s.event for s in events if isinstance(s.event, Rented)]
    return (*_nodes(events, tries, rents), *_accounts([*tries, *rents], last, run))


def _nodes(
    events: Sequence[Stamped], tries: Sequence[CallAnswered | CallFailed], rents: Sequence[Rented]
) -> Iterable[Violation]:
    """The fold's totals against a count by address alone."""
    counted: dict[str, Amount] = {}
    for event in tries:
        above = event.address
        while above:
            counted[above] = counted.get(above, NOTHING).plus(event.spent)
            above = above.rpartition("/")[0]
    folded = fold(events)
    for address, total in folded.totals().items():
        want = counted.get(address, NOTHING)
        if total.amount != want:
            yield Violation(
                "conservation", address, f"{total.amount} told, {want} settled below it"
            )
    whole = sum_of(event.spent for event in (*tries, *rents))
    if folded.total.amount != whole:
        yield Violation("conservation", "", f"{folded.total.amount} in all, {whole} settled")


def _accounts(
    tries: Sequence[CallAnswered | CallFailed | Rented], last: Books, run: str
) -> Iterable[Violation]:
    settled: dict[str, Amount] = {}
    for event in tries:
        account: str | None = event.account
        while account:
            settled[account] = settled.get(account, NOTHING).plus(event.spent)
            account = last[account].parent if account in last else None
    for name, book in last.items():
        if is_within(name, run) and book.spent != (want := settled.get(name, NOTHING)):
            yield Violation("conservation", name, f"{book.spent} in the books, {want} settled")


def sum_of(amounts: Iterable[Amount]) -> Amount:
    total = NOTHING
    for amount in amounts:
        total = total.plus(amount)
    return total


# --- outcomes -------------------------------------------------------------------------------------


def outcomes(events: Iterable[Stamped]) -> tuple[Violation, ...]:
    """In each life that came to its end, exactly one outcome for each node that started, and none for others.
    In a life that was killed, at most one."""
    found: list[Violation] = []
    started: dict[str, bool] = {}
    for stamped in events:
        match stamped.event:
            case RunStarted():
                started = {}
            case NodeStarted(address=address):
                if address in started:
                    found.append(_wrong(address, "started twice", stamped))
                started[address] = False
            case NodeEnded(address=address):
                if started.get(address, True):
                    how = "ended twice" if address in started else "ended without a start"
                    found.append(_wrong(address, how, stamped))
                started[address] = True
            case RunEnded():
                running = [address for address, ended in started.items() if not ended]
                found += [_wrong(a, "never ended", stamped) for a in running]
            case _:
                pass
    return tuple(found)


def _wrong(address: str, how: str, stamped: Stamped) -> Violation:
    return Violation("outcomes", address, how, stamped.number)


# --- leftover -------------------------------------------------------------------------------------


def leftover(events: Sequence[Stamped], last: Books) -> tuple[Violation, ...]:
    """After the run no try is open and no money is held."""
    found = [
        Violation("leftover", name, f"{book.held} is held")
        for name, book in last.items()
        if book.held != NOTHING
    ]
    folded = fold(events)
    if folded.held:
        found.append(Violation("leftover", "", f"{folded.held} tries have no end"))
    return tuple(found)
