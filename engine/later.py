"""Rounds after an answer: whether one may begin, of a team or a repeat in a branch of a shared budget.

One that the pool could not pay beside the answers which the branches still owe waits until it can, or until all
of them have been asked for. Where nothing moves any more, as each waits for the others, it does not begin: the
branch goes on to its own answer. Which it was is a decision. Where a budget is to pause or to fail, nothing waits:
what is short is added by a topup, or all is lost anyway.
"""

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import cast

import anyio
import anyio.lowlevel

from .ask import refused
from .call import BudgetExhausted
from .outcome import Exhausted
from .pool import First, Later, Pool, short_of
from .walk import Here

# Steps of the loop from the end of one call of a branch to its next one; there are about ten.
_STEPS = 40


@asynccontextmanager
async def later_round(
    here: Here, address: str, calls: int
) -> AsyncGenerator[tuple[Here, Exhausted | None]]:
    """Around the round at address, of at most so many calls: where it is to be run, and which budget has no room
    for it, if one has not: then it is not to be run. calls 0: an answer needs it."""
    short = await _room(here, address, calls) if calls else None
    if short is not None or not here.pledges:
        yield here, short
        return
    with Later(here.pledges, calls) as later:
        yield replace(here, causes=(*here.causes, later)), None


@contextmanager
def first_round(here: Here, calls: int) -> Generator[Here]:
    """Around the round that gives a team's first answer, of at most so many calls."""
    with First(here.pledges if here.part is None else (), calls) as first:
        yield replace(here, causes=(*here.causes, first))


async def _room(here: Here, address: str, calls: int) -> Exhausted | None:
    waits = here.pledges and not any(guard.policy in ("pause", "fail") for guard in here.guards)
    # An account and a dimension, or neither, as `_short` gave them.
    told = cast(list[str] | None, here.recorder.recall(address, "room"))
    if told is None and waits and not any(guard.cut is not None for guard in here.guards):
        short = await _short(here, calls)
        told = here.recorder.decide(address, "room", lambda: list(short))
    if not told:
        return None
    await refused(here, BudgetExhausted(*told))
    return Exhausted(*told)


async def _short(here: Here, calls: int) -> tuple[str, ...]:
    """Nothing once the round may begin; which account and dimension keep it from that, where nothing moves."""
    ledger, still = here.world.ledger, False
    while True:
        short = ((one, short_of(ledger, one, calls)) for one in here.pledges)
        pledge, what = next(((one, found) for one, found in short if found), (None, ()))
        if pledge is None:
            return what
        if still and not pledge.pool.busy:
            if here.walk.paused is not None:
                await anyio.sleep_forever()
            return what
        if pledge.pool.busy:
            await pledge.pool.quiet()
        still = not pledge.pool.busy and await _is_still(pledge.pool)


async def _is_still(pool: Pool) -> bool:
    """Whether no call of the group begins while the loop goes on by so many steps."""
    for _ in range(_STEPS):
        await anyio.lowlevel.checkpoint()
        if pool.busy:
            return False
    return True
