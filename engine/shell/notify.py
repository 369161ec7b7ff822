"""`--notify CMD`: a command of the user's is told, as JSON on its standard input, that a run got better,
paused or ended.

The rule this file keeps: the command is started without a shell, what models wrote goes in as data, and
nothing it does or fails to do disturbs the run.
"""

import json
import math
import shlex
from collections.abc import Callable
from subprocess import DEVNULL
from tempfile import TemporaryFile
from typing import Any

import anyio

from ..event import Improved, RunEnded, Stamped
from .exits import ShellError

# A message that takes longer than this will not come; the next one is worth more.
LIMIT_S = 30.0


class Notifier:
    """Tells command of each improvement and of the end, one at a time, in order, each as one line of JSON.

    Of improvements that came while the command was busy only the latest is told. Raises ShellError where
    command cannot be read as words.
    """

    def __init__(self, command: str, run: str, tell: Callable[[str], None]) -> None:
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise ShellError(f"--notify {command}: {error}") from error
        if not self._words:
            raise ShellError("--notify needs a command, such as --notify 'notify-send podium'")
        self._run, self._tell = run, tell
        self._told = False
        self._known: set[tuple[str, float | None]] = set()
        self._send, self._receive = anyio.create_memory_object_stream[dict[str, Any]](math.inf)

    def known(self, stamped: Stamped) -> None:
        """Take what an earlier life told: a life that follows comes to the same answers once more."""
        if isinstance(event := stamped.event, Improved):
            self._known.add((event.address, event.score))

    def seen(self, stamped: Stamped) -> None:
        """Take what is news; never waits."""
        event = stamped.event
        if isinstance(event, Improved) and (event.address, event.score) in self._known:
            return
        if (news := news_of(stamped, self._run)) is not None:
            self._send.send_nowait(news)

    def close(self) -> None:
        """There will be no more news; `work` ends when the last is told."""
        self._send.close()

    async def work(self) -> None:
        """Tell the news until `close`."""
        with self._receive:
            async for news in self._receive:
                waiting = self._receive.statistics().current_buffer_used
                if news["event"] == "improved" and waiting:
                    continue
                await self._told_of(news)

    async def _told_of(self, news: dict[str, Any]) -> None:
        try:
            # A file and no pipe: a command that does not read what it is told breaks nothing.
            with TemporaryFile() as said, anyio.move_on_after(LIMIT_S) as scope:
                said.write(f"{json.dumps(news)}\n".encode())
                said.seek(0)
                done = await anyio.run_process(self._words, stdin=said, stdout=DEVNULL, check=False)
                if done.returncode:
                    self._complain(f"ended with code {done.returncode}")
            if scope.cancelled_caught:
                self._complain(f"took more than {LIMIT_S:.0f} s")
        except OSError as error:
            self._complain(error.strerror or str(error))

    def _complain(self, why: str) -> None:
        if not self._told:
            self._tell(f"--notify {self._words[0]}: {why}")
        self._told = True


def news_of(stamped: Stamped, run: str) -> dict[str, Any] | None:
    """What is told of an event: `event` is improved, paused or ended; None where it is no news."""
    head = {"schema": 1, "run": run, "time": stamped.time}
    match stamped.event:
        case Improved(score=score, passed=passed, answer=answer, address=address):
            values: dict[str, Any] = {"address": address}
            kind = "improved"
        case RunEnded(score=score, passed=passed, answer=answer) as end:
            values = {
                "outcome": end.outcome,
                "reason": end.reason,
                "resumable": end.resumable,
                "seconds": end.seconds,
            }
            kind = "paused" if end.outcome == "paused" else "ended"
        case _:
            return None
    return {**head, "event": kind, **values, "score": score, "passed": passed, "answer": answer}
