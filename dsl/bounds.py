"""How large a flow is: agents, calls and attempts, counted without writing the copies out."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple, assert_never

from .compat import MAS_TTS_TRIES
from .program import (
    Agent,
    Fallback,
    Flow,
    ForEach,
    Lift,
    Limited,
    Parallel,
    Reduce,
    Repeat,
    Role,
    Route,
    Same,
    Team,
    Then,
)

# Past every sensible max_agents: a width beyond it is not counted on, and figures are then at least this.
HUGE = 10**12


class Bounds(NamedTuple):
    """agents: seats that may come to be. least and most: calls to models, tries sent again left out.

    most counts a structured reply twice: one that cannot be read is asked for once more.
    width: attempts that come out, at most; 1 where a single one does.
    depth: calls one after another, at most, where everything that may run at the same time does.
    """

    agents: int
    least: int
    most: int
    width: int
    depth: int = 0

    def then(self, later: "Bounds", times: int = 1) -> "Bounds":
        """This, and after it later, so many times one after another."""
        return Bounds(
            self.agents + times * later.agents,
            self.least + times * later.least,
            self.most + times * later.most,
            later.width,
            self.depth + times * later.depth,
        )


def asks(role: Role, *, chooses: bool = False) -> int:
    """How often a role is asked for one answer, at most. A structured answer may be asked for once more.

    chooses: as the `by` of a route or a for_each, which answers in a shape, its own or one made for it.
    """
    again = int(chooses or role.output is not None)
    if not role.tools:
        return 1 + again
    # Where a prompt is found to be too long a turn asks twice, and for a summary before each.
    each = {"keep": 1, "summarise": 4}.get(role.context, 2)
    return 1 + (role.turns - 1) * each + again


def bounds(flow: Flow, width: int = 1) -> Bounds:
    """The size of flow, given width attempts at most. CEO and recruiter are calls, but no agents."""
    return _Counter().of(flow, width)


def max_agents(flow: Flow) -> int:
    """How many agents flow expands to at most."""
    return bounds(flow).agents


def _agent(role: Role, width: int) -> Bounds:
    many = {"attempt", "attempts"} <= role.takes
    return _once_each(Bounds(1, 1, asks(role), 1, asks(role)), width if many else 1)


def _once_each(one: Bounds, width: int) -> Bounds:
    return Bounds(width * one.agents, one.least, width * one.most, width * one.width, one.depth)


def _one_after_the_other(each: list[Bounds]) -> Bounds:
    """Of options: the first at least, all of them at most."""
    return Bounds(
        sum(b.agents for b in each),
        each[0].least,
        sum(b.most for b in each),
        max(b.width for b in each),
        sum(b.depth for b in each),
    )


def _one_of(choice: int, each: list[Bounds]) -> Bounds:
    """One of the cases, behind so many calls of the role that chooses."""
    return Bounds(
        1 + max(b.agents for b in each),
        1 + min(b.least for b in each),
        choice + max(b.most for b in each),
        max(b.width for b in each),
        choice + max(b.depth for b in each),
    )


def _on_parts(split: int, parts: int, one: Bounds) -> Bounds:
    """Up to so many parts, behind so many calls of the role that splits."""
    return Bounds(
        1 + parts * one.agents,
        1 + one.least,
        split + parts * one.most,
        parts * one.width,
        split + one.depth,
    )


@dataclass(slots=True)
class _Counter:
    """Each part once for each width: parts are shared, so the tree may be larger than memory."""

    known: dict[tuple[int, int], Bounds] = field(default_factory=dict[tuple[int, int], Bounds])

    def of(self, flow: Flow, width: int) -> Bounds:
        key = (id(flow), width)
        if key not in self.known:
            self.known[key] = self._of(flow, width)
        return self.known[key]

    def _of(self, flow: Flow, width: int) -> Bounds:
        match flow:
            case Agent(role=role):
                return _agent(role, width)
            case Team():
                return _team(flow)
            case Parallel():
                return self._parallel(flow, width)
            case Then(steps=steps):
                return self._then(steps, width)
            case Lift(flow=inner):
                return _once_each(self.of(inner, 1), width)
            case Fallback(options=options):
                return _one_after_the_other([self.of(option, width) for option in options])
            case Repeat(max=rounds):
                return self._repeat(flow, rounds, width)
            case Route(by=by, cases=cases):
                return _one_of(asks(by, chooses=True), [self.of(case, width) for _, case in cases])
            case ForEach(by=by, max=parts, flow=inner):
                return _on_parts(asks(by, chooses=True), parts, self.of(inner, 1))
            case Limited(flow=inner):
                return self.of(inner, width)
            case Same():
                return Bounds(0, 0, 0, width)
            case Reduce(how=how, k=k):
                kept = {"top": min(k, width), "sample": min(k, width), "score": width}
                return Bounds(0, 0, 0, kept.get(how, 1))
            case _:
                assert_never(flow)

    def _parallel(self, flow: Parallel, width: int) -> Bounds:
        each = [(b.count, self.of(b.flow, width)) for b in flow.branches]
        least = sum(n * b.least for n, b in each)
        if flow.passes is not None:
            least = _cheapest(each, min(flow.passes, sum(n for n, _ in each)))
        return Bounds(
            sum(n * b.agents for n, b in each),
            least,
            sum(n * b.most for n, b in each),
            sum(n * b.width for n, b in each),
            max(b.depth for _, b in each),
        )

    def _then(self, steps: tuple[Flow, ...], width: int) -> Bounds:
        total = Bounds(0, 0, 0, width)
        for step in steps:
            total = total.then(self.of(step, total.width))
        return total

    def _repeat(self, flow: Repeat, rounds: int, width: int) -> Bounds:
        """The width may grow from round to round, but only as far as the flow's own shape lets it."""
        total = Bounds(0, 0, 0, width)
        for done in range(rounds):
            here = self.of(flow.flow, total.width)
            same = here.width == total.width
            total = total.then(here, rounds - done if same else 1)
            if same or here.width > HUGE:
                break
        return total._replace(least=0) if flow.until is not None else total


def _cheapest(each: list[tuple[int, Bounds]], count: int) -> int:
    """The calls of the count branches that need fewest."""
    total = 0
    for n, b in sorted(each, key=lambda pair: pair[1].least):
        taken = min(n, count)
        total, count = total + taken * b.least, count - taken
    return total


def _team(team: Team) -> Bounds:
    """The calls of all cycles; a CEO may shrink it to one member and stop it, and `until` may end it early."""
    if team.compat:
        return _mas_tts(team)
    leads = 0 if team.ceo is None else 1 if team.ceo.mode == "fixed" else team.rounds * team.cycles
    recruits = 0 if team.recruit is None else 1
    around = (recruits + (team.evaluate is not None)) * team.cycles
    # None is asked twice: a reply that cannot be read changes nothing. An evaluator with tools works in turns.
    judge = team.evaluate
    more = 0 if judge is None or not judge.tools else asks(judge, chooses=True) - 1
    extra = leads + around + more * team.cycles
    each = [(kind.count, asks(kind.role)) for kind in team.members if kind.count]
    first = each[0][1]  # seat 1's
    if team.style == "work" and team.size > 1:  # it puts together what was given, without its tools
        first = asks(replace(next(kind.role for kind in team.members if kind.count), tools=()))
    opening, later = _round(team, each, first, opens=True), _round(team, each, first, opens=False)
    cycle = opening.then(later, team.rounds - 1)
    whole = Bounds(0, 0, 0, 1).then(cycle, team.cycles)
    least = whole.least + around - recruits
    if team.ceo is not None or team.style == "work":  # where a first submission that passes ends it
        least = 1
    elif team.until is not None:  # critics who agree at once leave the draft as it is
        least = later.least if team.order == "solver_first" else opening.least
    return Bounds(
        team.size, least + min(leads, 1) + recruits, whole.most + extra, 1, whole.depth + extra
    )


def _mas_tts(team: Team) -> Bounds:
    """Everybody may be asked three times; two members who agree at once, and are right, are five calls."""
    around, tries = 3, MAS_TTS_TRIES  # CEO, recruiter, evaluator
    cycle = around + 1 + team.rounds * team.size
    deep = around + 1 + 2 * team.rounds
    return Bounds(team.size, around + 2, team.cycles * tries * cycle, 1, team.cycles * tries * deep)


def _round(team: Team, each: list[tuple[int, int]], first: int, *, opens: bool) -> Bounds:
    """One call for each seat, and one to integrate where the first seat has spoken in the round already.

    each: how many seats are asked how often at most; first: how often the first one is.
    """
    if team.size == 1:
        return Bounds(0, 1, first, 1, first)
    every, longest = sum(n * times for n, times in each), max(times for _, times in each)
    match team.order:
        case "together":
            return Bounds(0, team.size + 1, every + first, 1, longest + first)
        case "in_turn" | "ceo":
            return Bounds(0, team.size + 1, every + first, 1, every + first)
        case "solver_first":
            again = first if opens else 0
            return Bounds(0, team.size + opens, every + again, 1, longest + first + again)
        case "solver_last":
            return Bounds(0, team.size, every, 1, longest + first)
        case "relay":
            return Bounds(0, team.size, every, 1, every)
