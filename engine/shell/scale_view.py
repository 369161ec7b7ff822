"""What `podium scale` answers: the splits, or the pilot that it would take to know them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from podium.dsl.program import Budget

from ..compare import Arm, Trial
from ..plan import plan
from ..sizes import sized
from .exits import Exit, ShellError
from .loading import Loaded
from .output import columns, stdout_console
from .units import show_count, show_usd

if TYPE_CHECKING:
    from ..compare.scaling import Observed
    from ..stats.split import Cell, Splits

LEVEL = 0.9


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: a program of one task with a team, and a budget, in dollars or in tokens."""

    loaded: Loaded
    budget: float
    in_tokens: bool

    @property
    def sign(self) -> float:
        return 1.0 if self.loaded.program.tasks[0].better == "higher" else -1.0

    def shown(self, amount: float) -> str:
        return (
            f"{show_count(round(amount))} tokens"
            if self.in_tokens
            else show_usd(round(amount * 1e6))
        )


def arms_of_sizes(question: Question, sizes: Sequence[int]) -> tuple[Arm, ...]:
    """The program's team alone, at each of sizes. Raises ShellError where it cannot have another size."""
    program, request = question.loaded.program, question.loaded.request
    kept = replace(request, texts=program.sources)
    try:
        flows = [(size, sized(program.flow, size)) for size in sizes]
    except ValueError as error:
        raise ShellError(str(error)) from error
    return tuple(
        Arm(f"size {size}", replace(program, flow=flow), replace(kept, size=size), Budget())
        for size, flow in flows
    )


@dataclass(frozen=True, slots=True)
class Answer:
    """What is told of a question. observed: what runs say. splits, tenfold: of the budget and ten times it; None
    where runs are too few. lines: advice, or why nothing is known and what a pilot would take.
    """

    question: Question
    observed: "Observed"
    splits: "Splits | None"
    tenfold: "Splits | None"
    lines: tuple[str, ...]

    @staticmethod
    def of(
        question: Question, trials: dict[int, list[Trial]], sizes: Sequence[int], runs: int
    ) -> "Answer":
        from ..compare.scaling import observed, split

        found = observed(trials, sign=question.sign, in_tokens=question.in_tokens)
        try:
            here = split(found, question.budget, level=LEVEL)
            there = split(found, 10 * question.budget, level=LEVEL)
        except ValueError as error:
            told = _proposed(question, sizes, runs)
            return Answer(question, found, None, None, (f"Not known yet: {error}.", *told))
        return Answer(question, found, here, there, tuple(_advice(question, found, here, there)))

    def against(self, trials: Sequence[Trial]) -> "Answer":
        from ..compare.versus import against

        told = against(trials, self.question.budget, self.splits, sign=self.question.sign,
                       in_tokens=self.question.in_tokens, level=LEVEL)  # fmt: skip
        return replace(self, lines=(*self.lines, told))

    def as_json(self) -> dict[str, Any]:
        return {
            "schema": 1,
            "budget": self.question.budget,
            "unit": "tokens" if self.question.in_tokens else "usd",
            "level": LEVEL,
            "runs": {str(m): len(scores) for m, scores in sorted(self.observed.scores.items())},
            "best": None if self.splits is None else self._cell(self.splits.best),
            "default": None if self.splits is None else self._cell(self.splits.default),
            "flat": [] if self.splits is None else list(self.splits.flat),
            "splits": [] if self.splits is None else [self._cell(c) for c in self.splits.cells],
            "tenfold": None if self.tenfold is None else self._cell(self.tenfold.best),
            "notes": list(self.lines),
        }

    def _cell(self, cell: "Cell") -> dict[str, float]:
        low, high = sorted((self.question.sign * cell.low, self.question.sign * cell.high))
        return {
            "size": cell.size, "teams": cell.teams, "score": self.question.sign * cell.score,
            "low": low, "high": high, "chance": cell.chance, "regret": cell.regret,
        }  # fmt: skip

    def print(self) -> None:
        console = stdout_console()
        if self.splits is not None:
            heads = ("teams", "of", "expected best", f"{LEVEL:.0%} interval", "chance it is best")
            table = columns(heads, right=heads)
            for cell in map(self._cell, self.splits.cells):
                span = f"{cell['low']:.4g} to {cell['high']:.4g}"
                row = (f"{cell['teams']:.0f}", f"{cell['size']:.0f}", f"{cell['score']:.4g}", span)
                table.add_row(*map(Text, (*row, f"{cell['chance']:.0%}")))
            console.print(table)
        for line in self.lines:
            console.print(Text(line), soft_wrap=True)

    def draw(self, path: Path) -> None:
        if self.splits is None:
            raise ShellError("there is nothing to draw yet", Exit.NOT_PASSED)
        try:
            from .compare_files import write_budgets
        except ModuleNotFoundError as error:
            said = f"plots need {error.name}: pip install 'podium[report]'"
            raise ShellError(said, Exit.FAILED) from error
        unit = "tokens" if self.question.in_tokens else "dollars"
        sizes = sorted({1, self.splits.best.size, self.splits.default.size, 100})
        write_budgets(path, self.observed, self.question.budget, sizes, LEVEL, unit)


def _proposed(question: Question, sizes: Sequence[int], runs: int) -> list[str]:
    """The pilot, priced, and whether it is worth that; and what to take without one."""
    from ..compare.scaling import default_split
    from ..stats.split import pilot_worth

    costs: dict[int, float] = {}
    most = 0.0
    for size, arm in zip(sizes, arms_of_sizes(question, sizes), strict=True):
        total = plan(arm.program).total
        part, unit = (total.tokens, 1.0) if question.in_tokens else (total.usd, 1e-6)
        if part is None:
            return ["The model's price is not known: give --price, or a --budget in tokens."]
        costs[size] = part.expected * unit
        most += runs * part.most * unit
    if not all(costs.values()):
        return ["The model is free: give a --budget in tokens."]
    expected = runs * sum(costs.values())
    told = [
        f"A pilot of {runs} runs at each of the sizes {', '.join(map(str, sizes))} is expected to take "
        f"{question.shown(expected)}, {question.shown(most)} at most; --pilot runs it."
    ]
    # The budget in agents of the pilot, which are dearer in larger teams.
    agents = int(question.budget / expected * runs * sum(sizes))
    worth = pilot_worth(min(agents, 100_000), sizes, runs)
    if worth.gain <= 2 * worth.se:
        told.append("Paid from this budget, such a pilot cannot be expected to beat the default.")
    else:
        told.append(
            f"Paid from this budget, it is expected to gain {worth.gain:.2f} spreads of a lone agent's score."
        )
    if (default := default_split(costs, question.budget)) is not None:
        told.append(f"The default, by planned prices: {default[0]} teams of {default[1]}.")
    return told


def _advice(question: Question, found: "Observed", here: "Splits", there: "Splits") -> list[str]:
    sign, best, default = question.sign, here.best, here.default
    low, high = sorted((sign * there.best.low, sign * there.best.high))
    told = [
        f"Best split of {question.shown(question.budget)}: {best.teams} teams of {best.size}, "
        f"expected best {sign * best.score:.4g}; the chance that no other is better is {best.chance:.0%}.",
        "That is the default: no other size is sure enough to be better."
        if best == default
        else f"The default, {default.teams} teams of {default.size}, is expected to lose "
        f"{best.score - default.score:.3g} against it.",
        f"Sizes that lose less than a tenth of a team's spread: {', '.join(map(str, here.flat))}.",
        f"Ten times the budget: {there.best.teams} teams of {there.best.size}, expected best "
        f"{sign * there.best.score:.4g} ({low:.4g} to {high:.4g}).",
        "From "
        + ", ".join(f"{len(s)} runs of size {m}" for m, s in sorted(found.scores.items()))
        + ".",
    ]
    if all(score in (0.0, 1.0, -1.0) for scores in found.scores.values() for score in scores):
        told.append(
            "Scores are only 0 and 1, and what is foretold takes them for normal: trust the order, no figure."
        )
    return told
