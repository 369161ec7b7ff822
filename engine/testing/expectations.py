"""What a `test` promises, looked at in the events of a simulated run. Pure.

A rule over `spent`, `held` and `elapsed` is looked at behind every event. One that names how the run ended
(`outcome`, `passed`, `score`) is looked at where it stopped: `never` at each stop, pauses included, `always` at
the end for good.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from podium.dsl.program import (
    AllOf,
    AnyOf,
    Budget,
    Compare,
    Condition,
    Flag,
    Not,
    Plateau,
)
from podium.dsl.tried import TestCase

from ..condition import COMPARE, names
from ..event import CallAnswered, CallFailed, CallIntended, RunEnded, Stamped
from ..fold import Fold
from ..ledger import NOTHING, Amount
from .invariants import Promise, Violation
from .words import told_condition, told_number

_ENDS = frozenset(
    {"score", "passed", "finished", "exhausted", "stopped", "failed", "cancelled", "paused"}
)


@dataclass(frozen=True, slots=True)
class _Rule:
    """kind: always or never, or at_most for a bound of the budget of that name."""

    kind: Promise
    condition: Condition

    @property
    def text(self) -> str:
        return f"{self.kind} = {told_condition(self.condition)}"

    @property
    def asks_for_the_end(self) -> bool:
        return not names(self.condition).isdisjoint(_ENDS)


@dataclass(slots=True)
class _Moment:
    """What a rule may name, as the events tell it so far."""

    folded: Fold = field(default_factory=Fold)
    held: Amount = NOTHING
    _open: dict[tuple[str, int], Amount] = field(default_factory=dict[tuple[str, int], Amount])

    def add(self, stamped: Stamped) -> None:
        self.folded.add(stamped)
        match stamped.event:
            case CallIntended(address=address, try_=number, held=held):
                self._open[address, number] = held
                self.held = self.held.plus(held)
            case (
                CallAnswered(address=address, try_=number)
                | CallFailed(address=address, try_=number)
            ):
                self.held = self.held.minus(self._open.pop((address, number), NOTHING))
            case _:
                pass

    def number(self, name: str) -> float | None:
        """The figure of that name in the units of conditions; None where there is none, such as no score."""
        kind, _, dimension = name.partition("_")
        match kind:
            case "elapsed":
                return self.folded.seconds
            case "score":
                return None if self.folded.ended is None else self.folded.ended.score
            case _:
                amount = self.folded.total.amount if kind == "spent" else self.held
                return float(getattr(amount, dimension))

    def holds(self, rule: Condition) -> bool:
        match rule:
            case Compare(name=name, operator=sign, value=value):
                have = self.number(name)
                return have is not None and COMPARE[sign](have, value)
            case Flag(name=name):
                return self.folded.ended is not None and self.folded.ended.outcome == name
            case AllOf(parts=parts):
                return all(self.holds(part) for part in parts)
            case AnyOf(parts=parts):
                return any(self.holds(part) for part in parts)
            case Not(part=part):
                return not self.holds(part)
            case Plateau():
                raise ValueError("a test knows no rounds")  # refused where it is checked

    def told(self, rule: Condition) -> str:
        """The figures that rule names, as they are now."""
        told = [
            f"{name.partition('_')[0]} is {told_number(name, self.number(name))}"
            for name in sorted(names(rule))
            if name not in _ENDS or name == "score"
        ]
        ended = self.folded.ended
        if ended is not None and not names(rule).isdisjoint(_ENDS):
            told.append(_ended(ended))
        return ", ".join(told)


def _ended(event: RunEnded) -> str:
    return f"the run ended {event.outcome}" + (f" ({event.reason})" if event.reason else "")


def broken(test: TestCase, events: Sequence[Stamped]) -> tuple[Violation, ...]:
    """The promises of test that these events break, each once, where it first was broken."""
    rules = list(_rules(test))
    last = max((s.number for s in events if isinstance(s.event, RunEnded)), default=None)
    moment = _Moment()
    found: list[tuple[_Rule, str, int]] = []
    for stamped in events if rules else ():
        moment.add(stamped)
        for rule in tuple(rules):
            if _due(rule, stamped, last) and moment.holds(rule.condition) is (rule.kind == "never"):
                found.append((rule, moment.told(rule.condition), stamped.number))
                rules.remove(rule)
    return tuple(
        Violation(rule.kind, rule.text, _whole(told, moment.told(rule.condition), rule), number)
        for rule, told, number in found
    )


def _whole(then: str, end: str, rule: _Rule) -> str:
    """What a rule's figures were when it broke; of a bound also what they came to."""
    return then if rule.kind != "at_most" or then == end else f"{then}; in the end {end}"


def _due(rule: _Rule, stamped: Stamped, last: int | None) -> bool:
    """Whether rule is looked at behind this event."""
    if not rule.asks_for_the_end:
        return True
    if not isinstance(stamped.event, RunEnded):
        return False
    return rule.kind == "never" or stamped.number == last


def _rules(test: TestCase) -> Iterator[_Rule]:
    yield from (_Rule("always", rule) for rule in test.always)
    yield from (_Rule("never", rule) for rule in test.never)
    yield from (_Rule("at_most", rule) for rule in _bounds(test.at_most))


def _bounds(budget: Budget) -> Iterable[Compare]:
    limits = {
        "spent_usd": budget.usd,
        "spent_tokens": budget.tokens,
        "spent_calls": budget.calls,
        "elapsed": budget.seconds,
    }
    return (Compare(n, "<=", float(limit)) for n, limit in limits.items() if limit is not None)
