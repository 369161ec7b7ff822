"""What a task gives to all who work on it: its tools, and the style of teams that name none."""

from collections.abc import Iterator
from dataclasses import replace

from .conditions import names
from .draft import Draft, nodes
from .equip import NAMES, at_work
from .evaluate import Evaluator
from .program import (
    Agent,
    Branch,
    Fallback,
    Flow,
    ForEach,
    Lift,
    Limited,
    Member,
    Parallel,
    Repeat,
    Role,
    Route,
    Team,
    Then,
)
from .values import Tasks


def outfitted(evaluator: Evaluator, draft: Draft) -> Draft:
    """The draft with what its task gives to all who work on it: tools, and the style of teams that name none."""
    tasks = draft.tasks
    if tasks is None or not (tasks.tools or tasks.works):
        return draft
    for message in dict.fromkeys(_unfit(draft.flow, tasks)):
        help_ = "give it another name" if "called" in message else "name the team's `style`"
        evaluator.error("E212", message, draft.task_place, help=help_)
    return replace(draft, flow=_Outfit(tasks).flow(draft.flow))


def _unfit(flow: Flow, tasks: Tasks) -> Iterator[str]:
    for node in nodes(flow):
        if not isinstance(node, Team) or node.compat:
            continue
        if node.style == "work" or (tasks.works and not node.styled):
            yield from _named_twice(tasks)
        if node.styled or not tasks.works:
            continue
        until = set[str]() if node.until is None else set(names(node.until))
        if node.order != "together":
            yield f"the task's teams are at work at once, and one has `order = {node.order}`"
        elif "consensus" in until:
            yield "the task's teams are at work at once, and one waits for `consensus`"


def _named_twice(tasks: Tasks) -> Iterator[str]:
    taken = {name for names_ in NAMES.values() for name in names_}
    for tool in tasks.tools:
        if tool.name in taken:
            yield f"the task has a tool called `{tool.name}`, and a team at work has one too"


class _Outfit:
    """Each part once: what is shared stays shared."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._done: dict[int, Flow] = {}

    def flow(self, flow: Flow) -> Flow:
        if id(flow) not in self._done:
            self._done[id(flow)] = self._made(flow)
        return self._done[id(flow)]

    def _made(self, flow: Flow) -> Flow:
        match flow:
            case Agent():
                return replace(flow, role=self._given(flow.role, submits=True))
            case Team():
                return self._team(flow)
            case Parallel():
                branches = tuple(Branch(b.count, self.flow(b.flow)) for b in flow.branches)
                return replace(flow, branches=branches)
            case Then():
                return replace(flow, steps=tuple(map(self.flow, flow.steps)))
            case Fallback():
                return replace(flow, options=tuple(map(self.flow, flow.options)))
            case Route():
                cases = tuple((key, self.flow(case)) for key, case in flow.cases)
                return replace(flow, cases=cases)
            case Lift() | Repeat() | ForEach() | Limited():
                return replace(flow, flow=self.flow(flow.flow))
            case _:
                return flow

    def _team(self, team: Team) -> Team:
        if team.compat:
            return team
        begins = self._tasks.works and not team.styled and team.style == "discuss"
        made = replace(team, style="work") if begins else team
        members: list[Member] = []
        for one in team.members:
            role = self._given(one.role, submits=made.style == "work")
            members.append(Member(one.count, at_work(role, made) if begins else role))
        return replace(made, members=tuple(members))

    def _given(self, role: Role, *, submits: bool) -> Role:
        """role with the task's tools; its own come first, but how often it may submit the task says where the
        role does not. A team that discusses submits as one."""
        own = {tool.name for tool in role.tools}
        given = {tool.name: tool for tool in self._tasks.tools}
        bounded = [
            given.get(t.name, t) if t.kind == "submit" and not t.args else t for t in role.tools
        ]
        more = [
            tool
            for tool in self._tasks.tools
            if tool.name not in own and (submits or tool.kind != "submit")
        ]
        tools = (*bounded, *more)
        return role if tools == role.tools else replace(role, tools=tools)
