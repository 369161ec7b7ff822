"""The drawings of a run's page: its calls over live time, and its scores over what was spent. Pure, as SVG."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from ..reduce import order
from ..spend import MICRO
from .course import Course, Judged, Work
from .page import add, tag
from .safe import safe_line
from .units import plural, show_count

WIDTH = 1000
MAX_LANES = 32  # more would be a page of their own
MAX_MARKS = 2_000  # what a reader can tell apart, and a browser draws at once
MAX_ROWS = 5  # of marks beside each other in one lane
BINS = 160
MAX_DOTS = 1_500
# Seconds, minutes and hours on an axis, and up to which time each is used.
_UNITS = ((1, 180.0), (60, 10_800.0), (3_600, math.inf))
_NAMES = {1: "s", 60: "m", 3_600: "h"}
_LEFT, _RIGHT, _ROW, _GAP, _FOOT = 190, 20, 7, 6, 34


@dataclass(frozen=True, slots=True)
class _Axis:
    """Figures from low to high, as pixels from start to end."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        span = self.high - self.low
        part = (value - self.low) / span if span else 0.5
        return self.start + part * (self.end - self.start)


def ticks(low: float, high: float, most: int = 7) -> list[float]:
    """Round figures from low to high, at most so many: steps of 1, 2 or 5 times a power of ten."""
    if not high > low:
        return [low]
    rough = (high - low) / (most - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * by for by in (1, 2, 5, 10, 20) if power * by >= rough)
    first = math.ceil(low / step - 1e-9)
    return [step * i for i in range(first, math.floor(high / step + 1e-9) + 1)]


# --- the timeline ----------------------------------------------------------------------------------


def timeline(course: Course) -> tuple[Element, str] | None:
    """The tries over live time, a lane for each branch, and what is to be said of the drawing."""
    if not course.works:
        return None
    lanes = _lanes(course)
    end = max((work.ended for work in course.works), default=0.0) or 1.0
    across = _Axis(0.0, end, _LEFT, WIDTH - _RIGHT)
    few = len(course.works) <= MAX_MARKS
    svg = tag("svg", role="img", aria_label="Calls over live time")
    top = 4.0
    for name, works in lanes.items():
        marks, height = _marks(works, across, top) if few else _bins(works, across, top)
        add(svg, _label(name, top + height / 2 + 4))
        add(svg, *marks)
        top += height + _GAP
    for life in course.lives[1:]:
        x = across.at(life)
        add(svg, _line(x, 0, x, top, "life"))
    add(svg, *_seconds(across, top))
    svg.set("viewBox", f"0 0 {WIDTH} {top + _FOOT:g}")
    return svg, _said(course, few=few)


def _said(course: Course, *, few: bool) -> str:
    count = len(course.works)
    said = f"{show_count(count)} {plural(count, 'try', 'tries')} of calls, over live time."
    if not few:
        said += f" They are more than {MAX_MARKS:,}, so a bar is how many of its lane were at work in 1/{BINS}"
        said += " of the time, beside the most there were."
    resumed = len(course.lives) - 1
    if resumed > 0:
        said += f" A dashed line: the run was taken up again ({resumed})."
    return said


def _lanes(course: Course) -> Mapping[str, list[Work]]:
    """The tries by their branch, in the order of addresses; of more than MAX_LANES several branches in each."""
    folded = course.folded
    found: dict[str, list[Work]] = {}
    for work in course.works:
        owner = folded.owner(work.address)
        line = None if owner is None else folded.nodes[owner].line
        found.setdefault(line or owner or work.address, []).append(work)
    names = sorted(found, key=order)
    size = -(-len(names) // MAX_LANES)
    groups = [names[at : at + size] for at in range(0, len(names), size)]
    return {_named(group): [work for name in group for work in found[name]] for group in groups}


def _named(branches: Sequence[str]) -> str:
    first, last = branches[0], branches[-1]
    return first if first == last else f"{first} … {last.rpartition('/')[2]}"


def _label(name: str, y: float) -> Element:
    short = name if len(name) <= 28 else f"…{name[-27:]}"
    title = tag("title", safe_line(name, 300))
    return tag("text", title, safe_line(short, 28), x=_LEFT - 8, y=y, text_anchor="end")


def _class(work: Work) -> str:
    if work.end == "answered":
        return {"verifier": "judged", "tool": "tool"}.get(work.kind, "answered")
    return "gone" if work.end in ("", "cancelled", "lost") else "wrong"


def _marks(works: Sequence[Work], across: _Axis, top: float) -> tuple[list[Element], float]:
    """A rectangle for each try, in as few rows as keep them apart, and how high they are."""
    free: list[float] = []  # where each row's last mark ends
    marks: list[Element] = []
    for work in sorted(works, key=lambda work: work.began):
        row = next((i for i, end in enumerate(free) if end <= work.began), len(free))
        row = min(row, MAX_ROWS - 1)
        free[row:] = [
            *([work.ended] if row >= len(free) else [max(free[row], work.ended)]),
            *free[row + 1 :],
        ]
        x, end = across.at(work.began), across.at(work.ended)
        told = f"{safe_line(work.address, 200)}: {work.end or 'in flight'}, {work.ended - work.began:.1f}s"
        marks.append(_bar(_class(work), x, top + row * _ROW, max(1.5, end - x), _ROW - 1, told))
    return marks, float(len(free) * _ROW)


def _bins(works: Sequence[Work], across: _Axis, top: float) -> tuple[list[Element], float]:
    """The mean number of tries at work, in each of BINS parts of the time."""
    width = across.high / BINS
    load = [0.0] * BINS
    for work in works:
        first, last = (min(BINS - 1, int(at / width)) for at in (work.began, work.ended))
        for i in range(first, last + 1):
            inside = min(work.ended, (i + 1) * width) - max(work.began, i * width)
            load[i] += max(inside, 0.0) / width
    height, most = float(3 * _ROW), max(load) or 1.0
    each = (across.end - across.start) / BINS
    marks: list[Element] = []
    for i, n in enumerate(load):
        if n > 0:
            x, high = across.start + i * each, height * n / most
            marks.append(_bar("answered", x, top + height - high, each, high, f"{n:.3g} at work"))
    return marks, height


def _bar(kind: str, x: float, y: float, width: float, height: float, told: str) -> Element:
    title = tag("title", told)
    return tag("rect", title, class_=kind, x=x, y=y, width=width, height=height)


def _line(x: float, y: float, x2: float, y2: float, kind: str) -> Element:
    return tag("line", class_=kind, x1=x, y1=y, x2=x2, y2=y2)


def _seconds(across: _Axis, y: float) -> Iterator[Element]:
    unit = next(size for size, most in _UNITS if across.high < most)
    marks = [unit * mark for mark in ticks(across.low / unit, across.high / unit)]
    yield from _below(across, marks, y, lambda at: f"{at / unit:g}{_NAMES[unit]}")
    yield tag("text", "live time", class_="dim", x=across.start - 24, y=y + 16, text_anchor="end")


def _below(
    across: _Axis, marks: Sequence[float], y: float, shown: Callable[[float], str]
) -> Iterator[Element]:
    """An axis below a drawing, with its figures."""
    yield _line(across.start, y, across.end, y, "grid")
    for mark in marks:
        x = across.at(mark)
        yield _line(x, y, x, y + 4, "grid")
        yield tag("text", shown(mark), class_="dim", x=x, y=y + 16, text_anchor="middle")


# --- scores over spend ------------------------------------------------------------------------------


def leaderboard(course: Course, *, alone: bool) -> tuple[Element, str] | None:
    """Each judged attempt's worth against what the run had spent by then. alone: it has one task, so that there
    is one best so far, which is drawn as a line."""
    scored = [one for one in course.judged if one.worth is not None]
    best = [one for one in course.best if one.worth is not None] if alone else []
    if not scored:
        return None
    shown = scored[:: -(-len(scored) // MAX_DOTS)]
    total = course.folded.total
    paid = bool(total.amount.usd) and not total.unpriced
    spent = total.amount.usd / MICRO if paid else float(total.amount.tokens)
    across = _Axis(0.0, spent or 1.0, 80, WIDTH - 40)
    up = _up([*scored, *best])

    def place(one: Judged) -> tuple[float, float]:
        at = one.spent.usd / MICRO if paid else float(one.spent.tokens)
        return across.at(at), up.at(one.worth or 0.0)

    svg = tag("svg", role="img", aria_label="Scores over spend", viewBox=f"0 0 {WIDTH} 345")
    add(svg, *_beside(up, across), *_spent(across, up.start, paid=paid))
    add(svg, *(_dot(one, *place(one)) for one in shown), *_steps([*map(place, best)], across.end))
    return svg, _dots_said(len(scored), len(shown), alone=alone)


def _up(all_: Sequence[Judged]) -> _Axis:
    """The scores from below to above, with a little room around."""
    scores = [one.worth or 0.0 for one in all_]
    low, high = min(scores), max(scores)
    room = (high - low) * 0.08 or abs(high) * 0.1 or 1.0
    return _Axis(low - room, high + room, 300, 14)


def _beside(up: _Axis, across: _Axis) -> Iterator[Element]:
    for mark in ticks(up.low, up.high, 6):
        y = up.at(mark)
        yield _line(across.start, y, across.end, y, "grid")
        shown = f"{mark:.6g}"
        yield tag("text", shown, class_="dim", x=across.start - 8, y=y + 4, text_anchor="end")


def _spent(across: _Axis, y: float, *, paid: bool) -> Iterator[Element]:
    def shown(at: float) -> str:
        return f"${at:.6g}" if paid else show_count(round(at))

    yield from _below(across, ticks(across.low, across.high), y, shown)
    what = "dollars spent" if paid else "tokens used"
    yield tag("text", what, class_="dim", x=across.end, y=y + 38, text_anchor="end")


def _dots_said(scored: int, shown: int, *, alone: bool) -> str:
    said = "A dot is an attempt's score when it was judged, green where it passed"
    said += "; the line is the best so far." if alone else "."
    return said if shown == scored else f"{said} {shown:,} of {scored:,} dots are drawn."


def _dot(one: Judged, x: float, y: float) -> Element:
    passed = one.verdict.passed
    told = f"{safe_line(one.address, 200)}: {one.worth:.6g}{', passed' if passed else ''}"
    return tag("circle", tag("title", told), class_="dot ok" if passed else "dot", cx=x, cy=y, r=3)


def _steps(points: Sequence[tuple[float, float]], end: float) -> Iterator[Element]:
    if not points:
        return
    (x, y), *others = points
    path = [f"M{x:.1f} {y:.1f}", *(f"H{x:.1f}V{y:.1f}" for x, y in others), f"H{end:.1f}"]
    yield tag("path", class_="step", d="".join(path))
    x, y = points[-1]
    yield tag("circle", class_="top", cx=x, cy=y, r=4.5)
