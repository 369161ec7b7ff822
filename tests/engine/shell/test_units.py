"""Quantities on the command line."""

from collections.abc import Callable

import pytest

from podium.dsl.model import Price
from podium.dsl.program import Budget
from podium.engine.shell import units
from podium.engine.shell.exits import ShellError


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (units.usd, "5", 5_000_000),
        (units.usd, "$2.50", 2_500_000),
        (units.count, "1500", 1500),
        (units.count, "400k", 400_000),
        (units.count, "1.5M tokens", 1_500_000),
        (units.seconds, "90s", 90.0),
        (units.seconds, "1h30m", 5400.0),
        (units.seconds, "500ms", 0.5),
    ],
)
def test_quantities_are_read(read: Callable[[str], float], text: str, value: float) -> None:
    assert read(text) == value


@pytest.mark.parametrize(
    ("read", "text", "word"),
    [
        (units.usd, "five", "five"),
        (units.usd, "-1", "-1"),
        (units.usd, "nan", "nan"),
        (units.usd, "0.0000001", "the smallest amount is 0.000001"),
        (units.usd, "9" * 60, "amount of money"),
        (units.count, "2m", "capital M"),
        (units.count, "0.5", "0.5"),
        (units.count, "1e99", "number of tokens"),
        (units.seconds, "30M", "small m"),
        (units.seconds, "30", "duration"),
        (units.seconds, "", "duration"),
        (units.price, "input=1", "lacks a rate"),
        (units.price, "inptu=1,output=2", "inptu"),
    ],
)
def test_what_is_no_quantity_is_refused_with_what_to_write(
    read: Callable[[str], object], text: str, word: str
) -> None:
    with pytest.raises(ShellError, match=word) as caught:
        read(text)
    assert caught.value.code == 2


def test_a_price_is_read_per_million_tokens() -> None:
    assert units.price("input=0.25, output=2") == Price(250_000, 250_000, 250_000, 2_000_000)
    assert units.price("input=1,output=2,cached=0.1").cached == 100_000
    assert units.price("free") == Price()


def test_amounts_are_shown_so_that_cheap_is_not_free() -> None:
    assert units.show_usd(0) == "$0.00"
    assert units.show_usd(1_230_000) == "$1.23"
    assert units.show_usd(1_500) == "$0.0015"
    assert units.show_usd(12) == "$0.000012"
    assert (units.show_calls(1), units.show_calls(2_000)) == ("1 call", "2k calls")


def test_counts_and_times_are_shown_short() -> None:
    assert [units.show_count(n) for n in (0, 950, 40_000, 1_900_000)] == ["0", "950", "40k", "1.9M"]
    near = (999, 999_499, 999_500, 999_999_999, 10**12, 10**34)
    assert [units.show_count(n) for n in near] == ["999", "999k", "1M", "1B", "1,000B", "1e+34"]
    assert [units.show_seconds(s) for s in (12.7, 185, 3840)] == ["12s", "3m05s", "1h04m"]


def test_a_budget_is_shown_with_the_bounds_it_has() -> None:
    budget = Budget(usd=5_000_000, tokens=2_000_000, calls=40, seconds=1800.0, share=0.5)
    assert units.show_budget(budget) == "$5.00, 2M tokens, 40 calls, 30m00s, 50%"
    assert units.show_budget(Budget()) == ""
