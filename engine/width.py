"""How many calls one replica bears at a time, by its refusals and its own gauges. Pure.

What a call takes says nothing here: it depends on its length, and a server that batches slows down long
before it is full. The declared `inflight` is the ceiling and the beginning.
"""

from dataclasses import dataclass
from math import inf

from .clients.gauges import Load

# How often a server is asked for its gauges; what is older than three periods is not known any more.
EVERY_S, LASTS_S = 1.0, 3.5
# Refusals within this time are one burst: Inspect's controller.
EPISODE_S = 15.0
# It grows only while it is used up to this share, else it drifts away from what was seen.
BINDS = 0.8
# A queue up to this share of what runs keeps the server's slots filled between two looks at it.
SPARE = 0.1
# Shares of the KV cache in use by calls that run: above the second one a server begins to drop and repeat work.
TIGHT, FULL = 0.85, 0.95


@dataclass(slots=True)
class Width:
    """limit: how many calls are sent at a time, from 1 to ceiling. waiting: in the server's queue, when last
    told, at told_at."""

    ceiling: int
    limit: float
    cut_at: float = -inf
    told_at: float = -inf
    waiting: float = 0.0

    def refused(self, now: float, wait: float) -> None:
        """A call was refused as one too many, to come back after wait seconds: half as many, once a burst."""
        if now >= self.cut_at + max(EPISODE_S, wait):
            self.cut_at = now
            self._set(self.limit / 2)

    def answered(self, inflight: int, now: float) -> None:
        """A call ended well, one of inflight: one more for as many answers as are in flight, where no gauge
        says what there is room for."""
        if now >= self.told_at + LASTS_S and self._binds(inflight):
            self._set(self.limit + 1 / self.limit)

    def told(self, load: Load, inflight: int, now: float) -> None:
        """The server's gauges, read while inflight of our calls were there.

        A queue that it had the last time too is taken back, at most half of what is in flight; a full
        cache takes an eighth; with room for more it is one more.
        """
        waiting = load.waiting or 0.0
        lasting = min(waiting, self.waiting) if now < self.told_at + LASTS_S else 0.0
        spare = max(1.0, SPARE * (load.running or 0.0))
        used = min(self.limit, inflight)
        cache = load.cache or 0.0
        if lasting > spare:
            self._set(min(self.limit, max(used / 2, inflight - (lasting - spare))))
        elif cache >= FULL and inflight <= self.limit:  # else what was taken back has yet to end
            self._set(used * 7 / 8)
        elif waiting <= spare and cache < TIGHT and self._binds(inflight):
            self._set(self.limit + 1)
        self.told_at, self.waiting = now, waiting

    def _binds(self, inflight: int) -> bool:
        return inflight >= BINDS * int(self.limit)

    def _set(self, limit: float) -> None:
        self.limit = min(float(self.ceiling), max(1.0, limit))
