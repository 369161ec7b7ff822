"""What judges may cost: verdicts on the attempts of a node, each by every judge once. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from podium.dsl.program import Team, Verifier

from ..bench import times_of
from .amounts import NOTHING, Amounts
from .asks import Models, lone
from .texts import Given, Topic, Words


def judges_of(verifiers: Sequence[Verifier | None]) -> tuple[Verifier, ...]:
    """Those in verifiers that ask models."""
    leaves = (leaf for one in verifiers if one is not None for leaf in one.leaves())
    return tuple(leaf for leaf in leaves if leaf.judges)


def judged(models: Models, topic: Topic, given: Given, most: int, expected: int) -> Amounts:
    """The verdicts on so many attempts like given at most; perhaps nobody asks for any."""
    if not topic.judges:
        return NOTHING
    each = NOTHING
    view, sizes = topic.view()
    view["team"] = {"size": 1, "leaderboard": "", "digest": "", "left": ""}
    for verifier in topic.judges:
        both = verifier.args.get("against") == "baseline"
        shown = replace(given, width=2, text=max(given.text, given.peak, topic.baseline))
        for role in verifier.judges:
            view["self"] = {"index": 1, "role": role.name, "name": role.name}
            one = lone(models, role, Words(view, sizes, shown, topic.evidence))
            each = each.plus(one.times(2 if both else 1))
    certain = each.times(expected).or_least(NOTHING)
    return certain.plus(each.times(max(0, most - expected)).perhaps())


def submissions(team: Team, *, cautious: bool) -> int:
    """How many attempts of team may be judged: one a round and one an execution, and its answer; where a budget
    may run out any may be the answer. Of a team at work all that its members may submit, and
    their last replies."""
    rounds = team.rounds * team.cycles
    if team.style == "work":
        of_each = (m.count * (1 + sum(map(times_of, m.role.tools))) for m in team.members)
        return rounds * sum(of_each) + team.cycles + 1
    each = rounds * (team.size + 1) if cautious else rounds
    return each + team.cycles + 1
