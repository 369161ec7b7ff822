"""No sandbox: `--unsafe-sandbox`. The limits of one process hold, nothing else does."""

import tempfile
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio

from .bubblewrap import limited, reached
from .child import Child, at_once
from .command import BOX, Command, Ran, SandboxFailed, inside
from .folder import watch_size


@dataclass(slots=True, eq=False)
class Bare:
    """See `Sandbox`; what isolates it is missing. A process that left its group outlives the command.

    There is no `BOX`: the start folder is a temporary one. `Command.shown` is refused.
    """

    name: str = "none"
    isolates: bool = False
    _room: anyio.Semaphore = field(default_factory=lambda: anyio.Semaphore(at_once()))

    async def run(self, command: Command) -> Ran:
        if command.shown:
            raise SandboxFailed("nothing can be shown at another path without a sandbox")
        async with self._room:
            try:
                with tempfile.TemporaryDirectory(
                    prefix="podium-", ignore_cleanup_errors=True
                ) as made:
                    return await self._run(command, command.folder or Path(made))
            except OSError as error:
                raise SandboxFailed(f"the work folder cannot be set up: {error}") from error

    async def _run(self, command: Command, folder: Path) -> Ran:
        for name, data in command.files.items():
            path = folder / Path(inside(name)).relative_to(BOX)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            path.chmod(0o755)
        limits = command.limits
        environ = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC"}
        child = Child.start(
            [*limited(limits, together=False), *command.argv],
            stdin=command.stdin,
            room=limits.output_bytes,
            environ={**environ, "HOME": str(folder), **command.environ},
            cwd=folder,
        )
        gone = await child.finish(limits.wall_s, partial(watch_size, folder, limits.disk_bytes))
        ended = reached(gone.code, gone.seconds, limits) if gone.stopped == "exit" else gone.stopped
        code = gone.code if ended == "exit" else None
        return Ran(code, ended, gone.out, gone.err, gone.seconds)
