import pytest

from podium.dsl import quantity


@pytest.mark.parametrize(
    ("text", "value"),
    [("3", 3), ("0.5", 0.5), ("1.0", 1), ("10k", 10_000), ("2.5M", 2_500_000), ("1_000", 1000)],
)
def test_numbers_are_integers_where_their_value_is(text: str, value: float) -> None:
    assert quantity.number(text) == value
    assert type(quantity.number(text)) is type(value)


@pytest.mark.parametrize(
    ("text", "micro"),
    [("$0.29", 290_000), ("$2.50", 2_500_000), ("$1.1k", 1_100_000_000), ("$0.0000001", None)],
)
def test_money_is_exact_or_none(text: str, micro: int | None) -> None:
    assert quantity.micro(text) == micro


@pytest.mark.parametrize(
    ("text", "seconds"), [("1h30m", 5400.0), ("500ms", 0.5), ("0.1s", 0.1), ("1d", 86400.0)]
)
def test_durations_add_their_parts(text: str, seconds: float) -> None:
    assert quantity.seconds(text) == seconds


def test_percentages_are_fractions() -> None:
    assert quantity.fraction("20%") == 0.2
    assert quantity.fraction("0.5%") == 0.005


def test_escapes_of_strings_are_resolved_once() -> None:
    assert quantity.unquoted(r'"a\nb\t\"\\n\u00e9"') == 'a\nb\t"\\né'


@pytest.mark.parametrize("text", ["9" * 41, "1e19", "1e99999999999", "10000000000B"])
def test_what_nobody_means_does_not_fit(text: str) -> None:
    assert not quantity.fits(text)
