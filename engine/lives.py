"""What an earlier life of a run leaves to the next one: how long each deadline has been live."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from .event import AccountOpened, NodeEnded, RunEnded, RunStarted, Stamped


@dataclass(slots=True)
class _Clock:
    """A deadline's live time so far; since: when it began to run in this life, if it runs."""

    node: str
    lived: float = 0.0
    since: float | None = None


@dataclass(slots=True)
class Lived:
    """A fold of events: live seconds by account name, dead and paused time not counted.

    An account without a deadline is not kept. prefix: the run's own account, whose node is the run.
    """

    prefix: str
    clocks: dict[str, _Clock] = field(default_factory=dict[str, _Clock])
    total: float = 0.0
    _began: float | None = None
    _last: float = 0.0

    def add(self, stamped: Stamped) -> None:
        match stamped.event:
            case RunStarted():
                self._stop(self._last)
                self._began = stamped.time
                for clock in self.clocks.values():
                    clock.since = stamped.time
            case AccountOpened(address=name, seconds=float() | int()):
                node = name.removeprefix(self.prefix).lstrip("/").rstrip("'")
                self.clocks[name] = _Clock(node, since=stamped.time)
            case NodeEnded(address=address):
                for clock in self.clocks.values():
                    if clock.node == address:
                        _halt(clock, stamped.time)
            case RunEnded():
                self._stop(stamped.time)
            case _:
                pass
        self._last = stamped.time

    def seconds(self) -> dict[str, float]:
        """Live seconds by account, up to the last event."""
        self._stop(self._last)
        return {name: clock.lived for name, clock in self.clocks.items()}

    def _stop(self, now: float) -> None:
        for clock in self.clocks.values():
            _halt(clock, now)
        if self._began is not None:
            self.total += max(0.0, now - self._began)
            self._began = None


def _halt(clock: _Clock, now: float) -> None:
    if clock.since is not None:
        clock.lived += max(0.0, now - clock.since)
        clock.since = None


def lived(prefix: str, events: Iterable[Stamped]) -> Lived:
    """All of events, folded."""
    folded = Lived(prefix)
    for stamped in events:
        folded.add(stamped)
    return folded
