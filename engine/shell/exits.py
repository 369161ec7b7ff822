"""The one table of exit codes, and how a run's end maps to it."""

from enum import IntEnum
from typing import Literal


class Exit(IntEnum):
    """What the command line tells the shell that called it."""

    PASSED = 0  # or nothing to verify, and finished
    NOT_PASSED = 1
    USAGE = 2  # a wrong program, or a wrong use of the command
    EXHAUSTED = 3  # the budget ended first (the best attempt is kept), or the run is paused
    FAILED = 4  # endpoint, credentials, sandbox or verifier
    BUG = 5
    INTERRUPTED = 130  # 128 + SIGINT; the run can be resumed


Word = Literal["passed", "finished", "exhausted", "stopped", "failed", "cancelled", "paused"]


class ShellError(Exception):
    """A mistake the command line itself found; message is for a person, in the user's terms."""

    def __init__(self, message: str, code: Exit = Exit.USAGE) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


def exit_of(
    outcome: str | None,
    *,
    passed: bool | None,
    judged: bool,
    interrupted: bool = False,
    resumable: bool = False,
    reason: str = "",
) -> Exit:
    """The exit code of a run whose outcome has this word and this reason (None: it has not ended).

    judged: some attempt was given to a verifier. interrupted: a signal asked it to stop.
    """
    if interrupted and resumable:
        return Exit.INTERRUPTED
    match outcome:
        case "passed":
            return Exit.PASSED
        case "finished" | "stopped":
            return Exit.PASSED if passed or not judged else Exit.NOT_PASSED
        case "exhausted" | "paused":
            return Exit.EXHAUSTED
        case "cancelled" | None:
            return Exit.INTERRUPTED
        case "failed" if reason.startswith("budget: "):  # `on_exhausted = fail`
            return Exit.EXHAUSTED
        case _:
            return Exit.FAILED
