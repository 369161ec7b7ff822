"""A comparison for people, for spreadsheets and for browsers. Pure."""

import csv
from collections.abc import Iterator, Sequence
from io import StringIO
from math import isfinite, isnan

from ..compare.arm_result import ArmResult, Spent
from ..compare.front import front
from ..compare.judge import Comparison
from ..compare.pair_result import PairResult
from ..compare.trial import Trial
from ..stats import Interval
from .page import document, markup, table, tag
from .safe import safe_line
from .units import counted, plural, show_count, show_seconds, show_usd

HEADS = ("arm", "runs", "best", "interval", "dollars", "tokens", "calls", "time")
_CSV = (
    "arm", "task", "repeat", "run", "outcome", "score", "unflagged", "failed", "usd", "tokens", "calls", "seconds",
)  # fmt: skip


def rows(found: Comparison) -> Iterator[tuple[str, ...]]:
    """A row of heads for each arm; costs are of one run, on average."""
    for arm in found.arms:
        runs = str(arm.scored) if arm.scored == arm.runs else f"{arm.scored} of {arm.runs}"
        yield (
            safe_line(arm.name, 40),
            runs,
            number(arm.best),
            "-" if arm.interval is None else between(arm.interval),
            "unknown" if arm.usd is None else show_usd(round(arm.usd * 1e6)),
            "-" if isnan(arm.tokens) else show_count(round(arm.tokens)),
            "-" if isnan(arm.calls) else f"{arm.calls:.3g}",
            "-" if isnan(arm.seconds) else show_seconds(arm.seconds),
            *(() if found.spent is None else (number(arm.after),)),
        )


def sentences(found: Comparison) -> Iterator[str]:
    """What is to be said of the arms and of each pair of them."""
    for arm in found.arms:
        yield from _remarks(arm)
    for pair in found.pairs:
        yield from _pair(pair, found)
    on = front(found.arms, found.better)
    if on:
        yield f"No arm is both better and cheaper than: {', '.join(safe_line(n, 40) for n in on)}."


def number(value: float) -> str:
    return f"{value + 0.0:.4g}" if isfinite(value) else "-"  # -0.0 + 0.0 is 0


def between(interval: Interval) -> str:
    return f"{interval.low:.4g} to {interval.high:.4g}"


def _remarks(arm: ArmResult) -> Iterator[str]:
    name = safe_line(arm.name, 40)
    if arm.why:
        yield f"{name} has no interval: {arm.why}."
    if arm.failed:
        yield f"{name}: {counted(arm.failed, 'run')} failed, which says nothing of it: left out."
    if arm.scored < arm.runs:
        yield f"{name}: {counted(arm.runs - arm.scored, 'run')} ended without a score: counted as lost, not as 0."
    if arm.flagged:
        look = f"{counted(arm.flagged, 'best')} {plural(arm.flagged, 'looks like a cheat', 'look like cheats')}"
        yield f"{name}: {look}; without: {number(arm.best_unflagged)}."


def _pair(pair: PairResult, found: Comparison) -> Iterator[str]:
    one, other = safe_line(pair.one, 40), safe_line(pair.other, 40)
    chance = "" if isnan(pair.chance) else f" beats {other} with chance {pair.chance:.2f}"
    count = f"; {pair.wins} won, {pair.losses} lost, {pair.ties} tied"
    paired = pair.wins + pair.losses + pair.ties > 0
    at = f"p = {pair.p:.2g}, told apart below {pair.alpha:.2g}{count if paired else ''}"
    apart = f"{one}{chance}" if chance else f"{one} and {other}"
    if pair.winner is not None:
        yield f"{apart}: {safe_line(pair.winner, 40)} is better ({at})."
        return
    yield f"{apart}: they cannot be told apart ({at})."
    if isfinite(pair.detectable):
        yield (
            f"  A difference of {pair.detectable:.3g} would be found in 4 of 5 such comparisons; "
            f"the one seen is {abs(pair.difference):.3g}{_more(pair)}."
        )


def _more(pair: PairResult) -> str:
    return f" and would take about {pair.needs:,.0f} runs of each" if isfinite(pair.needs) else ""


def as_csv(trials: Sequence[Trial]) -> str:
    """A line for each run, with its head. A text that a spreadsheet would take for a formula is quoted."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_CSV)
    for one in trials:
        values = one.as_json()
        writer.writerow([_cell(values[name]) for name in _CSV])
    return out.getvalue()


def curves_csv(trials: Sequence[Trial]) -> str:
    """A line for each time a run got better, with its head: what it had spent, its time, its score."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("arm", "task", "repeat", "run", "usd", "tokens", "seconds", "score"))
    for one in trials:
        for at in one.curve:
            values = (
                one.arm,
                one.task,
                one.repeat,
                one.run,
                at.usd,
                at.tokens,
                at.seconds,
                at.score,
            )
            writer.writerow([_cell(value) for value in values])
    return out.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t"):
        return "'" + value
    return "" if value is None else value


def as_html(title: str, found: Comparison, plots: Sequence[bytes]) -> str:
    """One page that needs nothing else: no script, no link. plots: as SVG."""
    parts = (
        tag("h1", title),
        table(heads(found), rows(found)),
        *(tag("p", line) for line in sentences(found)),
    )
    drawn = (f'<div class="drawn">{_svg(plot)}</div>' for plot in plots)
    return document(title, [*map(markup, parts), *drawn], styled=True)


def heads(found: Comparison) -> tuple[str, ...]:
    named = {"best": f"best of {found.k}", "interval": f"{found.level:.0%} interval"}
    after = () if found.spent is None else (f"best after {_amount(found.spent)}",)
    return (*(named.get(head, head) for head in HEADS), *after)


def _amount(spent: Spent) -> str:
    match spent.unit:
        case "usd":
            return show_usd(round(spent.amount * 1e6))
        case "tokens":
            return f"{show_count(round(spent.amount))} tokens"
        case "seconds":
            return show_seconds(spent.amount)


def _svg(plot: bytes) -> str:
    """The drawing without the declarations that a page may not have inside."""
    text = plot.decode()
    return text[text.index("<svg") :]
