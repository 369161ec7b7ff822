"""How much of what is read repeats the beginning of an earlier call of the run: a server that caches may have it.

An estimate, like all that is expected: what is known before the run is compared as text (a role's prefix, the
task), a team's transcript counts as far as an earlier round has shown it. Nothing is assumed of servers: none may
cache, and one may still have all of it from an earlier run, so at least is 0 and at most all that is read. Pure.
"""

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import NamedTuple


class Share(NamedTuple):
    """Tokens of input, and how many micro-dollars less they cost at the `cached` rate."""

    tokens: int = 0
    usd: int = 0

    def plus(self, other: "Share") -> "Share":
        return Share(self.tokens + other.tokens, self.usd + other.usd)

    def times(self, count: int) -> "Share":
        return Share(count * self.tokens, count * self.usd)

    def within(self, limit: int) -> "Share":
        return self._replace(tokens=min(self.tokens, limit))


class Repeats(NamedTuple):
    """input, most: tokens read as expected, and at most. again: of input, what an earlier call began with.

    alike, head: what is again, on top, in another copy of the part that is given the same, or something else.
    """

    input: int = 0
    most: int = 0
    again: Share = Share()
    alike: Share = Share()
    head: Share = Share()

    def plus(self, other: "Repeats") -> "Repeats":
        return Repeats(
            self.input + other.input,
            self.most + other.most,
            self.again.plus(other.again),
            self.alike.plus(other.alike),
            self.head.plus(other.head),
        )

    def times(self, count: int, *, alike: bool = False) -> "Repeats":
        """So many copies; alike: all of them are given the same."""
        if count < 1:
            return Repeats()
        more = self.alike if alike else self.head
        return Repeats(
            count * self.input,
            count * self.most,
            self.again.times(count).plus(more.times(count - 1)),
            self.alike.times(count).plus(more.times(1 - count)),
            self.head,
        )

    @property
    def shared(self) -> int:
        """Tokens that repeat, in this copy or in others."""
        return self.again.tokens + self.alike.tokens + self.head.tokens

    def perhaps(self) -> "Repeats":
        return Repeats(most=self.most)

    def onward(self) -> "Repeats":
        """Of a part that is given what others made, which no other copy is given."""
        return self._replace(alike=self.head)

    def within(self, limit: int | None) -> "Repeats":
        """No figure above limit."""
        if limit is None:
            return self
        shares = (one.within(limit) for one in (self.again, self.alike, self.head))
        return Repeats(min(self.input, limit), min(self.most, limit), *shares)


class Known(NamedTuple):
    """The same of one call, in the bytes that are expected of its prompt."""

    again: int = 0
    alike: int = 0
    head: int = 0

    def longer(self, more: int) -> "Known":
        """With so many bytes in front of the prompt, the same for all that begin so."""
        if self.again:
            return self._replace(again=self.again + more)
        return Known(0, self.alike + more, self.head + more)


NEW = Known()


@dataclass(slots=True)
class Beginnings:
    """What calls began with, as far as that is known before the run, by the model's name."""

    _texts: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def known(self, model: str, text: str, alike: int) -> Known:
        """A call that begins with text, which from now on was sent. alike: how many bytes of it are expected to be
        the same for all copies."""
        texts = self._texts.setdefault(model, [])
        at = bisect_left(texts, text)
        # What sorts next to it shares the most with it.
        shared = max(
            (_common(text, one) for one in texts[max(0, at - 1) : at + 1]), key=len, default=""
        )
        if text not in texts[at : at + 1]:
            texts.insert(at, text)
        again, whole = size_of(shared), size_of(text)
        return Known(again, max(alike, whole) - again, whole - again)


def _common(one: str, other: str) -> str:
    """What both begin with; by halves, as comparing slices is quick and comparing letters is not."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if other.startswith(one[:middle]) else (low, middle - 1)
    return one[:low]


def size_of(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
