"""Field case 31: many agents. Memory stays flat, tasks are as many as may run, and one admission counts for all.

A verifier's time-out and its processes: `test_verify` for functions, `test_sandboxed` for programs.
"""

import gc
import sys

import anyio
import pytest

from podium.dsl.model import Model
from podium.engine import Engine
from podium.engine.call import ModelCall, ModelReply, Replica, Usage
from podium.engine.event import NodeEnded, Stamped
from podium.engine.store import Store

from .bench import compiled, over, team_file

# Blocks of memory for each branch that has ended. One is of at most 512 bytes, most are of 64: about 10 kB. The
# texts of answers, which a branch gives on, are larger and are not counted.
BLOCKS = 150
SPARE = 40  # tasks beside those of branches: the engine's, the run's, a team's


class Quick:
    """A server that remembers nothing."""

    def __init__(self) -> None:
        self.flying = self.most = 0

    async def probe(self, model: Model) -> tuple[Replica, ...]:
        await anyio.lowlevel.checkpoint()
        return (Replica("quick", model.name, model.endpoints[0], "quick:", "fake", 20, 8192),)

    async def send(self, call: ModelCall, replica: Replica, request_id: str) -> ModelReply:
        self.flying += 1
        self.most = max(self.most, self.flying)
        await anyio.sleep(1)
        self.flying -= 1
        text = f"no {call.address} " * 20
        return ModelReply(text, "stop", Usage(input=10, output=10), "fake", "quick")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flow", "calls"),
    [
        ("parallel({n}, inflight = 20) of (one -> mend -> mend)", 3),
        ("parallel({n}, inflight = 20) of team(members = [2 of one], rounds = 1)", 3),
    ],
)
@pytest.mark.parametrize("n", [120, pytest.param(20_000, marks=pytest.mark.bench)])
def test_agents_that_have_ended_leave_little_behind(flow: str, calls: int, n: int) -> None:
    text = team_file(flow.format(n=n), budget="[$1000]").replace(
        "run main {", "run main { max_agents = 100k "
    )
    marks: dict[int, int] = {}
    tasks: list[int] = []

    async def case(seed: int) -> None:
        client, ended = Quick(), 0

        def seen(stamped: Stamped) -> None:
            nonlocal ended
            if isinstance(stamped.event, NodeEnded):
                ended += 1
                if ended in (n, 2 * n):  # of about three nodes a branch
                    gc.collect()
                    marks[ended] = sys.getallocatedblocks()
                if ended % 100 == 0:
                    tasks.append(len(anyio.get_running_tasks()))

        engine = Engine(
            Store.memory(anyio.current_time),
            client=client,
            environ={},
            inline=True,
            now=anyio.current_time,
        )
        async with engine:
            run = await engine.start(compiled(text))
            run.watchers.append(seen)
            result = await run.result()
        assert result.folded.total.amount.calls == calls * n
        assert client.most <= 20

    over([0], case)
    assert marks[2 * n] - marks[n] < BLOCKS * n / 3
    assert max(tasks) <= 3 * 20 + SPARE
