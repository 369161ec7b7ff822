"""One call reads a long prompt first; those that begin as it does follow once it is in the server's cache. Pure.

A server has a prompt in its cache only when it was read: of ten calls with the same beginning that come at once,
ten read it. What was read is known here block by block, each named by all text up to its end. Those who follow
hold no money and no slot, and wait for the first of their leader's reply, or for its end, and never for long.
"""

from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Generic, Protocol, TypeVar, runtime_checkable
from zlib import crc32

from .call import Call, ModelCall

# Bytes: how finely it is known what two prompts share.
BLOCK = 1024
# Blocks, about 1,024 tokens: the least that providers cache. Less is read within a journey to the server and back.
LONG = 4
# A leader whose reply has not begun by then stands in a queue or hangs: its followers go.
LONGEST_S = 10.0
# How often a call follows: with leaders that fail, or at another replica.
HANDS = 3
# Providers keep what is not used for five minutes at least; a server of one's own for as long as it has room.
WARM_S = 300.0
# Blocks that are remembered, of all replicas together: some ten million tokens.
KEPT = 50_000

F = TypeVar("F")
Block = tuple[int, int]


@runtime_checkable
class Beginning(Protocol):
    """A client that says when a reply begins, by `ModelCall.begun`."""

    tells_begun: bool


def marks_of(call: Call, owner: str = "") -> tuple[int, ...]:
    """A number for each whole block of the call's prompt; none for one that is short, or may not wait. Calls of
    another owner have others: what they read is nothing that this one may find out from how long it waits."""
    if not isinstance(call, ModelCall) or call.urgency > 0:
        return ()
    texts = [message.content for message in call.messages]
    most = 1 if all(map(str.isascii, texts)) else 4  # bytes of a character
    if sum(map(len, texts)) * most < LONG * BLOCK:
        return ()
    text = memoryview("\0".join(texts).encode(errors="surrogatepass"))
    chain, marks = crc32(owner.encode()), list[int]()
    for end in range(BLOCK, len(text) + 1, BLOCK):
        chain = crc32(text[end - BLOCK : end], chain)
        marks.append(chain)
    return tuple(marks) if len(marks) >= LONG else ()


@dataclass(slots=True, eq=False)
class Lead(Generic[F]):
    """A call that reads these blocks of a replica's cache first. until: for how long it is waited for, once
    somebody follows it. over: it is not waited for any more."""

    blocks: tuple[Block, ...]
    until: float = inf
    over: bool = False
    followers: list[F] = field(default_factory=list[F])


@dataclass(slots=True)
class Leads(Generic[F]):
    """What the replicas have read, and who reads there now. spot: a replica's cache, as `Spot.cache`. led: the
    leads that are waited for, the oldest first."""

    warm: OrderedDict[Block, float] = field(default_factory=OrderedDict[Block, float])
    reading: dict[Block, Lead[F]] = field(default_factory=dict[Block, Lead[F]])
    led: deque[Lead[F]] = field(default_factory=deque[Lead[F]])

    def leader(self, spot: int, marks: Sequence[int], now: float) -> Lead[F] | None:
        """Whom a call with these marks has to follow at spot; None where it need not wait."""
        at = self._known(spot, marks, now) + LONG - 1
        return self.reading.get((spot, marks[at])) if at < len(marks) else None

    def follow(self, lead: Lead[F], follower: F, now: float) -> None:
        """Have follower wait for lead."""
        if not lead.followers:
            lead.until = now + LONGEST_S
            self.led.append(lead)
        lead.followers.append(follower)

    def go(self, spot: int, marks: Sequence[int], now: float) -> Lead[F] | None:
        """A call with these marks is sent to spot: what it reads there, where that is long."""
        known = self._known(spot, marks, now)
        self._touch([(spot, mark) for mark in marks[:known]], now)
        fresh = tuple((spot, m) for m in marks[known:] if (spot, m) not in self.reading)
        if len(fresh) < LONG:
            return None
        lead = Lead[F](fresh)
        self.reading.update(dict.fromkeys(fresh, lead))
        return lead

    def read(self, lead: Lead[F], now: float) -> list[F]:
        """The lead's prompt was read; who followed it."""
        if not lead.over:
            self._touch(lead.blocks, now)
        return self.dropped(lead)

    def dropped(self, lead: Lead[F]) -> list[F]:
        """The lead has ended, or was waited for in vain; who followed it."""
        if lead.over:
            return []
        lead.over = True
        for block in lead.blocks:
            del self.reading[block]
        followers, lead.followers = lead.followers, []
        return followers

    def late(self, now: float) -> Iterator[F]:
        """Those whose leaders have not begun in time."""
        while self.led and (self.led[0].over or self.led[0].until <= now):
            yield from self.dropped(self.led.popleft())

    def opens_at(self) -> float:
        """When the next of those who follow go all the same."""
        while self.led and self.led[0].over:
            self.led.popleft()
        return self.led[0].until if self.led else inf

    def _known(self, spot: int, marks: Sequence[int], now: float) -> int:
        """How many blocks from the first on are in the cache of spot, as far as is known."""
        for count, mark in enumerate(marks):
            if self.warm.get((spot, mark), -inf) < now - WARM_S:
                return count
        return len(marks)

    def _touch(self, blocks: Sequence[Block], now: float) -> None:
        """blocks were used; the first ones are forgotten last."""
        for block in reversed(blocks):
            self.warm[block] = now
            self.warm.move_to_end(block)
        while len(self.warm) > KEPT:
            self.warm.popitem(last=False)
