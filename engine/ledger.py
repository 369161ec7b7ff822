"""The ledger: a tree of accounts in integers. Pure; the journal makes it durable.

The rule this file keeps: at every account, at every moment, `spent + held <= limit`, unless a server
exceeded what was capped, which is recorded as an overrun. A hold is taken on every ancestor or on none,
belongs to one try of one call, and ends exactly once: settling or releasing it again changes nothing.

Time is not here: a deadline is a scope, not a sum.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from podium.dsl.program import Budget


class Amount(NamedTuple):
    """Micro-dollars, tokens, calls. Never negative."""

    usd: int = 0
    tokens: int = 0
    calls: int = 0

    def plus(self, other: "Amount") -> "Amount":
        return Amount(self.usd + other.usd, self.tokens + other.tokens, self.calls + other.calls)

    def minus(self, other: "Amount") -> "Amount":
        return Amount(self.usd - other.usd, self.tokens - other.tokens, self.calls - other.calls)

    def over(self, other: "Amount") -> "Amount":
        """How much of it is above other, in each dimension."""
        (usd, tokens, calls), (usd_, tokens_, calls_) = self, other
        if usd <= usd_ and tokens <= tokens_ and calls <= calls_:
            return NOTHING
        return Amount(max(0, usd - usd_), max(0, tokens - tokens_), max(0, calls - calls_))


NOTHING = Amount()


class Limit(NamedTuple):
    """Upper bounds in the units of Amount; None is no bound."""

    usd: int | None = None
    tokens: int | None = None
    calls: int | None = None

    @classmethod
    def of(cls, budget: Budget) -> "Limit":
        """budget's bounds but for time and shares, which are no sums."""
        return cls(budget.usd, budget.tokens, budget.calls)


NO_LIMIT = Limit()


class Charge(NamedTuple):
    """What was settled on one account itself, and how much of it was above the holds."""

    spent: Amount = NOTHING
    overrun: Amount = NOTHING


@dataclass(slots=True)
class Account:
    """spent: settled; held: what live tries may still cost, worst case; overrun: spent above any hold.

    lasting: what of held is not given back before the account's end, as rent.
    """

    name: str
    parent: "Account | None"
    limit: Limit
    spent: Amount = NOTHING
    held: Amount = NOTHING
    overrun: Amount = NOTHING
    lasting: Amount = NOTHING
    _above: "tuple[Account, ...]" = ()

    def __post_init__(self) -> None:
        if self.parent is not None:
            self._above = self.parent.upwards()

    def upwards(self) -> "tuple[Account, ...]":
        """This account, its parent, and so on to the root."""
        return (self, *self._above)


@dataclass(slots=True)
class Hold:
    """The worst case of one try, held on account and all its ancestors until it is settled.

    lasting: it is none of a try, but of all the account's time: `extend` and `draw` change it meanwhile.
    """

    account: Account
    amount: Amount
    settled: bool = False
    lasting: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """account has no room in dimension (usd, tokens or calls).

    final: it would not fit even if every live hold were released unspent, so waiting cannot help.
    """

    account: str
    dimension: str
    final: bool


def _lacks(account: Account, amount: Amount, taken: Amount) -> str | None:
    for dimension, limit, have, want in zip(
        Amount._fields, account.limit, taken, amount, strict=True
    ):
        if limit is not None and have + want > limit:
            return dimension
    return None


@dataclass(slots=True)
class Ledger:
    """Accounts by name. Everything is synchronous: no await can fall between a question and its answer."""

    accounts: dict[str, Account] = field(default_factory=dict[str, Account])

    def open(self, name: str, limit: Limit, parent: str | None = None) -> Account:
        """The account name, made if there is none yet; an existing one keeps its limit and its spend."""
        if name not in self.accounts:
            above = None if parent is None else self.accounts[parent]
            self.accounts[name] = Account(name, above, limit)
        return self.accounts[name]

    def close(self, name: str) -> None:
        """Forget the accounts below name, if it is open; what was settled there stays on it and above.

        No hold may be open below. `restore` comes to the same figures from here.
        """
        top = self.accounts.get(name)
        chains = {one: account.upwards()[1:] for one, account in self.accounts.items()}
        for one in [one for one, above in chains.items() if any(a is top for a in above)]:
            assert self.accounts[one].held == NOTHING, f"{one} is closed while money is held"
            del self.accounts[one]

    def hold(self, name: str, amount: Amount) -> Hold | Refused:
        """Hold amount on the account and all its ancestors, or on none of them.

        A refusal names the nearest account that can never take it, else the nearest that cannot now.
        """
        chain = self.accounts[name].upwards()
        waiting: Refused | None = None
        for account in chain:
            if account.limit == NO_LIMIT:
                continue
            if dimension := _lacks(account, amount, account.spent.plus(account.lasting)):
                return Refused(account.name, dimension, final=True)
            if waiting is None and (
                dimension := _lacks(account, amount, account.spent.plus(account.held))
            ):
                waiting = Refused(account.name, dimension, final=False)
        if waiting is not None:
            return waiting
        for account in chain:
            account.held = account.held.plus(amount)
        return Hold(chain[0], amount)

    def settle(self, hold: Hold, actual: Amount) -> None:
        """End hold and charge actual, which may exceed it (an overrun). A second call changes nothing."""
        if hold.settled:
            return
        hold.settled = True
        over = actual.over(hold.amount)
        if hold.lasting:
            hold.account.lasting = hold.account.lasting.minus(hold.amount)
        for account in hold.account.upwards():
            account.held = account.held.minus(hold.amount)
            account.spent = account.spent.plus(actual)
            if over is not NOTHING:
                account.overrun = account.overrun.plus(over)

    def last(self, name: str) -> Hold:
        """A lasting hold of nothing yet. Those who wait for money need not wait for it, but above the account,
        whose other runs may well outlast it."""
        return Hold(self.accounts[name], NOTHING, lasting=True)

    def extend(self, hold: Hold, more: Amount) -> bool:
        """Hold more (or less, where it is negative) in a lasting hold; whether there was room for it."""
        chain = hold.account.upwards()
        if any(_lacks(account, more, account.spent.plus(account.held)) for account in chain):
            return False
        self._move(hold, more)
        return True

    def draw(self, hold: Hold, actual: Amount) -> None:
        """Charge actual, which a lasting hold has, to it."""
        self._move(hold, NOTHING.minus(actual))
        self.charge(hold.account.name, actual)

    def _move(self, hold: Hold, more: Amount) -> None:
        hold.amount = hold.amount.plus(more)
        hold.account.lasting = hold.account.lasting.plus(more)
        for account in hold.account.upwards():
            account.held = account.held.plus(more)

    def release(self, hold: Hold) -> None:
        """End hold without a charge."""
        self.settle(hold, NOTHING)

    def charge(self, name: str, amount: Amount, overrun: Amount = NOTHING) -> None:
        """Add what was spent in an earlier life of the run; used when a journal is read back."""
        for account in self.accounts[name].upwards():
            account.spent = account.spent.plus(amount)
            account.overrun = account.overrun.plus(overrun)

    def restore(self, charges: Mapping[str, Charge]) -> None:
        """Bring what was settled on each of these accounts itself to the figure given, and their
        ancestors with them. Doing it again changes nothing; no hold may be open under them."""
        own = {name: Charge(a.spent, a.overrun) for name, a in self.accounts.items()}
        for account in self.accounts.values():
            if account.parent is not None:
                above = own[account.parent.name]
                own[account.parent.name] = Charge(
                    above.spent.minus(account.spent), above.overrun.minus(account.overrun)
                )
        for name, charge in charges.items():
            has = own[name]
            self.charge(name, charge.spent.minus(has.spent), charge.overrun.minus(has.overrun))

    def is_bounded(self, name: str) -> bool:
        """Whether the account or one above it has a limit."""
        return any(one.limit != NO_LIMIT for one in self.accounts[name].upwards())

    def left(self, name: str) -> Limit:
        """What the account and every ancestor could still take now: the least of limit - spent - held."""
        best: list[int | None] = [None, None, None]
        for account in self.accounts[name].upwards():
            if account.limit == NO_LIMIT:
                continue
            taken = account.spent.plus(account.held)
            for i, (limit, have) in enumerate(zip(account.limit, taken, strict=True)):
                if limit is not None:
                    room = max(0, limit - have)
                    least = best[i]
                    best[i] = room if least is None else min(least, room)
        return Limit(*best)

    def top_up(self, name: str, by: Amount) -> None:
        """Add to the bounds that the account has; only who owns the budget may ask for it."""
        account = self.accounts[name]
        account.limit = Limit(
            *(
                None if old is None else old + more
                for old, more in zip(account.limit, by, strict=True)
            )
        )

    def tighten(self, name: str, limit: Limit) -> None:
        """Lower the account's limit where limit is lower; never raises one."""
        account = self.accounts[name]
        account.limit = Limit(
            *(
                new if old is None else old if new is None else min(old, new)
                for old, new in zip(account.limit, limit, strict=True)
            )
        )
