"""A program's plan: for each part of its flow agents, calls, tokens and dollars, and which budget binds. Pure.

What a figure says:

* at least: without it the part gives no answer. Where a budget may run out before the flow's own end, the best so
  far is the answer, and one reply will do. Where none can, because there is none or the worst holds fit, all that
  is asked before anything can end the part is counted, for a run in which every reply can be used.
* at most: no run spends more, but for tries that are sent again after a failure, and for servers that do not
  report their usage, which is then our own bound. It is clipped by every budget around.
* expected: an estimate. All branches, rounds and parts, replies of half their caps; of a route the mean, of a
  fallback its first option.

One part stands for all its copies, and its figures are those of one copy: `main/parallel/1-10.squad`. Rounds of a
repeat may differ; its part has the least and the most of any.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from podium.dsl.program import (
    Agent,
    Budget,
    Flow,
    ForEach,
    Limited,
    Parallel,
    Program,
    Role,
    Route,
    Task,
    Team,
    subflows,
    verifier_of,
)

from ..tokens import text_bound
from .amounts import NOTHING, Amounts, cheapest
from .asks import Models
from .caps import Binding, Place
from .caps import binding as bound_by
from .judges import judged, judges_of
from .nodes import Node, merged
from .rents import Rents, rents_of
from .shares import Small, small
from .teams import everyone
from .texts import Given, Topic, evidence_of, known
from .tree import Walk

_NO_TASK = Task("none", "")
_LARGE = 5_000  # seats times rounds of a team: its worst holds are not added up, they fit no budget


@dataclass(frozen=True, slots=True)
class Plan:
    """root: the flow, for any one of the run's tasks. assumed: models planned with a window that nobody told.

    rents: of the run's models, which are in the total and in no part. small: even parts that are too small.
    """

    name: str
    root: Node
    agents: int
    depth: int
    total: Amounts
    seconds: float | None
    binding: Binding | None
    assumed: tuple[str, ...]
    rents: Rents | None = None
    small: tuple[Small, ...] = ()


def plan(program: Program) -> Plan:
    """What program may cost. Nothing is called, and no server is asked."""
    cautious = _may_refuse(program)
    models = Models(program)
    place, total, rows = _walked(models, program, cautious=cautious)
    rents = rents_of(program, place.caps)
    binding = _binding(program, place, total, rents)
    if rents is not None:
        total = total.plus(rents.amounts)
    # All tasks run side by side, but for those that wait for an even part.
    together = sum if program.split == "even" else max
    whole = replace(reduce(merged, rows), count=len(rows))
    root = whole.clipped()
    inner = (node.binding for _, node in root.walk() if node.binding is not None)
    return Plan(
        program.name,
        root,
        sum(row.agents for row in rows),
        together(row.depth for row in rows),
        place.caps.clip(total),
        place.caps.seconds if rents is None else rents.seconds,
        binding or next(inner, None),
        tuple(sorted(models.assumed)),
        rents,
        tuple(small(whole)),
    )


def _binding(program: Program, place: Place, total: Amounts, rents: Rents | None) -> Binding | None:
    """Which of the run's own limits binds. total: without rent, which takes all dollars where nothing ends it."""
    own = place.own
    if rents is None:
        return bound_by(program.name, own, total)
    if own.usd is not None and rents.timed is None and not program.by:
        return Binding(program.name, "usd", own.usd)
    return bound_by(program.name, own, total.plus(rents.wanted))


def _topics(program: Program) -> Iterator[tuple[str, Topic]]:
    tasks = program.tasks or (_NO_TASK,)
    others = [verifier_of(flow) for flow in _all(program.flow)]
    row = f"1-{len(tasks)}.row" if len(tasks) > 1 else ""
    for task in tasks:
        evidence = max(evidence_of(verifier) for verifier in (task.verify, *others))
        judges = judges_of((task.verify, *others))
        topic = topic_of(task, evidence)
        size = 0 if task.baseline is None else text_bound(task.baseline)
        yield row, replace(topic, judges=judges, baseline=size)


def topic_of(task: Task, evidence: int) -> Topic:
    visible = task.verify is not None and task.verify.use == "always"
    return Topic(task.name, task.statement, known(task.statement), evidence, visible)


def _together(each: Sequence[Amounts], *, cautious: bool) -> Amounts:
    """All tasks of a run; where a budget may run out, an answer to one of them is an answer."""
    total = NOTHING
    for one in each:
        total = total.plus(one)
    return total.at_least(cheapest([(1, one) for one in each], 1)) if cautious else total


def _walked(
    models: Models, program: Program, *, cautious: bool
) -> tuple[Place, Amounts, list[Node]]:
    """The run's own place, its sum, and the flow for each task, all not clipped by the run's budget."""
    walk = Walk(models, cautious)
    place = Place(program.name, topic_of(_NO_TASK, 0)).within(program.budget)
    topics = [*_topics(program)]
    rows = [walk.row(topic, place.at(row)) for row, topic in topics]
    total = _together([row.amounts for row in rows], cautious=cautious)
    for _, topic in topics:
        total = total.plus(_on_baseline(models, topic))
    return place, total, rows


def _on_baseline(models: Models, topic: Topic) -> Amounts:
    """What judges take to score a task's baseline, those that compare with it aside."""
    if not topic.baseline:
        return NOTHING
    alone = tuple(one for one in topic.judges if one.args.get("against") != "baseline")
    return judged(models, replace(topic, judges=alone), Given(1, topic.baseline), 1, 1)


def _may_refuse(program: Program) -> bool:
    """Whether a budget may end any part before its own end: time runs, or the worst holds do not fit.

    Shares of an even split and budgets of a team's members are not added up here: where there are any, it may.
    """
    if program.by or any(model.rent is not None for model in program.models.values()):
        return True
    flows = tuple(_all(program.flow))
    budgets = [
        program.budget,
        *(flow.budget for flow in flows if isinstance(flow, Limited)),
        *(role.budget for flow in flows for role in _roles(flow) if role.budget is not None),
    ]
    if all(budget == Budget() for budget in budgets):
        return False
    timed = any(budget.seconds is not None for budget in budgets)
    if timed or program.split == "even" or any(map(_is_not_added_up, flows)):
        return True
    place, total, rows = _walked(Models(program, holds=True), program, cautious=True)
    if total.usd is None or bound_by(program.name, place.own, total) is not None:
        return True
    return any(node.binding is not None for row in rows for _, node in row.walk())


def _is_not_added_up(flow: Flow) -> bool:
    match flow:
        case Parallel(split=split):
            return split == "even"
        case Team(size=size, rounds=rounds, cycles=cycles):
            return size * rounds * cycles > _LARGE or any(
                role.budget is not None for role in everyone(flow)
            )
        case _:
            return False


def _roles(flow: Flow) -> list[Role]:
    match flow:
        case Agent(role=role) | Route(by=role) | ForEach(by=role):
            return [role]
        case Team():
            return everyone(flow)
        case _:
            return []


def _all(flow: Flow) -> Iterator[Flow]:
    """flow and all below, shared parts once."""
    seen = dict[int, Flow]()
    waiting = [flow]
    while waiting:
        one = waiting.pop()
        if id(one) not in seen:
            seen[id(one)] = one
            waiting.extend(subflows(one))
    yield from seen.values()
