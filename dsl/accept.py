"""What a run must keep before anything is called: verifiers, budgets, models, size; and its last step.

Every function here reports into the evaluator and goes on, so that all mistakes come in one go.
"""

from dataclasses import replace
from typing import Literal

from .bounds import bounds
from .budgets import tighter
from .calls import PASSING
from .conditions import names
from .draft import Draft, default_model, nodes, roles, used_models
from .evaluate import Evaluator
from .problem import Label
from .program import (
    Agent,
    Budget,
    Condition,
    Fallback,
    Flow,
    Limited,
    Model,
    Parallel,
    Price,
    Reduce,
    Repeat,
    Role,
    Same,
    Task,
    Team,
    Then,
    subflows,
)
from .shapes import takes
from .source import Place
from .values import Module, Quantity, written


def finished(evaluator: Evaluator, draft: Draft, *, final: bool) -> Draft:
    """The draft with its last step and its lifts, after every check of it.

    final: nothing more will be given, so that a run without a task has none.
    """
    shape = evaluator.shapes.of(draft.flow)
    if "task" not in shape:
        evaluator.error(
            "E202",
            f"a run begins with a Task, and `{draft.flow.label}` wants {takes(shape)}",
            draft.flow_place,
            help="begin with a team or a role whose prompt mentions only the task: `agent -> …`",
        )
        return draft
    if draft.tasks is not None or final:
        _verifier_rules(evaluator, draft)
    _budgets(evaluator, draft)
    if shape["task"] == "many":
        draft = replace(draft, flow=_last_step(evaluator, draft, final))
    draft = replace(draft, flow=evaluator.shapes.lifted(draft.flow, "task"))
    _size(evaluator, draft)
    return draft


# --- what needs a verifier -----------------------------------------------------------------------


def _verifier_rules(evaluator: Evaluator, draft: Draft) -> None:
    task = draft.tasks.tasks[0] if draft.tasks is not None else None
    for node in nodes(draft.flow):
        match node:
            case Reduce(how="best" | "top" | "score" as how, by=None) if not _verified(task):
                _no_verifier(evaluator, draft, f"`{how}` must compare attempts", node.place)
            case Parallel(passes=int()) if not _passes(task):
                _no_pass(evaluator, draft, "`stop` waits for a pass", node.place)
            case Fallback(accept=None) if not _passes(task):
                _no_pass(evaluator, draft, "`fallback` needs to know what is accepted", node.place)
            case Fallback(accept=rule) if rule is not None:
                _rule(evaluator, draft, rule, node.place, task)
            case Repeat(until=rule) if rule is not None:
                _rule(evaluator, draft, rule, node.place, task)
            case Team(until=rule) if rule is not None:
                _rule(evaluator, draft, rule, node.place, task)
                _hidden(evaluator, rule, node.place, task)
            case _:
                pass


def _verified(task: Task | None) -> bool:
    return task is not None and task.verify is not None


def _passes(task: Task | None) -> bool:
    """Whether something can say `passed`: a pass rule, or a verifier that may give a bool or a Verdict."""
    if task is None or task.verify is None:
        return False
    return task.pass_rule is not None or task.verify.kind in PASSING or task.verify.kind != "judge"


def _rule(
    evaluator: Evaluator, draft: Draft, rule: Condition, place: Place, task: Task | None
) -> None:
    asked = set(names(rule))
    if asked & {"score", "plateau"} and not _verified(task):
        evaluator.error(
            "E203",
            "nothing here gives the score that the condition asks for",
            place,
            secondary=_task_label(draft, task),
            help="give the task a `verify`",
        )
    if asked & {"passed", "accepted"} and not _passes(task):
        _no_pass(evaluator, draft, "`passed` is never true here", place)


def _hidden(evaluator: Evaluator, rule: Condition, place: Place, task: Task | None) -> None:
    asked = set(names(rule)) & {"score", "passed", "plateau", "accepted"}
    if asked and task is not None and task.verify is not None and task.verify.use == "final":
        evaluator.error(
            "E203",
            f"a team does not see the scores of `{task.verify.name}`, which are final",
            place,
            help="test it outside the team, with `repeat` or `fallback`, or set `use = always`",
        )


def _no_verifier(evaluator: Evaluator, draft: Draft, why: str, place: Place) -> None:
    task = draft.tasks.tasks[0] if draft.tasks is not None else None
    has = f"task `{task.name}` has no `verify`" if task is not None else "there is no task"
    evaluator.error(
        "E201",
        f"{why}, but {has} and no `by =` was given",
        place,
        secondary=_task_label(draft, task),
        help="give the task `verify = …`, or write `by = …` here",
    )


def _no_pass(evaluator: Evaluator, draft: Draft, why: str, place: Place) -> None:
    task = draft.tasks.tasks[0] if draft.tasks is not None else None
    code = "E217" if why.startswith("`fallback`") else "E209"
    evaluator.error(
        code,
        f"{why}, and no pass rule says what passes",
        place,
        secondary=_task_label(draft, task),
        help="give the task a rule, `pass = score >= 1`"
        + (", or write `accept = score >= 0.8`" if code == "E217" else ""),
    )


def _task_label(draft: Draft, task: Task | None) -> tuple[Label, ...]:
    return () if task is None else (Label(draft.task_place, "the task"),)


# --- the last step -------------------------------------------------------------------------------


def _last_step(evaluator: Evaluator, draft: Draft, final: bool) -> Flow:
    """The flow with `best`, or `vote` where answers can be compared, behind its many attempts."""
    task = draft.tasks.tasks[0] if draft.tasks is not None else None
    how: Literal["best", "vote"] = "best"
    if not _verified(task):
        if task is None and not final:
            return draft.flow
        if not all(role.output for role in _authors(draft.flow)):
            _no_verifier(
                evaluator, draft, "the run ends with many attempts to choose from", draft.flow_place
            )
            return draft.flow
        how = "vote"
    last = Reduce(how, draft.flow.place, how)
    return Then("then", draft.flow.place, (*_chained(draft.flow), last))


def _chained(flow: Flow) -> tuple[Flow, ...]:
    """The steps of a chain that has no name of its own, else the flow as one step."""
    return flow.steps if isinstance(flow, Then) and flow.label == "then" else (flow,)


def _authors(flow: Flow) -> list[Role]:
    """The roles whose replies come out of flow."""
    match flow:
        case Agent(role=role):
            return [role]
        case Team(members=members):
            return [member.role for member in members]
        case Then(steps=steps):
            for step in reversed(steps):
                if not isinstance(step, Reduce | Same):
                    return _authors(step)
            return []
        case _:
            return [role for inner in subflows(flow) for role in _authors(inner)]


# --- budgets -------------------------------------------------------------------------------------

_SAYS = {"usd": "usd", "tokens": "tokens", "calls": "calls", "seconds": "time"}


def _budgets(evaluator: Evaluator, draft: Draft) -> None:
    """E301 to E304 for each account against those around it; constants only, the rest is the plan's."""
    seen: set[tuple[int, Budget]] = set()
    run = f"run `{draft.name}`"
    waiting: list[tuple[Flow, Budget, str, Place]] = [
        (draft.flow, draft.budget, run, draft.budget_place)
    ]
    while waiting:
        node, around, who, place = waiting.pop()
        if (id(node), around) in seen:
            continue
        seen.add((id(node), around))
        for role, _ in roles(node):
            if role.budget is not None:
                _inside(evaluator, role.budget, f"`{role.name}`", node.place, around, who, place)
        if isinstance(node, Limited):
            inner = node.budget
            _inside(evaluator, inner, f"`{node.label}`", node.place, around, who, place)
            around = _effective(inner, around)
            who, place = f"`{node.label}`", node.place
        if isinstance(node, Parallel) and node.split == "even":
            _promised(evaluator, node, around, who)
        waiting.extend((child, around, who, place) for child in subflows(node))


def _inside(
    evaluator: Evaluator,
    inner: Budget,
    name: str,
    at: Place,
    around: Budget,
    who: str,
    place: Place,
) -> None:
    if inner.share is not None and around == Budget():
        evaluator.error(
            "E303",
            f"the share of {name} is of nothing: no budget is around it",
            at,
            help="give the run a budget: `budget = [$5]`",
        )
    for dimension, word in _SAYS.items():
        mine, theirs = getattr(inner, dimension), getattr(around, dimension)
        if mine is not None and theirs is not None and mine > theirs:
            evaluator.error(
                "E301",
                f"the budget of {name} ({_amount(word, mine)}) exceeds that of {who} "
                f"({_amount(word, theirs)})",
                at,
                secondary=(Label(place, f"the budget of {who}"),),
                help="lower the inner one, or raise the outer one",
            )


def _amount(word: str, amount: int | float) -> str:
    return written(Quantity(word, amount))  # type: ignore[arg-type]


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


def _promised(evaluator: Evaluator, node: Parallel, around: Budget, who: str) -> None:
    """Under `split = even` each branch is promised its own: together they must fit."""
    limited = [(b.count, b.flow.budget) for b in node.branches if isinstance(b.flow, Limited)]
    shares = sum(count * (budget.share or 0) for count, budget in limited)
    if shares > 1 + 1e-9:
        evaluator.error(
            "E304",
            f"the branches together are promised {shares * 100:g}% of what there is",
            node.place,
            help="lower the shares, or use `split = pooled`",
        )
    for dimension, word in _SAYS.items():
        limit = getattr(around, dimension)
        total = sum(count * (getattr(budget, dimension) or 0) for count, budget in limited)
        if dimension != "seconds" and limit is not None and total > limit:
            evaluator.error(
                "E302",
                f"the branches together are promised {_amount(word, total)}; "
                f"{who} has {_amount(word, limit)}",
                node.place,
                help="lower the branches' budgets, or use `split = pooled`",
            )


def _size(evaluator: Evaluator, draft: Draft) -> None:
    agents = bounds(draft.flow).agents
    if agents > draft.max_agents:
        evaluator.error(
            "E305",
            f"the run expands to {_count(agents)} agents; the cap is {draft.max_agents:,}",
            draft.flow_place,
            help="make it smaller, or raise `max_agents` of the run",
        )


def _count(number: int) -> str:
    return f"{number:,}" if number < 10**15 else "more than a quadrillion"


# --- models --------------------------------------------------------------------------------------


def models(
    evaluator: Evaluator, main: Module, draft: Draft, *, final: bool
) -> tuple[dict[str, Model], str]:
    """The models the run uses, by name, and the default one's name; what forbids them is reported."""
    chosen, open_ = used_models(draft)
    used = {name: m for name in chosen if (m := evaluator.model(name)) is not None}
    default = default_model(evaluator, main, draft)
    if open_ or not used:
        if default is None:
            if final:
                _no_model(evaluator, main, draft)
            default = next(iter(used.values()), None)
        if default is not None:
            used[default.name] = default
    _money(evaluator, draft, used)
    name = default.name if default is not None and default.name in used else next(iter(used), "")
    return used, name


def _no_model(evaluator: Evaluator, main: Module, draft: Draft) -> None:
    several = [name for name, d in main.declared.items() if d.kind == "model"]
    evaluator.error(
        "E220",
        "several models are declared, and some roles choose none of them",
        draft.place,
        help=f"write `model = {several[0] if several else 'name'}` in the run, "
        "the team or the role, or give `--model`",
    )


def _money(evaluator: Evaluator, draft: Draft, used: dict[str, Model]) -> None:
    unpriced = [name for name, model in used.items() if model.price is None]
    place = _dollars(draft)
    if unpriced and place is not None:
        evaluator.error(
            "E306",
            f"a dollar budget cannot be kept: the price of model `{unpriced[0]}` is unknown",
            place,
            help="give the model a `price = { … }`, or `price = none` if it is free",
        )
    paid = [name for name, model in used.items() if model.price != Price()]
    if paid and draft.budget == Budget():
        suggestion = "[2M tokens, 30m]" if unpriced else "[$5, 30m]"
        evaluator.error(
            "E310",
            f"the run has no budget, and model `{paid[0]}` is not free",
            draft.place,
            help=f"add `budget = {suggestion}` to the run, with what you want to spend",
        )


def _dollars(draft: Draft) -> Place | None:
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
