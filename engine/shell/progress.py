"""What a watcher of a run is shown while it runs. Pure: a fold and a time become a view, a view a line."""

from collections import Counter
from dataclasses import dataclass

from podium.dsl.program import Budget

from ..fold import Branch, Fold
from ..spend import total_of
from .safe import safe_line
from .units import counted, show_calls, show_count, show_seconds, show_tokens, show_usd

MAX_LINES = 20  # branches with a line of their own; more are counted by how they stand
_WIDTH = 60  # characters of an activity


@dataclass(frozen=True, slots=True)
class Line:
    """One branch, or all branches of one state; every text is harmless."""

    name: str
    state: str
    activity: str
    score: str
    spent: str


@dataclass(frozen=True, slots=True)
class Bar:
    """used of cap, in one unit; text says both."""

    used: float
    cap: float
    text: str


@dataclass(frozen=True, slots=True)
class View:
    """total: elapsed time, calls and, where no bar shows them, tokens and dollars."""

    lines: tuple[Line, ...]
    bars: tuple[Bar, ...]
    best: str
    total: str


def view(folded: Fold, budget: Budget, now: float) -> View:
    """budget: the run's, where its events do not tell one. now: seconds since the epoch."""
    budget = folded.budget or budget
    branches = list(folded.branches.values())
    lines = _each(branches) if len(branches) <= MAX_LINES else _by_state(branches)
    return View(lines, _bars(folded, budget), _best(folded), _total(folded, budget, now))


def one_line(folded: Fold, budget: Budget, now: float) -> str:
    """The whole view on one line: what is printed now and then where there is no terminal."""
    seen = view(folded, budget, now)
    states = Counter(branch.outcome or "running" for branch in folded.branches.values())
    counts = ", ".join(f"{number} {state}" for state, number in states.items())
    parts = (seen.total, counts, seen.best, *(bar.text for bar in seen.bars), _latest(folded))
    return "  ".join(part for part in parts if part)


def _latest(folded: Fold) -> str:
    """What was done last, and where, if that goes on."""
    branch = folded.branches.get(folded.busy)
    if branch is None or branch.outcome is not None or not branch.activity:
        return ""
    return f"{safe_line(branch.address, 48)}: {safe_line(branch.activity, _WIDTH)}"


def _each(branches: list[Branch]) -> tuple[Line, ...]:
    return tuple(
        Line(
            safe_line(branch.address, 48),
            branch.outcome or "running",
            safe_line(branch.activity, _WIDTH),
            "" if branch.score is None else f"{branch.score:.4g}",
            _spent(branch),
        )
        for branch in branches
    )


def _by_state(branches: list[Branch]) -> tuple[Line, ...]:
    groups: dict[str, list[Branch]] = {}
    for branch in branches:
        groups.setdefault(branch.outcome or "running", []).append(branch)
    return tuple(_group(state, group) for state, group in groups.items())


def _group(state: str, group: list[Branch]) -> Line:
    total = total_of(branch.spend for branch in group)
    return Line(
        counted(len(group), "branch", "branches"),
        state,
        "",
        "",
        _spent(Branch("", "", spend=total)),
    )


def _spent(branch: Branch) -> str:
    amount = branch.spend.amount
    tokens = show_tokens(amount.tokens)
    return f"{show_usd(amount.usd)}, {tokens}" if amount.usd else tokens


def _best(folded: Fold) -> str:
    best = folded.best
    if best is None:
        return ""
    if best.score is None:
        return "best: passed" if best.passed else "an answer"
    return f"best {best.score:.4g}" + (" (passed)" if best.passed else "")


def _bars(folded: Fold, budget: Budget) -> tuple[Bar, ...]:
    spent = folded.total.amount
    bars: list[Bar] = []
    if budget.usd is not None:
        text = f"{show_usd(spent.usd)} of {show_usd(budget.usd)}"
        bars.append(Bar(spent.usd, budget.usd, text))
    if budget.tokens is not None:
        text = f"{show_count(spent.tokens)} of {show_tokens(budget.tokens)}"
        bars.append(Bar(spent.tokens, budget.tokens, text))
    return tuple(bars)


def _total(folded: Fold, budget: Budget, now: float) -> str:
    spent = folded.total.amount
    parts = [show_seconds(folded.seconds_at(now)), show_calls(spent.calls)]
    if budget.seconds is not None:
        parts[0] += f" of {show_seconds(budget.seconds)}"
    if budget.usd is None and spent.usd:
        parts.append(show_usd(spent.usd))
    if budget.tokens is None:
        parts.append(show_tokens(spent.tokens))
    return ", ".join(parts)
