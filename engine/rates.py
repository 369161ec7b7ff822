"""So many calls or tokens in any span of so many seconds. Pure; the time comes in."""

from collections import deque
from dataclasses import dataclass, field


@dataclass(slots=True)
class Window:
    """At most count in any span of seconds; one item larger than count goes when nothing else is in it."""

    count: int
    seconds: float
    used: int = 0
    log: deque[tuple[float, int]] = field(default_factory=deque[tuple[float, int]])

    def opens_at(self, amount: int, now: float) -> float:
        """When amount fits: now or later."""
        while self.log and self.log[0][0] + self.seconds <= now:
            self.used -= self.log.popleft()[1]
        excess, opens = self.used + amount - self.count, now
        for when, size in self.log:
            if excess <= 0:
                break
            excess, opens = excess - size, when + self.seconds
        return opens

    def take(self, amount: int, now: float) -> None:
        self.used += amount
        self.log.append((now, amount))
