"""What `podium scale` answers: the splits, or the pilot that it would take to know them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from ..compare import Arm, Trial
from ..plan import plan
from ..ranges import Range
from .exits import Exit, ShellError
from .loading import Loaded
from .output import columns, stdout_console
from .safe import safe_line
from .scale_runs import Found, Rival, arm_of, arms_of_sizes
from .units import counted, plural, show_count, show_usd

if TYPE_CHECKING:
    from ..compare.scaling import Observed
    from ..compare.versus import Versus
    from ..stats.split import Cell, Splits

LEVEL = 0.9


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: a program with a team, of one task or several, and a budget, in dollars or in tokens.

    within: what scores can be, where the user says it.
    """

    loaded: Loaded
    budget: float
    in_tokens: bool
    within: Range | None = None

    @property
    def sign(self) -> float:
        return 1.0 if self.loaded.program.tasks[0].better == "higher" else -1.0

    def shown(self, amount: float) -> str:
        return (
            f"{show_count(round(amount))} tokens"
            if self.in_tokens
            else show_usd(round(amount * 1e6))
        )

    def observed(self, trials: dict[int, list[Trial]]) -> "Observed":
        from ..compare.scaling import observed

        tasks = self.loaded.program.tasks
        return observed(trials, tasks, sign=self.sign, in_tokens=self.in_tokens, within=self.within)


@dataclass(frozen=True, slots=True)
class Answer:
    """What is told of a question. observed: what runs say. splits: of the budget, for all tasks, then for each.

    tenfold: of ten times the budget. Both are empty where runs are too few. lines: advice, or why nothing is known
    and what a pilot would take. versus: one stronger agent at equal cost.
    """

    question: Question
    observed: "Observed"
    splits: "tuple[Splits, ...]"
    tenfold: "tuple[Splits, ...]"
    lines: tuple[str, ...]
    versus: "Versus | None" = None

    @staticmethod
    def of(
        question: Question, found: Found, rival: Rival | None, sizes: Sequence[int], runs: int
    ) -> "Answer":
        from ..compare.scaling import split

        seen = question.observed(found.teams)
        here = there = tuple["Splits", ...]()
        try:
            here = tuple(split(seen, question.budget, level=LEVEL))
            there = tuple(split(seen, 10 * question.budget, level=LEVEL))
            lines = list(_advice(question, seen, here, there))
        except ValueError as error:
            here, lines = (), [f"Not known yet: {error}.", *proposed(question, sizes, runs)]
        versus = None
        if rival is not None:
            versus = _against(question, rival, found.rival, here[0] if here else None)
            lines += _told(question, rival, versus, here[0] if here else None, runs)
        return Answer(
            question, seen, here, there, tuple(lines), None if isinstance(versus, str) else versus
        )

    def as_json(self) -> dict[str, Any]:
        whole = self.splits[0] if self.splits else None
        return {
            "schema": 1,
            "budget": self.question.budget,
            "unit": "tokens" if self.question.in_tokens else "usd",
            "level": LEVEL,
            "runs": {str(m): count for m, count in self.observed.runs().items()},
            "best": None if whole is None else self._cell(whole.best),
            "default": None if whole is None else self._cell(whole.default),
            "flat": [] if whole is None else list(whole.flat),
            "splits": [] if whole is None else [self._cell(c) for c in whole.cells],
            "tenfold": self._cell(self.tenfold[0].best) if self.splits else None,
            "tasks": [
                {"task": name, "best": self._cell(one.best), "default": self._cell(one.default)}
                for name, one in zip(self.observed.scores, self.splits[1:], strict=False)
            ],
            "versus": None if self.versus is None else self._versus(self.versus),
            "notes": list(self.lines),
        }

    def _cell(self, cell: "Cell") -> dict[str, float]:
        low, high = sorted((self.question.sign * cell.low, self.question.sign * cell.high))
        return {
            "size": cell.size, "teams": cell.teams, "score": self.question.sign * cell.score,
            "low": low, "high": high, "chance": cell.chance, "regret": cell.regret,
        }  # fmt: skip

    def _versus(self, found: "Versus") -> dict[str, Any]:
        low, high = sorted((self.question.sign * found.low, self.question.sign * found.high))
        return {
            "name": found.name, "tries": found.tries, "score": self.question.sign * found.score,
            "low": low, "high": high, "better": found.ahead,
        }  # fmt: skip

    def print(self) -> None:
        console = stdout_console()
        if self.splits:
            heads = ("teams", "of", "expected best", f"{LEVEL:.0%} interval", "chance it is best")
            table = columns(heads, right=heads)
            for cell in map(self._cell, self.splits[0].cells):
                span = f"{cell['low']:.4g} to {cell['high']:.4g}"
                row = (f"{cell['teams']:.0f}", f"{cell['size']:.0f}", f"{cell['score']:.4g}", span)
                table.add_row(*map(Text, (*row, f"{cell['chance']:.0%}")))
            console.print(table)
        for line in self.lines:
            console.print(Text(line), soft_wrap=True)

    def draw(self, path: Path) -> None:
        if not self.splits:
            raise ShellError("there is nothing to draw yet", Exit.NOT_PASSED)
        try:
            from .compare_files import write_budgets
        except ModuleNotFoundError as error:
            said = f"plots need {error.name}: pip install 'podium[report]'"
            raise ShellError(said, Exit.FAILED) from error
        unit = "tokens" if self.question.in_tokens else "dollars"
        sizes = sorted({1, self.splits[0].best.size, self.splits[0].default.size, 100})
        sign = self.question.sign
        write_budgets(path, self.observed, self.question.budget, sizes, LEVEL, unit, sign)


# --- a pilot -------------------------------------------------------------------------------------


def _cost(question: Question, arm: Arm) -> tuple[float, float] | None:
    """What one run on each task is expected to take and takes at most; None where a price is not known."""
    total = plan(arm.program).total
    part, unit = (total.tokens, 1.0) if question.in_tokens else (total.usd, 1e-6)
    return None if part is None else (part.expected * unit, part.most * unit)


def proposed(question: Question, sizes: Sequence[int], runs: int) -> Iterator[str]:
    """The pilot, priced, and whether it is worth that; and what to take without one."""
    from ..compare.scaling import default_split

    costs: dict[int, float] = {}
    most = 0.0
    many = len(question.loaded.program.tasks)
    for size, arm in zip(sizes, arms_of_sizes(question.loaded, sizes), strict=True):
        cost = _cost(question, arm)
        if cost is None:
            yield "The model's price is not known: give --price, or a --budget in tokens."
            return
        costs[size] = cost[0] / many
        most += runs * cost[1]
    if not all(costs.values()):
        yield "The model is free: give a --budget in tokens."
        return
    expected = runs * many * sum(costs.values())
    on = f" on each of {many} tasks" if many > 1 else ""
    yield (
        f"A pilot of {counted(runs, 'run')} at each of the sizes {', '.join(map(str, sizes))}{on} "
        f"is expected to take {question.shown(expected)}, {question.shown(most)} at most; --pilot runs it."
    )
    yield _worth_it(question, expected, sizes, runs)
    default = default_split(costs, question.budget / many)
    if default is not None:
        each = " for each task" if many > 1 else ""
        yield f"The default, by planned prices: {counted(default[0], 'team')} of {default[1]}{each}."


def _worth_it(question: Question, expected: float, sizes: Sequence[int], runs: int) -> str:
    from ..stats.split import pilot_worth

    # The budget in agents of the pilot, which are dearer in larger teams.
    agents = int(question.budget / expected * runs * sum(sizes))
    worth = pilot_worth(min(agents, 100_000), sizes, runs)
    if worth.gain <= 2 * worth.se:
        return "Paid from this budget, such a pilot cannot be expected to beat the default."
    return f"Paid from this budget, it is expected to gain {worth.gain:.2f} spreads of a lone agent's score."


# --- one stronger agent --------------------------------------------------------------------------


def _against(
    question: Question, rival: Rival, trials: list[Trial], whole: "Splits | None"
) -> "Versus | str":
    from ..compare.versus import against

    # A recorded run need not be of these tasks: then it is taken at its word, as a task of its own.
    names = {task.name for task in question.loaded.program.tasks}
    task = next(iter(names))
    kept = [one if one.task in names else replace(one, task=task) for one in trials]
    return against(
        safe_line(rival.name, 40), question.observed({1: kept}), question.budget, whole, level=LEVEL
    )


def _told(
    question: Question,
    rival: Rival,
    versus: "Versus | str",
    whole: "Splits | None",
    runs: int,
) -> Iterator[str]:
    arm = arm_of(rival)
    if not isinstance(versus, str):
        yield versus.told(question.sign, LEVEL, whole)
        return
    if arm is None:
        yield versus
        return
    cost, many = _cost(question, arm), len(question.loaded.program.tasks)
    name = safe_line(rival.name, 40)
    if cost is None or not cost[0]:
        what = "free: give a --budget in tokens" if cost else "of unknown price: give --price"
        yield f"{name} is {what}."
        return
    yield (
        f"{counted(runs, 'run')} of one agent of {name} {plural(runs, 'is', 'are')} "
        f"expected to take {question.shown(runs * cost[0])}, "
        f"{question.shown(runs * cost[1])} at most; --pilot runs them too. "
        f"The budget buys about {question.budget / cost[0]:.3g} of them{' for each task' if many > 1 else ''}."
    )


# --- what runs say -------------------------------------------------------------------------------


def _advice(
    question: Question, seen: "Observed", here: "Sequence[Splits]", there: "Sequence[Splits]"
) -> Iterator[str]:
    sign, best = question.sign, here[0].best
    each = f" for each of {seen.tasks} tasks" if seen.tasks > 1 else ""
    yield (
        f"Best split of {question.shown(question.budget)}: {counted(best.teams, 'team')} of {best.size}{each}, "
        f"expected best {sign * best.score:.4g}; the chance that no other is better is {best.chance:.0%}."
    )
    yield beside_default(here[0])
    yield f"Sizes that lose less than a tenth of a team's spread: {', '.join(map(str, here[0].flat))}."
    far = there[0].best
    low, high = sorted((sign * far.low, sign * far.high))
    yield (
        f"Ten times the budget: {counted(far.teams, 'team')} of {far.size}{each}, expected best "
        f"{sign * far.score:.4g} ({low:.4g} to {high:.4g})."
    )
    if seen.tasks > 1:
        yield from _of_each(question, seen, here)
    ran = (f"{counted(count, 'run')} of size {m}" for m, count in seen.runs().items())
    yield f"From {', '.join(ran)}."
    if not seen.are_bounded and max(far.high, here[0].best.high) > seen.best():
        yield (
            f"What scores can be at most is not known: what is foretold beyond the best seen, "
            f"{sign * seen.best():.4g}, may not be possible. --range LOW,HIGH bounds it."
        )


def beside_default(whole: "Splits") -> str:
    """What the named split is to the default; where it is the default, what may be better."""
    best, default = whole.best, whole.default
    if best != default:
        who = f"{counted(default.teams, 'team')} of {default.size}"
        return (
            f"The default, {who}, is expected to lose {best.score - default.score:.3g} against it."
        )
    top = max(whole.cells, key=lambda cell: cell.score)
    gain = f"{top.score - best.score:.2g}"
    if top == best or gain == "0":
        return "That is the default: no other size is sure enough to be better."
    return (
        f"That is the default: no other size is sure enough to be better. {counted(top.teams, 'team')} of "
        f"{top.size} may be, by {gain} as expected; more runs would tell."
    )


def _of_each(question: Question, seen: "Observed", here: "Sequence[Splits]") -> Iterator[str]:
    yield "Of each task, as far as its own runs and those of the others say:"
    for name, one in zip(seen.scores, here[1:], strict=True):
        low, high = sorted((question.sign * one.best.low, question.sign * one.best.high))
        yield (
            f"  {safe_line(name, 40)}: {counted(one.best.teams, 'team')} of {one.best.size}, expected best "
            f"{question.sign * one.best.score:.4g} ({low:.4g} to {high:.4g})"
        )
    if len(seen.scores) < seen.tasks:
        without = seen.tasks - len(seen.scores)
        yield f"  {counted(without, 'task')} {plural(without, 'has', 'have')} no run."
