"""One verdict of several: `all_of`, `any_of` and `weighted`. Pure.

A part that gave no score but passed or did not counts as 1 or 0; where lower is better, as 0 or 1.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from podium.dsl.program import Verifier

from .reduce import Better
from .value import Verdict


def named_parts(verifier: Verifier) -> tuple[Verifier, ...]:
    """Its parts, each by a name of its own, so that no two are called at the same address."""
    return tuple(
        replace(part, name=f"{verifier.name}.{number}.{part.name}")
        for number, part in enumerate(verifier.parts, 1)
    )


def combined(verifier: Verifier, verdicts: Sequence[Verdict], better: Better) -> Verdict:
    """What verifier says where its parts, in their order, said verdicts."""
    valid = _is_valid(verifier.kind, verdicts)
    return Verdict(
        _score(verifier, verdicts, better) if valid else None,
        _passed(verifier.kind, verdicts) if valid else False,
        _evidence(verifier, verdicts),
        valid,
        tuple(dict.fromkeys(flag for one in verdicts for flag in one.flags)),
        _cost(verdicts),
    )


def _is_valid(kind: str, verdicts: Sequence[Verdict]) -> bool:
    """An attempt that one part can score is valid for `any_of`; all others need every part."""
    each = [one.valid for one in verdicts]
    return any(each) if kind == "any_of" else all(each)


def _score(verifier: Verifier, verdicts: Sequence[Verdict], better: Better) -> float | None:
    each = [_worth(one, better) for one in verdicts]
    known = [score for score in each if score is not None]
    worst, best = (min, max) if better == "higher" else (max, min)
    if verifier.kind == "any_of":
        return best(known, default=None)
    if len(known) < len(each):
        return None
    if verifier.kind == "all_of":
        return worst(known, default=None)
    weights = [float(weight) for weight in weights_of(verifier)]
    total = sum(weight * score for weight, score in zip(weights, known, strict=True))
    return total / sum(weights)


def weights_of(verifier: Verifier) -> tuple[float, ...]:
    """The weights of a `weighted`, one for each part."""
    given = verifier.args.get("weights", ())
    items = given if isinstance(given, tuple) else (given,)
    return tuple(float(item) for item in items if isinstance(item, int | float))


def _worth(verdict: Verdict, better: Better) -> float | None:
    if not verdict.valid:
        return None
    if verdict.score is not None or verdict.passed is None:
        return verdict.score
    return float(verdict.passed == (better == "higher"))


def _passed(kind: str, verdicts: Sequence[Verdict]) -> bool | None:
    each = [one.passed for one in verdicts]
    match kind:
        case "all_of":
            return _settled(each, by=False)
        case "any_of":
            return _settled(each, by=True)
        case _:
            return None


def _settled(each: Sequence[bool | None], *, by: Literal[True, False]) -> bool | None:
    """by, if one says so; the contrary, if all say that; else it is open."""
    if by in each:
        return by
    return None if None in each else not by


def _evidence(verifier: Verifier, verdicts: Sequence[Verdict]) -> str:
    said = zip(verifier.parts, verdicts, strict=True)
    return "\n".join(f"{part.name}: {one.evidence}" for part, one in said if one.evidence)


def _cost(verdicts: Sequence[Verdict]) -> float | None:
    known = [one.cost for one in verdicts if one.cost is not None]
    return sum(known) if known else None
