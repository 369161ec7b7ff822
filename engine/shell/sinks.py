"""Where a run's events and its best answer go besides the store: `--events PATH`, `--out DIR`.

The rule this file keeps: a full disk or a vanished folder never ends a run that costs money. What cannot
be written is said once; the store still has it.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from ..event import Improved, RunEnded, Stamped, body, kind_of
from .exits import ShellError
from .texts import write_whole


def event_line(stamped: Stamped) -> str:
    """The event as one line of JSON: number, time (seconds since the epoch), kind, then its body.

    A body's own `kind` is written `form` (of a node), `call` (what was asked) or `failure`.
    """
    kind = kind_of(stamped.event)
    head = {"number": stamped.number, "time": stamped.time, "kind": kind}
    values = body(stamped.event)
    if kind in _OWN_KIND:
        values[_OWN_KIND[kind]] = values.pop("kind")
    return json.dumps(head | values)


_OWN_KIND = {"node_started": "form", "call_intended": "call", "call_failed": "failure"}


class EventLog:
    """Each event as a line, as it happens, flushed. Raises ShellError where path cannot be opened."""

    def __init__(self, path: str, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._path = path
        try:
            self._file: TextIO | None = Path(path).open("w", encoding="utf-8")  # noqa: SIM115, close() ends it
        except OSError as error:
            raise ShellError(f"cannot write {path}: {error.strerror or error}") from error

    def seen(self, stamped: Stamped) -> None:
        if self._file is None:
            return
        try:
            self._file.write(event_line(stamped) + "\n")
            self._file.flush()
        except OSError as error:
            self._tell(f"no more events go to {self._path}: {error.strerror or error}")
            self.close()

    def close(self) -> None:
        if self._file is not None:
            with suppress(OSError):  # what could not be written is still in its buffer
                self._file.close()
            self._file = None


class OutFolder:
    """The best answer so far, in a folder: answer.txt for text, answer.json for anything else.

    A reader sees one whole answer at every moment. Raises ShellError where folder cannot be made.
    """

    def __init__(self, folder: str, tell: Callable[[str], None]) -> None:
        self._folder, self._tell = Path(folder), tell
        self._broken = False
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ShellError(f"cannot make {folder}: {error.strerror or error}") from error

    def seen(self, stamped: Stamped) -> None:
        event = stamped.event
        if isinstance(event, Improved | RunEnded) and event.answer is not None:
            self._write(event.answer)

    def _write(self, answer: Any) -> None:
        is_text = isinstance(answer, str)
        name, other = ("answer.txt", "answer.json") if is_text else ("answer.json", "answer.txt")
        text = answer if is_text else json.dumps(answer, indent=2, ensure_ascii=False) + "\n"
        try:
            write_whole(self._folder / name, text)
            (self._folder / other).unlink(missing_ok=True)
        except (ShellError, OSError) as error:
            if not self._broken:
                self._tell(str(error))
            self._broken = True
