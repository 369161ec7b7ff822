"""A recorded run once more, on virtual time, with another order of tasks and other latencies."""

from collections.abc import Callable, Sequence

import anyio

from podium.dsl.program import Program

from ..event import Stamped
from ..replay import EPOCH as EPOCH
from ..replay import replay
from .clock import in_virtual_time
from .invariants import Violation

# A replay waits for nobody: one that takes any time at all will not end.
HORIZON_S = 3600.0


def replayed(
    program: Program, events: Sequence[Stamped], *, seed: int, window: Callable[[str], int]
) -> tuple[Violation, ...]:
    """What differs when the run of these events is replayed. seed: of the order of tasks and of the latencies;
    window: of each model by name, in tokens, as it was then."""

    async def again() -> str:
        with anyio.move_on_after(HORIZON_S):
            return (await replay(program, events, window, seed=seed)).difference
        return "the replay came to a point from which it went nowhere"

    difference = in_virtual_time(again, seed)
    return (Violation("replay", program.name, difference),) if difference else ()
