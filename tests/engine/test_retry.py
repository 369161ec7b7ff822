"""The table of retries."""

import random
from typing import get_args

import pytest

from podium.engine.call import CallError, FailureKind
from podium.engine.retry import TRIES, GiveUp, Resend, after, backoff, pause

KINDS: tuple[FailureKind, ...] = get_args(FailureKind)
NEVER: set[FailureKind] = {
    "credentials",
    "quota",
    "request",
    "model",
    "overflow",
    "reply",
    "tool",
    "turns",
}


def step(
    kind: FailureKind,
    tries: int,
    down: bool = False,
    elsewhere: bool = False,
    again: bool | None = None,
) -> Resend | GiveUp:
    error = CallError(kind, "no", maybe_paid=kind == "protocol", again=again)
    return after(error, tries, down=down, elsewhere=elsewhere, chance=random.Random(0))


def test_every_kind_is_in_the_table() -> None:
    assert set(TRIES) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_no_call_is_sent_more_often_than_the_table_says(kind: FailureKind) -> None:
    tries = 1
    while isinstance(step(kind, tries, elsewhere=kind == "mute"), Resend):
        tries += 1
    assert tries == TRIES[kind]
    assert (tries == 1) == (kind in NEVER | {"unreachable"})


def test_an_endpoint_that_never_answered_is_not_asked_again_but_another_one_may_be() -> None:
    assert step("mute", 1) == GiveUp()
    assert step("mute", 1, elsewhere=True) == Resend(0.0)
    assert step("mute", 2, elsewhere=True) == GiveUp()


@pytest.mark.parametrize("kind", sorted(NEVER))
def test_what_is_hopeless_is_so_while_the_endpoint_is_down_too(kind: FailureKind) -> None:
    assert step(kind, 1, down=True) == GiveUp()


def test_what_is_wrong_with_one_endpoint_alone_is_tried_at_another() -> None:
    assert step("quota", 1, elsewhere=True) == step("credentials", 1, elsewhere=True) == Resend(0.0)
    assert step("request", 1, elsewhere=True) == GiveUp()


def test_a_page_in_place_of_a_refusal_is_not_asked_for_again_unless_elsewhere() -> None:
    page, chance = CallError("protocol", "<html>"), random.Random(0)
    assert after(page, 1, down=False, elsewhere=False, chance=chance) == GiveUp()
    assert isinstance(after(page, 1, down=False, elsewhere=True, chance=chance), Resend)


@pytest.mark.parametrize("kind", ["unreachable", "server"])
def test_an_endpoint_that_is_down_is_waited_for_without_a_count(kind: FailureKind) -> None:
    assert step(kind, 10_000, down=True) == Resend(0.0)


def test_a_call_that_breaks_every_server_is_not_sent_for_ever() -> None:
    assert step("server", 4, elsewhere=True) == Resend(0.0)
    assert step("server", 5, elsewhere=True) == GiveUp()


@pytest.mark.parametrize("kind", ["server", "busy", "request"])
def test_what_the_server_says_of_sending_again_counts(kind: FailureKind) -> None:
    assert step(kind, 1, again=False) == GiveUp()
    assert isinstance(step(kind, 1, again=True), Resend)
    assert isinstance(step(kind, 4, again=True), Resend)
    assert step(kind, 8, again=True) == GiveUp()
    asked_elsewhere = Resend(0.0) if kind != "request" else GiveUp()
    assert step(kind, 1, elsewhere=True, again=False) == asked_elsewhere
    assert step(kind, 2, elsewhere=True, again=False) == GiveUp()


def test_waits_double_up_to_a_minute_and_are_never_shorter_than_that() -> None:
    chance = random.Random(1)
    for failures, plain in enumerate([1, 2, 4, 8, 16, 32, 60, 60], start=1):
        waits = [backoff(failures, chance) for _ in range(200)]
        assert plain <= min(waits)
        assert max(waits) <= 1.5 * plain
        assert len(set(waits)) == 200
    assert backoff(10**6, chance) <= 90


@pytest.mark.parametrize(
    ("asked", "least", "most"),
    [(30.0, 30.0, 35.0), (0.2, 0.2, 0.3), (1e9, 600.0, 605.0), (0.0, 1.0, 1.5), (-5.0, 1.0, 1.5)],
)
def test_a_busy_endpoint_gets_what_it_asks_for_within_reason_and_a_little_more(
    asked: float, least: float, most: float
) -> None:
    error, chance = CallError("busy", "slow down", retry_after_s=asked), random.Random(0)
    waits = [pause(error, 1, chance) for _ in range(100)]
    assert least <= min(waits)
    assert max(waits) <= most
    assert len(set(waits)) == 100


def test_a_broken_server_that_says_when_to_come_back_is_not_asked_sooner() -> None:
    error = CallError("server", "500", retry_after_s=40.0)
    assert after(error, 1, down=False, elsewhere=False, chance=random.Random(0)) == Resend(40.0)


def test_a_page_in_place_of_a_stream_is_given_up_within_seconds() -> None:
    page, waits, tries = CallError("protocol", "<html>", maybe_paid=True), 0.0, 1
    chance = random.Random(0)
    while isinstance(
        step := after(page, tries, down=False, elsewhere=False, chance=chance), Resend
    ):
        waits, tries = waits + step.wait_s, tries + 1
    assert (tries, waits < 5.0) == (3, True)
