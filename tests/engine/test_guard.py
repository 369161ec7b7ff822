"""A budget on its way back to where time ran out."""

from dataclasses import replace

import anyio
import pytest
import trio.testing

from podium.engine.guard import Guard, TimeUp
from podium.engine.value import Attempt, Verdict

MADE = Attempt("yes", "yes", "main/1.a")


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return ("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})


def guard(cut: TimeUp) -> Guard:
    return Guard("run", "main", "best", anyio.CancelScope(), cut=cut)


@pytest.mark.anyio
async def test_time_is_up_once_an_attempt_has_the_verdict_that_it_had() -> None:
    one = guard(TimeUp(frozenset(), frozenset({MADE.address}), judged=frozenset({MADE.address})))
    one.keep(MADE)
    assert not one.scope.cancel_called
    one.keep(replace(MADE, verdict=Verdict(1.0, True)))
    assert one.scope.cancel_called


@pytest.mark.anyio
async def test_time_is_up_without_a_verdict_where_there_was_none() -> None:
    one = guard(TimeUp(frozenset(), frozenset({MADE.address})))
    one.keep(MADE)
    assert one.scope.cancel_called
