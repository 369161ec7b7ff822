"""Runs a command until it ends or whoever started this is gone: `python guard.py SECONDS COMMAND…`.

Standard input is a pipe, which closes when its other end does, so also when the tests are killed and can clean up
nothing. Then the command gets SIGTERM, with all processes of its group, and SIGKILL after so many seconds; this
process ends last. It exits with the command's code, or 70 where a process is left.
"""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

LEFT = 70
POLL_S = 0.05


def main() -> int:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    process = subprocess.Popen(
        sys.argv[2:],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=_heed_signals,  # no other thread is here
    )
    while process.poll() is None and not select.select([0], [], [], POLL_S)[0]:
        pass
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        if _within(float(sys.argv[1]), lambda: not lives(process)):
            break
    return LEFT if lives(process) else process.wait()


def _heed_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _within(seconds: float, holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + seconds
    while not (held := holds()) and time.monotonic() < until:
        time.sleep(POLL_S)  # the processes of a group can only be looked for
    return held


def lives(process: "subprocess.Popen[bytes]") -> bool:
    """Whether a process of its group is there that is no zombie."""
    process.poll()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, group = stat.read_text().rpartition(") ")[2].split()[:3]
        except OSError:  # it ended as we looked
            continue
        if int(group) == process.pid and state != "Z":
            return True
    return False


if __name__ == "__main__":
    sys.exit(main())
