"""Times of whole processes, taken from outside, as ratios: what a candidate says of time is not asked."""

from __future__ import annotations

from statistics import median

# Shorter times are none: so much starting a process varies at the least.
FLOOR_S = 0.004


def compared(idle: list[float], slow: list[float], fast: list[float]) -> tuple[list[float], float]:
    """By trial how many times as fast the candidate was, and the floor: less than that counts as that much.

    idle: of processes that do nothing, whose middle is subtracted, and whose variation sets the floor.
    """
    start = median(idle)
    floor = max(FLOOR_S, 2 * median(abs(one - start) for one in idle))
    pairs = zip(slow, fast, strict=True)
    return [max(a - start, floor) / max(b - start, floor) for a, b in pairs], floor
