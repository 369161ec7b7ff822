"""Prices as they are written: rates, and dearer ones for longer prompts."""

import pytest

from podium.dsl.compile import Choice, compile_run
from podium.dsl.format import format_text
from podium.dsl.library import MemoryLibrary
from podium.dsl.model import Price
from podium.dsl.problem import ProgramError
from podium.dsl.source import Source

TIERS = """[
    { input = $1 per 1M tokens, cached = $0.10 per 1M tokens, output = $5 per 1M tokens },
    { above = 200k tokens, input = $2 per 1M tokens, output = $7.50 per 1M tokens },
    { above = 1M tokens, input = $4 per 1M tokens, output = $15 per 1M tokens },
  ]"""
LONGER = (
    (200_000, Price(2_000_000, 2_000_000, 2_000_000, 7_500_000)),
    (1_000_000, Price(4_000_000, 4_000_000, 4_000_000, 15_000_000)),
)
WHOLE = Price(1_000_000, 100_000, 1_000_000, 5_000_000, LONGER)


def anything(kind: str, value: str) -> bool:
    return bool(kind and value)


def text(price: str) -> str:
    return f"""model m {{
  endpoint = openai("x", base_url = "https://h.example/v1")
  price = {price}
}}

task t {{ statement = "2 + 2?" }}

run main {{ flow = agent, task = t, budget = [$3] }}
"""


def price(written: str) -> Price | None:
    source = Source("x.team", text(written))
    return compile_run(source, MemoryLibrary(), Choice(allow=anything))[0].models["m"].price


def test_a_list_of_rates_is_one_price_with_tiers() -> None:
    assert price(TIERS) == WHOLE
    assert price("[{ input = $1 per 1M tokens }]") == price("{ input = $1 per 1M tokens }")


@pytest.mark.parametrize(
    ("into", "tier"),
    [(0, -1), (1, -1), (200_000, -1), (200_001, 0), (1_000_000, 0), (1_000_001, 1)],
)
def test_a_tier_begins_above_its_bound(into: int, tier: int) -> None:
    wanted = WHOLE if tier < 0 else LONGER[tier][1]
    assert WHOLE.at(into) == wanted


def test_a_range_of_prompts_has_each_tier_that_it_touches() -> None:
    first, second = LONGER[0][1], LONGER[1][1]
    assert WHOLE.within(0, 200_000) == (WHOLE,)
    assert WHOLE.within(1, 200_001) == (WHOLE, first)
    assert WHOLE.within(200_001, 300_000) == (first,)
    assert WHOLE.within(200_000, 2_000_000) == (WHOLE, first, second)


RATE = "input = $1 per 1M tokens"


@pytest.mark.parametrize(
    "written",
    [
        f"{{ above = 5k tokens, {RATE} }}",
        f"[{{ above = 5k tokens, {RATE} }}]",
        f"[{{ {RATE} }}, {{ {RATE} }}]",
        f"[{{ {RATE} }}, {{ above = 9k tokens, {RATE} }}, {{ above = 9k tokens, {RATE} }}]",
        f"[{{ {RATE} }}, {{ above = 9k tokens, {RATE} }}, {{ above = 5k tokens, {RATE} }}]",
    ],
)
def test_tiers_that_do_not_rise_are_refused(written: str) -> None:
    with pytest.raises(ProgramError) as caught:
        price(written)
    assert [problem.code for problem in caught.value.problems] == ["E212"]


def test_a_misspelt_rate_of_a_tier_is_told_at_its_place() -> None:
    with pytest.raises(ProgramError) as caught:
        price(f"[{{ {RATE} }}, {{ abov = 9k tokens, {RATE} }}]")
    told = next(problem for problem in caught.value.problems if problem.code == "E106")
    assert "above" in told.help


def test_the_formatter_keeps_tiers_a_line_each() -> None:
    source = text(TIERS)
    assert format_text(Source("x.team", source)) == source
