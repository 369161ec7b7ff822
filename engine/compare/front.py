"""The arms that no other beats at no higher cost. Pure."""

from collections.abc import Sequence
from math import isnan

from .arm_result import ArmResult
from .trial import Better


def front(arms: Sequence[ArmResult], better: Better) -> tuple[str, ...]:
    """Names of the arms on the front of cost and quality.

    Cost is dollars where all are known and some are paid, else tokens.

    No convex hull is drawn: a mix of two arms does not reach the line between them for a best of k.
    """
    sign = 1.0 if better == "higher" else -1.0
    known = [arm for arm in arms if not isnan(arm.best)]
    priced = all(arm.usd is not None for arm in known) and any(arm.usd for arm in known)

    def place(arm: ArmResult) -> tuple[float, float]:
        return (arm.usd or 0.0) if priced else arm.tokens, sign * arm.best

    places = {arm.name: place(arm) for arm in known}
    return tuple(
        name for name, at in places.items() if not any(_beats(p, at) for p in places.values())
    )


def _beats(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] <= other[0] and one[1] >= other[1] and one != other
