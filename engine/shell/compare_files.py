"""The files that `podium compare` writes with plots in them. Needs `podium[report]`."""

from collections.abc import Sequence
from pathlib import Path

from ..compare.judge import Comparison
from ..compare.plots import Form, against_budget, anytime, intervals
from ..compare.scaling import Observed, lines
from ..compare.trial import Trial
from .compare_view import as_html


def write_html(path: Path, title: str, trials: Sequence[Trial], found: Comparison) -> None:
    """One page with the table, the sentences and the plots."""
    names = [arm.name for arm in found.arms]
    plots = [intervals(found)]
    if any(one.curve for one in trials):
        plots.append(anytime(trials, names))
    path.write_text(as_html(title, found, plots), "utf-8")


def write_plot(path: Path, _title: str, trials: Sequence[Trial], found: Comparison) -> None:
    """Best so far over spend, where runs say what they had spent when; else the intervals."""
    form = _form(path)
    names = [arm.name for arm in found.arms]
    drawn = any(one.curve for one in trials)
    path.write_bytes(anytime(trials, names, form) if drawn else intervals(found, form))


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
