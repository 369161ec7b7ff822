"""What to do after a failed try: the one table of retries. Pure; chance comes in.

Where a whole endpoint must wait (it is busy, it is down) the waiting is done in the fleet, so that
everyone behind it waits and none of them is asleep when another endpoint of the model is free.
"""

import random
from dataclasses import dataclass

from .call import CallError, FailureKind

# Tries of one call, the first included. The vendor said when to come back, so busy is allowed more.
TRIES: dict[FailureKind, int] = {
    "busy": 8,
    "server": 5,
    "cut": 5,
    "silent": 5,
    "protocol": 3,  # a page in place of a stream is told within seconds
    "empty": 2,  # well formed, so most likely meant; once more for those of a filter's or a proxy's mood
    "verifier": 2,
    "mute": 2,  # the second one elsewhere only
    "unreachable": 1,
    "credentials": 1,
    "quota": 1,
    "request": 1,
    "model": 1,
    "overflow": 1,
    "reply": 1,
    "turns": 1,
    "tool": 1,
}
FIRST_S = 1.0
LONGEST_S = 60.0
# No fault of the call: the same one may be answered later, so a run that such a failure ended can be resumed.
LATER: frozenset[str] = frozenset(
    (
        "unreachable",
        "mute",
        "silent",
        "cut",
        "empty",
        "busy",
        "server",
        "credentials",
        "quota",
        "model",
        "verifier",
    )
)
# A server that asks for more than this is not believed.
CLAMP_S = 600.0
# Of the wait, on top of it: nobody comes back before the time that was asked for, nor all at once.
JITTER = 0.5
# What is added to a wait that was asked for, so that no two clients of a server come back together.
LONGEST_JITTER_S = 5.0


@dataclass(frozen=True, slots=True)
class Resend:
    """Try again after wait_s seconds, in which nothing is held."""

    wait_s: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The call fails with its last error."""


def after(
    error: CallError, tries: int, *, down: bool, elsewhere: bool, chance: random.Random
) -> Resend | GiveUp:
    """The next step after error. tries: made so far in this life of the run, from 1.

    down: the endpoint answered before and is held to be down; elsewhere: another one serves the model. Admission
    lets the call go when one is there, so it goes back to the queue at once. What the server itself says of
    sending again (`CallError.again`) counts, but another server may be asked once all the same.
    """
    most = max(TRIES[error.kind], TRIES["server"] if error.again else 0)
    if error.again is False:
        return Resend(0.0) if elsewhere and 1 == tries < TRIES[error.kind] else GiveUp()
    match error.kind:
        case "unreachable":
            return Resend(0.0) if down or elsewhere else GiveUp()
        case "server" if down:
            return Resend(0.0)
        case "credentials" | "quota" if elsewhere:  # this one is closed meanwhile
            return Resend(0.0)
        case "mute":
            return Resend(0.0) if (down or elsewhere) and tries < most else GiveUp()
        case "protocol" if not (error.maybe_paid or error.again or down or elsewhere):
            # A proxy's page or a redirect in place of a refusal: it will be the same a second later.
            return GiveUp()
        case _ if tries >= most:
            return GiveUp()
        case "busy" | "verifier":
            return Resend(0.0)
        case "server" if elsewhere:
            return Resend(0.0)
        case _:
            asked = min(CLAMP_S, error.retry_after_s or 0.0)
            return Resend(max(asked, backoff(tries, chance)))


def backoff(failures: int, chance: random.Random) -> float:
    """Seconds to wait after so many failures (from 1): doubling from 1 s to 60 s, and up to half more."""
    plain = min(LONGEST_S, FIRST_S * 2.0 ** min(failures - 1, 10))
    return plain * (1 + JITTER * chance.random())


def pause(error: CallError, failures: int, chance: random.Random) -> float:
    """Seconds for which a busy endpoint is left alone: what it asked for, clamped, and up to half more
    within 5 s; `backoff` where it asked for nothing, or for no time at all, though it had just refused."""
    if error.retry_after_s is None or error.retry_after_s <= 0:
        return backoff(failures, chance)
    asked = min(CLAMP_S, error.retry_after_s)
    return asked + min(LONGEST_JITTER_S, JITTER * asked) * chance.random()
