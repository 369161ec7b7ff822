"""What each form of a flow adds to a plan. Pure."""

from dataclasses import dataclass, replace
from functools import reduce
from typing import assert_never

from podium.dsl.bounds import bounds
from podium.dsl.program import (
    Agent,
    Fallback,
    Flow,
    ForEach,
    Lift,
    Limited,
    OutputField,
    Parallel,
    Reduce,
    Repeat,
    Role,
    Route,
    Same,
    Team,
    Then,
)

from ..forms import segment
from .amounts import NOTHING, Amounts, alternatives, cheapest, least_call
from .asks import Models, lone
from .caps import Place
from .caps import binding as bound_by
from .judges import judged, submissions
from .nodes import Node, merged, numbered
from .teams import given_by, team
from .texts import Given, Size, Topic, Words, reply

_HUGE = 10**12  # attempts: past every sensible max_agents, growing further tells nothing
_NONE = Given()


def _bare(flow: Flow) -> Flow:
    while isinstance(flow, Limited):
        flow = flow.flow
    return flow


@dataclass(slots=True)
class Walk:
    """cautious: a budget may refuse any call, so at least is what an answer cannot be had without."""

    models: Models
    cautious: bool

    def row(self, topic: Topic, place: Place) -> Node:
        """The whole flow for one task."""
        flow = self.models.program.flow
        several = self.models.program.split == "even" and len(self.models.program.tasks) > 1
        place = replace(place.at(segment(flow)), topic=topic, branch=several)
        return self._kept(self._made(flow, place, _NONE))

    def _node(self, flow: Flow, place: Place, given: Given, count: int = 1) -> Node:
        return replace(self._made(flow, place, given), count=count)

    def _made(self, flow: Flow, place: Place, given: Given) -> Node:
        """The part, its amounts not yet clipped by the budgets around."""
        match flow:
            case Agent(role=role):
                return self._agent(flow, role, place, given)
            case Team():
                amounts = team(self.models, flow, place.topic, given, cautious=self.cautious)
                gives = given_by(self.models, flow, given)
                most = submissions(flow, cautious=self.cautious)
                amounts = amounts.plus(judged(self.models, place.topic, gives, most, 1))
                return self._leaf(flow, place, given, amounts, gives)
            case Parallel():
                return self._parallel(flow, place, given)
            case Then():
                return self._then(flow, place, given)
            case Lift(flow=inner):
                return self._lift(flow, inner, place, given)
            case Fallback():
                return self._fallback(flow, place, given)
            case Repeat():
                return self._repeat(flow, place, given)
            case Same():
                return self._leaf(flow, place, given, NOTHING, given)
            case Reduce(how=how, k=k):
                width = {"top": min(k, given.width), "sample": min(k, given.width)}
                width["score"] = given.width
                gives = replace(given, width=width.get(how, min(1, given.width)))
                return self._leaf(flow, place, given, NOTHING, gives)
            case Route():
                return self._route(flow, place, given)
            case ForEach():
                return self._for_each(flow, place, given)
            case Limited():
                return self._limited(flow, place, given)
            case _:
                assert_never(flow)

    def _leaf(self, flow: Flow, place: Place, given: Given, amounts: Amounts, gives: Given) -> Node:
        return self._whole(flow, place, given, amounts, gives, ())

    def _whole(
        self,
        flow: Flow,
        place: Place,
        given: Given,
        amounts: Amounts,
        gives: Given,
        children: tuple[Node, ...],
    ) -> Node:
        size = bounds(flow, given.width)
        return Node(
            place.address,
            flow,
            flow.label,
            size.agents,
            amounts,
            gives,
            children,
            caps=place.caps,
            depth=size.depth,
        )

    def _limited(self, flow: Limited, place: Place, given: Given) -> Node:
        inside = place.within(flow.budget)
        if place.topic.judges:
            # What is made here is judged at the cost of who asks, which no budget here bounds.
            made = self._made(flow.flow, place, given)
            binding = bound_by(place.address, inside.own, made.amounts) or made.binding
            return replace(self._kept(made), binding=binding, budgets=(flow, *made.budgets))
        made = self._made(flow.flow, inside, given)
        binding = bound_by(place.address, inside.own, made.amounts) or made.binding
        kept = self._kept(replace(made, amounts=inside.own.clip(made.amounts)))
        return replace(kept, binding=binding, budgets=(flow, *made.budgets))

    def _kept(self, made: Node) -> Node:
        """What a budget around the part makes of it: where it runs out, any attempt inside may be the answer."""
        if not self.cautious:
            return made
        model_prices = (model.price for model in self.models.program.models.values())
        gives = made.gives
        kept = replace(
            gives, width=max(1, gives.width), text=gives.peak, before=max(gives.before, gives.peak)
        )
        return replace(made, amounts=made.amounts.or_least(least_call(model_prices)), gives=kept)

    # --- agents ----------------------------------------------------------------------------------

    def _agent(self, flow: Flow, role: Role, place: Place, given: Given) -> Node:
        each = {"attempt", "attempts"} <= role.takes
        times = max(1, given.width) if each else 1
        if role.budget is not None and not each:
            bare = Agent(flow.label, flow.place, replace(role, budget=None))
            return self._limited(Limited(flow.label, flow.place, bare, role.budget), place, given)
        one = self._asked(role, place, given)
        if role.budget is not None:  # of each agent, and there is one for each attempt
            one = place.within(role.budget).own.clip(one)
        gives = replace(self._given_by(role, given), width=times)
        judging = judged(self.models, place.topic, gives, times, times)
        amounts = one.times(times).at_least(one).plus(judging)
        made = self._leaf(flow, place, given, amounts, gives)
        return made if role.budget is None else self._kept(made)

    def _asked(self, role: Role, place: Place, given: Given) -> Amounts:
        view, sizes = place.topic.view()
        view["self"] = {"index": 1, "role": role.name, "name": role.name}
        view["team"] = {"size": 1, "leaderboard": "", "digest": "", "left": ""}
        if not place.goes_round:
            view["round"] = 0
        return lone(self.models, role, Words(view, sizes, given, place.topic.evidence))

    def _given_by(self, role: Role, given: Given) -> Given:
        text = self.models.text(role)
        before = given.text if "attempt" in role.takes else 0
        structured = given.structured or role.output is not None
        return Given(1, text, before, max(text, given.peak), structured)

    def _chooser(
        self, role: Role, output: OutputField, place: Place, given: Given, *, own: bool
    ) -> Node:
        """The `by` of a route or a for_each. own: its own output will do."""
        role = role if own else replace(role, output=(output,))
        return self._node(
            Agent(role.name, self.models.program.flow.place, role), place.at("by"), given
        )

    # --- forms -----------------------------------------------------------------------------------

    def _parallel(self, flow: Parallel, place: Place, given: Given) -> Node:
        children: list[Node] = []
        first = 1
        if self.models.program.split == "even" and not place.branch:
            flow = replace(
                flow, split="even"
            )  # of the run's budget, between the outermost branches
        if flow.migrate is not None:
            teams = (_bare(branch.flow) for branch in flow.branches)
            texts = [
                given_by(self.models, one, given).text for one in teams if isinstance(one, Team)
            ]
            given = replace(given, often=flow.migrate, theirs=max(texts, default=0))
        for branch in flow.branches:
            here = replace(place.at(numbered(first, branch.count, branch.flow)), branch=True)
            children.append(self._node(branch.flow, here, given, branch.count))
            first += branch.count
        total = NOTHING
        gives = _NONE
        width = 0
        for child in children:
            total = total.plus(child.amounts.times(child.count, alike=True))
            width += child.gives.width * child.count
            gives = gives.join(child.gives)
        needed = flow.need if self.cautious else flow.passes
        if needed is not None:
            total = total.at_least(cheapest([(c.count, c.amounts) for c in children], needed))
        return self._whole(flow, place, given, total, replace(gives, width=width), tuple(children))

    def _then(self, flow: Then, place: Place, given: Given) -> Node:
        children: list[Node] = []
        total, current = NOTHING, given
        for number, step in enumerate(flow.steps, 1):
            child = self._node(step, place.at(f"{number}.{step.label}"), current)
            children.append(child)
            here = child.amounts.onward() if total.calls.most else child.amounts
            total, current = total.plus(here), child.gives
        return self._whole(flow, place, given, total, current, tuple(children))

    def _lift(self, flow: Lift, inner: Flow, place: Place, given: Given) -> Node:
        one = replace(given, width=min(1, given.width))
        here = replace(place.at(numbered(1, given.width, inner)), branch=True)
        child = self._node(inner, here, one, given.width)
        total = child.amounts.times(given.width).at_least(child.amounts)
        gives = replace(child.gives, width=child.gives.width * given.width)
        return self._whole(flow, place, given, total, gives, (child,))

    def _fallback(self, flow: Fallback, place: Place, given: Given) -> Node:
        children = tuple(
            self._node(option, place.at(f"{number}.{option.label}"), given)
            for number, option in enumerate(flow.options, 1)
        )
        total = children[0].amounts
        for child in children[1:]:
            total = total.plus(child.amounts.perhaps())
        if self.cautious:
            total = total.at_least(cheapest([(1, child.amounts) for child in children], 1))
        gives = reduce(Given.join, (child.gives for child in children))
        return self._whole(flow, place, given, total, gives, children)

    def _repeat(self, flow: Repeat, place: Place, given: Given) -> Node:
        """Rounds until what goes round is the same; the rest cost what the last did."""
        here = replace(place.at(numbered(1, flow.max, flow.flow)), goes_round=True)
        total, current, gives = NOTHING, given, given
        child: Node | None = None
        first = NOTHING
        for done in range(flow.max):
            made = self._node(flow.flow, here, current, flow.max)
            child = made if child is None else merged(child, made)
            first = first if done else made.amounts
            gives = gives.join(made.gives)
            same = made.gives == current
            total = total.plus(made.amounts.times(flow.max - done if same else 1))
            if same or made.gives.width > _HUGE:
                break
            current = made.gives
        if flow.until is not None or (self.cautious and given.width):
            total = total.at_least(NOTHING)
        elif self.cautious:
            total = total.at_least(first)
        children = () if child is None else (child,)
        return self._whole(flow, place, given, total, gives, children)

    def _route(self, flow: Route, place: Place, given: Given) -> Node:
        keys = tuple(key for key, _ in flow.cases)
        fields = flow.by.output or ()
        own = any(isinstance(f.type, tuple) and set(keys) <= set(f.type) for f in fields)
        by = self._chooser(flow.by, OutputField("choice", keys), place, given, own=own)
        cases = tuple(
            self._node(inner, place.at(f"{number}.{inner.label}"), given)
            for number, (_, inner) in enumerate(flow.cases, 1)
        )
        total = by.amounts.plus(alternatives([case.amounts for case in cases]))
        gives = reduce(Given.join, (case.gives for case in cases))
        peak = max(gives.peak, by.gives.peak)
        gives = replace(gives, peak=peak, structured=True)
        return self._whole(flow, place, given, total, gives, (by, *cases))

    def _for_each(self, flow: ForEach, place: Place, given: Given) -> Node:
        own = any(field.is_list for field in flow.by.output or ())
        listed = OutputField("parts", "text", is_list=True)
        by = self._chooser(flow.by, listed, place, given, own=own)
        part = reply(by.gives.text).plus(Size(0, 0, 16))  # a number may be written out longer
        name = f"{place.topic.name}.{flow.max}"
        topic = Topic(name, None, part, place.topic.evidence, judges=place.topic.judges)
        here = replace(place.at(numbered(1, flow.max, flow.flow)), topic=topic, branch=True)
        alone = Given(peak=by.gives.peak, structured=True)
        child = self._node(flow.flow, here, alone, flow.max)
        total = by.amounts.plus(child.amounts.times(flow.max).at_least(child.amounts))
        gives = replace(child.gives, width=child.gives.width * flow.max)
        return self._whole(flow, place, given, total, gives, (by, child))
