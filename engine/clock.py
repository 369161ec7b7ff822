"""Deadlines by the clock as moments: seconds since the epoch, in the time zone of this machine."""

from collections.abc import Sequence
from datetime import datetime, time, timedelta

from podium.dsl import quantity
from podium.dsl.program import Clock


def clock_of(text: str) -> Clock:
    """`07:00`, `2026-12-01 07:00`. Raises ValueError."""
    *days, at = text.split() or [""]
    found, day = quantity.clock(at), quantity.day(days[0]) if days else None
    if found is None or len(days) > 1 or (days and day is None):
        raise ValueError(f'"{text}" is no time of day: write 07:00, or 2026-12-01 07:00')
    return Clock(*found, day)


def first_of(clocks: Sequence[Clock], now: float) -> float:
    """The earliest moment that clocks, at least one, say at now."""
    return min(moment(clock, now) for clock in clocks)


def moment(clock: Clock, now: float) -> float:
    """The moment of its day; without one the next such time of day after now, tomorrow's at the latest.

    A day that has passed gives a moment before now. Where the clock is put forward over it, the time is read as
    if it were not; where it is put back, the first of both is meant.
    """
    at = time(clock.hour, clock.minute)
    if clock.day is not None:
        return datetime.combine(clock.day, at).timestamp()
    today = datetime.fromtimestamp(now).date()
    found = datetime.combine(today, at).timestamp()
    return found if found > now else datetime.combine(today + timedelta(days=1), at).timestamp()
