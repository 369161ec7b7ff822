"""Virtual time in a fixed order: what makes a simulation the same on every machine, from its seed alone.

Trio runs the tasks of a batch in a random order, so that nobody relies on one. Here that order is drawn
from the seed, by the switch that trio has for Hypothesis. Needs trio: `pip install 'podium[test]'`.
"""

import importlib
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal, TypeVar

import anyio

from .loop import JumpingLoop

T = TypeVar("T")


Backend = Literal["trio", "asyncio"]


def _nothing() -> None:
    pass


def in_virtual_time(
    work: Callable[[], Awaitable[T]],
    seed: int = 0,
    *,
    backend: Backend = "trio",
    step: Callable[[], None] = _nothing,
) -> T:
    """work's result, run on trio with a clock that starts at 0 and jumps to the next deadline when all wait.

    The same seed gives the same order of tasks. For use outside any event loop, from one thread at a time.
    Inside, no thread and no process may be waited for: the clock would jump meanwhile.
    backend: asyncio has one order of tasks, whatever the seed. step: called before each step of a task.
    """
    if backend == "asyncio":
        options: dict[str, Any] = {"loop_factory": partial(JumpingLoop, step)}
        return anyio.run(work, backend="asyncio", backend_options=options)
    from trio.testing import MockClock

    with _ordered(seed):
        clock = MockClock(autojump_threshold=0)
        counted = () if step is _nothing else (_Steps(step),)
        options = {"clock": clock, "instruments": counted}
        return anyio.run(work, backend="trio", backend_options=options)


class _Steps:
    """An instrument of trio's."""

    def __init__(self, step: Callable[[], None]) -> None:
        self._step = step

    def before_task_step(self, task: object) -> None:
        self._step()


@contextmanager
def _ordered(seed: int) -> Generator[None]:
    """Trio's order of tasks drawn from seed; both its switch and its generator are put back."""
    # Trio has no public name for them; Hypothesis and pytest-trio use the same two.
    scheduler: Any = importlib.import_module("trio._core._run")
    switch, state = scheduler._ALLOW_DETERMINISTIC_SCHEDULING, scheduler._r.getstate()
    scheduler._ALLOW_DETERMINISTIC_SCHEDULING = True
    scheduler._r.seed(seed)
    try:
        yield
    finally:
        scheduler._ALLOW_DETERMINISTIC_SCHEDULING = switch
        scheduler._r.setstate(state)
