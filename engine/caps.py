"""Budgets written as text by programs that embed the engine: `[$5, 1M tokens, 30m, 500 calls]`."""

from dataclasses import replace

from podium.dsl import syntax
from podium.dsl.parse import parse_expression
from podium.dsl.problem import Problem, ProgramError
from podium.dsl.program import Budget
from podium.dsl.source import Place, Source

NO_BUDGET = Budget()


def budget_of(text: str | Budget | None) -> Budget:
    """The budget that text says; None is no bound. Raises ProgramError on anything but quantities."""
    if text is None or isinstance(text, Budget):
        return text or NO_BUDGET
    source = Source("<budget>", text)
    expr, problems = parse_expression(source)
    if expr is None or problems:
        raise ProgramError(tuple(problems))
    budget = NO_BUDGET
    for item in expr.items if isinstance(expr, syntax.ListExpr) else (expr,):
        budget = _with(budget, item, source)
    return budget


def _with(budget: Budget, item: syntax.Expr, source: Source) -> Budget:
    match item:
        case syntax.Money(micro=micro):
            return replace(budget, usd=micro)
        case syntax.TokenCount(count=count):
            return replace(budget, tokens=count)
        case syntax.CallCount(count=count):
            return replace(budget, calls=count)
        case syntax.Duration(seconds=seconds):
            return replace(budget, seconds=seconds)
        case _:
            place = Place(source, item.span)
            help_ = "write dollars, tokens, calls or a time: `[$5, 1M tokens, 30m]`"
            raise ProgramError((Problem("E308", "this is no budget", place, help=help_),))
