"""The wait for the first byte of a reply that ever comes from a model at an endpoint.

An endpoint that lists its models may hang on every call, or be loading the model it was just asked
for: from outside both look alike. So until one byte of one reply has come, a limit of its own holds
(`Profile.first_s`), the endpoint is asked now and then whether it is still there, and the user is told
once. After that byte only silence within a stream counts.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from ..call import CallError
from .dialects import Profile

T = TypeVar("T")
# Between two checks of an endpoint that is there, and after a check that it left unanswered.
AGAIN_S = 30.0
SOON_S = 5.0
# A server that works in one thread answers no check while it reads a prompt: one miss proves nothing.
MISSES = 2


class Trial:
    """A model at an endpoint that has not proven itself. proven: a byte of a reply has come from it.

    Calls in flight at once share the checks and their outcome. Times are the clock of the loop.
    """

    def __init__(
        self, where: str, served: str, profile: Profile, tell: Callable[[str], None]
    ) -> None:
        self.proven = False
        self._where = where
        self._served = served
        self._profile = profile
        self._tell = tell
        self._told = False
        self._began = 0.0
        self._next = 0.0
        self._misses = 0
        self._gone: CallError | None = None
        self._scopes: set[anyio.CancelScope] = set()
        self._lock = anyio.Lock()

    async def watched(
        self, exchange: Callable[[], Awaitable[T]], alive: Callable[[], Awaitable[object]]
    ) -> T:
        """exchange's result. alive: a cheap question to the endpoint; it raises CallError.

        Raises CallError: exchange's own; `mute` in place of `silent` where no byte came; `unreachable`
        where the endpoint no longer answers alive either.
        """
        if not self._scopes:
            self._begin()
        found: list[T] = []
        failure: CallError | None = None
        async with anyio.create_task_group() as tasks:
            if self._profile.check_s:
                tasks.start_soon(self._watch, alive)
            with anyio.CancelScope() as scope:
                self._scopes.add(scope)
                try:
                    found.append(await exchange())
                except CallError as problem:
                    failure = problem
                finally:
                    self._scopes.discard(scope)
            tasks.cancel_scope.cancel()
        if found:
            return found[0]
        failure = failure or self._gone
        assert failure is not None, (
            "the scope is cancelled by a check that failed, and by nothing else"
        )
        raise self._mute(failure) if failure.kind == "silent" and not self.proven else failure

    def _begin(self) -> None:
        self._began = anyio.current_time()
        self._next = self._began + self._profile.check_s
        self._misses, self._gone = 0, None

    async def _watch(self, alive: Callable[[], Awaitable[object]]) -> None:
        while not self.proven:
            await anyio.sleep(max(0.0, self._next - anyio.current_time()))
            async with self._lock:  # one check for all who wait
                if not self.proven and self._next <= anyio.current_time():
                    await self._check(alive)

    async def _check(self, alive: Callable[[], Awaitable[object]]) -> None:
        failure: CallError | None = None
        try:
            await alive()
        except CallError as problem:
            failure = problem
        self._misses = 0 if failure is None else self._misses + 1
        soon = min(SOON_S, self._profile.check_s)
        self._next = anyio.current_time() + (AGAIN_S if failure is None else soon)
        if self.proven:
            return
        self._say(failure)
        if failure is not None and (failure.kind == "unreachable" or self._misses >= MISSES):
            self._give_up(failure)

    def _say(self, failure: CallError | None) -> None:
        if self._told:
            return
        self._told = True
        there = "lists its models" if failure is None else "does not list its models either"
        self._tell(
            f"{self._where} has not begun to answer after {self._waited:.0f} s; it {there}. It is given"
            f" {self._profile.first_s:.0f} s, as it may be loading {self._served}; for another limit"
            f" write {self._advice(self._profile.first_s)}."
        )

    def _give_up(self, failure: CallError) -> None:
        # The call may be worked on where nobody sees it: it is charged at its hold.
        self._gone = CallError(
            "unreachable",
            f"{self._where} sent no byte of a reply in {self._waited:.0f} s and no longer lists its models"
            f" ({failure.message}); if it only reads a long prompt, write `profile = {{ check_s = 0 }}` in"
            " its `model` block",
            maybe_paid=True,
        )
        for scope in self._scopes:
            scope.cancel()

    def _mute(self, silent: CallError) -> CallError:
        limit = self._profile.first_s
        return CallError(
            "mute",
            f"{self._where} sent no byte of a reply in {limit:.0f} s: it hangs, or is still loading"
            f" {self._served}; if it needs longer, write {self._advice(2 * limit)}",
            maybe_paid=silent.maybe_paid,
        )

    def _advice(self, seconds: float) -> str:
        return f"`profile = {{ first_s = {seconds:.0f} }}` in its `model` block"

    @property
    def _waited(self) -> float:
        return anyio.current_time() - self._began
