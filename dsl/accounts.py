"""What a run's accounts must keep: none above those around it, every dollar countable, nothing paid unbounded."""

from dataclasses import replace
from typing import NamedTuple

from .budgets import tighter
from .draft import Draft, nodes, roles
from .evaluate import Evaluator
from .model import Model
from .nouns import SOME_PRICE
from .problem import Label
from .program import Budget, Limited, Parallel, subflows
from .reading import written
from .source import EXPRESSION, Place
from .values import Quantity

_SAYS = {"usd": "usd", "tokens": "tokens", "calls": "calls", "seconds": "time"}


class _Around(NamedTuple):
    """The budget around a part of a flow, whose it is, and where it is written."""

    budget: Budget
    who: str
    place: Place

    @property
    def label(self) -> Label:
        return Label(self.place, f"the budget of {self.who}")


def nested(evaluator: Evaluator, draft: Draft, *, notes: bool) -> None:
    """E301 to E304 for each account against those around it; constants only, the rest is the plan's.

    notes: with N302 where branches that share are promised more than there is.
    """
    if draft.budget.share is not None:
        evaluator.error(
            "E303",
            f"the share of run `{draft.name}` is of nothing: no budget is around a run",
            draft.budget_place,
            help="give it an amount: `budget = [$5, 1M tokens, 30m]`",
        )
        return
    seen: set[tuple[int, Budget]] = set()
    run = f"run `{draft.name}`"
    waiting = [(draft.flow, _Around(draft.budget, run, draft.budget_place))]
    while waiting:
        node, around = waiting.pop()
        if (id(node), around.budget) in seen:
            continue
        seen.add((id(node), around.budget))
        for role, _ in roles(node):
            if role.budget is not None:
                _inside(evaluator, role.budget, f"`{role.name}`", node.place, around)
        if isinstance(node, Limited):
            inner = node.budget
            _inside(evaluator, inner, f"`{node.label}`", node.place, around)
            around = _Around(_effective(inner, around.budget), f"`{node.label}`", node.place)
        if isinstance(node, Parallel) and (node.split == "even" or notes):
            _promised(evaluator, node, around)
        waiting.extend((child, around) for child in subflows(node))


def _inside(evaluator: Evaluator, inner: Budget, name: str, at: Place, around: _Around) -> None:
    if inner.share is not None and around.budget == Budget():
        evaluator.error(
            "E303",
            f"the share of {name} is of nothing: no budget is around it",
            at,
            help="give the run a budget: `budget = [$5]`",
        )
    for dimension, word in _SAYS.items():
        mine, theirs = getattr(inner, dimension), getattr(around.budget, dimension)
        if mine is not None and theirs is not None and mine > theirs:
            evaluator.error(
                "E301",
                f"the budget of {name} ({_amount(word, mine)}) exceeds that of {around.who} "
                f"({_amount(word, theirs)})",
                at,
                secondary=(around.label,),
                help="lower the inner one, or raise the outer one",
            )


def _amount(word: str, amount: int | float) -> str:
    return written(Quantity(word, amount))  # type: ignore[arg-type]  # word is a dimension, from the table


def _effective(inner: Budget, around: Budget) -> Budget:
    """What holds inside: a share is of each enclosing limit."""
    least = tighter(replace(inner, share=None), replace(around, share=None))
    if inner.share is None:
        return least
    share = inner.share
    part = Budget(
        None if around.usd is None else int(around.usd * share),
        None if around.tokens is None else int(around.tokens * share),
        None if around.calls is None else int(around.calls * share),
        None if around.seconds is None else around.seconds * share,
    )
    return tighter(least, part)


def _promised(evaluator: Evaluator, node: Parallel, around: _Around) -> None:
    """Under `split = even` each branch is promised its own: together they must fit. Else it is a note."""
    even = node.split == "even"
    limited = [(b.count, b.flow.budget) for b in node.branches if isinstance(b.flow, Limited)]
    shares = sum(count * (budget.share or 0) for count, budget in limited)
    label = (around.label,)
    if even and shares > 1 + 1e-9:
        evaluator.error(
            "E304",
            f"the branches together are promised {shares * 100:g}% of what there is",
            node.place,
            help="lower the shares, or use `split = pooled`",
            secondary=label,
        )
    for dimension, word in _SAYS.items():
        limit = getattr(around.budget, dimension)
        each = [(count, getattr(budget, dimension) or 0) for count, budget in limited]
        total = sum(count * amount for count, amount in each)
        if dimension == "seconds" or limit is None or total <= limit:
            continue
        if any(amount > limit for _, amount in each):  # told of the branch itself
            continue
        message = (
            f"the branches together are promised {_amount(word, total)}; "
            f"{around.who} has {_amount(word, limit)}"
        )
        if even:
            help_ = "lower the branches' budgets, or use `split = pooled`"
            evaluator.error("E302", message, node.place, help=help_, secondary=label)
        else:
            message += f": {total / limit:.2g} times as much, first come, first served"
            evaluator.error("N302", message, node.place, severity="note", secondary=label)


# --- money ------------------------------------------------------------------------------------


def affordable(evaluator: Evaluator, draft: Draft, used: dict[str, Model]) -> None:
    """E306 where dollars cannot be counted, E310 where a run that costs money has no bound."""
    unpriced = [name for name, model in used.items() if model.price is None]
    place = dollars(draft)
    if unpriced and place is not None:
        evaluator.error(
            "E306",
            f"a dollar budget cannot be kept: the price of model `{unpriced[0]}` is unknown",
            place,
            help="give the model a `price = { … }`, or `price = none` if it is free; or let "
            "`pip install 'podium[prices]'` know it, as it does those of many hosts",
            secondary=_model(evaluator, unpriced[0]),
        )
    paid = [name for name, model in used.items() if not model.is_free and model.price != SOME_PRICE]
    if paid and draft.budget == Budget() and not draft.by:
        add = f"add `budget = {'[2M tokens, 30m]' if unpriced else '[$5, 30m]'}` to the run"
        if draft.place.source.name == EXPRESSION:
            add = f"give `{'--max-tokens 2M' if unpriced else '--max-usd 5'}`"
        evaluator.error(
            "E310",
            f"the run has no budget, and model `{paid[0]}` is not free",
            draft.place,
            help=f"{add}, with what you want to spend",
            secondary=_model(evaluator, paid[0]),
        )


def _model(evaluator: Evaluator, name: str) -> tuple[Label, ...]:
    place = evaluator.origin(evaluator.model(name), "price")
    return () if place is None else (Label(place, f"model `{name}`"),)


def dollars(draft: Draft) -> Place | None:
    """Where a budget in dollars stands."""
    if draft.budget.usd is not None:
        return draft.budget_place
    for node in nodes(draft.flow):
        if isinstance(node, Limited) and node.budget.usd is not None:
            return node.place
        for role, _ in roles(node):
            if role.budget is not None and role.budget.usd is not None:
                return node.place
    return None
