"""The general check of the field cases once more, on asyncio, in real time and with the writer's thread.

Money that is short, branches that fail, races, and runs that are paused or aborted in the midst of it.
"""

import random
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from podium.engine import Engine, Run
from podium.engine.call import ModelCall
from podium.engine.outcome import Cancelled, Paused
from podium.engine.store import Store
from podium.engine.testing import Fail, Say

from .bench import During, Till, cost, failure, play, team_file

pytestmark = pytest.mark.anyio

FLOWS = {
    "short of money": ("parallel(30) of (one -> mend)", "[$0.0012]"),
    "even shares": (
        "parallel(9, split = even, inflight = 3) of (one -> mend)",
        "[$0.0009, 20 calls]",
    ),
    "races": ("parallel(3) of parallel(4, stop = first_pass) of (one -> mend) -> merge", "[$1]"),
    "teams": (
        "parallel(3) of team(members = [3 of one], ceo = adaptive, rounds = 2)",
        "[14 calls]",
    ),
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def script(seed: int) -> Till:
    chance = random.Random(seed)

    def answer(call: ModelCall, number: int) -> Say | Fail:
        delay = chance.choice((0.0, 0.001, 0.003))
        if chance.random() < 0.1:
            return failure("request", delay=delay, paid=chance.random() < 0.5)
        text = chance.choice(("yes", "no", '{"stop": false}'))
        return cost(chance.choice((1, 40, 100)), delay=delay, text=text)

    return Till(answer, inflight=7)


@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize("seed", range(2))
async def test_the_books_are_right_in_real_time_and_with_threads(
    flow: str, seed: int, tmp_path: Path
) -> None:
    line, budget = FLOWS[flow]
    with closing(Store.open(tmp_path / "runs.db")) as store:
        played = await play(team_file(line, budget=budget), script(seed), store=store, inline=False)
        assert played.result.folded.held == 0


def after(calls: int, how: str, till: Till) -> During:
    """Pauses or aborts the run once so many calls were sent."""

    async def during(engine: Engine, run: Run) -> None:
        def seen(_: object) -> None:
            if len(till.seen) >= calls:
                run.pause() if how == "pause" else run.abort()

        run.watchers.append(seen)
        await anyio.lowlevel.checkpoint()

    return during


@pytest.mark.parametrize("how", ["pause", "abort"])
@pytest.mark.parametrize("calls", [1, 5, 12])
async def test_a_run_paused_or_aborted_at_any_call_is_settled_and_resumed(
    how: str, calls: int, tmp_path: Path
) -> None:
    line, _ = FLOWS["races"]
    text, till = team_file(line), script(calls)
    with closing(Store.open(tmp_path / "runs.db")) as store:
        first = await play(text, till, store=store, during=after(calls, how, till), inline=False)
        assert first.result.outcome in (Paused("user"), Cancelled())
        again = await play(text, till, store=store, inline=False)
        assert not isinstance(again.result.outcome, Paused | Cancelled)
        assert again.spent.calls >= first.spent.calls
