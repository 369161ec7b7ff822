"""The collector of cyclic garbage while runs are live."""

import gc
from collections.abc import Generator
from contextlib import ExitStack

import pytest

from podium.engine.collector import YOUNG, patient


@pytest.fixture(autouse=True)
def as_before() -> Generator[None]:
    was = gc.get_threshold()
    yield
    gc.set_threshold(*was)


def test_it_looks_less_often_inside_and_as_before_afterwards() -> None:
    gc.set_threshold(700, 11, 12)
    with patient():
        with patient():
            assert gc.get_threshold() == (YOUNG, 11, 12)
        assert gc.get_threshold() == (YOUNG, 11, 12)
    assert gc.get_threshold() == (700, 11, 12)


@pytest.mark.parametrize("young", [0, 2 * YOUNG])
def test_one_that_is_off_or_looks_less_often_is_left_alone(young: int) -> None:
    gc.set_threshold(young, 11, 12)
    with patient():
        assert gc.get_threshold()[0] == young
    assert gc.get_threshold()[0] == young


def test_what_somebody_else_sets_meanwhile_stays() -> None:
    gc.set_threshold(700, 11, 12)
    with patient():
        gc.set_threshold(5_000, 11, 12)
    assert gc.get_threshold()[0] == 5_000


def test_one_that_is_left_before_another_takes_nothing_from_it() -> None:
    gc.set_threshold(700, 11, 12)
    with ExitStack() as second:
        with ExitStack() as first:
            first.enter_context(patient())
            second.enter_context(patient())
        assert gc.get_threshold() == (YOUNG, 11, 12)
    assert gc.get_threshold() == (700, 11, 12)
