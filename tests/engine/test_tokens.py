"""What a call may cost at most, and what it did cost."""

import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.dsl.model import Price
from podium.engine.call import (
    CallError,
    Message,
    ModelCall,
    ModelReply,
    Offer,
    ToolCall,
    Usage,
)
from podium.engine.ledger import Amount
from podium.engine.tokens import (
    Charged,
    bound,
    charged,
    cost,
    estimate,
    spent,
    text_bound,
    with_usage,
    worst,
)

PRICE = Price(input=1_000_000, cached=100_000, cache_write=1_250_000, output=5_000_000)
rates = st.builds(Price, *[st.integers(0, 10**8)] * 4)


@st.composite
def with_tiers(draw: st.DrawFn) -> Price:
    bounds = sorted(draw(st.sets(st.integers(1, 1000), max_size=3)))
    return replace(draw(rates), longer=tuple((above, draw(rates)) for above in bounds))


prices = with_tiers()
counts = st.integers(0, 10**7)


def ask(text: str, cap: int) -> ModelCall:
    return ModelCall("a", "run", "m", (Message("user", text),), cap)


@given(st.text())
def test_a_bound_covers_every_normal_form(text: str) -> None:
    for form in (text, unicodedata.normalize("NFC", text), unicodedata.normalize("NFKC", text)):
        assert text_bound(text) >= len(form.encode(errors="surrogatepass"))


def test_one_character_may_normalise_to_many_tokens() -> None:
    assert text_bound("\ufdfa") == 33
    assert text_bound("\ud800") == 3


def test_messages_and_schema_are_counted_with_their_template() -> None:
    call = ModelCall("a", "run", "m", (Message("system", "abc"), Message("user", "de")), 10)
    assert bound(call) == 5 + 2 * 16 + 256
    assert bound(replace(call, schema={"a": 1})) == bound(call) + 2 * len('{"a":1}')


def test_tools_and_their_calls_are_counted_as_templates_write_them() -> None:
    call = ask("hello", 10)
    asked = ToolCall("c1", "look", {"at": 1}, '{"at":1}')
    said = Message("assistant", "", (asked,))
    with_calls = replace(call, messages=(*call.messages, said, Message("tool", "ok", answers="c1")))
    assert bound(with_calls) == bound(call) + (2 + 4 + 2 * 8 + 16 + 16) + (2 + 2 + 16)
    offer = Offer("look", "Looks.", {"type": "object"})
    assert bound(replace(call, tools=(offer,))) > bound(call) + 2 * 50


def test_the_worst_case_takes_the_dearest_kind_of_input() -> None:
    held = worst(ask("x" * 728, 100), PRICE)
    assert held == Amount(usd=1250 + 500, tokens=1100, calls=1)
    assert worst(ask("x", 100), None).usd == 0


@given(prices, counts, counts, counts, st.integers(0, 5000))
def test_no_usage_within_the_bounds_costs_more_than_was_held(
    price: Price, used: int, cached: int, written: int, output: int
) -> None:
    call = ask("hello", 5000)
    held = worst(call, price)
    usage = Usage(min(used, bound(call)), cached, written, output)
    assert spent(usage, price).usd <= held.usd
    assert spent(usage, price).tokens <= held.tokens


def test_cached_input_is_not_billed_twice() -> None:
    # Field case 9: prompt 20,000, of which 16,000 cached and 300 written to the cache.
    usage = Usage(input=20_000, cached=16_000, cache_write=300, output=10)
    assert cost(usage, PRICE) == 3_700 + 1_600 + 375 + 50


def test_a_long_prompt_is_charged_whole_at_its_tier_and_held_at_the_dearest_it_may_reach() -> None:
    dear = Price(input=2_000_000, cached=200_000, cache_write=2_000_000, output=9_000_000)
    tiered = replace(PRICE, longer=((1_000, dear),))
    assert cost(Usage(input=1_000, output=10), tiered) == 1_000 + 50
    assert cost(Usage(input=1_001, cached=1, output=10), tiered) == 2_000 + 1 + 90
    short, long = ask("x" * 700, 100), ask("x" * 800, 100)
    assert worst(short, tiered) == worst(short, PRICE)
    assert worst(long, tiered).usd == bound(long) * 2 + 100 * 9


@pytest.mark.parametrize("cached", [20_001, 10**9])
def test_more_cached_than_input_is_not_believed(cached: int) -> None:
    assert cost(Usage(input=20_000, cached=cached), PRICE) == 2_000


def test_fractions_of_a_micro_dollar_are_rounded_up() -> None:
    assert cost(Usage(input=1), Price(input=1)) == 1
    assert cost(Usage(), PRICE) == 0


@given(st.text(max_size=50), st.text(max_size=50))
def test_an_estimate_stays_within_the_hold(text: str, reasoning: str) -> None:
    call = ask("hello", 60)
    guess = estimate(call, text, reasoning)
    assert guess.estimated
    assert guess.output == min(60, text_bound(text) + text_bound(reasoning))
    assert spent(guess, PRICE).tokens <= worst(call, PRICE).tokens


HELD = Amount(usd=900, tokens=90, calls=1)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (CallError("unreachable", ""), Charged()),
        (CallError("server", ""), Charged(Amount(calls=1))),
        (CallError("cut", "", maybe_paid=True), Charged(HELD, estimated=True)),
        (
            CallError("cut", "", maybe_paid=True, usage=Usage(input=10, output=2)),
            Charged(Amount(usd=20, tokens=12, calls=1), Usage(input=10, output=2)),
        ),
    ],
)
def test_a_failed_try_is_charged_what_was_told_else_what_it_may_have_cost(
    error: CallError, expected: Charged
) -> None:
    assert charged(error, HELD, PRICE) == expected


def test_what_a_server_does_not_tell_is_estimated_and_what_it_tells_is_kept() -> None:
    silent = with_usage(ask("hello", 50), ModelReply("hi", "stop", Usage()))
    assert silent.usage == estimate(ask("hello", 50), "hi")
    half = with_usage(ask("hello", 50), ModelReply("hi", "stop", Usage(input=7)))
    assert (half.usage.input, half.usage.output, half.usage.estimated) == (7, 2, True)
    whole = with_usage(ask("hello", 50), ModelReply("", "stop", Usage(input=7)))
    assert (whole.usage.output, whole.usage.estimated) == (0, False)
