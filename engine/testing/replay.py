"""A recorded run once more, on virtual time, with another order of tasks and other latencies."""

from collections.abc import Callable, Sequence
from functools import partial

from podium.dsl.program import Program

from ..event import Stamped
from ..replay import EPOCH as EPOCH
from ..replay import replay
from .clock import in_virtual_time
from .invariants import Violation


def replayed(
    program: Program, events: Sequence[Stamped], *, seed: int, window: Callable[[str], int]
) -> tuple[Violation, ...]:
    """What differs when the run of these events is replayed. seed: of the order of tasks and of the latencies;
    window: of each model by name, in tokens, as it was then."""
    done = in_virtual_time(partial(replay, program, events, window, seed=seed), seed)
    return (Violation("replay", program.name, done.difference),) if done.difference else ()
