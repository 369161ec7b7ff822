"""The files that `podium compare` writes with plots in them. Needs `podium[report]`."""

from collections.abc import Sequence
from pathlib import Path

from ..compare.judge import Comparison
from ..compare.plots import Form, against_budget, anytime, intervals, units
from ..compare.scaling import Observed, lines
from ..compare.trial import Trial, Unit
from .compare_view import as_html


def write_html(path: Path, title: str, trials: Sequence[Trial], found: Comparison) -> None:
    """One page with the table, the sentences and the plots."""
    names = [arm.name for arm in found.arms]
    plots = [intervals(found)]
    plots += [anytime(trials, names, unit) for unit in units(trials)]
    path.write_text(as_html(title, found, plots), "utf-8")


def write_plot(
    path: Path, _title: str, trials: Sequence[Trial], found: Comparison, *, over: Unit | None = None
) -> None:
    """Best so far over spend or time, where runs say what they had spent when; else the intervals.

    over: the axis; None takes the first there is of dollars, tokens and seconds.
    """
    form = _form(path)
    names, known = [arm.name for arm in found.arms], units(trials)
    unit = over if over in known else next(iter(known), None)
    path.write_bytes(intervals(found, form) if unit is None else anytime(trials, names, unit, form))


def write_budgets(
    path: Path,
    found: Observed,
    budget: float,
    sizes: Sequence[int],
    level: float,
    unit: str,
    sign: float,
) -> None:
    """The expected best of teams of these sizes against the budget. sign: -1 where lower scores are better."""
    drawn = [line.turned(sign) for line in lines(found, budget, sizes, level=level)]
    path.write_bytes(against_budget(drawn, unit, _form(path)))


def _form(path: Path) -> Form:
    return "png" if path.suffix == ".png" else "svg"
