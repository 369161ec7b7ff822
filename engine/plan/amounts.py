"""Sums of what may be spent: at least, expected, at most. Pure, in integers."""

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import NamedTuple

from podium.dsl.model import Price

from ..tokens import micro_of
from .repeats import NEW, Known, Repeats, Share


class Range(NamedTuple):
    """At least, expected, at most; never out of order."""

    least: int = 0
    expected: int = 0
    most: int = 0

    def plus(self, other: "Range") -> "Range":
        return Range(*(a + b for a, b in zip(self, other, strict=True)))

    def minus(self, other: "Range") -> "Range":
        """A difference: figures may be below 0 and out of order."""
        return Range(*(a - b for a, b in zip(self, other, strict=True)))

    def times(self, count: int) -> "Range":
        return Range(*(count * a for a in self))

    def within(self, limit: int | None) -> "Range":
        """No figure above limit."""
        return self if limit is None else Range(*(min(a, limit) for a in self))


ZERO = Range()


class Amounts(NamedTuple):
    """Calls, tokens in and out, micro-dollars; usd None is unknown: a model without a known price is called.

    usd is without what servers may have in their caches, which repeats tells.
    """

    calls: Range = ZERO
    tokens: Range = ZERO
    usd: Range | None = ZERO
    repeats: Repeats = Repeats()

    def plus(self, other: "Amounts") -> "Amounts":
        unknown = self.usd is None or other.usd is None
        return Amounts(
            self.calls.plus(other.calls),
            self.tokens.plus(other.tokens),
            None if unknown else (self.usd or ZERO).plus(other.usd or ZERO),
            self.repeats.plus(other.repeats),
        )

    def minus(self, other: "Amounts") -> "Amounts":
        """A difference, but for what repeats: figures may be below 0 and out of order; unknown where either is."""
        unknown = self.usd is None or other.usd is None
        return Amounts(
            self.calls.minus(other.calls),
            self.tokens.minus(other.tokens),
            None if unknown else (self.usd or ZERO).minus(other.usd or ZERO),
        )

    def times(self, count: int, *, alike: bool = False) -> "Amounts":
        """So many copies; alike: all of them are given the same."""
        usd = None if self.usd is None else self.usd.times(count)
        repeats = self.repeats.times(count, alike=alike)
        return Amounts(self.calls.times(count), self.tokens.times(count), usd, repeats)

    def onward(self) -> "Amounts":
        """As of a part that is given what others made."""
        return self._replace(repeats=self.repeats.onward())

    @property
    def usd_cached(self) -> int | None:
        """The dollars that are expected where all that repeats comes from caches; None where no price tells."""
        saved = self.repeats.again.usd
        return None if self.usd is None or saved <= 0 else max(0, self.usd.expected - saved)

    def at_least(self, least: "Amounts") -> "Amounts":
        """These amounts with what least says is the least."""
        return _each(self, least, lambda a, b: a._replace(least=min(b.least, a.expected)))

    def or_least(self, least: "Amounts") -> "Amounts":
        """These amounts, but perhaps no more than what least says is the least."""
        return _each(self, least, lambda a, b: a._replace(least=min(a.least, b.least)))

    def spanning(self, other: "Amounts") -> "Amounts":
        """What holds of both: the lesser least, the greater expected and most."""
        found = _each(
            self,
            other,
            lambda a, b: Range(min(a.least, b.least), max(a[1], b[1]), max(a.most, b.most)),
        )
        most = max(self.repeats.most, other.repeats.most)
        return found._replace(repeats=max(self.repeats, other.repeats)._replace(most=most))

    def perhaps(self) -> "Amounts":
        """These amounts where nothing may be spent, nor is expected to be."""
        found = _each(self, self, lambda a, _: Range(0, 0, a.most))
        return found._replace(repeats=self.repeats.perhaps())


NOTHING = Amounts()
_Pair = Callable[[Range, Range], Range]


def _each(one: Amounts, other: Amounts, pair: _Pair) -> Amounts:
    usd = None if one.usd is None or other.usd is None else pair(one.usd, other.usd)
    return Amounts(pair(one.calls, other.calls), pair(one.tokens, other.tokens), usd, one.repeats)


def alternatives(each: Sequence[Amounts]) -> Amounts:
    """One of these: the least of any, the mean of what is expected, the most of any, also of what may repeat."""
    total = reduce(Amounts.plus, each)
    span = reduce(Amounts.spanning, each)
    mean = _each(span, total, lambda a, b: a._replace(expected=-(-b.expected // len(each))))
    repeats = max((one.repeats for one in each), key=lambda one: one.shared)
    expected = total.repeats.input // len(each)
    return mean._replace(repeats=repeats._replace(input=expected, most=span.repeats.most))


def cheapest(each: Sequence[tuple[int, Amounts]], count: int) -> Amounts:
    """The least that count of these may cost, in each dimension by itself. each: how many there are of which."""
    priced = [(n, one.usd) for n, one in each if one.usd is not None]
    return Amounts(
        _cheapest([(n, one.calls) for n, one in each], count),
        _cheapest([(n, one.tokens) for n, one in each], count),
        _cheapest(priced, count) if len(priced) == len(each) else None,
    )


def _cheapest(each: Sequence[tuple[int, Range]], count: int) -> Range:
    total = 0
    for n, one in sorted(each, key=lambda pair: pair[1].least):
        taken = min(n, count)
        total, count = total + taken * one.least, count - taken
    return Range(total, total, total)


def charge(
    into: Range, out: Range, price: Price | None, known: Known = NEW, size: int = 0
) -> Amounts:
    """One call: its input and output tokens, and their dollars by the same rates as the ledger's holds. known: of
    the so many bytes that its prompt is expected to be.

    At least is what the cheapest kind of input costs at the cheapest rates there may be, at most what the
    dearest does at the dearest.
    """
    tokens = into.plus(out)
    shares = (_share(into.expected, part, size, price) for part in known)
    repeats = Repeats(into.expected, into.most, *shares)
    if price is None:
        return Amounts(Range(1, 1, 1), tokens, None, repeats)
    usual = price.at(into.expected)
    usd = Range(
        min(_usd(into.least, out.least, one, min) for one in price.within(into.least, into.most)),
        micro_of(into.expected * usual.input + out.expected * usual.output),
        max(_usd(into.most, out.most, one, max) for one in price.within(0, into.most)),
    )
    usd = usd._replace(expected=min(max(usd.expected, usd.least), usd.most))
    return Amounts(Range(1, 1, 1), tokens, usd, repeats)


def _share(into: int, part: int, size: int, price: Price | None) -> Share:
    """That part of size of the tokens of a prompt."""
    tokens = into * min(part, size) // max(1, size)
    usual = None if price is None else price.at(into)
    return Share(tokens, 0 if usual is None else tokens * (usual.input - usual.cached) // 1_000_000)


def _usd(into: int, out: int, price: Price, pick: Callable[..., int]) -> int:
    return micro_of(into * pick(price.input, price.cached, price.cache_write) + out * price.output)


def least_call(prices: Iterable[Price | None]) -> Amounts:
    """The least that a call on the cheapest of these models may cost: a token of its input."""
    each = [charge(Range(1, 1, 1), ZERO, price) for price in prices]
    known = [one.usd for one in each if one.usd is not None]
    return Amounts(Range(1, 1, 1), Range(1, 1, 1), min(known) if len(known) == len(each) else None)
