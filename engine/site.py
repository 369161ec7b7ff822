"""An endpoint's state: busy, down, closed, and how it comes back. Pure; time and chance come in.

An endpoint is a server and the key used there. One that is down is tried by one call at a time; where its server
tells its health, that is asked first, and no call goes there until it says that it is well.
"""

import random
from dataclasses import dataclass
from math import inf

from .call import CallError
from .retry import backoff, pause

# After a pause the slots of an endpoint are filled again one by one, not in one instant: over a quarter
# of the pause within these bounds, and never slower than two a second.
RAMP_S, RAMP_SHARE, RAMP_GAP_S = (0.5, 5.0), 0.25, 0.5
# A refused key or an empty account is asked for again after this time, by runs that come later.
CLOSED_S = 60.0
# As many failures running as one call is allowed are the server's own.
FAILS = 5
# Finding out whether a server that could not be reached is there again costs nothing: it is done this often.
RETURN_S = 15.0


@dataclass(slots=True)
class Site:
    """Times are the caller's clock; down_since None: it is up, as far as known.

    mark: as Replica's key_mark. reached: its list of models was read. closed: why nothing is sent there until
    closed_until. failures: errors since the last answer. refusals, outages: bursts of refusals and of lost
    connections since then. told_until: what ends before it was sent before the last burst was known. tells: its
    server tells its health; sick: it has not told that it is well since it went down; ask_at: when to ask it.
    falls: how often it went down; what it had in its cache is then gone.
    """

    name: str
    mark: str = ""
    paused_until: float = -inf
    ramp: int = 0
    ramp_gap: float = 0.0
    refusals: int = 0
    outages: int = 0
    told_until: float = -inf
    answered: bool = False
    reached: bool = False
    down_since: float | None = None
    failures: int = 0
    probing: bool = False
    closed: CallError | None = None
    closed_until: float = -inf
    tells: bool = False
    sick: bool = False
    ask_at: float = inf
    falls: int = 0

    @property
    def is_well(self) -> bool:
        """Neither closed nor down, as far as known."""
        return self.closed is None and self.down_since is None

    def opens_at(self, now: float) -> float:
        """When a call may go there; infinite while a probe is under way, or its health is asked for."""
        if self.is_well and self.paused_until <= now:  # as most are
            return now
        closed = self.closed_until if self.closed is not None else -inf
        waits = self.down_since is not None and (self.probing or self.sick)
        return max(now, self.paused_until, closed, inf if waits else now)

    def enter(self, now: float, chance: random.Random) -> None:
        """A call is sent there."""
        self.probing = self.down_since is not None
        if self.ramp:
            self.ramp -= 1
            self.paused_until = now + self.ramp_gap * (0.5 + chance.random())

    # --- what calls tell ---

    def up(self) -> None:
        self.down_since, self.failures, self.outages, self.sick = None, 0, 0, False
        if self.closed is not None and self.closed.kind in ("unreachable", "mute"):
            self.closed, self.closed_until = None, -inf

    def busy(self, error: CallError, slots: int, now: float, chance: random.Random) -> float:
        """A call was refused as one too many, by a server of so many slots: how long nothing is sent there."""
        self.up()
        # Refusals of one burst say the same thing: the longest pause counts, not their sum or number.
        self.refusals += now >= self.told_until
        wait = pause(error, max(1, self.refusals), chance)
        if now >= self.told_until or now + (error.retry_after_s or 0.0) > self.told_until:
            self.told_until = self.paused_until = max(self.paused_until, now + wait)
        self.ramp = slots
        over = min(RAMP_S[1], max(RAMP_S[0], RAMP_SHARE * wait))
        self.ramp_gap = min(RAMP_GAP_S, over / max(1, self.ramp))
        return wait

    def failed(
        self, error: CallError, now: float, chance: random.Random, *, alone: bool = True
    ) -> None:
        """A call failed at the server. alone: no other one serves its model now."""
        self.failures += 1
        # One failing call may be its own fault. Where all calls fail and there is no other server, they shall
        # end, unless it says itself that it is broken.
        fails = self.failures >= FAILS and (error.kind == "server" or not alone)
        if self.answered and (fails or self.down_since is not None):
            self.down(error, now, chance)

    def down(self, error: CallError, now: float, chance: random.Random) -> None:
        """It cannot be reached, or answers with errors alone."""
        if not (self.answered or self.reached):
            self.close(error, now + CLOSED_S)
            return
        # So do the calls that were in flight when it went.
        if self.down_since is None or now >= self.told_until:
            self.outages += 1
            wait = backoff(self.outages, chance)
            if error.kind == "unreachable":
                wait = min(wait, RETURN_S)
            self.told_until = self.paused_until = max(self.paused_until, now + wait)
            self.ask_at, self.sick = self.paused_until, self.tells
        self.falls += self.down_since is None
        self.down_since = now if self.down_since is None else self.down_since

    def mute(self, error: CallError, now: float) -> None:
        """No byte of a reply has ever come."""
        self.failures += 1
        if not self.answered:  # else it is one of its models that hangs
            self.close(error, now + CLOSED_S)
            # When it opens again, for later runs or beside other endpoints, one call at a time finds out.
            self.down_since = now if self.down_since is None else self.down_since

    def close(self, error: CallError, until: float = inf) -> None:
        """Nothing more is sent there until then: error is what all calls there get."""
        self.closed, self.closed_until = error, max(self.closed_until, until)

    # --- what its server tells ---

    def asks(self, now: float) -> bool:
        """Whether its health is to be asked for now; handed out once a period."""
        if not self.sick or now < self.ask_at:
            return False
        self.ask_at = now + RETURN_S
        return True

    def well(self) -> None:
        """It says that it is well: a call may find out."""
        self.sick = False
