"""Prices of longer prompts in a plan: between at least and at most whatever tier a call comes to lie in."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from podium.dsl.model import Price
from podium.dsl.source import Source
from podium.engine.call import Usage
from podium.engine.plan.amounts import Range, charge
from podium.engine.plan.settings import of_models
from podium.engine.request import ModelChoice, Request, from_json, to_json
from podium.engine.shell.settings_view import listed
from podium.engine.testing.handmade import agent, program, role
from podium.engine.tokens import cost

rates = st.builds(Price, *[st.integers(0, 10**7)] * 4)
DEAR = Price(2_000_000, 2_000_000, 2_000_000, 9_000_000)
TIERED = Price(1_000_000, 100_000, 1_000_000, 5_000_000, ((200_000, DEAR),))


@given(rates, rates, st.integers(1, 500), st.data())
def test_what_a_call_costs_lies_in_its_plan(
    first: Price, longer: Price, above: int, data: st.DataObject
) -> None:
    price = replace(first, longer=((above, longer),))
    least, most = sorted(data.draw(st.tuples(st.integers(0, 600), st.integers(0, 600))))
    used = data.draw(st.integers(least, most))
    usage = Usage(used, data.draw(st.integers(0, used)), 0, data.draw(st.integers(0, 50)))
    planned = charge(Range(least, (least + most) // 2, most), Range(0, 25, 50), price)
    assert planned.usd is not None
    assert planned.usd.least <= cost(usage, price) <= planned.usd.most
    assert planned.usd.least <= planned.usd.expected <= planned.usd.most


def test_a_plan_says_each_tier() -> None:
    made = program(agent(role("r", "Go.")), price=TIERED)
    assert (
        "longer above 200k tokens $2.00 in, $2.00 cached, $2.00 written to cache, $9.00 out "
        "per 1M tokens"
    ) in listed(of_models(made)["m"])


def test_a_stored_request_keeps_the_tiers() -> None:
    choice = ModelChoice("https://h.example/v1", "m", "m", TIERED, None)
    asked = Request(source=Source("x.team", ""), models=(choice,))
    assert from_json(to_json(asked)).models == (choice,)
