"""A node's total is its own spend and its children's totals, under faults too; every try has one fate."""

import pytest

from podium.dsl.program import Repeat
from podium.engine.early import early
from podium.engine.event import CallIntended
from podium.engine.fold import fold
from podium.engine.testing import schedule, simulate
from podium.engine.testing.handmade import HERE, agent, parallel, program, role, team, then

WRITER, REVISER = role("writer", "Write."), role("reviser", "Mend: ", "{attempt.answer}")
CHAIN = then(team((2, WRITER)), Repeat("repeat", HERE, 3, agent(REVISER)))
WHOLE = program(parallel(3, parallel(2, CHAIN)))


@pytest.mark.parametrize("seed", range(8))
def test_totals_are_own_spend_and_childrens_whatever_goes_wrong(seed: int) -> None:
    simulation = simulate(WHOLE, schedule=schedule(seed), replay=False)
    folded = fold(simulation.events)
    totals, tree = folded.totals(), folded.tree()
    for address, node in folded.nodes.items():
        expected = node.own
        for child in tree.get(address, []):
            expected = expected.plus(totals[child.address])
        assert totals[address] == expected
    asked = [s.event for s in simulation.events if isinstance(s.event, CallIntended)]
    tries = folded.total.tries
    assert sum(tries) + folded.held == sum(one.kind == "model" for one in asked)
    assert min(tries) >= 0
    usage = folded.total.usage
    assert usage.fresh + usage.cached + usage.cache_write == usage.input
    assert folded.total.bounds.tokens <= folded.total.amount.tokens
    assert early(folded).wasted.amount.calls <= folded.total.amount.calls
