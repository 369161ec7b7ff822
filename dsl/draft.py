"""One run, put together but not yet accepted: what its fields, the command line and the defaults say."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from .budgets import tighter
from .convert import budget_of, flow_of
from .evaluate import Evaluator
from .fields import got
from .model import Endpoint, Model, Price
from .program import (
    Agent,
    Budget,
    Clock,
    Flow,
    ForEach,
    OnExhausted,
    Role,
    Route,
    Team,
    Tool,
    Verifier,
    subflows,
    verifier_of,
)
from .reading import as_int, as_text, as_word
from .source import Place
from .types import MODEL
from .values import Module, Noun, Scope, Tasks, Value

EMBEDDED = Model("embedded", (Endpoint("local", ""),), Price())
"""What runs where a program names no model: it comes with Podium and costs nothing."""

_ON_EXHAUSTED: dict[str, OnExhausted] = {
    "best": "best", "vote": "vote", "shrink": "shrink", "pause": "pause", "fail": "fail"
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Draft:
    """place is the run's name; flow's that of its flow. tasks None: none was given yet.

    cap_place: where `max_agents` stands; None where it does not.
    """

    name: str
    place: Place
    flow: Flow
    flow_place: Place
    tasks: Tasks | None
    task_place: Place
    model: Model | None
    budget: Budget
    budget_place: Place
    split: str = "pooled"
    on_exhausted: OnExhausted = "best"
    seed: int = 0
    max_agents: int = 10_000
    out: str | None = None
    by: tuple[Clock, ...] = ()
    cap_place: Place | None = None


def of_run(evaluator: Evaluator, noun: Noun) -> Draft:
    """The draft that a run's fields describe."""
    fields = got(evaluator, noun)
    flow_place = fields.at("flow")
    tasks = fields.value("task")
    model = fields.value("model")
    out = fields.value("out")
    return Draft(
        noun.name,
        noun.place,
        flow_of(fields.value("flow"), flow_place),
        flow_place,
        tasks if isinstance(tasks, Tasks) else None,
        fields.at("task"),
        model if isinstance(model, Model) else None,
        budget_of(fields.value("budget")),
        fields.at("budget"),
        as_word(fields.value("split"), "pooled"),
        _ON_EXHAUSTED.get(as_word(fields.value("on_exhausted"), "best"), "best"),
        as_int(fields.value("seed"), 0),
        as_int(fields.value("max_agents"), 10_000),
        as_text(out) if isinstance(out, str) else None,
        (by,) if isinstance(by := fields.value("by"), Clock) else (),
        fields.at("max_agents") if fields.given("max_agents") else None,
    )


def of_flow(value: Value, place: Place) -> Draft:
    """The draft of an expression on the command line."""
    flow = flow_of(value, place)
    return Draft("main", place, flow, place, None, place, None, Budget(), place)


def within(draft: Draft, budget: Budget, by: Clock | None) -> Draft:
    """The draft under caps from outside."""
    more = () if by is None else (by,)
    return replace(draft, budget=tighter(draft.budget, budget), by=(*draft.by, *more))


# --- what a flow is made of ----------------------------------------------------------------------


def nodes(flow: Flow) -> Iterator[Flow]:
    """Every node of flow, each once however often it is shared."""
    seen: set[int] = set()
    waiting: list[Flow] = [flow]
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            waiting.extend(reversed(subflows(node)))


def roles(node: Flow) -> Iterator[tuple[Role, str | None]]:
    """The roles that node itself calls, each with the model its place gives it."""
    match node:
        case Agent(role=role) | Route(by=role) | ForEach(by=role):
            yield role, None
        case Team():
            yield from ((member.role, node.model) for member in node.members)
            if node.ceo is not None:
                yield node.ceo.role, node.model
            others = (node.recruit, node.evaluate)
            yield from ((one, node.model) for one in others if one is not None)
        case _:
            return


def tools_of(flow: Flow) -> list[Tool]:
    """The tools of flow's agents, each once."""
    found = {
        repr(tool): tool for node in nodes(flow) for role, _ in roles(node) for tool in role.tools
    }
    return list(found.values())


def verifiers(flow: Flow, tasks: Tasks | None) -> Iterator[Verifier]:
    """Every verifier that a run of flow on tasks may call."""
    for node in nodes(flow):
        if (own := verifier_of(node)) is not None:
            yield own
    seen: set[int] = set()
    for task in tasks.tasks if tasks is not None else ():
        if task.verify is not None and id(task.verify) not in seen:
            seen.add(id(task.verify))
            yield task.verify


def is_abstract(flow: Flow) -> bool:
    """Whether a parameter without a value, or a mistake, stands in for a part of flow."""
    return any("?" in role.takes for node in nodes(flow) for role, _ in roles(node))


def used_models(draft: Draft) -> tuple[list[str], bool]:
    """The names of the models that roles and teams choose, in order; whether some role chooses none."""
    names: dict[str, None] = {}
    open_ = False
    for node in nodes(draft.flow):
        for role, place_model in roles(node):
            name = role.model or place_model
            if name is None:
                open_ = True
            else:
                names[name] = None
    leaves = (leaf for one in verifiers(draft.flow, draft.tasks) for leaf in one.leaves())
    for judge in (judge for leaf in leaves for judge in leaf.judges):
        open_ = open_ or judge.model is None
        names |= {} if judge.model is None else {judge.model: None}
    return list(names), open_


def default_model(evaluator: Evaluator, main: Module, draft: Draft) -> Model | None:
    """For roles that choose none: the run's, else the file's only one, else the embedded one; None: several."""
    if draft.model is not None:
        return draft.model
    own = main.models
    if not own:
        return EMBEDDED
    return model_named(evaluator, main, own[0]) if len(own) == 1 else None


def model_named(evaluator: Evaluator, main: Module, name: str) -> Model | None:
    """The model that goes by name in main; None where there is none."""
    scope = Scope(main, main.source, {})
    found = evaluator.find(name, scope)
    value = (
        None
        if found is None
        else evaluator.fit(found.value, MODEL, Place(main.source, main.file.span))
    )
    return value if isinstance(value, Model) else None
