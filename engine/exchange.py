"""Solutions that teams side by side show each other.

A team posts its best at the end of every k-th round; at the start of its next round it reads what its neighbour,
the team of the number before its own, has posted by then. Nobody waits. What was read depends on time, so the
reader records the text itself as a decision: a later life of the run may come to that round before its neighbour
comes to post.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from .scope import Recorder
from .value import Attempt, Json


@dataclass(slots=True, eq=False)
class Exchange:
    """What each of so many teams has posted last, by number from 1. every: so many rounds."""

    every: int
    teams: int
    posted: dict[int, Attempt] = field(default_factory=dict[int, Attempt])


@dataclass(frozen=True, slots=True)
class Port:
    """The place of one team in an exchange."""

    exchange: Exchange
    number: int

    def posts(self, rounds: int) -> bool:
        """Whether it posts after so many rounds, and reads before the next one."""
        return rounds > 0 and rounds % self.exchange.every == 0

    def post(self, attempt: Attempt) -> None:
        self.exchange.posted[self.number] = attempt

    @property
    def neighbour(self) -> int:
        return self.number - 1 or self.exchange.teams

    def read(self, recorder: Recorder, address: str) -> Mapping[str, Json] | None:
        """What the neighbour has posted: its `text` and `score`; None where that is nothing."""
        told = recorder.decide(address, "migrant", self._look)
        return cast(Mapping[str, Json], told) if told else None  # as `_look` wrote it

    def _look(self) -> Json:
        found = self.exchange.posted.get(self.neighbour)
        return [] if found is None else {"text": found.text, "score": found.score}
