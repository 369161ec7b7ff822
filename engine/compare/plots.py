"""Plots of a comparison, as SVG or PNG. Needs `podium[report]`. Texts are drawn as they are, never as formulas."""

# pyright: reportUnknownMemberType=false
# Much of matplotlib's own types is open: `**kwargs`.

from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from ..stats import mean_curve
from .judge import Comparison
from .scaling import Line
from .trial import Trial, Unit

Form = Literal["svg", "png"]
# The same text again for the same figures; the fonts of the reader draw it.
_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "podium",
    "svg.fonttype": "none",
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
}
_STEPS = 200


def intervals(found: Comparison, form: Form = "svg") -> bytes:
    """Each arm's best of k, with its interval where there is one."""

    def draw(axes: Axes) -> None:
        names = [arm.name for arm in found.arms]
        for row, arm in enumerate(found.arms):
            axes.plot([arm.best], [row], "o", color=f"C{row}")
            if arm.interval is not None:
                axes.plot([arm.interval.low, arm.interval.high], [row, row], color=f"C{row}")
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.set_xlabel(f"best of {found.k}, {found.level:.0%} interval")

    return _drawn(draw, form, height=1.2 + 0.4 * len(found.arms))


_AXES: dict[Unit, str] = {
    "usd": "dollars spent by a run",
    "tokens": "tokens used by a run",
    "seconds": "seconds that a run took",
}


def units(trials: Sequence[Trial]) -> tuple[Unit, ...]:
    """What best so far can be drawn against: dollars where any were paid, tokens, seconds."""
    known: tuple[Unit, ...] = ("usd", "tokens", "seconds")
    return tuple(
        unit for unit in known if any(at.spent(unit) > 0 for one in trials for at in one.curve)
    )


def anytime(trials: Sequence[Trial], arms: Sequence[str], unit: Unit, form: Form = "svg") -> bytes:
    """The mean best score so far of each arm's runs against what they had spent, or the time they had taken."""

    def draw(axes: Axes) -> None:
        top = max((at.spent(unit) for one in trials for at in one.curve), default=1.0)
        at = np.linspace(0, 1.1 * top, _STEPS)
        for row, arm in enumerate(arms):
            curves = [
                ([p.spent(unit) for p in one.curve], [p.score for p in one.curve])
                for one in trials
                if one.arm == arm and one.curve
            ]
            axes.plot(
                at, mean_curve(curves, at), drawstyle="steps-post", color=f"C{row}", label=arm
            )
        axes.set_xlabel(_AXES[unit])
        axes.set_ylabel("mean best score so far")
        axes.legend()

    return _drawn(draw, form, height=3.6)


def against_budget(lines: Sequence[Line], unit: str, form: Form = "svg") -> bytes:
    """The expected best against the budget, a line for each size of team, with its band."""

    def draw(axes: Axes) -> None:
        for row, line in enumerate(lines):
            color, label = f"C{row}", "lone agents" if line.size == 1 else f"teams of {line.size}"
            axes.plot(line.budgets, line.scores, color=color, label=label)
            axes.fill_between(line.budgets, line.low, line.high, color=color, alpha=0.15)
        axes.set_xscale("log")
        # Powers of ten are formulas, which are not drawn.
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel(f"budget, {unit}")
        axes.set_ylabel("expected best score")
        axes.legend()

    return _drawn(draw, form, height=4.2)


def _drawn(draw: Callable[[Axes], None], form: Form, *, height: float) -> bytes:
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(7, height), layout="constrained")
        draw(figure.add_subplot())
        out = BytesIO()
        figure.savefig(out, format=form, metadata={"Date": None} if form == "svg" else None)
    return out.getvalue()
