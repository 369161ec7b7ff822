"""What the earlier lives of a run leave to the next one: for how long each deadline has been live, and each team
at work since it last did something together."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from .event import AccountOpened, Decided, NodeEnded, RunEnded, RunStarted, Stamped, is_afterword

# How the entries are called that the members of a team at work have in common, before their number.
AT_WORK = "at work "


@dataclass(slots=True)
class _Clock:
    """A deadline's live time so far; since: when it began to run in this life, if it runs."""

    lived: float = 0.0
    since: float | None = None

    def halt(self, now: float) -> None:
        if self.since is not None:
            self.lived += max(0.0, now - self.since)
            self.since = None


@dataclass(slots=True)
class Lived:
    """A fold of events: live seconds by account name, dead and paused time not counted.

    An account without a deadline is not kept. prefix: the run's own account, whose node is the run. By `idle_of` a
    team at work: since its last entry.
    """

    prefix: str
    clocks: dict[str, _Clock] = field(default_factory=dict[str, _Clock])
    _by_node: dict[str, list[_Clock]] = field(default_factory=dict[str, list[_Clock]])
    _last: float = 0.0

    def add(self, stamped: Stamped) -> None:
        match stamped.event:
            case RunStarted():
                self._stop(self._last)
                for clock in self.clocks.values():
                    clock.since = stamped.time
            case AccountOpened(address=name, seconds=float() | int()):
                node = name.removeprefix(self.prefix).lstrip("/").rstrip("'")
                clock = self.clocks[name] = _Clock(since=stamped.time)
                self._by_node.setdefault(node, []).append(clock)
            case Decided(address=address, name=name) if name.startswith(AT_WORK):
                self.clocks[idle_of(address)] = _Clock(since=stamped.time)
            case NodeEnded(address=address):
                for clock in self._by_node.get(address, ()):
                    clock.halt(stamped.time)
            case RunEnded():
                self._stop(stamped.time)
            case _:
                pass
        if not is_afterword(stamped.event):
            self._last = stamped.time

    def seconds(self) -> dict[str, float]:
        """Live seconds by account, up to the last event."""
        self._stop(self._last)
        return {name: clock.lived for name, clock in self.clocks.items()}

    def _stop(self, now: float) -> None:
        for clock in self.clocks.values():
            clock.halt(now)


def idle_of(address: str) -> str:
    """The name in `Lived` of the team at address. No account is called so."""
    return f"{AT_WORK}at {address}"


def lived(prefix: str, events: Iterable[Stamped]) -> dict[str, float]:
    """Live seconds by account after all of events."""
    folded = Lived(prefix)
    for stamped in events:
        folded.add(stamped)
    return folded.seconds()
