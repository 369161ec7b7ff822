"""The toy service: it listens at a socket in its folder, counts requests, and closes for good at the most of them.

Its flag stands in nothing but its input and its memory. It runs in a sandbox of its own: who attacks it can reach
the socket, and no process of its. The first who connects is the relay; when that leaves, the service ends.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from collections.abc import Iterator

from .weak import SOUND, WEAK

LONGEST = 300


class Counted:
    """Of a service the first `most` requests, whoever asks."""

    def __init__(
        self, kind: str, flag: str, most: int, numbers: dict[str, int], sound: bool
    ) -> None:
        self.service = (SOUND if sound else WEAK)[kind](flag, numbers)
        self.most, self.requests = most, 0
        self.lock = threading.Lock()

    def reply(self, line: str) -> str | None:
        """None: there were `most` already."""
        with self.lock:
            if self.requests >= self.most:
                return None
            self.requests += 1
            try:
                return self.service.reply(line.split() or [""])
            except (ValueError, IndexError):
                return "what?"


def main() -> None:
    counted = Counted(**json.load(sys.stdin))
    server = socket.socket(socket.AF_UNIX)
    server.bind("making")
    server.listen(64)
    os.rename("making", "socket")  # who finds it can connect
    relay, _ = server.accept()
    threading.Thread(target=ended, args=(relay, counted), daemon=True).start()
    while True:
        try:
            one, _ = server.accept()
            threading.Thread(target=served, args=(one, counted, server), daemon=True).start()
        except (OSError, RuntimeError):  # closed, or no descriptor or process is left
            break
    threading.Event().wait()


def ended(relay: socket.socket, counted: Counted) -> None:
    """Wait until all is over, and say how much was asked."""
    try:
        relay.recv(1)
    finally:
        sys.stdout.write(json.dumps({"requests": counted.requests}))
        sys.stdout.flush()
        os._exit(0)


def served(one: socket.socket, counted: Counted, server: socket.socket) -> None:
    with one:
        for line in lines(one):
            said = counted.reply(line)
            if said is None:
                # Waking who waits to accept takes more than closing it.
                server.shutdown(socket.SHUT_RDWR)
                return
            one.sendall(f"{said}\n".encode())


def lines(one: socket.socket) -> Iterator[str]:
    """Until it is closed, or writes one that is too long."""
    with one.makefile("rb") as file:
        while line := file.readline(LONGEST + 1):
            if len(line) > LONGEST:
                return
            yield line.decode("utf-8", "replace")


if __name__ == "__main__":
    main()
