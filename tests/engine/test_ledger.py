"""The ledger's rule under every interleaving of what can be done to it."""

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from podium.engine.ledger import NOTHING, Amount, Charge, Hold, Ledger, Limit, Refused

small = st.integers(0, 20)
amounts = st.builds(Amount, small, small, small)
bounds = st.none() | st.integers(0, 60)
limits = st.builds(Limit, bounds, bounds, bounds)


class Interleaving(RuleBasedStateMachine):
    """Accounts in a random tree; holds taken, settled at no more than they hold, released, twice."""

    names = Bundle("names")
    holds = Bundle("holds")

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger()
        self.taken: list[Hold] = []
        self.settled = NOTHING

    @rule(target=names, limit=limits)
    def open_root(self, limit: Limit) -> str:
        return self._open(limit, None)

    @rule(target=names, parent=names, limit=limits)
    def open_below(self, parent: str, limit: Limit) -> str:
        return self._open(limit, parent)

    def _open(self, limit: Limit, parent: str | None) -> str:
        name = f"a{len(self.ledger.accounts)}"
        self.ledger.open(name, limit, parent)
        return name

    @rule(target=holds, name=names, amount=amounts)
    def hold(self, name: str, amount: Amount) -> Hold:
        before = {a.name: (a.spent, a.held) for a in self.ledger.accounts.values()}
        found = self.ledger.hold(name, amount)
        if isinstance(found, Refused):
            assert {a.name: (a.spent, a.held) for a in self.ledger.accounts.values()} == before
            chain = [account.name for account in self.ledger.accounts[name].upwards()]
            assert found.account in chain
            return Hold(self.ledger.accounts[name], NOTHING, settled=True)
        self.taken.append(found)
        return found

    @rule(hold=holds, share=st.integers(0, 100))
    def settle(self, hold: Hold, share: int) -> None:
        actual = Amount(*(part * share // 100 for part in hold.amount))
        if not hold.settled:
            self.settled = self.settled.plus(actual)
        self.ledger.settle(hold, actual)

    @rule(hold=holds)
    def release(self, hold: Hold) -> None:
        self.ledger.release(hold)

    @invariant()
    def never_above_a_limit(self) -> None:
        for account in self.ledger.accounts.values():
            for have, limit in zip(account.spent.plus(account.held), account.limit, strict=True):
                assert limit is None or have <= limit

    @invariant()
    def roots_have_what_was_settled_and_what_is_open(self) -> None:
        spent = held = NOTHING
        for account in self.ledger.accounts.values():
            if account.parent is None:
                spent, held = spent.plus(account.spent), held.plus(account.held)
        live = [hold.amount for hold in self.taken if not hold.settled]
        assert spent == self.settled
        assert held == Amount(*(sum(a[i] for a in live) for i in range(3)))


TestInterleaving = Interleaving.TestCase
TestInterleaving.settings = settings(max_examples=50, stateful_step_count=40, deadline=None)


@given(st.lists(st.tuples(amounts, amounts), min_size=1, max_size=8))
def test_what_a_server_took_above_its_hold_is_an_overrun(
    pairs: list[tuple[Amount, Amount]],
) -> None:
    ledger = Ledger()
    ledger.open("top", Limit())
    ledger.open("run", Limit(), "top")
    for amount, actual in pairs:
        hold = ledger.hold("run", amount)
        assert isinstance(hold, Hold)
        ledger.settle(hold, actual)
    top = ledger.accounts["top"]
    assert top.held == NOTHING
    assert top.spent == Amount(*(sum(actual[i] for _, actual in pairs) for i in range(3)))
    over = (sum(max(0, actual[i] - amount[i]) for amount, actual in pairs) for i in range(3))
    assert top.overrun == Amount(*over)


def test_a_refusal_that_waiting_cannot_help_is_final() -> None:
    ledger = Ledger()
    ledger.open("top", Limit(usd=10))
    ledger.open("run", Limit(usd=8), "top")
    held = ledger.hold("run", Amount(usd=6))
    assert isinstance(held, Hold)
    assert ledger.hold("run", Amount(usd=9)) == Refused("run", "usd", final=True)
    assert ledger.hold("run", Amount(usd=3)) == Refused("run", "usd", final=False)
    ledger.settle(held, Amount(usd=6))
    assert ledger.hold("run", Amount(usd=3)) == Refused("run", "usd", final=True)


@given(st.lists(st.tuples(st.integers(0, 4), amounts), max_size=20))
def test_restoring_reaches_the_figures_and_then_changes_nothing(
    charges: list[tuple[int, Amount]],
) -> None:
    ledger = Ledger()
    ledger.open("top", Limit())
    for i in range(5):
        ledger.open(f"a{i}", Limit(), "top" if i == 0 else f"a{(i - 1) // 2}")
    ledger.charge("top", Amount(usd=3))
    ledger.charge("a3", Amount(usd=99))  # of a life that is read back differently
    totals = {f"a{i}": Charge() for i in range(5)}
    for i, amount in charges:
        totals[f"a{i}"] = Charge(totals[f"a{i}"].spent.plus(amount))
    for _ in range(2):
        ledger.restore(totals)
        everything = sum(amount.usd for _, amount in charges)
        assert ledger.accounts["top"].spent.usd == 3 + everything
        assert ledger.accounts["a0"].spent.usd == sum(amount.usd for _, amount in charges)


def test_what_is_below_a_closed_account_is_forgotten_and_its_spend_stays() -> None:
    ledger = Ledger()
    for name, parent in (("tenant", None), ("r", "tenant"), ("r/a", "r"), ("r/a/b", "r/a")):
        ledger.open(name, Limit(), parent)
    charges = {"r": Charge(Amount(1, 1, 1)), "r/a/b": Charge(Amount(2, 2, 1), Amount(1))}
    ledger.restore(charges)
    whole = ledger.accounts["tenant"].spent
    ledger.close("r")
    assert list(ledger.accounts) == ["tenant", "r"]
    assert ledger.accounts["r"].spent == ledger.accounts["tenant"].spent == whole
    ledger.open("r/a", Limit(), "r")
    ledger.open("r/a/b", Limit(), "r/a")
    ledger.restore(charges)
    assert ledger.accounts["tenant"].spent == ledger.accounts["r"].spent == whole
    assert ledger.accounts["r/a"].spent == Amount(2, 2, 1)
    ledger.close("no such account")
