"""A sandbox for tests, in virtual time: no process is started, a function of the command answers."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio

from ..sandbox import Command, Output, Ran


def said(out: str = "", code: int = 0, *, err: str = "", seconds: float = 0.0) -> Ran:
    """What a command that ended by itself told."""
    return Ran(code, "exit", Output(out.encode()), Output(err.encode()), seconds)


@dataclass(slots=True, eq=False)
class ScriptedSandbox:
    """Answers each command with script(command), after `Ran.seconds`; past `limits.wall_s` its limit ends it.

    script may be async, and may raise SandboxFailed. seen: every command, in order of arrival; running and most:
    how many there are now, and were at once.
    """

    script: Callable[[Command], Ran | Awaitable[Ran]]
    name: str = "scripted"
    isolates: bool = True
    seen: list[Command] = field(default_factory=list[Command])
    running: int = 0
    most: int = 0

    async def run(self, command: Command) -> Ran:
        self.seen.append(command)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            answer = self.script(command)
            ran = answer if isinstance(answer, Ran) else await answer
            limit = command.limits.wall_s
            await anyio.sleep(min(ran.seconds, limit))
        finally:
            self.running -= 1
        return ran if ran.seconds <= limit else Ran(None, "wall", ran.out, ran.err, limit)
