"""An asyncio loop whose clock jumps: what the simulator runs on where it does not run on trio."""

import asyncio
import selectors
from collections.abc import Callable
from contextvars import Context
from typing import TypeVarTuple

Ts = TypeVarTuple("Ts")


class _Jumping(selectors.SelectSelector):
    """Never waits: where nothing is ready, the time it was to wait for is over."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise RuntimeError("every task waits, and nothing will ever wake one")
            self.now += max(0.0, timeout)
        return ready


class JumpingLoop(asyncio.SelectorEventLoop):
    """Starts at 0 and jumps to the next deadline when all wait. step: called before each callback.

    Nothing may come from outside: no thread, no process, no socket.
    """

    def __init__(self, step: Callable[[], None]) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)
        self._step = step

    def time(self) -> float:
        return self._jumping.now

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        def stepped() -> None:
            self._step()
            callback(*args)

        return super().call_soon(stepped, context=context)


def cancel_natively() -> Callable[[], None]:
    """What cancels the task that calls this as asyncio itself does, without a scope of anyio's."""
    task = asyncio.current_task()
    assert task is not None, "it is called in a task"

    def cancel() -> None:
        task.cancel()

    return cancel


def uncancel() -> None:
    """Go on after a cancellation of that kind, as a task that caught it."""
    task = asyncio.current_task()
    assert task is not None, "it is called in a task"
    while task.uncancel():
        pass
